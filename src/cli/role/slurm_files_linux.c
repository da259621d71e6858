/* slurm_files_linux.c - reads the files of --slurm-conf */

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/slurm_files.h"

static struct err *slurm_file_read(void *arg, const char *path, struct buf *ret)
{
    (void)arg;
    return file_read(path, SLURM_CONF_SIZE_MAX, ret);
}

/* Notes the files beside slurm.conf that are there and are not read. */
static void note_others(const char *path, struct slurm_conf_objects *made)
{
    static const char *const files[][2] = {
        {"gres.conf", "Mete finds gpus and their parts by itself: docs/gpus.md"},
        {"topology.conf", "labels of nodes say where they are: docs/topology.md"},
        {"cgroup.conf", "jobs are always held to their cpus, memory and devices"},
    };
    const char *slash = strrchr(path, '/');
    int dir_size = slash ? (int)(slash - path) + 1 : 0;

    for (size_t i = 0; i < COUNT(files); i++) {
        AUTO_FREE char *other = mem_format("%.*s%s", dir_size, path, files[i][0]);
        json_t *note;

        if (file_mark_of(other).inode == 0)
            continue;
        note = json_object();
        json_put_text(note, "key", files[i][0]);
        json_put_text(note, "where", other);
        json_put_text(note, "why", files[i][1]);
        (void)json_array_append_new(made->notes, note); /* fresh: cannot fail */
    }
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
    if (!e)
        note_others(path, ret);
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
