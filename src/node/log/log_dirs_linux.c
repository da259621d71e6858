/* log_dirs_linux.c - watches on log directories, by inotify */

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/log/log_dirs.h"

struct log_dirs {
    int fd;
    struct loop_io *io;
    void (*fn)(void *arg, int number);
    void *arg;
};

static void log_dirs_on_events(void *arg, int fd, bool readable, bool writable)
{
    struct log_dirs *d = arg;
    _Alignas(struct inotify_event) char bytes[16384];
    ssize_t n = 0;

    (void)readable;
    (void)writable;
    while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
        const struct inotify_event *event = NULL;

        for (size_t at = 0; at < (size_t)n; at += sizeof(*event) + event->len) {
            event = (const void *)(bytes + at);
            if (event->mask & IN_Q_OVERFLOW)
                d->fn(d->arg, -1);
            else if (event->mask & IN_MOVED_TO)
                d->fn(d->arg, event->wd);
        }
    }
}

struct err *log_dirs_new(struct loop *l, void (*fn)(void *arg, int number), void *arg,
                         struct log_dirs **ret)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct log_dirs *d = NULL;

    if (fd < 0)
        return err_errno(errno, "watch the directories of logs");
    d = mem_alloc(sizeof(*d));
    *d = (struct log_dirs){.fd = fd, .fn = fn, .arg = arg};
    d->io = loop_io_new(l, fd, log_dirs_on_events, d);
    loop_io_want(d->io, true, false);
    *ret = d;
    return NULL;
}

void log_dirs_free(struct log_dirs *d)
{
    if (!d)
        return;
    loop_io_free(d->io);
    fd_close(d->fd);
    free(d);
}

struct err *log_dirs_add(struct log_dirs *d, const char *dir, int *ret_number)
{
    int number = inotify_add_watch(d->fd, dir, IN_MOVED_TO | IN_ONLYDIR);

    if (number < 0)
        return err_errno(errno, "watch %s", dir);
    *ret_number = number;
    return NULL;
}

void log_dirs_remove(struct log_dirs *d, int number)
{
    (void)inotify_rm_watch(d->fd, number); /* fails if the directory is gone */
}
