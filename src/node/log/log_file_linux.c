/* log_file_linux.c - reads and inotify watches of one log file */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/log/log_file.h"

struct log_file {
    char *path;
    int fd;
    int watch_fd;
    struct loop_io *io;
    loop_fn fn;
    void *arg;
};

struct err *log_file_open(const char *path, struct log_file **ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct log_file *f = NULL;

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    f = mem_alloc(sizeof(*f));
    *f = (struct log_file){.path = mem_strdup(path), .fd = fd, .watch_fd = -1};
    *ret = f;
    return NULL;
}

void log_file_free(struct log_file *f)
{
    if (!f)
        return;
    loop_io_free(f->io);
    fd_close(f->watch_fd);
    fd_close(f->fd);
    free(f->path);
    free(f);
}

int64_t log_file_size(const struct log_file *f)
{
    struct stat st = {0};

    return fstat(f->fd, &st) == 0 ? st.st_size : 0;
}

uint64_t log_file_inode(const struct log_file *f)
{
    struct stat st = {0};

    return fstat(f->fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

struct err *log_file_read(const struct log_file *f, int64_t offset, void *bytes, size_t size,
                          size_t *ret_size)
{
    ssize_t n = 0;

    do
        n = pread(f->fd, bytes, size, offset);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_errno(errno, "read %s", f->path);
    *ret_size = (size_t)n;
    return NULL;
}

static void log_file_on_event(void *arg, int fd, bool readable, bool writable)
{
    struct log_file *f = arg;
    char events[4096];

    (void)readable;
    (void)writable;
    while (read(fd, events, sizeof(events)) > 0)
        continue; /* discards events; the file itself has the new bytes */
    f->fn(f->arg);
}

struct err *log_file_watch(struct log_file *f, struct loop *l, loop_fn fn, void *arg)
{
    char path[64];
    AUTO(fd_closep) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (f->io)
        return NULL;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
    if (fd < 0 || inotify_add_watch(fd, path, IN_MODIFY) < 0)
        return err_errno(errno, "watch %s", f->path);
    f->fn = fn;
    f->arg = arg;
    f->watch_fd = fd;
    fd = -1;
    f->io = loop_io_new(l, f->watch_fd, log_file_on_event, f);
    loop_io_want(f->io, true, false);
    return NULL;
}
