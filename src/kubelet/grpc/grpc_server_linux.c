/* grpc_server_linux.c - a gRPC server on a unix socket, by nghttp2 */

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/unix_linux.h"
#include "kubelet/grpc/grpc_conn_linux.h"
#include "kubelet/grpc/grpc_server.h"
#include "kubelet/grpc/grpc_text.h"

enum {
    PATH_SIZE = 128,
    CONNS_MAX = 64,
    STREAMS_MAX = 64 /* of a connection */
};

struct grpc_call {
    struct grpc_call *prev;
    struct grpc_call *next;
    struct grpc_peer *peer;
    int32_t stream;
    char path[PATH_SIZE];
    struct buf in;
    struct buf out;     /* framed messages that nghttp2 has not taken */
    struct err *status; /* of the end */
    bool has_path;
    bool has_started;  /* the method has the call */
    bool has_answered; /* headers were submitted */
    bool is_ended;
    void (*on_gone)(void *arg, struct grpc_call *c);
    void *arg;
};

/* A connection. */
struct grpc_peer {
    struct grpc_peer *prev;
    struct grpc_peer *next;
    struct grpc_server *server;
    struct grpc_conn conn;
    struct grpc_call *calls;
};

struct grpc_server {
    struct loop *loop;
    char *path;
    int fd;
    ino_t inode;
    struct loop_io *io;
    struct grpc_method *methods;
    size_t n_methods;
    void *arg;
    struct grpc_peer *peers;
    size_t n_peers;
    nghttp2_session_callbacks *callbacks;
};

/* ---- calls ---- */

static void grpc_call_free(struct grpc_call *c)
{
    LIST_REMOVE(c->peer->calls, c);
    buf_done(&c->in);
    buf_done(&c->out);
    err_free(c->status);
    free(c);
}

/* The stream has closed. */
static void grpc_call_close(struct grpc_call *c)
{
    if (c->has_started && !c->is_ended && c->on_gone)
        c->on_gone(c->arg, c);
    grpc_call_free(c);
}

/* Submits the trailers, or, before any header, all headers in one. */
static void call_submit_end(struct grpc_call *c)
{
    char status[16];
    AUTO(buf_done) struct buf text = {.cap = 4096};
    nghttp2_nv headers[4];
    size_t n = 0;
    int code = 0;

    if (!c->has_answered) {
        headers[n++] = grpc_header(":status", "200");
        headers[n++] = grpc_header("content-type", "application/grpc");
    }
    if (c->status)
        grpc_escape(&text, err_message(c->status));
    (void)snprintf(status, sizeof(status), "%d", c->status ? err_grpc(c->status) : 0);
    headers[n++] = grpc_header("grpc-status", status);
    if (text.size > 0)
        headers[n++] = grpc_header("grpc-message", text.at);
    code = c->has_answered
               ? nghttp2_submit_trailer(c->peer->conn.session, c->stream, headers, n)
               : nghttp2_submit_response(c->peer->conn.session, c->stream, headers, n, NULL);
    c->has_answered = true;
    if (code != 0)
        grpc_conn_fail(&c->peer->conn, err_new(ERR_INTERNAL, "HTTP/2: %s", nghttp2_strerror(code)));
}

/* NOLINTNEXTLINE(readability-function-size): a type of nghttp2 */
static ssize_t on_call_data(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t size,
                            uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct grpc_call *c = source->ptr;
    size_t n = c->out.size < size ? c->out.size : size;

    (void)session;
    (void)stream;
    (void)arg;
    if (n == 0 && !c->is_ended)
        return NGHTTP2_ERR_DEFERRED;
    if (n > 0) {
        memcpy(bytes, c->out.at, n);
        buf_consume(&c->out, n);
    }
    if (c->is_ended && c->out.size == 0) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        call_submit_end(c);
    }
    return (ssize_t)n;
}

void grpc_call_send(struct grpc_call *c, struct str message)
{
    const nghttp2_nv headers[] = {grpc_header(":status", "200"),
                                  grpc_header("content-type", "application/grpc")};
    const nghttp2_data_provider data = {.source = {.ptr = c}, .read_callback = on_call_data};
    nghttp2_session *session = c->peer->conn.session;
    int code;

    grpc_message_format(&c->out, message);
    code = c->has_answered
               ? nghttp2_session_resume_data(session, c->stream)
               : nghttp2_submit_response(session, c->stream, headers, COUNT(headers), &data);
    if (code == NGHTTP2_ERR_INVALID_ARGUMENT && c->has_answered)
        code = 0; /* the data was not deferred: nghttp2 asks for it by itself */
    c->has_answered = true;
    if (code != 0 || c->out.overflow)
        grpc_conn_fail(&c->peer->conn,
                       err_new(ERR_INTERNAL,
                               "gRPC answer of stream %d cannot be "
                               "sent: %s",
                               c->stream,
                               code ? nghttp2_strerror(code) : "the client does not read"));
    grpc_conn_flush(&c->peer->conn);
}

void grpc_call_end(struct grpc_call *c, struct err *e)
{
    struct grpc_conn *conn = &c->peer->conn;

    c->is_ended = true;
    c->status = e;
    if (!c->has_answered)
        call_submit_end(c);
    else
        (void)nghttp2_session_resume_data(conn->session, c->stream); /* fails if not deferred */
    grpc_conn_flush(conn);
}

void grpc_call_on_gone(struct grpc_call *c, void (*fn)(void *arg, struct grpc_call *c), void *arg)
{
    c->on_gone = fn;
    c->arg = arg;
}

/* ---- HTTP/2 ---- */

static struct grpc_call *call_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct grpc_peer *p = arg;
    struct grpc_call *c;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    c = mem_alloc(sizeof(*c));
    *c = (struct grpc_call){.peer = p,
                            .stream = frame->hd.stream_id,
                            .in = {.cap = GRPC_MESSAGE_MAX + GRPC_HEAD_SIZE},
                            .out = {.cap = 2 * (size_t)GRPC_MESSAGE_MAX}};
    LIST_ADD(p->calls, c);
    return nghttp2_session_set_stream_user_data(session, c->stream, c);
}

/* NOLINTNEXTLINE(readability-function-size): a type of nghttp2 */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *arg)
{
    struct grpc_call *c = call_of(session, frame->hd.stream_id);

    (void)flags;
    (void)arg;
    if (!c || !str_equal((struct str){.at = (const char *)name, .size = name_size}, STR(":path")) ||
        value_size >= sizeof(c->path))
        return 0;
    memcpy(c->path, value, value_size);
    c->has_path = true;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t size, void *arg)
{
    struct grpc_call *c = call_of(session, stream);

    (void)flags;
    (void)arg;
    if (c && !c->is_ended)
        buf_add(&c->in, bytes, size);
    return 0;
}

static const struct grpc_method *method_find(const struct grpc_server *s, const char *path)
{
    for (size_t i = 0; i < s->n_methods; i++)
        if (text_equal(s->methods[i].path, path))
            return &s->methods[i];
    return NULL;
}

static void call_refuse(struct grpc_call *c, struct err *e)
{
    c->has_started = true;
    grpc_call_end(c, e);
}

/* The whole request is there. */
static void call_begin(struct grpc_call *c)
{
    struct grpc_server *s = c->peer->server;
    const struct grpc_method *m = c->has_path ? method_find(s, c->path) : NULL;
    struct str message = {0};
    size_t size = 0;
    struct err *e = NULL;

    if (!m) {
        call_refuse(c, err_new(ERR_UNIMPLEMENTED, "unknown method %s", c->path));
        return;
    }
    if (c->in.overflow)
        e = err_new(ERR_TOO_LARGE, "request: want at most %d bytes", GRPC_MESSAGE_MAX);
    else
        e = grpc_message_parse((struct str){.at = c->in.at, .size = c->in.size}, GRPC_MESSAGE_MAX,
                               &message, &size);
    if (!e && (size == 0 || size != c->in.size))
        e = err_new(ERR_INVALID, "request: want one message");
    if (e) {
        call_refuse(c, e);
        return;
    }
    c->has_started = true;
    m->fn(s->arg, c, message);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct grpc_call *c = NULL;

    (void)arg;
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    c = call_of(session, frame->hd.stream_id);
    if (c && !c->has_started && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        call_begin(c);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *arg)
{
    struct grpc_call *c = call_of(session, stream);

    (void)code;
    (void)arg;
    if (c)
        grpc_call_close(c);
    return 0;
}

/* ---- connections ---- */

static void peer_free(struct grpc_peer *p)
{
    while (p->calls)
        grpc_call_close(p->calls); /* NOLINT(clang-analyzer-unix.Malloc): utlist */
    LIST_REMOVE(p->server->peers, p);
    p->server->n_peers--;
    grpc_conn_done(&p->conn);
    free(p);
}

static void on_peer_end(void *arg, const struct err *e)
{
    if (e)
        LOG(DEBUG, "gRPC connection ended", E(e));
    peer_free(arg);
}

static struct err *peer_new(struct grpc_server *s, int *fd)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX}};
    nghttp2_session *session = NULL;
    struct grpc_peer *p = mem_alloc(sizeof(*p));

    if (nghttp2_session_server_new(&session, s->callbacks, p) != 0 ||
        nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, COUNT(settings)) != 0) {
        nghttp2_session_del(session);
        free(p);
        return err_new(ERR_INTERNAL, "HTTP/2 session cannot be made");
    }
    *p = (struct grpc_peer){.server = s, .conn = {.on_end = on_peer_end, .arg = p}};
    grpc_conn_init(&p->conn, s->loop, fd_take(fd), session);
    LIST_ADD(s->peers, p);
    s->n_peers++;
    grpc_conn_flush(&p->conn);
    return NULL;
}

static void on_accept(void *arg, int listener, bool readable, bool writable)
{
    struct grpc_server *s = arg;
    AUTO(fd_closep) int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    AUTO(err_freep) struct err *e = NULL;

    (void)readable;
    (void)writable;
    if (fd < 0)
        return; /* the client has gone, or there are no descriptors: it tries again */
    if (s->n_peers >= CONNS_MAX)
        return;
    e = peer_new(s, &fd);
    if (e)
        LOG(WARN, "gRPC connection refused", E(e));
}

static nghttp2_session_callbacks *callbacks_new(void)
{
    nghttp2_session_callbacks *c = NULL;

    if (nghttp2_session_callbacks_new(&c) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
    return c;
}

/* ---- the socket ---- */

static struct err *socket_listen(const char *path, int *ret)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO(fd_closep) int fd = -1;

    if (strlen(path) >= sizeof(address.sun_path))
        return err_new(ERR_INVALID, "%s: want a path of at most %zu bytes for a unix socket", path,
                       sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(errno, "make a socket");
    if (unlink(path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, SOMAXCONN) < 0)
        return err_errno(errno, "listen on %s", path);
    *ret = fd_take(&fd);
    return NULL;
}

/* 0: there is no file. */
static ino_t inode_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_ino : 0;
}

bool grpc_server_is_there(const struct grpc_server *s)
{
    return s->inode != 0 && inode_of(s->path) == s->inode;
}

bool grpc_server_answers(const char *path)
{
    AUTO(fd_closep) int fd = -1;
    AUTO(err_freep) struct err *e = unix_connect(path, &fd);

    return !e;
}

struct err *grpc_server_new(const struct grpc_server_options *o, struct grpc_server **ret)
{
    struct grpc_server *s = NULL;
    int fd = -1;

    TRY(socket_listen(o->socket, &fd));
    s = mem_alloc(sizeof(*s));
    *s = (struct grpc_server){
        .loop = o->loop,
        .path = mem_strdup(o->socket),
        .fd = fd,
        .inode = inode_of(o->socket),
        .methods = mem_dup(o->methods, o->n_methods * sizeof(*o->methods)),
        .n_methods = o->n_methods,
        .arg = o->arg,
        .callbacks = callbacks_new(),
    };
    s->io = loop_io_new(o->loop, fd, on_accept, s);
    loop_io_want(s->io, true, false);
    if (!s->callbacks) {
        grpc_server_free(s);
        return err_new(ERR_INTERNAL, "HTTP/2 callbacks cannot be made");
    }
    *ret = s;
    return NULL;
}

void grpc_server_free(struct grpc_server *s)
{
    if (!s)
        return;
    while (s->peers)
        peer_free(s->peers); /* NOLINT(clang-analyzer-unix.Malloc): utlist */
    if (grpc_server_is_there(s))
        (void)unlink(s->path); /* another one may have removed it by now */
    loop_io_free(s->io);
    fd_close(s->fd);
    nghttp2_session_callbacks_del(s->callbacks);
    free(s->methods);
    free(s->path);
    free(s);
}
