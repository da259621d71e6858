/* image_store_linux.c - disk work of the image store */

#include "node/image/image_store_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/image/images.h"
#include "node/runtime/userns.h"

enum {
    REGISTRIES_MAX = 1 << 20,
    KEPT_FREE_PCT = 5 /* kept free for other users of the disk */
};

static struct err *sync_dir(const char *path)
{
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? err_errno(errno, "sync %s", path) : NULL;
}

struct err *image_store_commit(const struct image_commit_work *w)
{
    for (size_t i = 0; i < w->n_moves; i++)
        if (rename(w->moves[i].from, w->moves[i].to) < 0)
            return err_errno(errno, "move %s to %s", w->moves[i].from, w->moves[i].to);
    if (w->n_moves > 0)
        TRY(sync_dir(w->layer_dir));
    return file_write_durable(w->index_path, 0600, str_of(w->index_text));
}

/* ---- work directories ---- */

static struct err *work_dir_give(const char *path, uid_t owner)
{
    return chown(path, owner, owner) < 0 ? err_errno(errno, "give %s to user %u", path, owner)
                                         : NULL;
}

static struct err *copy_registries(struct image_work_dir *w)
{
    AUTO_FREE char *path = mem_format("%s/in/registries.conf", w->dir);
    AUTO(buf_done) struct buf text = {0};

    if (!w->registries || !file_exists(w->registries))
        return NULL;
    TRY(file_read(w->registries, REGISTRIES_MAX, &text));
    w->has_registries = true;
    return file_write(path, 0644, (struct str){text.at, text.size});
}

static struct err *make_in(struct image_work_dir *w)
{
    AUTO_FREE char *in = mem_format("%s/in", w->dir);
    AUTO_FREE char *auth = mem_format("%s/in/auth.json", w->dir);

    TRY(dir_make(in, 0755));
    TRY(copy_registries(w));
    if (w->auth) {
        TRY(file_write(auth, 0600, str_of(w->auth)));
        TRY(work_dir_give(auth, IMAGE_FETCH_UID));
    }
    return work_dir_give(in, IMAGE_FETCH_UID);
}

static struct err *work_dir_room(const char *dir, int64_t *ret_bytes)
{
    struct statvfs fs = {0};
    uint64_t kept = 0;

    if (statvfs(dir, &fs) < 0)
        return err_errno(errno, "look at the file system of %s", dir);
    kept = fs.f_blocks / 100 * KEPT_FREE_PCT;
    *ret_bytes = fs.f_bavail > kept ? (int64_t)((fs.f_bavail - kept) * fs.f_frsize) : 0;
    return NULL;
}

struct err *image_work_make(struct image_work_dir *w)
{
    AUTO_FREE char *known = mem_format("%s/known", w->dir);

    TRY(dir_make(w->dir, 0755));
    TRY(file_write(known, 0644, str_of(w->known)));
    if (w->is_pull)
        TRY(make_in(w));
    TRY(work_dir_room(w->dir, &w->bytes_max));
    return work_dir_give(w->dir, IMAGE_UID_BASE);
}

struct err *image_disk_used_pct(const char *dir, int64_t *ret)
{
    struct statvfs fs = {0};
    uint64_t used;
    uint64_t usable;

    if (statvfs(dir, &fs) < 0)
        return err_errno(errno, "look at the file system of %s", dir);
    used = fs.f_blocks - fs.f_bfree;
    usable = used + fs.f_bavail;
    *ret = usable == 0 ? 0 : (int64_t)((used * 100 + usable - 1) / usable);
    return NULL;
}

/* ---- abilities of this machine ---- */

static struct err *try_shift(const char *dir)
{
    AUTO_FREE char *layers = mem_format("%s/layers", dir);
    AUTO_FREE char *layer = mem_format("%s/layers/0", dir);
    AUTO_FREE char *attempt = mem_format("%s/attempt", dir);
    const struct image_root r = {
        .layer_dir = layers, .lower_dirs = "0", .dir = attempt, .uid_base = USERNS_FIRST};
    struct err *e;

    TRY(dir_make(layer, 0755));
    TRY(work_dir_give(layer, IMAGE_UID_BASE));
    e = image_root_mount(&r);
    err_free(image_root_remove(attempt)); /* removed with `dir` in any case */
    return e;
}

bool image_root_can_shift(const char *dir)
{
    struct err *e = try_shift(dir);
    bool can = !e;

    err_free(e);
    err_free(dir_remove(dir)); /* else at the next start */
    return can;
}
