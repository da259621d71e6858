/*
 * pinger.h - asks a port whether somebody is well: a GET, or a connection (pinger_linux.c: libcurl)
 *
 * As a seam: tests give other ops. Nothing of the environment counts (no proxy), certificates are
 * not checked, of the answer only its head is waited for. A redirect to the same host is followed,
 * one to another is an answer.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"

struct ping;

struct ping_question {
    bool is_http;          /* else a connection is enough */
    bool is_tls;           /* https */
    const char *host;      /* a name or an address, without brackets */
    int64_t port;          /* 1 to 65535 */
    const char *path;      /* "/healthz?full=1"; of HTTP, as the others */
    const json_t *headers; /* array of {name, value}; NULL: none */
    int64_t timeout_ns;
};

/*
 * The end of a ping, which is dead after it. `e`: no answer in time, or none at all: for people, in
 * one line. `status` is HTTP's, 0 for a connection that was made.
 */
typedef void (*ping_done_fn)(void *arg, const struct err *e, int status);

struct ping_ops {
    /* Never fails here: what goes wrong is told to `done`, later. */
    struct ping *(*start)(void *self, const struct ping_question *q, ping_done_fn done, void *arg);
    void (*cancel)(struct ping *p); /* no callback after it */
    void (*free)(void *self);       /* all pings have ended or were cancelled */
};

/* What every ping begins with. */
struct ping {
    const struct ping_ops *ops;
};

struct pinger {
    const struct ping_ops *ops;
    void *self;
};

struct err *pinger_new(struct loop *l, struct pinger **ret) MUST_CHECK;
void pinger_free(struct pinger *p); /* accepts NULL */
