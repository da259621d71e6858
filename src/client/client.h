/*
 * client.h - requests to an API server, ours or a kube-apiserver (unix_linux.c: over a unix socket;
 * http_linux.c: to a URL, by libcurl's multi interface on the loop)
 *
 * As a seam: tests give other ops. Callbacks come from the loop, never from inside a call. A
 * callback may make new calls, cancel any and free the client.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/str.h"

struct client;
struct stream;
struct stream_options;

struct client_options {
    struct loop *loop;
    const char *unix_socket; /* NULL: by url */
    const char *url;         /* "https://127.0.0.1:7443"; "http://mete" with a socket */
    const char *ca_file, *cert_file, *key_file; /* PEM; NULL: none */
    const char *token;                          /* bearer; NULL: none */
};

struct client_request {
    const char *method;
    const char *path;         /* with query, already encoded */
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* NULL: application/json when there is a body */
    struct str body;
    int64_t timeout_ns; /* 0: 30 s; -1: none (streams) */
};

struct client_reply {
    int status; /* HTTP */
    struct str body;
    const char *warning; /* texts of Warning headers, one a line; NULL: none */
};

/* `e` when no reply came (ERR_UNAVAILABLE, ERR_TIMEOUT), else `reply`. Borrowed. */
typedef void (*client_done_fn)(void *arg, const struct err *e, const struct client_reply *reply);
/* A piece of a stream that answers 200. */
typedef void (*client_data_fn)(void *arg, struct str piece);

/* What a client is made of. A call begins with a struct client_call and lives until its `done`, or
 * its cancel. */
struct client_call {
    const struct client_ops *ops;
};

struct client_ops {
    /* `data` is NULL for a plain request. Never fails here: what goes wrong is told to `done`,
     * later. */
    struct client_call *(*start)(void *self, const struct client_request *r, client_data_fn data,
                                 client_done_fn done, void *arg);
    void (*cancel)(struct client_call *call);
    struct err *(*upgrade)(void *self, const struct stream_options *o, struct stream **ret);
    void (*free)(void *self);
};

/* An own copy of what `o` points to; the url has a value. */
struct client_options *client_options_copy(const struct client_options *o);
void client_options_free(struct client_options *o); /* accepts NULL */

struct client {
    const struct client_ops *ops;
    void *self;
};

/* The options are copied; a certificate file that cannot be used shows at the first request, as
 * ERR_UNAVAILABLE. */
struct err *client_new(const struct client_options *o, struct client **ret) MUST_CHECK;
void client_free(struct client *c); /* accepts NULL; open calls end without their callbacks */
static inline void client_freep(struct client **c)
{
    client_free(*c);
}

/* `done` is called once. `*ret_call` (may be NULL) is dead after it. */
void client_send(struct client *c, const struct client_request *r, client_done_fn done, void *arg,
                 struct client_call **ret_call);
/* The body comes in pieces as it arrives while the status is 200; other bodies go to `done`. */
void client_stream(struct client *c, const struct client_request *r, client_data_fn data,
                   client_done_fn done, void *arg, struct client_call **ret_call);
void client_cancel(struct client_call *call); /* no callback after it */

/* Opens a duplex connection to the same server, see stream.h. */
struct err *client_upgrade(struct client *c, const struct stream_options *o,
                           struct stream **ret) MUST_CHECK;

/* Turns a Status body of a failed reply into an error with its code and message; never NULL. */
struct err *client_reply_error(const struct client_reply *reply) MUST_CHECK;

/* "error" of a call, or of its reply where the status is not 2xx, or NULL. A new error. */
struct err *client_error(const struct err *e, const struct client_reply *reply) MUST_CHECK;

/* Adds `text` percent-encoded, as a path segment or a query value wants it. */
void client_add_escaped(struct buf *b, struct str text);
