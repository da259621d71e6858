/* slurm_files_linux.c - reads the files of --slurm-conf */

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/slurm_files.h"

static struct err *slurm_file_read(void *arg, const char *path, struct buf *ret)
{
    (void)arg;
    return file_read(path, SLURM_CONF_SIZE_MAX, ret);
}

struct err *slurm_files_read(void *arg, struct slurm_conf_objects *ret)
{
    const char *path = arg;
    struct slurm_conf conf = {0};
    struct err *e;

    if (!*path)
        return NULL;
    e = slurm_conf_load(path, slurm_file_read, NULL, &conf);
    if (e && err_code(e) == ERR_NOT_FOUND && text_equal(path, SLURM_CONF_DEFAULT)) {
        err_free(e);
        return NULL;
    }
    if (!e)
        e = slurm_conf_objects_make(&conf, ret);
    slurm_conf_done(&conf);
    return e;
}

struct err *slurm_files_check(const char *path)
{
    struct slurm_conf_objects made = {0};
    AUTO_FREE char *copy = mem_strdup(path);
    struct err *e = slurm_files_read(copy, &made);

    slurm_conf_objects_done(&made);
    return e;
}
