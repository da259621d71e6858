/* disk_usage_linux.c - a walk over a directory tree */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "node/volume/disk_usage.h"

enum {
    BLOCK_BYTES = 512,   /* the unit of st_blocks on every file system */
    LINKED_MAX = 1 << 20 /* remembered files with hard links; beyond, each link counts */
};

/* A counted file with several hard links. */
struct linked {
    struct map_handle handle;
    ino_t inode;
};

struct walk {
    const char *path;
    dev_t device;
    struct linked *linked;
    size_t n_linked;
    struct disk_usage usage;
};

static void dir_closep(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static void walk_done(struct walk *w)
{
    struct linked *l = NULL;
    struct linked *next = NULL;

    map_each (handle, w->linked, l, next) {
        map_remove(handle, w->linked, l);
        free(l);
    }
}

static bool is_counted(struct walk *w, const struct stat *st)
{
    struct linked *l = NULL;

    if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
        return false;
    map_find(handle, w->linked, &st->st_ino, sizeof(st->st_ino), l);
    if (l || w->n_linked == LINKED_MAX)
        return l != NULL;
    w->n_linked++;
    l = mem_alloc(sizeof(*l));
    l->inode = st->st_ino;
    map_add(handle, w->linked, &l->inode, sizeof(l->inode), l);
    return false;
}

static void count(struct walk *w, const struct stat *st)
{
    if (is_counted(w, st))
        return;
    w->usage.inodes++;
    w->usage.bytes += (int64_t)st->st_blocks * BLOCK_BYTES;
}

static struct err *walk_dir(struct walk *w, int *fd, unsigned depth);

/* An entry that vanished or changed its type is no error. */
static struct err *walk_entry(struct walk *w, int dir, const char *name, unsigned depth)
{
    AUTO(fd_closep) int fd = -1;
    struct stat st = {0};

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? NULL : err_errno(errno, "measure %s: '%s'", w->path, name);
    if (st.st_dev != w->device)
        return NULL;
    if (!S_ISDIR(st.st_mode)) {
        count(w, &st);
        return NULL;
    }
    if (depth > DISK_USAGE_DEPTH_MAX)
        return err_new(ERR_TOO_LARGE, "measure %s: directories stand more than %d deep", w->path,
                       DISK_USAGE_DEPTH_MAX);
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
                   ? NULL
                   : err_errno(errno, "measure %s: open '%s'", w->path, name);
    if (fstat(fd, &st) < 0)
        return err_errno(errno, "measure %s: '%s'", w->path, name);
    if (st.st_dev != w->device)
        return NULL;
    count(w, &st);
    return walk_dir(w, &fd, depth);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Takes `*fd`. */
static struct err *walk_dir(struct walk *w, int *fd, unsigned depth)
{
    AUTO(dir_closep) DIR *d = fdopendir(*fd);
    const struct dirent *entry = NULL;

    if (!d)
        return err_errno(errno, "measure %s: read a directory", w->path);
    (void)fd_take(fd); /* `d` owns it */
    while (errno = 0, (entry = readdir(d)) != NULL)
        if (!is_dots(entry->d_name))
            TRY(walk_entry(w, dirfd(d), entry->d_name, depth + 1));
    return errno == 0 ? NULL : err_errno(errno, "measure %s: read a directory", w->path);
}

struct err *disk_usage_measure(const char *path, struct disk_usage *ret)
{
    AUTO(fd_closep) int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    AUTO(fd_closep) int dir = -1;
    AUTO(walk_done) struct walk w = {.path = path};
    struct stat st = {0};

    if (fd < 0)
        return err_errno(errno, "measure %s", path);
    if (fstat(fd, &st) < 0)
        return err_errno(errno, "measure %s", path);
    w.device = st.st_dev;
    count(&w, &st);
    if (S_ISDIR(st.st_mode)) {
        dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            return err_errno(errno, "measure %s", path);
        TRY(walk_dir(&w, &dir, 0));
    }
    *ret = w.usage;
    return NULL;
}
