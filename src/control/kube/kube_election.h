/*
 * kube_election.h - leader election by a Lease of the cluster, as client-go's leaderelection
 *
 * The Lease names the instance that leads, which renews it each 2 s. Another instance takes the
 * Lease when it has not seen a change of it for 15 s by its own clock; the times in the
 * Lease are for readers. A leader whose renewals have failed for 10 s has lost, and so has one
 * whose Lease is gone: it ends its work before another begins. The numbers are kube-scheduler's
 * defaults.
 */
#pragma once

#include "client/client.h"

struct kube_election;

struct kube_election_options {
    struct loop *loop;
    struct client *client;                          /* borrowed */
    const char *ns, *name;                          /* of the Lease */
    const char *identity;                           /* unique */
    void (*elected)(void *arg);                     /* once */
    void (*lost)(void *arg, const struct err *why); /* at most once, after `elected` */
    void *arg;
};

/* Asks at once, and again each 2 s. Copies the options and their texts. */
struct kube_election *kube_election_new(const struct kube_election_options *o);
void kube_election_free(struct kube_election *e); /* accepts NULL; no callback after it */

/* Gives the Lease back, so that another instance leads at once; then calls `done`, also after a
 * failure and where this instance does not lead. No other callback comes. */
void kube_election_release(struct kube_election *e, loop_fn done, void *arg);
