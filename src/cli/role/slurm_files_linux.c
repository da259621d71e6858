/* slurm_files_linux.c - reads the files of --slurm-conf, and those beside it */

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/slurm_files.h"
#include "kinds/slurm/slurm_conf_files.h"

static struct err *slurm_file_read(void *arg, const char *path, struct buf *ret)
{
    (void)arg;
    return file_read(path, SLURM_CONF_SIZE_MAX, ret);
}

/* Reads the other files of Slurm that are in the directory of slurm.conf. */
static struct err *slurm_files_read_beside(const char *path, struct slurm_conf_objects *made)
{
    const char *slash = strrchr(path, '/');
    int dir_size = slash ? (int)(slash - path) + 1 : 0;

    for (const struct slurm_conf_file *f = slurm_conf_files; f->name; f++) {
        AUTO_FREE char *other = mem_format("%.*s%s", dir_size, path, f->name);
        struct slurm_conf conf = {0};
        struct err *e = slurm_conf_load(other, slurm_file_read, NULL, &conf);

        if (e && err_code(e) == ERR_NOT_FOUND && file_mark_of(other).inode == 0) {
            err_free(e);
            continue;
        }
        if (!e)
            e = f->add(&conf, made);
        slurm_conf_done(&conf);
        if (e)
            return e;
    }
    return NULL;
}

struct err *slurm_files_read(void *arg, struct slurm_conf_objects *ret)
{
    const char *path = arg;
    struct slurm_conf conf = {0};
    struct slurm_conf_objects made = {0};
    struct err *e;

    if (!*path)
        return NULL;
    e = slurm_conf_load(path, slurm_file_read, NULL, &conf);
    if (e && err_code(e) == ERR_NOT_FOUND && text_equal(path, SLURM_CONF_DEFAULT)) {
        err_free(e);
        return NULL;
    }
    if (!e)
        e = slurm_conf_objects_make(&conf, &made);
    slurm_conf_done(&conf);
    if (!e)
        e = slurm_files_read_beside(path, &made);
    if (e) {
        slurm_conf_objects_done(&made);
        return e;
    }
    *ret = made;
    return NULL;
}

struct err *slurm_files_check(const char *path)
{
    struct slurm_conf_objects made = {0};
    AUTO_FREE char *copy = mem_strdup(path);
    struct err *e = slurm_files_read(copy, &made);

    slurm_conf_objects_done(&made);
    return e;
}
