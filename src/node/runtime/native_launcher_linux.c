/* native_launcher_linux.c - the node's side of the launcher: starts it, sends attempts, reads ends
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/stamp.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/native_linux.h"

enum {
    REPORTS_MAX = 1 << 20,
    PACKETS_BYTES = 1 << 20 /* of the socket's buffer */
};

static const int64_t START_AGAIN_NS = 200 * NS_PER_MS;

/* ---- reports ---- */

/* "ID {end}", or "ID" alone: the waiter ended without an end. */
static void native_take_report(struct native *n, struct str line)
{
    struct str rest = line;
    struct str word = str_cut(&rest, ' ');
    AUTO_FREE char *id = mem_strndup(word.at, word.size);
    AUTO(json_freep) json_t *end = NULL;
    AUTO(err_freep) struct err *e = rest.at ? json_parse(rest, &end) : NULL;
    struct native_attempt *a = native_find(n, id);

    if (e)
        LOG(ERROR, "report of a waiter cannot be read", S("id", id), E(e));
    if (!a || a->state != RUNTIME_RUNNING)
        return;
    if (end)
        native_ended(a, end, true);
    else
        native_inspect(a, true);
}

static void on_report(void *arg, int fd, bool readable, bool writable)
{
    struct native *n = arg;
    char bytes[65536];
    ssize_t size = read(fd, bytes, sizeof(bytes));
    const char *end;

    (void)readable;
    (void)writable;
    if (size == 0) { /* launcher and waiters are gone */
        loop_io_free(n->report_io);
        n->report_io = NULL;
    }
    if (size <= 0)
        return;
    buf_add(&n->report_text, bytes, (size_t)size);
    while (n->report_text.size > 0 &&
           (end = memchr(n->report_text.at, '\n', n->report_text.size))) {
        size_t line = (size_t)(end - n->report_text.at);
        AUTO_FREE char *text = mem_strndup(n->report_text.at, line);

        buf_consume(&n->report_text, line + 1);
        native_take_report(n, str_of(text));
    }
}

/* ---- the process ---- */

static void launcher_close(struct native *n)
{
    loop_io_free(n->socket_io);
    n->socket_io = NULL;
    fd_close(n->socket);
    n->socket = -1;
}

/* Waiters of a launcher that ended go on; their ends are seen by their pidfds. */
static void launcher_lost(struct native *n)
{
    struct native_attempt *a = NULL;
    struct native_attempt *next = NULL;

    map_each (handle, n->attempts, a, next)
        if (a->state == RUNTIME_RUNNING)
            native_inspect(a, true);
}

static void on_launcher_end(void *arg, const struct proc_end *end)
{
    struct native *n = arg;
    AUTO_FREE char *how = proc_format_status(end->status);

    LOG(WARN, "launcher of host processes ended", S("how", how));
    n->launcher = NULL;
    launcher_close(n);
    launcher_lost(n);
    if (n->queue.n > 0)
        loop_timer_set(n->launcher_timer, START_AGAIN_NS);
}

static void on_socket(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    native_flush(arg);
}

static struct err *report_open(struct native *n, int *ret_theirs)
{
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(errno, "make a pipe");
    loop_io_free(n->report_io); /* waiters of the launcher before report to nobody */
    fd_close(n->report);
    buf_clear(&n->report_text);
    n->report = fds[0];
    n->report_text.cap = REPORTS_MAX;
    (void)fcntl(n->report, F_SETFL, O_NONBLOCK); /* a new pipe: cannot fail */
    n->report_io = loop_io_new(n->loop, n->report, on_report, n);
    loop_io_want(n->report_io, true, false);
    *ret_theirs = fds[1];
    return NULL;
}

static struct err *launcher_start(struct native *n)
{
    AUTO_FREE char *gpusim = mem_format("%.*sgpusim", (int)(strlen(n->dir) - strlen("native")),
                                        n->dir); /* DATA/node/gpusim */
    const char *argv[] = {n->launcher_program ? n->launcher_program : "mete",
                          LAUNCH_ROLE,
                          n->mask_dir,
                          n->cgroup_root,
                          gpusim,
                          NULL};
    /* Without LD_BIND_NOW, each waiter would look up the same functions again. */
    const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LD_BIND_NOW=1", NULL};
    struct proc_options o = {.argv = argv,
                             .is_self = !n->launcher_program,
                             .env = env,
                             .cwd = "/",
                             .n_fds = 5,
                             .is_session = true};
    int pair[2] = {-1, -1};
    int size = PACKETS_BYTES;
    AUTO(fd_closep) int ours = -1;
    AUTO(fd_closep) int theirs = -1;
    AUTO(fd_closep) int report = -1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(errno, "make a socket");
    ours = pair[0];
    theirs = pair[1];
    (void)setsockopt(ours, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)); /* only for speed */
    TRY(report_open(n, &report));
    memcpy(o.fds, (const int[5]){-1, -1, 2, theirs, report}, 5 * sizeof(o.fds[0]));
    TRY(proc_start(n->loop, &o, on_launcher_end, n, &n->launcher));
    n->socket = fd_take(&ours);
    (void)fcntl(n->socket, F_SETFL, O_NONBLOCK); /* a new socket: cannot fail */
    n->socket_io = loop_io_new(n->loop, n->socket, on_socket, n);
    return NULL;
}

void native_launcher_end(struct native *n)
{
    if (n->launcher)
        proc_abandon(n->launcher); /* the launcher ends with the socket */
    n->launcher = NULL;
    launcher_close(n);
    loop_io_free(n->report_io);
    fd_close(n->report);
    loop_timer_free(n->launcher_timer);
    buf_done(&n->report_text);
}

/* ---- packets ---- */

struct packet {
    char ids[LAUNCH_PACKET_MAX];
    size_t size;
    int fds[LAUNCH_BATCH_MAX];
    size_t n;    /* descriptors */
    size_t used; /* entries of the queue: some may be gone */
};

static void packet_fill(struct native *n, struct packet *p)
{
    *p = (struct packet){0};
    for (size_t i = 0; i < n->queue.n && p->n < LAUNCH_BATCH_MAX; i++) {
        struct native_attempt *a = native_find(n, n->queue.at[i]);
        size_t size = strlen(n->queue.at[i]) + 1;

        if (p->size + size >= sizeof(p->ids))
            return;
        p->used++;
        if (!a || a->fd < 0)
            continue;
        memcpy(p->ids + p->size, n->queue.at[i], size);
        p->size += size;
        p->fds[p->n++] = a->fd;
    }
}

/* The kernel holds the descriptors from here on: ours are closed. */
static void packet_done(struct native *n, const struct packet *p)
{
    for (size_t i = 0; i < p->used; i++) {
        struct native_attempt *a = native_find(n, n->queue.at[i]);

        if (a) {
            fd_close(a->fd);
            a->fd = -1;
        }
        free(n->queue.at[i]);
    }
    n->queue.n -= p->used;
    memmove(n->queue.at, n->queue.at + p->used, n->queue.n * sizeof(*n->queue.at));
}

/* Returns 0, or errno. */
static int packet_send(const struct native *n, struct packet *p)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * LAUNCH_BATCH_MAX)];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec part = {.iov_base = p->ids, .iov_len = p->size};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(sizeof(int) * p->n)};
    struct cmsghdr *c = &control.align;

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * p->n);
    memcpy(CMSG_DATA(c), p->fds, sizeof(int) * p->n);
    return sendmsg(n->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

void native_flush(struct native *n)
{
    struct packet p;
    AUTO(err_freep) struct err *e = NULL;
    int number = 0;

    if (n->queue.n > 0 && !n->launcher)
        e = launcher_start(n);
    if (e) {
        LOG(ERROR, "launcher of host processes cannot start", E(e));
        loop_timer_set(n->launcher_timer, START_AGAIN_NS);
        return;
    }
    while (n->queue.n > 0 && n->socket >= 0 && number == 0) {
        packet_fill(n, &p);
        if (p.n > 0)
            number = packet_send(n, &p);
        if (number == 0)
            packet_done(n, &p);
    }
    if (n->socket_io) /* another errno: the launcher has ended, and on_launcher_end follows */
        loop_io_want(n->socket_io, false, n->queue.n > 0 && number == EAGAIN);
}
