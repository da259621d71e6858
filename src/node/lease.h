/*
 * lease.h - the Lease kube-node-lease/NODE, by which Kubernetes clients see that a node is alive
 *
 * The node renews the Lease each 10 s, for 40 s. The Node object owns it: the garbage collector
 * deletes both together.
 */
#pragma once

#include "client/client.h"

struct lease;

struct lease_options {
    struct loop *loop;
    struct client *client; /* borrowed, outlives this */
    const char *node;
};

struct lease *lease_new(const struct lease_options *o);
void lease_free(struct lease *l); /* accepts NULL; the Lease then expires */
