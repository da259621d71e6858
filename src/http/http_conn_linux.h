/* http_conn_linux.h - one connection of the server: what it is, how it answers and how it ends. For
 * http.c */
#pragma once

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "http/http_head.h"
#include "http/http_listen_linux.h"
#include "http/http_reply.h"
#include "http/request.h"
#include "http/tls.h"

enum {
    IDLE_S = 180, /* between two requests */
};

enum conn_state {
    CONN_HEAD,     /* waits for or reads a request's head */
    CONN_BODY,     /* reads its body */
    CONN_BUSY,     /* the logic has the request */
    CONN_STREAM,   /* the logic writes pieces */
    CONN_UPGRADED, /* the logic has the connection */
    CONN_LINGER,   /* the last reply is written, the rest of the input dropped */
    CONN_DEAD,     /* `resume` frees it */
};

struct http_server;

/* What is kept while a request is read or answered. */
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
    struct listener *listener;
    struct bufferevent *bev;
    struct event *deadline;
    struct event *resume;
    struct event *hangup; /* NULL: never paused */
    struct request *request;
    struct tls_peer peer;
    enum conn_state state;
    uint32_t uid;
    bool is_peer_read;
    bool is_paused;    /* CONN_UPGRADED: the logic takes no input now */
    bool is_advancing; /* conn_advance is on the stack */
    bool has_deadline; /* of the head that is being read */
    struct reply_form form;
    size_t scanned; /* bytes of the input known not to hold the head's end */
    size_t held;    /* what this connection counts in server->held */
    struct conn *prev, *next;
};

struct http_server {
    struct event_base *base;
    request_fn handle;
    void *arg;
    struct listener *unix_door; /* NULL: none */
    struct listener *tls_door;
    struct conn *conns;
    size_t held; /* bytes of bodies */
};

struct evbuffer *conn_input(const struct conn *c);
struct evbuffer *conn_output(const struct conn *c);
void conn_set_deadline(struct conn *c, int seconds);
void conn_write(struct conn *c, struct str bytes);

/* From the connection's own events: tells whoever waits for its end. */
void conn_free(struct conn *c);

/* From elsewhere: nothing is called back any more, the memory goes when the loop comes round. */
void conn_kill(struct conn *c);

/* Everything written is with the kernel: the client is told that nothing follows. */
void conn_flushed(struct conn *c);

/* Answers what never reaches the logic; the connection ends after it. False, for `return`. */
bool conn_refuse(struct conn *c, int http, const char *reason, const char *message);
bool conn_refuse_error(struct conn *c, struct err *taken);

extern const struct exchange_ops conn_exchange_ops;
extern const struct channel_ops conn_channel_ops;
