/* kernel_log_linux.c - follows /dev/kmsg, or the file that the emulation writes in its place */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "gpu/kernel_log.h"

enum {
    RECORD_MAX = 8192, /* of the kernel */
    READS_A_TURN = 256
};

static const int64_t kernel_log_pause_ns = 250 * NS_PER_MS;

struct kernel_log {
    struct loop *loop;
    char *path;
    bool is_emulated;
    int fd;       /* of the emulation: -1 between two turns */
    off_t offset; /* in the emulation's file */
    struct loop_io *io;
    struct loop_timer *timer;
    struct buf in; /* the emulation's file may end within a line */
    void (*found)(void *arg, const struct kernel_xid *x);
    void *arg;
};

static void kernel_log_take(struct kernel_log *k)
{
    while (k->in.size > 0) {
        const char *end = memchr(k->in.at, '\n', k->in.size);
        struct kernel_xid x;
        size_t size;

        if (!end)
            return;
        size = (size_t)(end - k->in.at);
        if (kernel_xid_parse((struct str){.at = k->in.at, .size = size}, &x))
            k->found(k->arg, &x);
        buf_consume(&k->in, size + 1);
    }
}

/* Reads what is there. EPIPE: the kernel has overwritten records that were not read yet. */
static void kernel_log_read(struct kernel_log *k)
{
    for (int i = 0; i < READS_A_TURN; i++) {
        char piece[RECORD_MAX];
        ssize_t n = read(k->fd, piece, sizeof(piece));

        if (n < 0 && (errno == EPIPE || errno == EINTR))
            continue;
        if (n <= 0) {
            if (n < 0 && errno != EAGAIN && k->io)
                loop_io_want(k->io, false, false);
            return;
        }
        buf_add(&k->in, piece, (size_t)n);
        kernel_log_take(k);
        if (k->in.size >= RECORD_MAX)
            buf_clear(&k->in); /* no record is that long */
    }
}

static void kernel_log_on_readable(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    kernel_log_read(arg);
}

static void kernel_log_on_time(void *arg)
{
    struct kernel_log *k = arg;

    k->fd = open(k->path, O_RDONLY | O_CLOEXEC);
    if (k->fd >= 0 && lseek(k->fd, k->offset, SEEK_SET) == k->offset) {
        kernel_log_read(k);
        k->offset = lseek(k->fd, 0, SEEK_CUR);
    }
    fd_close(k->fd);
    k->fd = -1;
    loop_timer_set(k->timer, kernel_log_pause_ns);
}

struct kernel_log *kernel_log_new(struct loop *l, const char *path, bool is_emulated,
                                  void (*found)(void *arg, const struct kernel_xid *x), void *arg)
{
    struct kernel_log *k = mem_alloc(sizeof(*k));

    *k = (struct kernel_log){.loop = l,
                             .path = mem_strdup(path),
                             .is_emulated = is_emulated,
                             .fd = -1,
                             .in = {.cap = (size_t)4 * RECORD_MAX},
                             .found = found,
                             .arg = arg};
    if (is_emulated) { /* a plain file tells nobody that it has grown */
        k->timer = loop_timer_new(l, kernel_log_on_time, k);
        loop_timer_set(k->timer, 0);
        return k;
    }
    k->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (k->fd < 0)
        return k;
    k->io = loop_io_new(l, k->fd, kernel_log_on_readable, k);
    loop_io_want(k->io, true, false);
    return k;
}

void kernel_log_free(struct kernel_log *k)
{
    if (!k)
        return;
    loop_io_free(k->io);
    loop_timer_free(k->timer);
    fd_close(k->fd);
    buf_done(&k->in);
    free(k->path);
    free(k);
}
