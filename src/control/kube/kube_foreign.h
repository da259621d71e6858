/*
 * kube_foreign.h - the queue objects of other schedulers on a cluster, as Queues and as the queues
 * of pods
 *
 * Listeners of queues.mete.dev are told of one set of Queues: those of the server, and those that
 * queue/foreign.h makes of the objects of Kueue, Volcano and KAI. Pods are told with the label
 * mete.dev/queue. What is refused or left out is logged, and is an Event of the object.
 * LocalQueues, ResourceFlavors and Cohorts are watched once there is a ClusterQueue.
 */
#pragma once

#include "control/cluster.h"
#include "kinds/kind/kind.h"

struct over_kube;
struct kube_foreign;

/* `c` is borrowed. */
struct kube_foreign *kube_foreign_new(struct over_kube *c);
void kube_foreign_free(struct kube_foreign *f); /* accepts NULL. All watches are gone. */

/* The listener for the watch of queues.mete.dev, for the listener `l` of a caller. */
struct cluster_listener kube_foreign_listen(struct kube_foreign *f,
                                            const struct cluster_listener *l);
/* Begins the watches, and ends them. */
void kube_foreign_watch(struct kube_foreign *f);
void kube_foreign_unwatch(struct kube_foreign *f);

/* Are the queues known, so that pods can be told? */
bool kube_foreign_is_loaded(const struct kube_foreign *f);
/* The pod in its queue. A new reference. */
json_t *kube_foreign_pod(struct kube_foreign *f, const json_t *pod);
void kube_foreign_pod_gone(struct kube_foreign *f, const json_t *pod);
/* A Job or a PodGroup of Volcano, for which pods may have waited. */
struct kube_resource;
void kube_foreign_owner_put(struct kube_foreign *f, const struct kube_resource *r,
                            const json_t *object);

/* The kinds that are watched, in the version that our rooms know; NULL: none of these. */
const struct kind *kube_foreign_kind(const char *group, const char *plural);
/* The version to ask for after `k`; NULL: none. */
const struct kind *kube_foreign_older(const struct kind *k);
