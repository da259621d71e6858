/* fake_pinger.h - fake ports, whose answers the test sets */
#pragma once

#include "base/vec.h"
#include "node/pod/pinger.h"

struct fake_ping {
    struct ping ping;
    struct fake_pinger *set;
    struct loop_timer *timer;
    char *host;
    char *path;
    int64_t port;
    int64_t timeout_ns;
    bool is_http;
    bool is_tls;
    bool is_over; /* answered or cancelled */
    bool is_cancelled;
    ping_done_fn done;
    void *arg;
};

/* fake_pinger_init, then the knobs; at the end fake_pinger_done. */
struct fake_pinger {
    struct pinger pinger;
    struct loop *loop;
    VEC(struct fake_ping *) all; /* also the ended ones */
    bool is_silent;              /* no port answers: pings end at their deadline */
    int status;                  /* else this, in the next turn (0: a connection), */
    const char *error;           /* or this error (NULL: none) */
};

void fake_pinger_init(struct fake_pinger *f, struct loop *l);
void fake_pinger_done(struct fake_pinger *f);
