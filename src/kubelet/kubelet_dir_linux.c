/* kubelet_dir_linux.c - watches the directory of a kubelet's sockets, by inotify and by looking */

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kubelet/kubelet_dir.h"

#define LOOK_EVERY_NS (5 * NS_PER_SEC)

struct kubelet_dir {
    char *path;
    int fd;
    struct loop_io *io;
    struct loop_timer *timer;
    void (*on_change)(void *arg);
    void *arg;
};

/* The same directory keeps its watch; a new one in its place gets one. */
static void dir_watch(const struct kubelet_dir *d)
{
    (void)inotify_add_watch(d->fd, d->path, IN_CREATE | IN_DELETE | IN_MOVED_TO);
}

static void on_dir_io(void *arg, int fd, bool readable, bool writable)
{
    struct kubelet_dir *d = arg;
    char events[4096];

    (void)readable;
    (void)writable;
    while (read(fd, events, sizeof(events)) > 0) {
    }
    d->on_change(d->arg);
}

static void on_dir_timer(void *arg)
{
    struct kubelet_dir *d = arg;

    loop_timer_set(d->timer, LOOK_EVERY_NS);
    dir_watch(d);
    d->on_change(d->arg);
}

struct err *kubelet_dir_new(struct loop *loop, const char *path, void (*on_change)(void *arg),
                            void *arg, struct kubelet_dir **ret)
{
    struct kubelet_dir *d = NULL;
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        return err_errno(errno, "watch directories");
    d = mem_alloc(sizeof(*d));
    *d = (struct kubelet_dir){
        .path = mem_strdup(path), .fd = fd, .on_change = on_change, .arg = arg};
    d->io = loop_io_new(loop, fd, on_dir_io, d);
    loop_io_want(d->io, true, false);
    d->timer = loop_timer_new(loop, on_dir_timer, d);
    dir_watch(d);
    loop_timer_set(d->timer, LOOK_EVERY_NS);
    *ret = d;
    return NULL;
}

void kubelet_dir_free(struct kubelet_dir *d)
{
    if (!d)
        return;
    loop_timer_free(d->timer);
    loop_io_free(d->io);
    fd_close(d->fd);
    free(d->path);
    free(d);
}
