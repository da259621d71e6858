/*
 * claims_kube.h - ResourceClaims over a kube-apiserver: what waiting pods need of them, and which
 * devices they have
 *
 * The drivers of the nodes publish the devices (ResourceSlices), and kube-controller-manager makes
 * the claims of templates and takes back the devices of claims that no pod uses. This part reads
 * slices, classes and claims. It tells
 *
 *   nodes  the gpus in their slices (annotation mete.dev/gpus). Only claims get such a gpu
 *   pods   what the claims of a waiting pod ask for (mete.dev/claims, kinds/pod/pod_claims.h)
 *   the ledger: the devices that claims have, whoever allocated them
 *
 * to the scheduler, and plans the status of the claims of a pod that is placed. It writes nothing.
 *
 * Nodes without gpus in their status offer the gpus and MIG instances of the driver gpu.nvidia.com,
 * except devices that several claims may have, that draw on counters, that want conditions of their
 * binding, or that belong to several nodes.
 */
#pragma once

#include "control/cluster.h"

struct claims_kube;
struct loop;
struct scheduler;

struct claims_kube_options {
    struct loop *loop;
    struct cluster *cluster; /* its watches never fail at once */
    /* The slices, classes and claims have been read: nodes and pods may be put. */
    void (*ready)(void *arg);
    /* The annotation that this part tells of the pod or node has changed: "ns/name", "/name". */
    void (*pod_changed)(void *arg, const char *key);
    void (*node_changed)(void *arg, const char *key);
    /* The gpu's object of the ledger; NULL: no claim has it any more. Borrowed. */
    void (*held_changed)(void *arg, const char *uuid, const json_t *entry);
    void *arg;
};

struct claims_kube *claims_kube_new(const struct claims_kube_options *o);
void claims_kube_free(struct claims_kube *k); /* accepts NULL */

/* The scheduler that says which of several ways to meet claims is open, from now on; NULL: none,
 * and the first way is taken. */
void claims_kube_set_scheduler(struct claims_kube *k, struct scheduler *s);

/* `has_amounts`: the node's status has gpus, which its slices would offer a second time. */
void claims_kube_put_node(struct claims_kube *k, const json_t *node, bool has_amounts);
void claims_kube_remove_node(struct claims_kube *k, const char *name);
void claims_kube_put_pod(struct claims_kube *k, const json_t *pod);
void claims_kube_remove_pod(struct claims_kube *k, const char *ns, const char *name);

/* The annotations mete.dev/gpus of a node and mete.dev/claims of a waiting pod. Borrowed; NULL: the
 * object is told as it is. */
const char *claims_kube_node_text(const struct claims_kube *k, const char *name);
const char *claims_kube_pod_text(const struct claims_kube *k, const json_t *pod);
/* Calls `fn` with the objects of the ledger. */
void claims_kube_each_held(const struct claims_kube *k,
                           void (*fn)(void *arg, const char *uuid, const json_t *entry), void *arg);

/* The devices that a claim of a placed pod gets. */
struct claims_plan {
    char *name;
    char *uid;
    json_t *claim;      /* as the watch told it */
    json_t *allocation; /* to be written, or what the claim has already */
    bool has_devices;   /* it has it already: the pod joins the claim's users */
};

/* A pod with claims that is placed. */
struct claims_placed {
    struct claims_plan *plans;
    size_t n_plans;
    char *claims;  /* the annotation mete.dev/claims */
    char *devices; /* mete.dev/devices, with those that its claims have already; NULL: none */
};

/*
 * Plans the claims of a pod that is to be bound. `*ret` is all zero for a pod without claims; its
 * members are the caller's. ERR_CONFLICT: the claims are others now, or another claim has a device.
 */
struct err *claims_kube_plan(struct claims_kube *k, const char *ns, const struct ledger_pod *pod,
                             struct claims_placed *ret) MUST_CHECK;
void claims_placed_done(struct claims_placed *p);
void claims_plans_free(struct claims_plan *all, size_t n);
/* Has another claim a device of this allocation, by what is known? */
bool claims_kube_is_taken(const struct claims_kube *k, const struct claims_plan *plan);
/* Do the plans give one device to two claims? */
bool claims_plans_collide(const struct claims_plan *a, const struct claims_plan *b);
/* The server has answered with this claim: it counts until the watch tells of a later version. */
void claims_kube_assume(struct claims_kube *k, const json_t *claim);
