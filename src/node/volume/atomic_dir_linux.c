/* atomic_dir_linux.c - atomic replacement of a directory's files */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/volume/atomic_dir.h"

static const char data_link[] = "..data";
static const char data_link_new[] = "..data_tmp";

enum {
    FILE_SIZE_MAX = 64 << 20
};

/* ---- names ---- */

/* The first part of a path. The caller frees it. */
static char *first_part(const char *path)
{
    return mem_strndup(path, strcspn(path, "/"));
}

static bool is_shown(const struct atomic_dir *d, const char *name)
{
    size_t size = strlen(name);

    for (size_t i = 0; i < d->n_files; i++)
        if (strncmp(d->files[i].path, name, size) == 0 &&
            (d->files[i].path[size] == '/' || d->files[i].path[size] == '\0'))
            return true;
    return false;
}

/* The target of ..data; "": none. */
static void read_data_link(const struct atomic_dir *d, char *ret, size_t size)
{
    AUTO_FREE char *path = mem_format("%s/%s", d->path, data_link);
    ssize_t n = readlink(path, ret, size - 1);

    ret[n > 0 ? n : 0] = '\0';
}

/* ---- present files ---- */

static size_t count_files(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    size_t count = 0;
    AUTO(err_freep) struct err *e = dir_list(dir, &names, &n);

    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);
        struct stat st = {0};

        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            count += count_files(path);
        else
            count++;
    }
    names_free(names, n);
    return count;
}

static bool is_file_same(const char *dir, const struct atomic_file *f)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, f->path);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;
    struct stat st = {0};

    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 07777) != f->mode ||
        st.st_uid != f->uid || st.st_gid != f->gid || st.st_size != (off_t)f->size)
        return false;
    e = file_read(path, FILE_SIZE_MAX, &text);
    return !e && text.size == f->size && memcmp(text.at, f->bytes, f->size) == 0;
}

static bool is_same(const struct atomic_dir *d, const char *data)
{
    AUTO_FREE char *dir = mem_format("%s/%s", d->path, data);

    if (data[0] == '\0' || count_files(dir) != d->n_files)
        return false;
    for (size_t i = 0; i < d->n_files; i++)
        if (!is_file_same(dir, &d->files[i]))
            return false;
    return true;
}

/* ---- new files ---- */

static struct err *make_dir(const struct atomic_dir *d, const char *path)
{
    if (mkdir(path, 0700) < 0)
        return errno == EEXIST ? NULL : err_errno(errno, "make %s", path);
    if (chown(path, d->uid, d->gid) < 0 || chmod(path, d->mode) < 0)
        return err_errno(errno, "change the owner of %s", path);
    return NULL;
}

static struct err *write_all(int fd, const struct atomic_file *f)
{
    size_t done = 0;

    while (done < f->size) {
        ssize_t n = write(fd, f->bytes + done, f->size - done);

        if (n < 0 && errno != EINTR)
            return err_errno(errno, "write '%s'", f->path);
        done += n > 0 ? (size_t)n : 0;
    }
    return NULL;
}

static struct err *make_file(const struct atomic_dir *d, const char *dir,
                             const struct atomic_file *f)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, f->path);
    AUTO(fd_closep) int fd = -1;

    for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        TRY(make_dir(d, path));
        *slash = '/';
    }
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST || errno == ENOTDIR || errno == EISDIR
                   ? err_new(ERR_INVALID, "two sources make '%s'", f->path)
                   : err_errno(errno, "make %s", path);
    TRY(write_all(fd, f));
    if (fchown(fd, f->uid, f->gid) < 0 || fchmod(fd, f->mode) < 0)
        return err_errno(errno, "change the owner of %s", path);
    return NULL;
}

/* Makes a new directory beside the old, and gives its name. */
static struct err *make_data(const struct atomic_dir *d, char **ret_name)
{
    char stamp[STAMP_TEXT_SIZE];
    AUTO_FREE char *path = NULL;
    struct err *e = NULL;

    stamp_format(d->now_ns, stamp); /* 2026-01-02T03:04:05Z */
    for (char *at = stamp; *at; at++)
        *at = (char)(*at == 'Z' ? '\0' : strchr("-T:", *at) ? '_' : *at);
    path = mem_format("%s/..%s.XXXXXX", d->path, stamp);
    if (!mkdtemp(path))
        return err_errno(errno, "make a directory in %s", d->path);
    if (chown(path, d->uid, d->gid) < 0 || chmod(path, d->mode) < 0)
        e = err_errno(errno, "change the owner of %s", path);
    for (size_t i = 0; !e && i < d->n_files; i++)
        e = make_file(d, path, &d->files[i]);
    if (e) {
        err_free(
            dir_remove(path)); /* report the first error; the next write removes the directory */
        return e;
    }
    *ret_name = mem_strdup(path + strlen(d->path) + 1);
    return NULL;
}

static struct err *turn_to(const struct atomic_dir *d, const char *name)
{
    AUTO_FREE char *beside = mem_format("%s/%s", d->path, data_link_new);
    AUTO_FREE char *path = mem_format("%s/%s", d->path, data_link);

    if (unlink(beside) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", beside);
    if (symlink(name, beside) < 0)
        return err_errno(errno, "make the link %s", beside);
    if (rename(beside, path) < 0)
        return err_errno(errno, "point %s to the new files", path);
    return NULL;
}

static struct err *add_links(const struct atomic_dir *d)
{
    for (size_t i = 0; i < d->n_files; i++) {
        AUTO_FREE char *name = first_part(d->files[i].path);
        AUTO_FREE char *path = mem_format("%s/%s", d->path, name);
        AUTO_FREE char *to = mem_format("%s/%s", data_link, name);

        if (symlink(to, path) < 0 && errno != EEXIST)
            return err_errno(errno, "make the link %s", path);
    }
    return NULL;
}

/* Removes everything but the present links, ..data and its target. */
static struct err *remove_stale(const struct atomic_dir *d, const char *data)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = NULL;

    TRY(dir_list(d->path, &names, &n));
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", d->path, names[i]);

        if (!text_equal(names[i], data_link) && !text_equal(names[i], data) &&
            !is_shown(d, names[i]))
            e = dir_remove(path);
    }
    names_free(names, n);
    return e;
}

struct err *atomic_dir_write(const struct atomic_dir *d)
{
    char old[256];
    AUTO_FREE char *name = NULL;

    read_data_link(d, old, sizeof(old));
    if (is_same(d, old)) {
        TRY(add_links(d)); /* left by an interrupted write */
        return remove_stale(d, old);
    }
    TRY(make_data(d, &name));
    assert(name); /* set, without an error */
    TRY(turn_to(d, name));
    TRY(add_links(d));
    return remove_stale(d, name);
}
