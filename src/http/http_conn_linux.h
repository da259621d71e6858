/* http_conn_linux.h - a connection of the server: state, replies, end. For http.c */
#pragma once

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "http/http.h"
#include "http/http_head.h"
#include "http/http_listen_linux.h"
#include "http/http_reply.h"
#include "http/request.h"
#include "http/tls.h"

enum {
    IDLE_S = 180, /* between two requests */
};

enum conn_state {
    CONN_HEAD,     /* waits for a request's head, or reads it */
    CONN_BODY,     /* reads a body */
    CONN_BUSY,     /* the logic has the request */
    CONN_STREAM,   /* the logic writes pieces */
    CONN_UPGRADED, /* the logic has the connection */
    CONN_LINGER,   /* the last reply is written; drops further input */
    CONN_DEAD,     /* freed by `resume` */
};

struct http_server;

/* A listening socket of the server, and who answers there. */
struct door {
    struct http_server *server;
    struct listener *listener; /* NULL: none */
    request_fn handle;
    void *arg;
    bool is_unix;
    bool is_anonymous; /* certificates of clients are not read */
};

/* A request that is being read or answered. */
struct request {
    struct http_head head;
    struct http_chunks chunks;
    struct buf body;
    char *text;
};

struct conn {
    struct exchange exchange;
    struct channel channel;
    struct http_server *server;
    const struct door *door;
    struct listener *listener;
    struct bufferevent *bev;
    struct event *deadline;
    struct event *resume;
    struct event *hangup; /* NULL: never paused */
    struct request *request;
    struct tls_peer peer;
    enum conn_state state;
    struct listener_peer from;
    bool is_peer_read;
    bool is_local;        /* the transport speaks for the uid of `from` (upgrade.is_local) */
    uint64_t opened_with; /* is_local: the credential of the transport */
    bool is_paused;       /* CONN_UPGRADED: the logic paused the input */
    bool is_advancing;    /* conn_advance is on the stack */
    bool has_deadline;    /* the present head has a deadline */
    struct reply_form form;
    size_t scanned; /* leading bytes of the input without the head's end */
    size_t held;    /* this connection's part of server->held */
    struct conn *prev, *next;
};

struct http_server {
    struct event_base *base;
    struct door doors[HTTP_DOORS_MAX + 3]; /* the unix socket, the API's two, then the others */
    size_t n_doors;
    struct conn *conns;
    size_t held; /* bytes of all bodies */
};

struct evbuffer *conn_input(const struct conn *c);
struct evbuffer *conn_output(const struct conn *c);
void conn_set_deadline(struct conn *c, int seconds);
void conn_write(struct conn *c, struct str bytes);

/* Ends a connection from its own events; calls on_close. */
void conn_free(struct conn *c);

/* Ends a connection from the logic: no further callbacks; the loop frees it in its next turn. */
void conn_kill(struct conn *c);

/* After the last byte is with the kernel: signals the end to the client. */
void conn_flushed(struct conn *c);

/* Answers a request that does not reach the logic, and ends the connection. Returns false, for
 * `return`. */
bool conn_refuse(struct conn *c, int http, const char *reason, const char *message);
bool conn_refuse_error(struct conn *c, struct err *taken);

extern const struct exchange_ops conn_exchange_ops;
extern const struct channel_ops conn_channel_ops;
