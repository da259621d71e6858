/*
 * request.h - the seam between HTTP (http.c) and the API's logic: one request, and the ways to
 * answer it
 *
 * The logic gets a `struct exchange` and ends it exactly once: by a whole reply, by begin, pieces
 * and end, by a cut, or by taking the connection over. From then on, and once on_close was called,
 * the exchange is dead. Nothing is called back from inside an operation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"

enum {
    API_HEAD_MAX = 64 << 10,     /* request line and headers: 431 */
    API_BODY_MAX = 3 << 20,      /* 413 */
    API_BACKLOG_MAX = 256 << 10, /* a stream with more unsent bytes waits, or is cut */
};

struct http_header {
    const char *name; /* lower case */
    const char *value;
};

/* Who is at the other end, as far as the transport proves it. */
struct api_peer {
    bool is_unix;
    uint32_t uid;                   /* is_unix: SO_PEERCRED */
    const char *cert_user;          /* verified client certificate: its CN; NULL: none */
    const char *const *cert_groups; /* its Os */
    size_t n_cert_groups;
};

struct api_request {
    const char *method; /* HEAD comes as GET with is_head */
    const char *path;   /* still percent-encoded, begins with '/' */
    const char *query;  /* what stood after '?', or "" */
    bool is_head;
    const struct http_header *headers;
    size_t n_headers;
    struct str body;
    struct api_peer peer;
};

struct api_reply {
    int status;
    const char *content_type; /* NULL: application/json */
    struct str body;
    const json_t *warnings; /* array of texts, each a "Warning: 299"; may be NULL */
    const char *allow;      /* value of Allow; may be NULL */
    int retry_after_s;      /* 0: none */
};

/* A connection taken over. `close` and `finish` end it without on_close; after any of them the
 * channel is dead. */
struct channel;
struct channel_ops {
    void (*write)(struct channel *c, struct str bytes);
    size_t (*backlog)(const struct channel *c);
    /* While paused no data is read; an end of the connection still shows. */
    void (*pause)(struct channel *c, bool is_paused);
    /* As close, once what was written has gone out. */
    void (*finish)(struct channel *c);
    void (*close)(struct channel *c);
};

struct channel {
    const struct channel_ops *ops;
    /* Set by the logic right after the upgrade. */
    void (*on_data)(void *arg, struct str bytes);
    void (*on_drain)(void *arg); /* may be NULL */
    void (*on_close)(void *arg);
    void *arg;
};

/* The head of the answer that gives the connection over. */
struct upgrade {
    const char *protocol;
    const char *headers;  /* whole lines, each with its CRLF; NULL: none */
    bool may_stand_still; /* who reads nothing for a minute is not cut, but only after hours */
};

struct exchange;
struct exchange_ops {
    void (*reply)(struct exchange *x, const struct api_reply *r);
    /* The head of a stream (body of `r` is not looked at). The request is gone after it. */
    void (*begin)(struct exchange *x, const struct api_reply *r);
    void (*piece)(struct exchange *x, struct str piece);
    void (*end)(struct exchange *x);
    /* Ends the stream so that the client sees it is incomplete: the connection is closed. */
    void (*cut)(struct exchange *x);
    size_t (*backlog)(const struct exchange *x); /* bytes not yet taken by the kernel */
    struct channel *(*upgrade)(struct exchange *x, const struct upgrade *u);
};

struct exchange {
    const struct exchange_ops *ops;
    struct api_request request; /* valid until reply, begin or upgrade */
    /* Set by the logic when it does not end the exchange at once. Either may be NULL. */
    void (*on_close)(void *arg); /* the client went away */
    void (*on_drain)(void *arg); /* a stream's backlog was written */
    void *arg;
};

/* The value of a header by its lower-case name; NULL where it is absent. */
const char *request_header(const struct api_request *r, const char *name);

/* What http.c calls for each whole request. */
typedef void (*request_fn)(void *arg, struct exchange *x);
