/* door_linux.c - mete.sock of a node of another machine: connections, and the bytes in both ways */

#include <errno.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/stream.h"
#include "node/session/door.h"

enum {
    VISITS_MAX = 1024,
    VISITS_OF_UID_MAX = 256,
    PATIENCE_S = 60,
    PIECE = 32768,
    WAITING_MAX = 256 << 10 /* bytes that a side does not take: above, the other is not read */
};

/* A connection of a client. */
struct visit {
    struct door *door;
    struct visit *prev;
    struct visit *next;
    uint32_t uid;
    int fd;
    struct loop_io *io;
    struct stream *stream;
    struct buf out;              /* for the client */
    struct loop_timer *patience; /* of a refusal, for the request; NULL: not refused */
    bool is_heard;               /* of a refusal: the request has come, or a part of it */
    bool is_open;                /* the server has taken the connection */
    bool is_ending;              /* only `out` is left */
    bool is_waiting;             /* the server reads too slowly */
};

struct door {
    struct door_options o;
    struct loop_io *io;
    struct visit *visits;
    size_t n_visits;
};

static void visit_free(struct visit *v)
{
    LIST_REMOVE(v->door->visits, v);
    v->door->n_visits--;
    stream_free(v->stream);
    loop_timer_free(v->patience);
    loop_io_free(v->io);
    fd_close(v->fd);
    buf_done(&v->out);
    free(v);
}

/* A refusal waits for the request: a client whose connection ends before it has sent would not read
 * why. */
static bool is_unheard(const struct visit *v)
{
    return v->patience && !v->is_heard;
}

static void visit_want(struct visit *v)
{
    bool reads = v->is_open && !v->is_ending && !v->is_waiting;

    loop_io_want(v->io, reads || is_unheard(v), v->out.size > 0 && !is_unheard(v));
}

/* False: the visit is over, and freed. */
static bool visit_flush(struct visit *v)
{
    while (v->out.size > 0) {
        ssize_t n = send(v->fd, v->out.at, v->out.size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR) {
            visit_free(v);
            return false;
        }
        buf_consume(&v->out, n > 0 ? (size_t)n : 0);
    }
    if (v->is_ending && v->out.size == 0) {
        visit_free(v);
        return false;
    }
    if (v->stream)
        stream_pause(v->stream, v->out.size > WAITING_MAX);
    visit_want(v);
    return true;
}

static void visit_on_patience(void *arg)
{
    visit_free(arg);
}

/* Answers the client's request, which is not read, and ends. */
static void visit_refuse(struct visit *v, const struct err *e)
{
    AUTO(json_freep)
    json_t *status = json_pack("{s:s,s:s,s:s,s:s,s:s,s:i}", "kind", "Status", "apiVersion", "v1",
                               "status", "Failure", "message", err_message(e), "reason",
                               err_reason(e), "code", err_http(e));
    AUTO_FREE char *text = json_format(status);

    buf_printf(&v->out,
               "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n\r\n%s",
               err_http(e), strlen(text), text);
    v->is_ending = true;
    v->patience = loop_timer_new(v->door->o.loop, visit_on_patience, v);
    loop_timer_set(v->patience, PATIENCE_S * NS_PER_SEC);
    visit_want(v);
}

/* ---- the server's side ---- */

static void visit_on_open(void *arg)
{
    struct visit *v = arg;

    v->is_open = true;
    visit_want(v);
}

static void visit_on_data(void *arg, struct str bytes)
{
    struct visit *v = arg;

    buf_add(&v->out, bytes.at, bytes.size);
    if (v->out.size > WAITING_MAX)
        stream_pause(v->stream, true);
    visit_want(v);
}

static void visit_on_drain(void *arg)
{
    struct visit *v = arg;

    v->is_waiting = false;
    visit_want(v);
}

static void visit_on_close(void *arg, const struct err *e)
{
    struct visit *v = arg;

    stream_free(TAKE(v->stream));
    if (!v->is_open && e) {
        visit_refuse(v, e);
        return;
    }
    v->is_ending = true;
    (void)visit_flush(v);
}

/* ---- the client's side ---- */

static void visit_read(struct visit *v)
{
    char piece[PIECE];
    ssize_t n = recv(v->fd, piece, sizeof(piece), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        visit_free(v);
        return;
    }
    if (is_unheard(v)) {
        v->is_heard = true;
        visit_want(v);
        return;
    }
    stream_send(v->stream, (struct str){piece, (size_t)n});
    v->is_waiting = stream_backlog(v->stream) > WAITING_MAX;
    visit_want(v);
}

static void visit_on_ready(void *arg, int fd, bool readable, bool writable)
{
    struct visit *v = arg;

    (void)fd;
    if (writable && !visit_flush(v))
        return;
    if (readable && (v->stream || is_unheard(v)))
        visit_read(v);
}

/* ---- the door ---- */

static size_t door_count(struct door *d, uint32_t uid)
{
    struct visit *v;
    size_t n = 0;

    LIST_EACH (d->visits, v)
        n += v->uid == uid;
    return n;
}

static struct err *visit_begin(struct visit *v)
{
    struct door *d = v->door;
    AUTO_FREE char *pod = d->o.find(d->o.arg, v->uid);
    struct str name = str_of(pod);
    struct str ns = pod ? str_cut(&name, '/') : (struct str){0};
    AUTO(buf_done) struct buf path = {0};
    struct stream_options o = {.protocol = "mete-door",
                               .on_open = visit_on_open,
                               .on_data = visit_on_data,
                               .on_drain = visit_on_drain,
                               .on_close = visit_on_close,
                               .arg = v};

    if (!pod)
        return err_new(ERR_FORBIDDEN,
                       "uid %u has no Slurm job on this node: the server is reached by "
                       "METE_KUBECONFIG",
                       v->uid);
    buf_printf(&path, "/mete.dev/v1/node-door?uid=%u&namespace=", v->uid);
    client_add_escaped(&path, ns);
    buf_add_text(&path, "&pod=");
    client_add_escaped(&path, name);
    o.path = path.at;
    return client_upgrade(d->o.client, &o, &v->stream);
}

static void door_on_ready(void *arg, int fd, bool readable, bool writable)
{
    struct door *d = arg;
    int taken = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    struct visit *v;
    AUTO(err_freep) struct err *e = NULL;

    (void)readable;
    (void)writable;
    if (taken < 0)
        return; /* the client has gone */
    if (getsockopt(taken, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || d->n_visits >= VISITS_MAX ||
        door_count(d, peer.uid) >= VISITS_OF_UID_MAX) {
        fd_close(taken);
        return;
    }
    v = mem_alloc(sizeof(*v));
    *v = (struct visit){.door = d, .fd = taken, .uid = peer.uid};
    v->io = loop_io_new(d->o.loop, taken, visit_on_ready, v);
    LIST_ADD(d->visits, v);
    d->n_visits++;
    e = visit_begin(v);
    if (e)
        visit_refuse(v, e);
}

struct door *door_new(const struct door_options *o)
{
    struct door *d = mem_alloc(sizeof(*d));

    *d = (struct door){.o = *o};
    d->io = loop_io_new(o->loop, o->fd, door_on_ready, d);
    loop_io_want(d->io, true, false);
    return d;
}

void door_free(struct door *d)
{
    if (!d)
        return;
    loop_io_free(d->io);
    while (d->visits)
        visit_free(d->visits);
    free(d);
}
