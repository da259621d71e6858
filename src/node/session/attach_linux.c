/*
 * attach_linux.c - clients attached to a container's own stdin and output
 *
 * conmon's attach socket (its conn_sock.c) is SOCK_SEQPACKET at BUNDLE/attach. Each received packet
 * begins with a byte, 2 for stdout and 3 for stderr. Sent bytes go to the container's stdin; the
 * end of sending ends stdin, unless conmon runs with --leave-stdin-open. The size of a terminal is
 * written to the fifo BUNDLE/ctl, "1 ROWS COLUMNS\n".
 *
 * A client that does not read blocks conmon, and so the container's program.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "node/runtime/crun_attempt_linux.h"
#include "node/session/exec_linux.h"
#include "node/session/feed_linux.h"

enum {
    PACKET_MAX = 65536, /* larger than conmon's packets */
    PIECE_MAX = 8192,   /* at most what conmon accepts */
    FROM_STDOUT = 2,
    FROM_STDERR = 3,
};

/* An attached client. */
struct attached {
    struct exec exec;
    struct attached *prev;
    struct attached *next;
    struct crun *r;
    struct runtime_exec o; /* without id and process */
    char *ctl;
    struct feed feed; /* a duplicate descriptor of the same socket */
    int fd;
    struct loop_io *io;
    struct loop_timer *timer;
    struct err *failed;
    bool is_paused;
    bool is_cancelled;
};

static void attached_free(struct attached *g)
{
    LIST_REMOVE(g->r->attached_list, g);
    feed_close(&g->feed);
    buf_done(&g->feed.waiting);
    loop_io_free(g->io);
    fd_close(g->fd);
    loop_timer_free(g->timer);
    err_free(g->failed);
    free(g->ctl);
    free(g);
}

static void on_attached_timer(void *arg)
{
    struct attached *g = arg;
    struct runtime_exec o = g->o;
    bool is_cancelled = g->is_cancelled;
    AUTO(err_freep) struct err *e = TAKE(g->failed);

    attached_free(g);
    if (!is_cancelled)
        o.end(o.arg, e, 0);
}

/* Reports the end from the loop. */
static void attached_leave(struct attached *g)
{
    feed_close(&g->feed);
    loop_io_free(g->io);
    g->io = NULL;
    fd_close(g->fd);
    g->fd = -1;
    loop_timer_set(g->timer, 0);
}

static void on_packet(void *arg, int fd, bool readable, bool writable)
{
    struct attached *g = arg;
    char packet[PACKET_MAX];
    ssize_t n = read(fd, packet, sizeof(packet));

    (void)readable;
    (void)writable;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        attached_leave(g); /* the container has ended */
        return;
    }
    if (n > 1 && (packet[0] == FROM_STDOUT || packet[0] == FROM_STDERR))
        g->o.output(g->o.arg, packet[0] == FROM_STDOUT ? 1 : 2,
                    (struct str){packet + 1, (size_t)n - 1});
}

static void on_input_ended(void *arg)
{
    struct attached *g = arg;

    (void)shutdown(g->feed.fd, SHUT_WR); /* fails if conmon is gone */
    feed_close(&g->feed);
}

static void on_input_drained(void *arg)
{
    struct attached *g = arg;

    if (g->o.drained && !g->is_cancelled)
        g->o.drained(g->o.arg);
}

/* ---- operations ---- */

static struct attached *attached_of(struct exec *x)
{
    return (struct attached *)(void *)x;
}

static void attached_input(struct exec *x, struct str bytes)
{
    feed_add(&attached_of(x)->feed, bytes);
}

static size_t attached_backlog(const struct exec *x)
{
    return feed_backlog(&((const struct attached *)(const void *)x)->feed);
}

static void attached_input_end(struct exec *x)
{
    struct attached *g = attached_of(x);

    if (!g->o.has_terminal && !g->feed.is_ended)
        feed_end(&g->feed);
}

static void attached_resize(struct exec *x, uint16_t columns, uint16_t rows)
{
    struct attached *g = attached_of(x);
    AUTO(fd_closep) int fd = g->ctl ? open(g->ctl, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    char text[32];
    int n = snprintf(text, sizeof(text), "1 %u %u\n", (unsigned)rows, (unsigned)columns);

    if (fd >= 0)
        (void)!write(fd, text, (size_t)n); /* harmless: conmon ends, or is behind with sizes */
}

static void attached_pause(struct exec *x, bool is_paused)
{
    struct attached *g = attached_of(x);

    g->is_paused = is_paused;
    if (g->io)
        loop_io_want(g->io, !is_paused, false);
}

static void attached_cancel(struct exec *x)
{
    struct attached *g = attached_of(x);

    g->is_cancelled = true;
    attached_leave(g);
}

static const struct exec_ops attached_ops = {.input = attached_input,
                                             .backlog = attached_backlog,
                                             .input_end = attached_input_end,
                                             .resize = attached_resize,
                                             .pause = attached_pause,
                                             .cancel = attached_cancel};

/* ---- begin ---- */

static struct err *attached_join(const struct crun_attempt *b, int *ret)
{
    AUTO(fd_closep) int dir = open(b->bundle, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (dir < 0)
        return err_errno(errno, "open %s", b->bundle);
    if (fd < 0)
        return err_errno(errno, "make a socket");
    /* The bundle's path may be too long for a socket's. */
    (void)snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/attach", dir);
    if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
        return err_errno(errno, "connect to %s/attach", b->bundle);
    *ret = fd_take(&fd);
    return NULL;
}

static struct err *attached_begin(struct attached *g, const char *id)
{
    struct crun_attempt *b = crun_find(g->r, id);
    int fd = -1;
    int in = -1;

    if (!b || b->state != RUNTIME_RUNNING)
        return err_new(ERR_NOT_FOUND, "the container is not running");
    TRY(attached_join(b, &fd));
    in = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (in < 0) {
        fd_close(fd);
        return err_errno(errno, "join the container's input");
    }
    g->ctl = attempt_path(b, "ctl");
    g->fd = fd;
    g->io = loop_io_new(g->r->o.loop, fd, on_packet, g);
    loop_io_want(g->io, true, false);
    if (g->o.has_stdin)
        feed_open(&g->feed, in);
    else
        fd_close(in);
    if (g->o.has_terminal && g->o.columns > 0)
        attached_resize(&g->exec, g->o.columns, g->o.rows);
    return NULL;
}

struct exec *crun_attach(void *self, const struct runtime_exec *e)
{
    struct crun *r = self;
    struct attached *g = mem_alloc(sizeof(*g));

    *g = (struct attached){.exec.ops = &attached_ops, .r = r, .o = *e, .fd = -1};
    g->o.id = NULL;
    g->o.process = NULL;
    g->feed = (struct feed){.loop = r->o.loop,
                            .piece_max = PIECE_MAX,
                            .drained = on_input_drained,
                            .ended = on_input_ended,
                            .arg = g};
    feed_init(&g->feed);
    g->timer = loop_timer_new(r->o.loop, on_attached_timer, g);
    LIST_ADD(r->attached_list, g);
    g->failed = attached_begin(g, e->id);
    if (g->failed)
        loop_timer_set(g->timer, 0);
    return &g->exec;
}

void crun_end_attached(struct crun *r)
{
    struct attached *g = NULL;

    LIST_EACH (r->attached_list, g)
        attached_free(g);
}
