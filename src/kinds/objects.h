/*
 * objects.h - objects in the store: create, update, patch, delete with all of Kubernetes' rules
 *
 * The one way to write an object, for the API, the controllers and the tests alike: metadata (uid,
 * resourceVersion, generation, creationTimestamp), defaults, validation, preconditions, status split,
 * finalizers and grace. Each returns at once with the object as it will be, or an error; `done` comes
 * when it is durable, and only then may anyone be told.
 */
#pragma once

#include "kinds/kind.h"
#include "store/store.h"

struct objects_request {
    const struct kind *kind;
    const char *ns;   /* "" for cluster-wide kinds */
    const char *name; /* NULL for create: the body's, or made from generateName */
    const char *subresource; /* NULL, "status", "binding" */
    struct kind_context who;
    enum field_validation validation;
    bool is_dry_run;
    json_t *warnings; /* array, may be NULL */
};

struct delete_options {
    int64_t grace_seconds;   /* -1: the kind's default */
    const char *if_uid;      /* NULL: any */
    int64_t if_version;      /* 0: any */
    const char *propagation; /* NULL (Background), "Background", "Foreground", "Orphan" */
};

/* `*ret` is a new reference to the object as written. `done` may be NULL. */
struct err *objects_create(struct store *s, const struct objects_request *r, json_t *object, store_done_fn done,
                           void *arg, json_t **ret) MUST_CHECK;
/* Replaces; metadata.resourceVersion of `object`, where set, must be the present one (ERR_CONFLICT). */
struct err *objects_update(struct store *s, const struct objects_request *r, json_t *object, store_done_fn done,
                           void *arg, json_t **ret) MUST_CHECK;

enum patch_type { PATCH_MERGE, PATCH_STRATEGIC };

struct err *objects_patch(struct store *s, const struct objects_request *r, enum patch_type type, const json_t *patch,
                          store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

/*
 * Marks the object for deletion (grace, finalizers) or removes it. For a pod on a node the node removes
 * it, with grace 0, once its containers are proven gone; `*ret` is the object (or its last state).
 * `*ret_is_gone` tells which.
 */
struct err *objects_delete(struct store *s, const struct objects_request *r, const struct delete_options *o,
                           store_done_fn done, void *arg, json_t **ret, bool *ret_is_gone) MUST_CHECK;

/* The object's tree with metadata.resourceVersion set from its version. New reference. */
struct err *objects_decode(const struct store_object *o, json_t **ret) MUST_CHECK;

struct store_key objects_key(const struct kind *k, const char *ns, const char *name);
