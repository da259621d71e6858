/*
 * grpc_conn_linux.h - an HTTP/2 connection over a socket: nghttp2 computes, this reads and writes
 *
 * nghttp2 has no I/O of its own: bytes go in by nghttp2_session_mem_recv and come out by
 * nghttp2_session_mem_send. https://nghttp2.org/documentation
 */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/loop.h"
#include "base/str.h"

struct grpc_conn {
    struct loop *loop;
    struct loop_io *io;
    struct loop_timer *timer; /* tells the end in a later turn */
    int fd;
    nghttp2_session *session;
    struct buf out; /* what the socket has not taken yet */
    bool is_busy;   /* in nghttp2_session_mem_recv */
    bool is_ended;
    struct err *failure;
    /* The connection has ended: free it. In a turn of its own, once. `e` is borrowed; NULL: the
     * peer or the session closed it. */
    void (*on_end)(void *arg, const struct err *e);
    void *arg;
};

/* Takes `fd` and `session`. */
void grpc_conn_init(struct grpc_conn *c, struct loop *loop, int fd, nghttp2_session *session);
void grpc_conn_done(struct grpc_conn *c);

/* Sends what the session has to send. */
void grpc_conn_flush(struct grpc_conn *c);

/* Ends the connection in the next turn; takes `e`. */
void grpc_conn_fail(struct grpc_conn *c, struct err *e);

/* A header of which nghttp2 copies name and value. */
nghttp2_nv grpc_header(const char *name, const char *value);
