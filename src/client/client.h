/*
 * client.h - requests to an API server, ours or a kube-apiserver (unix_linux.c: over a unix socket;
 * http_linux.c: to a URL, by libcurl's multi interface on the loop)
 *
 * The client is a seam: tests give other ops. Callbacks come from the loop, never from inside a
 * function of this header. A callback may make new calls, cancel any call and free the client.
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
    const char *unix_socket; /* NULL: use url */
    const char *url;         /* "https://127.0.0.1:7443"; "http://mete" with a socket */
    const char *ca_file, *cert_file, *key_file; /* PEM; NULL: none */
    const char *token;                          /* bearer; NULL: none */
    /* A file with the bearer token, which others replace in time: read for each request. NULL:
     * none. */
    const char *token_file;
    /* Accepts any certificate of the server: only to fetch what is verified by other means. */
    bool is_unverified;
    /* Of http_linux.c alone. */
    const char *ca_text; /* PEM, instead of ca_file; NULL: none */
    const char
        *connect_to; /* "host:port:address:port": where the URL's host is; NULL: by its name */
    size_t body_max; /* bytes of an answer; 0: 256 MiB */
};

struct client_request {
    const char *method;
    const char *path;         /* with query, already encoded */
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* NULL: application/json when there is a body */
    struct str body;
    int64_t timeout_ns;         /* 0: 30 s; -1: none (streams) */
    const char *const *headers; /* further lines "Name: value", NULL-terminated; NULL: none */
};

struct client_reply {
    int status; /* HTTP */
    struct str body;
    const char *warning; /* texts of Warning headers, one a line; NULL: none */
};

/* Ends a call. `e` if no reply came (ERR_UNAVAILABLE, ERR_TIMEOUT), else `reply`. Both borrowed. */
typedef void (*client_done_fn)(void *arg, const struct err *e, const struct client_reply *reply);
/* Gives a piece of a stream whose status is 200. */
typedef void (*client_data_fn)(void *arg, struct str piece);

/* A call in progress: the first member of each implementation's call. The call lives until its
 * `done` or its cancel. */
struct client_call {
    const struct client_ops *ops;
};

struct client_ops {
    /* `data` is NULL for a plain request. Never fails: `done` gets all errors, later. */
    struct client_call *(*start)(void *self, const struct client_request *r, client_data_fn data,
                                 client_done_fn done, void *arg);
    void (*cancel)(struct client_call *call);
    struct err *(*upgrade)(void *self, const struct stream_options *o, struct stream **ret);
    void (*free)(void *self);
};

/* Copies the options and their texts; sets a default url. */
struct client_options *client_options_copy(const struct client_options *o);
void client_options_free(struct client_options *o); /* accepts NULL */
/* The bearer token of now; `*ret` NULL: there is none. The caller frees it. ERR_UNAVAILABLE: the
 * file cannot be read. */
struct err *client_token(const struct client_options *o, char **ret) MUST_CHECK;

struct client {
    const struct client_ops *ops;
    void *self;
};

/* Copies the options. An unusable certificate file makes requests fail with ERR_UNAVAILABLE. */
struct err *client_new(const struct client_options *o, struct client **ret) MUST_CHECK;
void client_free(struct client *c); /* accepts NULL; open calls end without their callbacks */
static inline void client_freep(struct client **c)
{
    client_free(*c);
}

/* `done` is called once. `*ret_call` (may be NULL) is dead after it. */
void client_send(struct client *c, const struct client_request *r, client_done_fn done, void *arg,
                 struct client_call **ret_call);
/* With status 200 `data` gets the body in pieces as they arrive; with other statuses `done` gets
 * the body. */
void client_stream(struct client *c, const struct client_request *r, client_data_fn data,
                   client_done_fn done, void *arg, struct client_call **ret_call);
void client_cancel(struct client_call *call); /* no callback after it */

/* Opens a duplex connection to the same server, see stream.h. */
struct err *client_upgrade(struct client *c, const struct stream_options *o,
                           struct stream **ret) MUST_CHECK;

/* Makes an error from the Status body of a failed reply, with its code and message; never NULL. A
 * refusal by a ResourceQuota is ERR_OVER_QUOTA. */
struct err *client_reply_error(const struct client_reply *reply) MUST_CHECK;

/* The error of a call, as a new error: of the transport, or of a reply whose status is not 2xx.
 * NULL: success. */
struct err *client_error(const struct err *e, const struct client_reply *reply) MUST_CHECK;

/* Adds `text` percent-encoded for a path segment or a query value. */
void client_add_escaped(struct buf *b, struct str text);
