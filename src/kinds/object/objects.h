/*
 * objects.h - objects in the store: create, update, patch, delete with all of Kubernetes' rules
 *
 * The one way to write an object, for the API, the controllers and the tests alike: metadata (uid,
 * resourceVersion, generation, creationTimestamp), defaults, validation, preconditions, status
 * split, finalizers and grace. Each returns at once with the object as it will be, or an error;
 * `done` comes when it is durable, and only then may anyone be told. `done` is called exactly once
 * for each call that returned no error (also for a dry run, and where nothing had to be written),
 * never from inside it.
 *
 * Stored bytes begin with apiVersion, kind and metadata, in that order, and hold no
 * resourceVersion: it is the object's version in the store (objects_decode, objects_format).
 */
#pragma once

#include "kinds/kind/kind.h"
#include "kinds/network_tiers.h"
#include "model/host_roots.h"
#include "store/store.h"

struct objects;

struct objects_options {
    struct store *store; /* borrowed, outlives this */
    struct loop *loop;   /* its wall clock makes the stamps */
    /* Fills `ret` with bytes that nobody can guess (uids, generated names); tests give a seeded
     * one. */
    void (*random)(void *arg, void *ret, size_t size);
    void *arg;
    const struct host_roots *host_roots; /* where hostPaths may be, whoever asks; NULL: nowhere */
    const struct network_tiers *network_tiers; /* network_tiers.h; borrowed; NULL: none */
    /* Where pods find the API, put into the environment of those that get a token; NULL: nowhere.
     */
    const char *api_host;
    const char *api_port;
};

struct objects *objects_new(const struct objects_options *o);
void objects_free(struct objects *o); /* accepts NULL */
static inline void objects_freep(struct objects **o)
{
    objects_free(*o);
}

struct store *objects_store(const struct objects *o);
struct loop *objects_loop(const struct objects *o);

/* The time of accounting: the wall clock that never goes back (account.h). */
int64_t objects_now_ns(struct objects *o);

struct objects_request {
    const struct kind *kind;
    const char *ns;          /* "" for cluster-wide kinds */
    const char *name;        /* NULL for create: the body's, or made from generateName */
    const char *subresource; /* NULL, "status", "binding" (create only), "finalize" (namespaces,
                                system only) */
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
    bool is_dry_run;
    /* Not NULL: a pod that is to go for others gets the condition DisruptionTarget with this reason
     * and message, in the same write. */
    const char *disruption;
    const char *disruption_message;
    bool is_requeued; /* a pod that nobody else makes anew is made again once it is gone: requeue.h
                       */
};

/*
 * `*ret` is a new reference to the object as written. `done` may be NULL. `object` may be changed.
 * With the subresource "binding" `object` is a Binding and `*ret` the Status that answers it.
 */
struct err *objects_create(struct objects *o, const struct objects_request *r, json_t *object,
                           store_done_fn done, void *arg, json_t **ret) MUST_CHECK;
/* Replaces; metadata.resourceVersion of `object`, where set, must be the present one
 * (ERR_CONFLICT). */
struct err *objects_update(struct objects *o, const struct objects_request *r, json_t *object,
                           store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

enum patch_type {
    PATCH_MERGE,
    PATCH_STRATEGIC,
    PATCH_JSON
};

struct err *objects_patch(struct objects *o, const struct objects_request *r, enum patch_type type,
                          const json_t *patch, store_done_fn done, void *arg,
                          json_t **ret) MUST_CHECK;

/* One write of several. */
struct objects_write {
    struct objects_request request;
    enum {
        WRITE_CREATE,
        WRITE_PATCH /* strategic merge */
    } type;
    json_t *tree;     /* the object, which may be changed, or the patch */
    bool must_change; /* ERR_CONFLICT where the patch changes nothing */
};

/*
 * All of them in one transaction, or none. Each is judged by what is there before it, so no two may
 * write the same object, nor what goes with it (a quota, gpus that are given back): ERR_INVALID;
 * and at most one creates. `*ret_revision` is the version that all of them will have.
 */
struct err *objects_write_all(struct objects *o, const struct objects_write *writes, size_t n,
                              store_done_fn done, void *arg, int64_t *ret_revision) MUST_CHECK;

/*
 * Marks the object for deletion (grace, finalizers) or removes it. For a pod on a node the node
 * removes it, with grace 0, once its containers are proven gone; `*ret` is the object (or its last
 * state).
 * `*ret_is_gone` tells which.
 */
struct err *objects_delete(struct objects *o, const struct objects_request *r,
                           const struct delete_options *d, store_done_fn done, void *arg,
                           json_t **ret, bool *ret_is_gone) MUST_CHECK;

/* The object's tree with metadata.resourceVersion set from its version. New reference. */
struct err *objects_decode(const struct store_object *o, json_t **ret) MUST_CHECK;
/* The same tree, many times as fast, for readers: its parts are shared with other trees and never
 * changed (base/json_pool.h). */
struct err *objects_decode_shared(struct objects *objects, const struct store_object *o,
                                  json_t **ret) MUST_CHECK;
/* The same of its member "metadata" at least: the rest may be missing. */
struct err *objects_decode_metadata(struct objects *objects, const struct store_object *o,
                                    json_t **ret) MUST_CHECK;
/* The same as text, without making a tree: what replies and watches send. */
void objects_format(const struct store_object *o, struct buf *b);

struct store_key objects_key(const struct kind *k, const char *ns, const char *name);

/* ERR_NOT_FOUND: `pods "x" not found`, `workloads.mete.dev "x" not found`. */
struct err *objects_not_found(const struct kind *k, const char *name) MUST_CHECK;
