/* share_files_linux.c - the files of a pod's capped shares */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/spec/share_files.h"

bool share_files_add(struct share_files *f, const char *uuid, uint64_t memory_bytes,
                     uint32_t gpu_milli)
{
    struct share_limit *limit = &f->limits.gpus[f->limits.n_gpus];

    for (uint32_t i = 0; i < f->limits.n_gpus; i++)
        if (strcmp(f->limits.gpus[i].uuid, uuid) == 0)
            return true;
    if (f->limits.n_gpus == SHARE_GPUS_MAX)
        return false;
    f->limits.magic = SHARE_LIMITS_MAGIC;
    f->limits.version = SHARE_VERSION;
    *limit = (struct share_limit){.memory_bytes = memory_bytes, .gpu_milli = gpu_milli};
    (void)snprintf(limit->uuid, sizeof(limit->uuid), "%s", uuid);
    f->limits.n_gpus++;
    return true;
}

void share_files_done(struct share_files *f)
{
    free(f->dir);
    *f = (struct share_files){0};
}

/* Makes a file with its mode at once, so that nobody sees half of it. */
static struct err *share_file_make(const char *dir, const char *name, mode_t mode, struct str bytes)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO_FREE char *making = mem_format("%s/%s.new", dir, name);

    if (file_exists(path))
        return NULL;
    TRY(file_write(making, mode, bytes));
    if (chmod(making, mode) < 0) /* whatever the umask is */
        return err_errno(errno, "set the mode of %s", making);
    return rename(making, path) < 0 ? err_errno(errno, "rename %s", making) : NULL;
}

struct err *share_files_make(const struct share_files *f)
{
    AUTO_FREE struct share_state *state = NULL;

    if (!f->dir)
        return NULL;
    state = mem_alloc(sizeof(*state));
    state->magic = SHARE_STATE_MAGIC;
    state->version = SHARE_VERSION;
    TRY(dir_make(f->dir, 0755));
    TRY(share_file_make(f->dir, "limits", 0644,
                        (struct str){(const char *)&f->limits, sizeof(f->limits)}));
    return share_file_make(f->dir, "state", 0666,
                           (struct str){(const char *)state, sizeof(*state)});
}
