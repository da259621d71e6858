/* unix_linux.c - requests over a unix socket, a connection for each */

#include "client/unix_linux.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/http_answer.h"
#include "client/stream_linux.h"

#define TIMEOUT_DEFAULT_NS (30 * NS_PER_SEC)
#define CONNECT_AGAIN_NS   (10 * NS_PER_MS)
#define BODY_MAX           ((size_t)256 << 20)
#define WARNINGS_MAX       ((size_t)64 << 10)

enum {
    PIECE_SIZE = 65536,
    PIECES_AT_ONCE = 16
};

struct unix_client {
    struct client client; /* the user's handle */
    struct client_options *options;
    struct unix_call *calls;
};

/* A request. While a callback runs (`is_busy`) a cancelled call is only marked, and freed
 * afterwards. */
struct unix_call {
    struct client_call call;   /* first */
    struct unix_client *owner; /* NULL: freed */
    struct loop *loop;
    struct loop_io *io;
    struct loop_timer *deadline;
    struct loop_timer *later; /* next try to connect, or work for a later turn */
    char *where;
    int fd;
    struct buf out;
    struct http_answer answer;
    struct buf got;
    client_data_fn data;
    client_done_fn done;
    void *arg;
    struct err *failure;
    bool is_busy;
    bool is_dead;
    struct unix_call *prev;
    struct unix_call *next;
};

struct err *unix_connect(const char *path, int *ret)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO(fd_closep) int fd = -1;
    size_t size = strlen(path);

    if (size >= sizeof(address.sun_path))
        return err_new(ERR_UNAVAILABLE, "%s: want a path of at most %zu bytes for a unix socket",
                       path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, size);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(errno, "make a socket");
    *ret = -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        *ret = fd_take(&fd);
    else if (errno != EAGAIN && errno != EINTR) {
        AUTO(err_freep) struct err *e = err_errno(errno, "%s", path);

        return err_new(ERR_UNAVAILABLE, "%s", err_message(e)); /* also if the socket is missing */
    }
    return NULL;
}

static void call_free(struct unix_call *call)
{
    if (call->owner)
        LIST_REMOVE(call->owner->calls, call);
    loop_io_free(call->io);
    loop_timer_free(call->deadline);
    loop_timer_free(call->later);
    fd_close(call->fd);
    buf_done(&call->out);
    buf_done(&call->got);
    http_answer_done(&call->answer);
    err_free(call->failure);
    free(call->where);
    free(call);
}

/* ---- callbacks ---- */

static void tell_data(struct unix_call *call)
{
    struct buf piece = call->got;

    if (!call->data || piece.size == 0 || call->answer.status != 200)
        return;
    call->got = (struct buf){.cap = piece.cap};
    call->data(call->arg, (struct str){.at = piece.at, .size = piece.size});
    buf_done(&piece);
}

static void tell_end(struct unix_call *call)
{
    const struct buf *warnings = &call->answer.warnings;
    const struct client_reply reply = {
        .status = call->answer.status,
        .body = {.at = call->got.at ? call->got.at : "", .size = call->got.size},
        .warning = warnings->size > 0 ? warnings->at : NULL,
    };

    call->is_dead = true; /* the user's cancel has no effect from here on */
    call->done(call->arg, call->failure, call->failure ? NULL : &reply);
}

/* Hands received data to the user; frees the call if it is over. */
static void call_tell(struct unix_call *call)
{
    call->is_busy = true;
    tell_data(call);
    if (!call->is_dead && (call->failure || call->answer.state == ANSWER_OVER))
        tell_end(call);
    call->is_busy = false;
    if (call->is_dead)
        call_free(call);
}

/* Takes `e`; the call keeps the first error. */
static void call_fail(struct unix_call *call, struct err *e)
{
    if (call->failure || !e)
        err_free(e);
    else if (err_code(e) == ERR_TOO_LARGE || err_code(e) == ERR_TIMEOUT ||
             strstr(err_message(e), call->where))
        call->failure = e;
    else
        call->failure = err_wrap(e, "%s", call->where);
}

/* ---- bytes ---- */

/* If the server stops reading and closes, the rest is dropped: its answer can still be read. */
static void call_send(struct unix_call *call)
{
    while (call->out.size > 0) {
        ssize_t n = send(call->fd, call->out.at, call->out.size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            buf_clear(&call->out);
        else
            buf_consume(&call->out, (size_t)n);
    }
    loop_io_want(call->io, true, call->out.size > 0);
}

static void call_receive(struct unix_call *call)
{
    char piece[PIECE_SIZE];

    for (int i = 0; i < PIECES_AT_ONCE && !call->failure && call->answer.state != ANSWER_OVER;) {
        ssize_t n = recv(call->fd, piece, PIECE_SIZE, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n > 0)
            call_fail(call,
                      http_answer_read(&call->answer, (struct str){.at = piece, .size = (size_t)n},
                                       &call->got));
        else if (n == 0)
            call_fail(call, http_answer_end(&call->answer));
        else
            call_fail(call, err_errno(errno, "read"));
        i++;
    }
}

static void unix_on_io(void *arg, int fd, bool readable, bool writable)
{
    struct unix_call *call = arg;

    (void)fd;
    (void)writable;
    call_send(call);
    if (readable)
        call_receive(call);
    call_tell(call);
}

static void call_connect(struct unix_call *call)
{
    call_fail(call, unix_connect(call->where, &call->fd));
    if (call->failure) {
        loop_timer_set(call->later, 0);
    } else if (call->fd < 0) {
        loop_timer_set(call->later, CONNECT_AGAIN_NS);
    } else {
        call->io = loop_io_new(call->loop, call->fd, unix_on_io, call);
        call_send(call);
    }
}

static void unix_on_later(void *arg)
{
    struct unix_call *call = arg;

    if (call->failure)
        call_tell(call);
    else
        call_connect(call);
}

static void on_deadline(void *arg)
{
    struct unix_call *call = arg;

    call_fail(call, err_new(ERR_TIMEOUT, "%s: no answer in time", call->where));
    call_tell(call);
}

/* ---- the client ---- */

static void add_request(struct buf *b, const struct client_request *r, const char *token)
{
    buf_printf(b, "%s %s HTTP/1.1\r\nHost: mete\r\nUser-Agent: mete\r\nAccept: %s\r\n", r->method,
               r->path, r->accept ? r->accept : "application/json");
    if (token)
        buf_printf(b, "Authorization: Bearer %s\r\n", token);
    if (r->body.size > 0 || r->content_type)
        buf_printf(b, "Content-Type: %s\r\n",
                   r->content_type ? r->content_type : "application/json");
    if (r->body.size > 0 || text_equal(r->method, "POST") || text_equal(r->method, "PUT"))
        buf_printf(b, "Content-Length: %zu\r\n", r->body.size);
    buf_add_text(b, "\r\n");
    if (r->body.size > 0)
        buf_add(b, r->body.at, r->body.size);
}

static void unix_cancel(struct client_call *base)
{
    struct unix_call *call = (struct unix_call *)base;

    call->is_dead = true;
    if (!call->is_busy)
        call_free(call);
}

static void unix_free(void *self)
{
    struct unix_client *u = self;
    struct unix_call *call;

    LIST_EACH (u->calls, call) {
        call->is_dead = true;
        if (call->is_busy) {
            LIST_REMOVE(u->calls, call);
            call->owner = NULL;
        } else {
            call_free(call);
        }
    }
    client_options_free(u->options);
    free(u);
}

static struct err *unix_upgrade(void *self, const struct stream_options *o, struct stream **ret)
{
    const struct unix_client *u = self;

    return stream_linux_new(u->options, o, ret);
}

static struct client_call *unix_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg);

static const struct client_ops unix_ops = {
    .start = unix_start,
    .cancel = unix_cancel,
    .upgrade = unix_upgrade,
    .free = unix_free,
};

static struct client_call *unix_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg)
{
    struct unix_client *u = self;
    struct unix_call *call = mem_alloc(sizeof(*call));

    call->call.ops = &unix_ops;
    call->owner = u;
    call->loop = u->options->loop;
    call->where = mem_strdup(u->options->unix_socket);
    call->fd = -1;
    call->data = data;
    call->done = done;
    call->arg = arg;
    call->got.cap = BODY_MAX;
    call->answer.warnings.cap = WARNINGS_MAX;
    call->deadline = loop_timer_new(call->loop, on_deadline, call);
    call->later = loop_timer_new(call->loop, unix_on_later, call);
    LIST_ADD(u->calls, call);
    add_request(&call->out, r, u->options->token);
    if (r->timeout_ns >= 0)
        loop_timer_set(call->deadline, r->timeout_ns > 0 ? r->timeout_ns : TIMEOUT_DEFAULT_NS);
    call_connect(call);
    return &call->call;
}

struct client *unix_client_new(const struct client_options *o)
{
    struct unix_client *u = mem_alloc(sizeof(*u));

    u->client = (struct client){.ops = &unix_ops, .self = u};
    u->options = client_options_copy(o);
    return &u->client;
}
