/* claims_kube_private.h - what the parts of claims over a kube-apiserver share */
#pragma once

#include "control/claims/claims_kube.h"
#include "control/claims/claims_private.h"

struct claims_kube {
    struct claims claims; /* its inventory: of nodes that offer their devices to claims */
    struct claims_kube_options o;
    struct loop_timer *timer;
    json_t *offered;     /* {node: [device ...]} by the slices, with their pools */
    json_t *held;        /* {uuid: object of the ledger} */
    bool is_offered_old; /* slices have changed */
    bool is_held_old;    /* claims have changed, or their devices */
    bool is_ready;
};

/* claims_offers.c */
/* Reads the slices: a new object {node: [device ...]}. Each device has its pool as "pool". */
json_t *claims_offers_read(const struct claims *c);
/* The devices as an annotation mete.dev/gpus; NULL: there are none. The caller frees it. */
char *claims_offers_text(const json_t *devices);
/* The device of this pool and name; NULL: it is not offered. */
const json_t *claims_offers_find(const json_t *devices, const char *pool, const char *name);

/* claims_plan.c */
/* The claim of an entry of the pod's spec.resourceClaims; NULL: `*ret_wait` says what the pod waits
 * for, the caller's, or is NULL: the pod needs none. */
const struct claims_object *claims_kube_find(const struct claims_kube *k, const json_t *pod,
                                             const json_t *entry, char **ret_wait);
/* Is the pod among the users of the claim's status? */
bool claims_is_user(const json_t *claim, const json_t *pod);
/* {uuid: object of the ledger} of all claims that have devices. A new object. */
json_t *claims_held_read(const struct claims_kube *k);
/* The node of an allocation: "": any. NULL: its nodes are not chosen by name. Borrowed. */
const char *claims_node_of(const json_t *allocation);
