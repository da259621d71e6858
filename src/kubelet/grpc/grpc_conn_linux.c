/* grpc_conn_linux.c - an HTTP/2 connection over a socket */

#include "kubelet/grpc/grpc_conn_linux.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

enum {
    PIECE_SIZE = 16384,
    PIECES_AT_ONCE = 16,
    OUT_MAX = 8 << 20 /* a peer that reads nothing */
};

static void on_conn_timer(void *arg)
{
    struct grpc_conn *c = arg;

    c->on_end(c->arg, c->failure);
}

void grpc_conn_fail(struct grpc_conn *c, struct err *e)
{
    if (c->is_ended) {
        err_free(e);
        return;
    }
    c->is_ended = true;
    c->failure = e;
    loop_io_want(c->io, false, false);
    loop_timer_set(c->timer, 0);
}

/* Writes `out`. False: the socket takes no more, or has failed. */
static bool conn_write(struct grpc_conn *c)
{
    while (c->out.size > 0) {
        ssize_t n = send(c->fd, c->out.at, c->out.size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (errno != EAGAIN)
                grpc_conn_fail(c, err_errno(errno, "write to the gRPC peer"));
            return false;
        }
        buf_consume(&c->out, (size_t)n);
    }
    return true;
}

void grpc_conn_flush(struct grpc_conn *c)
{
    const uint8_t *bytes = NULL;
    ssize_t n = 0;

    if (c->is_busy || c->is_ended)
        return;
    while (conn_write(c) && (n = nghttp2_session_mem_send(c->session, &bytes)) > 0)
        buf_add(&c->out, bytes, (size_t)n);
    if (c->is_ended)
        return;
    if (n < 0 || c->out.overflow) {
        grpc_conn_fail(c, err_new(ERR_INTERNAL, "HTTP/2: %s", nghttp2_strerror((int)n)));
        return;
    }
    if (c->out.size == 0 && !nghttp2_session_want_read(c->session) &&
        !nghttp2_session_want_write(c->session)) {
        grpc_conn_fail(c, NULL);
        return;
    }
    loop_io_want(c->io, true, c->out.size > 0);
}

/* False: the connection has ended, or there is nothing to read. */
static bool conn_read(struct grpc_conn *c)
{
    uint8_t bytes[PIECE_SIZE];
    ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);
    ssize_t taken;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0) {
        grpc_conn_fail(c, err_errno(errno, "read from the gRPC peer"));
        return false;
    }
    if (n == 0) {
        grpc_conn_fail(c, NULL);
        return false;
    }
    c->is_busy = true;
    taken = nghttp2_session_mem_recv(c->session, bytes, (size_t)n);
    c->is_busy = false;
    if (taken < 0)
        grpc_conn_fail(c, err_new(ERR_BAD_REQUEST, "HTTP/2: %s", nghttp2_strerror((int)taken)));
    return taken >= 0;
}

static void on_conn_io(void *arg, int fd, bool readable, bool writable)
{
    struct grpc_conn *c = arg;

    (void)fd;
    (void)writable;
    for (int i = 0; readable && i < PIECES_AT_ONCE && !c->is_ended; i++)
        readable = conn_read(c);
    grpc_conn_flush(c);
}

void grpc_conn_init(struct grpc_conn *c, struct loop *loop, int fd, nghttp2_session *session)
{
    c->loop = loop;
    c->fd = fd;
    c->session = session;
    c->out.cap = OUT_MAX;
    c->io = loop_io_new(loop, fd, on_conn_io, c);
    c->timer = loop_timer_new(loop, on_conn_timer, c);
    loop_io_want(c->io, true, false);
}

void grpc_conn_done(struct grpc_conn *c)
{
    loop_timer_free(c->timer);
    loop_io_free(c->io);
    nghttp2_session_del(c->session);
    fd_close(c->fd);
    buf_done(&c->out);
    err_free(c->failure);
    *c = (struct grpc_conn){.fd = -1};
}

nghttp2_nv grpc_header(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}
