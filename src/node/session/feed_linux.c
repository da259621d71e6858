/* feed_linux.c - a queue of bytes into a descriptor */

#include "node/session/feed_linux.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"

enum {
    WAITING_MAX = 1 << 20
};

static void feed_want(struct feed *f)
{
    if (f->io)
        loop_io_want(f->io, false, f->waiting.size > 0 || f->is_ended);
}

void feed_close(struct feed *f)
{
    loop_io_free(f->io);
    f->io = NULL;
    fd_close(f->fd);
    f->fd = -1;
    f->is_broken = true;
    buf_done(&f->waiting);
    f->waiting.cap = WAITING_MAX;
}

/* Writes once. False: the other side is gone. */
static bool write_some(struct feed *f)
{
    size_t done = 0;

    while (done < f->waiting.size) {
        size_t size = f->waiting.size - done;
        ssize_t n;

        if (f->piece_max > 0 && size > f->piece_max)
            size = f->piece_max;
        n = write(f->fd, f->waiting.at + done, size);
        if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
            break;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    buf_consume(&f->waiting, done);
    return true;
}

static void feed_on_io(void *arg, int fd, bool readable, bool writable)
{
    struct feed *f = arg;
    bool had_any = f->waiting.size > 0;

    (void)fd;
    (void)readable;
    (void)writable;
    if (!write_some(f))
        feed_close(f);
    else
        feed_want(f);
    if (f->waiting.size > 0)
        return;
    if (f->is_ended && !f->is_broken) {
        loop_io_want(f->io, false, false);
        f->ended(f->arg);
    } else if (had_any && f->drained) {
        f->drained(f->arg);
    }
}

void feed_init(struct feed *f)
{
    f->fd = -1;
    f->waiting.cap = WAITING_MAX;
}

void feed_open(struct feed *f, int fd)
{
    f->fd = fd;
    f->io = loop_io_new(f->loop, fd, feed_on_io, f);
    feed_want(f);
}

void feed_add(struct feed *f, struct str bytes)
{
    if (f->is_broken || f->is_ended)
        return;
    buf_add(&f->waiting, bytes.at, bytes.size);
    /* The caller ignored the backlog: break the stream, as bytes are missing. */
    if (f->waiting.overflow)
        feed_close(f);
    feed_want(f);
}

void feed_end(struct feed *f)
{
    f->is_ended = true;
    feed_want(f);
}

size_t feed_backlog(const struct feed *f)
{
    return f->waiting.size;
}
