/*
 * request.h - the seam between the HTTP server and the API's logic: a request, and the ways to
 * answer
 *
 * The logic gets a `struct exchange` and ends it exactly once: by a whole reply, by begin, pieces
 * and end, by a cut, or by an upgrade of the connection. The exchange is dead after its end, and
 * after on_close. Operations call no callbacks.
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
    API_BACKLOG_MAX = 256 << 10, /* a stream whose backlog is larger waits, or is cut */
};

struct http_header {
    const char *name; /* lower case */
    const char *value;
};

/* The client's identity, as far as the transport proves it. */
struct api_peer {
    bool is_unix;
    uint32_t uid;                   /* is_unix: SO_PEERCRED */
    const char *address;            /* "10.0.0.7:51234"; NULL: a unix socket, or unknown */
    const char *page;               /* through the web page: the browser's address; NULL: no */
    const char *cert_user;          /* CN of the verified client certificate; NULL: none */
    const char *const *cert_groups; /* the certificate's Os */
    size_t n_cert_groups;
    const char *cert_issuer; /* CN of the authority that signed it */
};

struct api_request {
    const char *method; /* HEAD is GET with is_head */
    const char *path;   /* percent-encoded, begins with '/' */
    const char *query;  /* the text after '?', or "" */
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
    const char *cache;      /* value of Cache-Control; NULL: "no-cache, private" */
    const char *headers;    /* further header lines, each with CRLF; NULL: none */
    bool is_foreign;        /* of `begin`: another server's answer, with no headers but `headers` */
    bool has_length;        /* is_foreign: its Content-Length or status tells where it ends */
};

/* An upgraded connection. `close` and `finish` end it without on_close; after each of the three the
 * channel is dead. */
struct channel;
struct channel_ops {
    void (*write)(struct channel *c, struct str bytes);
    size_t (*backlog)(const struct channel *c);
    /* A paused channel reads no data, but still notices the end of the connection. */
    void (*pause)(struct channel *c, bool is_paused);
    /* Closes after all written bytes are sent. */
    void (*finish)(struct channel *c);
    void (*close)(struct channel *c);
};

struct channel {
    const struct channel_ops *ops;
    /* The logic sets these right after the upgrade. */
    void (*on_data)(void *arg, struct str bytes);
    void (*on_drain)(void *arg); /* may be NULL */
    void (*on_close)(void *arg);
    void *arg;
};

/* The head of the answer 101. */
struct upgrade {
    const char *protocol;
    const char *headers;  /* header lines, each with CRLF; NULL: none */
    bool may_stand_still; /* cut a client that reads nothing only after hours, not after a minute */
    /* The connection goes on with requests, as one of the unix socket by this uid. It ends with the
     * credential that it has now (http_server_cut). */
    bool is_local;
    uint32_t uid;
};

struct exchange;
struct exchange_ops {
    void (*reply)(struct exchange *x, const struct api_reply *r);
    /* Sends the head of a stream; ignores the body of `r`. Frees the request. */
    void (*begin)(struct exchange *x, const struct api_reply *r);
    void (*piece)(struct exchange *x, struct str piece);
    void (*end)(struct exchange *x);
    /* Closes the connection, so that the client sees an incomplete stream. */
    void (*cut)(struct exchange *x);
    size_t (*backlog)(const struct exchange *x); /* bytes that are not with the kernel yet */
    /* NULL with is_local. */
    struct channel *(*upgrade)(struct exchange *x, const struct upgrade *u);
};

struct exchange {
    const struct exchange_ops *ops;
    struct api_request request; /* valid until reply, begin or upgrade */
    /* The logic sets these if it does not end the exchange at once. Both callbacks may be NULL. */
    void (*on_close)(void *arg); /* the client went away */
    void (*on_drain)(void *arg); /* a stream's backlog was written */
    void *arg;
    uint64_t credentials[2]; /* set by the logic, for http_server_cut; 0: none */
};

/* The value of a header by its lower-case name; NULL: absent. */
const char *request_header(const struct api_request *r, const char *name);

/* The server calls it for each complete request. */
typedef void (*request_fn)(void *arg, struct exchange *x);
