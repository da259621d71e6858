/*
 * client.h - requests to an API server, ours or a kube-apiserver (http_linux.c: libcurl's multi interface on the loop)
 *
 * As a seam: tests give other ops. Callbacks come from the loop, never from inside a call.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/str.h"

struct client;
struct client_call;

struct client_options {
    struct loop *loop;
    const char *unix_socket; /* NULL: by url */
    const char *url;         /* "https://127.0.0.1:7443"; "http://mete" with a socket */
    const char *ca_file, *cert_file, *key_file; /* PEM; NULL: none */
    const char *token;       /* bearer; NULL: none */
};

struct client_request {
    const char *method;
    const char *path;         /* with query, already encoded */
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* NULL: application/json when there is a body */
    struct str body;
    int64_t timeout_ns;       /* 0: 30 s; -1: none (streams) */
};

struct client_reply {
    int status;      /* HTTP */
    struct str body;
    const char *warning; /* texts of Warning headers, one a line; NULL: none */
};

/* `e` when no reply came (ERR_UNAVAILABLE, ERR_TIMEOUT), else `reply`. Borrowed. */
typedef void (*client_done_fn)(void *arg, const struct err *e, const struct client_reply *reply);
/* A piece of a stream that answers 200. */
typedef void (*client_data_fn)(void *arg, struct str piece);

struct err *client_new(const struct client_options *o, struct client **ret) MUST_CHECK;
void client_free(struct client *c); /* open calls end without their callbacks */

/* `done` is called once. `*ret_call` (may be NULL) is dead after it. */
void client_send(struct client *c, const struct client_request *r, client_done_fn done, void *arg,
                 struct client_call **ret_call);
/* The body comes in pieces as it arrives while the status is 200; other bodies go to `done`. */
void client_stream(struct client *c, const struct client_request *r, client_data_fn data, client_done_fn done, void *arg,
                   struct client_call **ret_call);
void client_cancel(struct client_call *call); /* no callback after it */

/* Turns a Status body of a failed reply into an error with its code and message. */
struct err *client_reply_error(const struct client_reply *reply);
