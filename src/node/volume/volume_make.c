/* volume_make.c - makes, updates and removes volumes, in the worker */

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/host.h"
#include "node/volume/claim_disk.h"
#include "node/volume/volume.h"

/* Completes a new directory before renaming it to its name: an existing directory is complete, and
 * keeps its pod's changes. */
static struct err *make_dir(const struct volume *v)
{
    AUTO_FREE char *beside = mem_format("%s.new", v->path);
    const struct host_owner owner = {.uid = v->uid, .gid = v->gid, .mode = v->mode};

    if (host_path_type(v->path) == HOST_DIR)
        return NULL;
    TRY(dir_make(beside, 0755));
    TRY(host_own(beside, &owner));
    return host_rename(beside, v->path);
}

static struct err *make_tmpfs(const struct volume *v)
{
    const struct host_owner owner = {.uid = v->uid, .gid = v->gid, .mode = v->mode};

    if (host_is_mount(v->path))
        return NULL;
    return host_mount_tmpfs(v->path, v->size_bytes, &owner);
}

static struct err *write_files(const struct volume *v)
{
    const struct atomic_dir d = {.path = v->path,
                                 .mode = v->mode,
                                 .uid = v->uid,
                                 .gid = v->gid,
                                 .files = v->files.at,
                                 .n_files = v->files.n,
                                 .now_ns = host_wall_ns()};

    return atomic_dir_write(&d);
}

/* The group of fsGroup owns the top directory, and new files get it. */
static struct err *make_claim(const struct volume *v)
{
    TRY(claim_disk_mount(v->disk_dir, v->disk_bytes));
    return v->gid > 0 ? claim_disk_own(v->disk_dir, v->gid) : NULL;
}

static struct err *make_one(const struct volume *v)
{
    if (v->type == VOLUME_HOST)
        return NULL;
    if (v->type == VOLUME_CLAIM)
        return make_claim(v);
    TRY(make_dir(v));
    if (v->is_memory)
        TRY(make_tmpfs(v));
    return v->type == VOLUME_FILES ? write_files(v) : NULL;
}

struct err *volume_make(const struct volumes *v)
{
    for (size_t i = 0; i < v->list.n; i++) {
        struct err *e = make_one(&v->list.at[i]);

        if (e)
            return err_wrap(e, "volume %s", v->list.at[i].name);
    }
    return NULL;
}

/* Can the volume be updated? A tmpfs must be mounted in this namespace, else the containers see
 * another. */
static bool can_update(const struct volume *v)
{
    return v->type == VOLUME_FILES && host_path_type(v->path) == HOST_DIR &&
           (!v->is_memory || host_is_mount(v->path));
}

struct err *volume_update(const struct volumes *v)
{
    for (size_t i = 0; i < v->list.n; i++) {
        struct err *e = can_update(&v->list.at[i]) ? write_files(&v->list.at[i]) : NULL;

        if (e)
            return err_wrap(e, "volume %s", v->list.at[i].name);
    }
    return NULL;
}

struct err *volume_remove(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(dir, &names, &n);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);

        e = host_unmount(path);
    }
    names_free(names, n);
    TRY(e);
    return dir_remove(dir);
}
