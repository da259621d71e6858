/* claims_private.h - what the parts of the loop share */
#pragma once

#include "base/loop.h"
#include "base/map.h"
#include "base/vec.h"
#include "control/claims/claims.h"
#include "control/writes.h"
#include "kinds/kind/claim_fields.h"
#include "model/device.h"

/* An object that the loop keeps. */
struct claims_object {
    struct map_handle handle; /* by key */
    char *key;                /* "ns/name" */
    char *ns;
    char *name;
    json_t *tree;
    json_t *devices;  /* of a node: claims_devices_of_node; NULL: to be read */
    bool is_due;      /* of a node: its slices are to be made; of a slice: is it wanted? Of a pod in
                         claims_kube.c: its claims are to be read */
    bool has_amounts; /* claims_kube.c, of a node: its gpus are not for claims */
    char *text;       /* claims_kube.c: an annotation that is told with it; NULL: none */
};

/* The kept objects of one kind. */
struct claims_kind {
    struct claims *claims;
    struct cluster_watch *watch;
    struct claims_object *all;
    bool is_synced;
};

enum {
    CLAIMS_NODES,
    CLAIMS_SLICES,
    CLAIMS_CLASSES,
    CLAIMS_TEMPLATES,
    CLAIMS_CLAIMS,
    CLAIMS_PODS, /* those with claims */
    CLAIMS_KINDS
};

struct claims {
    struct claims_options options;
    struct claims_kind kinds[CLAIMS_KINDS];
    struct loop_timer *timer;
    struct writes *writes;
    json_t *inventory; /* of claims_inventory; NULL: to be put together again */
    bool is_all_due;   /* a write failed: look at all nodes and slices */
    bool has_choice;   /* a waiting pod's claims can be met in several ways */
    bool is_kube;      /* claims_kube.c: others publish the devices and make the claims */
};

/* A device of the inventory that meets a request. Borrowed. */
struct claims_match {
    const json_t *device;
    const char *node;
};

/* A request that asks exactly for devices, or one of a request's firstAvailable. */
struct claims_option {
    char *request;     /* "gpu", "gpu/large" */
    const json_t *ask; /* borrowed, like the class */
    const json_t *class;
    VEC(struct claims_match) matches;
};

enum {
    CLAIMS_ALTERNATIVES_MAX = 64 /* of a claim, and of all claims of a pod together */
};

/* One way to meet claims: lines of the annotation (kinds/pod/pod_claims.h). */
struct claims_alternative {
    char *lines;
    const char *node; /* the only node, borrowed; NULL: any */
};

/* The preferred ones first. {0} has none. */
struct claims_alternatives {
    VEC(struct claims_alternative) all;
};

struct claims_object *claims_find(const struct claims *c, int kind, const char *ns,
                                  const char *name);
/* The object with this tree in the map of its kind; made if it is not there. */
struct claims_object *claims_object_put(struct claims_kind *k, const char *ns, const char *name,
                                        const json_t *tree);
void claims_object_free(struct claims_kind *k, struct claims_object *o);
/* Runs the loop again, after a second: a write failed or was taken back. */
void claims_retry(struct claims *c);
/* Passes on the error of a write, which it takes and logs. */
void claims_written(struct claims *c, const char *key, struct err *e);
/* The answer of a write about `key`. */
struct cluster_answer claims_answer(struct claims *c, const char *key);

/* claims_devices.c */
/* The devices of a node's gpus, as a ResourceSlice has them. Borrowed until the node changes. */
json_t *claims_devices_of_node(struct claims_object *node);
/* {"NODE": [device ...], ...} of all nodes, by name. Reads nodes that changed. A new object. */
json_t *claims_inventory(struct claims *c);
/* The attribute of this qualified name, with its type: {"string": "..."}. Borrowed or NULL. */
const json_t *claims_value(const json_t *device, const char *name);
/* The device's text, by model/device.h. */
void claims_device_text(const json_t *device, char ret[DEVICE_TEXT_SIZE]);
/* The device that a pod has, in the inventory, and its name. Borrowed or NULL. */
const json_t *claims_device_find(const json_t *devices, const struct device *d);
const char *claims_device_name(const json_t *devices, const struct device *d);

/* claims_slices.c */
/* Makes the ResourceSlices of the nodes that are due those of the inventory. */
void claims_publish(struct claims *c);

/* claims_offers.c */
/* Has the device a taint that the request does not tolerate? */
bool claims_is_tainted(const json_t *device, const json_t *ask);

/* claims_match.c */
/* Fills class and matches of an option. ERR_NOT_FOUND: its class is missing; ERR_INVALID: an
 * expression cannot be evaluated for a device. */
struct err *claims_match(const struct claims *c, struct claims_option *o) MUST_CHECK;

/* claims_resolve.c */
/*
 * Reads the claim that `pod` calls `name` and adds the ways to meet it, at most
 * CLAIMS_ALTERNATIVES_MAX. Returns NULL, or why there is no way, which the caller frees.
 */
char *claims_resolve(const struct claims *c, const json_t *pod, const char *name,
                     const json_t *claim, struct claims_alternatives *ret);

/* claims_alternatives.c */
void claims_alternatives_done(struct claims_alternatives *a);
/* Adds one way; takes `lines`. */
void claims_alternatives_add(struct claims_alternatives *a, char *lines, const char *node);
/*
 * Makes `all` the ways that meet both `all` and `own`: each of `all` with each of `own`, where
 * they agree on the node. False: there is none.
 */
bool claims_alternatives_join(struct claims_alternatives *all,
                              const struct claims_alternatives *own);
/* The annotation's text for the pod: the first way by which the pod could start now, else the way
 * of the present annotation, else the first. The caller frees it. */
char *claims_alternatives_choose(struct claims *c, const struct claims_object *pod,
                                 const struct claims_alternatives *all);

/* claims_status.c */
/* Writes the status of a claim, and deletes a claim of a template with the end of its pod. */
void claims_write_status(struct claims *c, const struct claims_object *claim);
/* The claim that the pod means by entry `entry` of its resourceClaims; `*ret_name` (the caller's)
 * is its name. NULL: there is none. */
const struct claims_object *claims_of_pod(const struct claims *c, const struct claims_object *pod,
                                          const json_t *entry, char **ret_name);
/* Does the bound pod have devices of the claim, and has not ended? */
bool claims_uses(const struct claims_object *pod, const json_t *claim);
/* [{request, device}] of the claim that the pod uses, with texts of devices. A new array. */
json_t *claims_devices_of(const struct claims_object *pod, const json_t *claim);
/* A selector of one node, as in allocations. A new object. */
json_t *claims_node_selector(const char *node);
/* The first pod that uses the claim; NULL: none. */
const struct claims_object *claims_user(const struct claims *c, const struct claims_object *claim);

/* claims_pods.c */
/* An older waiting pod of the same scheduler that names the claim; NULL: none. */
const struct claims_object *claims_older_pod(const struct claims *c,
                                             const struct claims_object *pod, const char *claim);
/* Writes what its claims ask for into a waiting pod, and makes its claims of templates. */
void claims_write_pod(struct claims *c, const struct claims_object *pod);
