/*
 * lease.h - renews the Lease of this node, its only sign of life (kinds/node_lease.h)
 *
 * A failed renewal is tried again after 1 s, then after twice as long each time, up to the period.
 * The Node object owns the Lease: the garbage collector deletes both together.
 */
#pragma once

#include "client/client.h"

struct lease;

struct lease_options {
    struct loop *loop;
    struct client *client; /* borrowed, outlives this */
    const char *node;
    void (*held)(void *arg);    /* the lease is held, after it was not */
    void (*renewed)(void *arg); /* each renewal, before `held`; NULL: not called */
    void (*no_node)(void *arg); /* the Node object is missing */
    void *arg;
};

struct lease *lease_new(const struct lease_options *o);
/* Is the lease surely held? NODE_LEASE_S count from when the last renewal that the server
 * acknowledged was sent: never longer than the server counts. */
bool lease_is_held(const struct lease *l);
int64_t lease_held_to_ns(const struct lease *l); /* monotonic; 0: it was never held */
void lease_free(struct lease *l);                /* accepts NULL; the Lease then expires */
