/*
 * pinger.h - HTTP GETs, TCP connections and gRPC health checks for probes (pinger_linux.c: libcurl)
 *
 * A seam: tests use other ops. A ping ignores the environment (no proxy), does not check
 * certificates, and waits only for the head of the answer. A ping follows a redirect to the same
 * host; a redirect to another host is an answer.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"

struct ping;

struct ping_question {
    bool is_http;          /* GET; else only a connection, or: */
    const char *service;   /* gRPC's health check of this service; NULL: none */
    bool is_tls;           /* https */
    const char *host;      /* a name or an address, without brackets */
    int64_t port;          /* 1 to 65535 */
    const char *path;      /* "/healthz?full=1"; with is_http, as: */
    const json_t *headers; /* array of {name, value}; NULL: none */
    int64_t timeout_ns;
};

/*
 * The end of a ping, which is dead afterwards. `e`: no answer, or none in time; the message is one
 * line for display. `status` is the HTTP status, or 0 for a successful connection or health check.
 */
typedef void (*ping_done_fn)(void *arg, const struct err *e, int status);

struct ping_ops {
    /* Never fails; `done` reports errors later. */
    struct ping *(*start)(void *self, const struct ping_question *q, ping_done_fn done, void *arg);
    void (*cancel)(struct ping *p); /* no callback afterwards */
    void (*free)(void *self);       /* all pings have ended or were cancelled */
};

/* The first member of every ping. */
struct ping {
    const struct ping_ops *ops;
};

struct pinger {
    const struct ping_ops *ops;
    void *self;
};

struct err *pinger_new(struct loop *l, struct pinger **ret) MUST_CHECK;
void pinger_free(struct pinger *p); /* accepts NULL */
