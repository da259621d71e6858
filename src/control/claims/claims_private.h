/* claims_private.h - what the parts of the loop share */
#pragma once

#include "base/loop.h"
#include "base/map.h"
#include "control/claims/claims.h"
#include "control/writes.h"
#include "kinds/kind/claim_fields.h"

/* An object that the loop keeps. */
struct claims_object {
    struct map_handle handle; /* by key */
    char *key;                /* "ns/name" */
    char *ns;
    char *name;
    json_t *tree;
    json_t *devices; /* of a node: claims_devices_of_node; NULL: to be read */
    bool is_due;     /* of a node: its slices are to be made; of a slice: is it wanted? */
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
};

struct claims_object *claims_find(const struct claims *c, int kind, const char *ns,
                                  const char *name);
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
/* An attribute of a device: "uuid", "type", "profile". Borrowed or NULL. */
const char *claims_attribute(const json_t *device, const char *name);
/* The name of the device that a pod has, in the inventory. Borrowed or NULL. */
const char *claims_device_name(const json_t *devices, const struct device *d);

/* claims_slices.c */
/* Makes the ResourceSlices of the nodes that are due those of the inventory. */
void claims_publish(struct claims *c);

/* claims_resolve.c */
/*
 * Reads the claim that a pod calls `name` and adds its lines to `out`. Returns NULL, or why the
 * claim cannot be given, which the caller frees.
 */
char *claims_resolve(const struct claims *c, const char *name, const json_t *claim,
                     struct buf *out);

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
/* The first pod that uses the claim; NULL: none. */
const struct claims_object *claims_user(const struct claims *c, const struct claims_object *claim);

/* claims_pods.c */
/* Writes what its claims ask for into a waiting pod, and makes its claims of templates. */
void claims_write_pod(struct claims *c, const struct claims_object *pod);
