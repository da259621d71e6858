/* forward_linux.c - connections to ports of pods */

#include "node/session/forward_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "node/net/net_ns.h"
#include "node/runtime/cgroup_stats.h"
#include "node/runtime/crun_attempt_linux.h"
#include "node/session/feed_linux.h"
#include "node/session/port_holder.h"

enum {
    READ_SIZE = 32768
};

static const int64_t CONNECT_NS = 10 * NS_PER_SEC;

/* A connection to a port of a pod. */
struct forward {
    struct exec exec;
    struct forward *prev;
    struct forward *next;
    struct crun *r;
    struct runtime_forward o;  /* without ids */
    VEC(const char *) cgroups; /* NULL-terminated, each to be freed */
    char *netns;               /* of the pod; NULL: the machine's network */
    int family;                /* result of the last check */
    bool is_checking;          /* in the worker; freed afterwards */
    int fd;                    /* -1: not open */
    struct loop_io *io;
    struct feed feed; /* a duplicate descriptor of the same socket */
    struct loop_timer *timer;
    bool is_open; /* checked twice: bytes pass */
    bool is_paused;
    bool is_output_ended; /* the pod sends no more */
    bool is_input_ended;  /* we send no more */
    bool is_over;         /* `timer` reports the end */
    bool is_cancelled;
    struct err *failed;
};

static void forward_free(struct forward *f)
{
    LIST_REMOVE(f->r->forwards, f);
    feed_close(&f->feed);
    buf_done(&f->feed.waiting);
    loop_io_free(f->io);
    fd_close(f->fd);
    loop_timer_free(f->timer);
    for (size_t i = 0; i < f->cgroups.n; i++)
        free((char *)(uintptr_t)f->cgroups.at[i]);
    vec_done(&f->cgroups);
    free(f->netns);
    err_free(f->failed);
    free(f);
}

/* Reports the end from the loop. */
static void forward_leave(struct forward *f, struct err *e)
{
    if (f->is_over) {
        err_free(e);
        return;
    }
    f->is_over = true;
    f->failed = e;
    feed_close(&f->feed);
    loop_io_free(f->io);
    f->io = NULL;
    fd_close(f->fd);
    f->fd = -1;
    loop_timer_set(f->timer, 0);
}

/* The end, or a connection timeout. */
static void on_forward_timer(void *arg)
{
    struct forward *f = arg;
    struct runtime_forward o = f->o;
    bool is_cancelled = f->is_cancelled;
    AUTO(err_freep) struct err *e = NULL;

    if (!f->is_over) {
        forward_leave(f, err_new(ERR_TIMEOUT, "port %u takes no connection", (unsigned)o.port));
        return;
    }
    if (f->is_checking)
        return; /* on_checked continues */
    e = TAKE(f->failed);
    forward_free(f);
    if (!is_cancelled)
        o.end(o.arg, e, 0);
}

/* ---- bytes ---- */

static void forward_want(struct forward *f)
{
    if (f->io)
        loop_io_want(f->io, f->is_open && !f->is_paused && !f->is_output_ended, !f->is_open);
}

static void forward_end_if_done(struct forward *f)
{
    if (f->is_output_ended && (f->is_input_ended || f->feed.is_broken))
        forward_leave(f, NULL);
}

static void forward_read(struct forward *f)
{
    char bytes[READ_SIZE];
    ssize_t n = read(f->fd, bytes, sizeof(bytes));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) { /* reset by the pod */
        forward_leave(f, NULL);
    } else if (n == 0) {
        f->is_output_ended = true;
        forward_want(f);
        f->o.output_end(f->o.arg);
        forward_end_if_done(f);
    } else {
        f->o.output(f->o.arg, 1, (struct str){bytes, (size_t)n});
    }
}

static void forward_on_input_drained(void *arg)
{
    struct forward *f = arg;

    if (f->is_cancelled || f->is_over)
        return;
    if (f->o.drained)
        f->o.drained(f->o.arg);
    forward_end_if_done(f);
}

static void on_input_ended(void *arg)
{
    struct forward *f = arg;

    (void)shutdown(f->feed.fd, SHUT_WR); /* the connection is gone: as good */
    f->is_input_ended = true;
    forward_end_if_done(f);
}

/* ---- check and connection ---- */

static void forward_check(struct forward *f);

/* Every listener in the pod's own namespace is the pod's. */
static struct err *forward_connect(void *message)
{
    struct forward *f = message;

    return net_ns_connect(f->netns, f->o.port, &f->fd);
}

static struct err *forward_find_holder(void *message)
{
    struct forward *f = message;
    /* Runs in the worker; its input does not change while `is_checking`. */
    const struct port_question q = {
        .proc = "/proc", .cgroup_root = CGROUP_ROOT, .cgroups = f->cgroups.at, .port = f->o.port};

    return port_find_holder(&q, &f->family);
}

static struct err *forward_dial(struct forward *f)
{
    const struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(f->o.port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(f->o.port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool is_v4 = f->family == AF_INET;
    const void *address = is_v4 ? (const void *)&v4 : (const void *)&v6;
    socklen_t size = is_v4 ? sizeof(v4) : sizeof(v6);
    AUTO(fd_closep) int fd = socket(f->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int one = 1;

    if (fd < 0)
        return err_errno(errno, "make a socket");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* only for speed */
    if (connect(fd, address, size) < 0 && errno != EINPROGRESS)
        return err_errno(errno, "connect to port %u", (unsigned)f->o.port);
    f->fd = fd_take(&fd);
    return NULL;
}

static void on_socket(void *arg, int fd, bool readable, bool writable)
{
    struct forward *f = arg;
    int number = 0;
    socklen_t size = sizeof(number);

    (void)writable;
    if (f->is_open) {
        if (readable)
            forward_read(f);
        return;
    }
    loop_io_want(f->io, false, false);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) < 0)
        number = errno;
    if (number != 0)
        forward_leave(f, err_errno(number, "connect to port %u", (unsigned)f->o.port));
    else
        forward_check(f);
}

/* The second check found the port still the pod's, so the connection is the pod's too. */
static struct err *open_connection(struct forward *f)
{
    int in = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);

    if (in < 0)
        return err_errno(errno, "open port %u", (unsigned)f->o.port);
    loop_timer_stop(f->timer);
    f->is_open = true;
    forward_want(f);
    feed_open(&f->feed, in);
    return NULL;
}

static void on_checked(void *message, const struct err *e)
{
    struct forward *f = message;
    struct err *failed = NULL;

    f->is_checking = false;
    if (f->is_over) {
        loop_timer_set(f->timer, 0);
        return;
    }
    if (e)
        failed = err_new(err_code(e), "%s", err_message(e));
    else if (f->netns && !f->io)
        failed = open_connection(f);
    else if (f->fd >= 0)
        failed = open_connection(f);
    else
        failed = forward_dial(f);
    if (failed) {
        forward_leave(f, failed);
    } else if (!f->io) {
        f->io = loop_io_new(f->r->o.loop, f->fd, on_socket, f);
        forward_want(f);
    }
}

static void forward_check(struct forward *f)
{
    f->is_checking = true;
    worker_give(f->r->o.forward_worker, f->netns ? forward_connect : forward_find_holder,
                on_checked, f);
}

/* ---- operations ---- */

static struct forward *forward_of(struct exec *x)
{
    return (struct forward *)(void *)x;
}

static void forward_input(struct exec *x, struct str bytes)
{
    feed_add(&forward_of(x)->feed, bytes);
}

static size_t forward_backlog(const struct exec *x)
{
    return feed_backlog(&((const struct forward *)(const void *)x)->feed);
}

static void forward_input_end(struct exec *x)
{
    struct forward *f = forward_of(x);

    if (!f->feed.is_ended)
        feed_end(&f->feed);
}

static void forward_resize(struct exec *x, uint16_t columns, uint16_t rows)
{
    (void)x;
    (void)columns;
    (void)rows;
}

static void forward_pause(struct exec *x, bool is_paused)
{
    struct forward *f = forward_of(x);

    f->is_paused = is_paused;
    if (f->is_open)
        forward_want(f);
}

static void forward_cancel(struct exec *x)
{
    struct forward *f = forward_of(x);

    f->is_cancelled = true;
    forward_leave(f, NULL);
}

static const struct exec_ops forward_ops = {.input = forward_input,
                                            .backlog = forward_backlog,
                                            .input_end = forward_input_end,
                                            .resize = forward_resize,
                                            .pause = forward_pause,
                                            .cancel = forward_cancel};

/* ---- begin ---- */

struct exec *crun_forward(void *self, const struct runtime_forward *o)
{
    struct crun *r = self;
    struct forward *f = mem_alloc(sizeof(*f));

    *f = (struct forward){.exec.ops = &forward_ops, .r = r, .o = *o, .fd = -1};
    f->o.ids = NULL;
    f->o.netns = NULL;
    f->netns = o->netns ? mem_strdup(o->netns) : NULL;
    f->feed = (struct feed){
        .loop = r->o.loop, .drained = forward_on_input_drained, .ended = on_input_ended, .arg = f};
    feed_init(&f->feed);
    f->timer = loop_timer_new(r->o.loop, on_forward_timer, f);
    loop_timer_set(f->timer, CONNECT_NS);
    for (size_t i = 0; o->ids[i]; i++)
        vec_add(&f->cgroups, mem_format("/mete/%s", o->ids[i]));
    vec_add(&f->cgroups, NULL);
    LIST_ADD(r->forwards, f);
    forward_check(f);
    return &f->exec;
}

void crun_end_forwards(struct crun *r)
{
    struct forward *f = NULL;

    LIST_EACH (r->forwards, f)
        forward_free(f);
}
