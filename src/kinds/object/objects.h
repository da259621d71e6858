/*
 * objects.h - objects in the store: create, update, patch and delete with all of Kubernetes' rules
 *
 * The API, the controllers and the tests write objects only through this module. It keeps metadata
 * (uid, resourceVersion, generation, creationTimestamp), defaults, validation, preconditions, the
 * status split, finalizers and grace. Each call returns at once with the object as it will be, or
 * an error. `done` comes when the write is durable; before that no client may be told. `done` is
 * called exactly once for each call without an error (also for a dry run, and if nothing had to be
 * written), never from inside the call.
 *
 * Stored bytes begin with apiVersion, kind and metadata, in that order, and hold no
 * resourceVersion: that is the object's version in the store (objects_decode, objects_format).
 */
#pragma once

#include "kinds/kind/kind.h"
#include "kinds/network_tiers.h"
#include "model/host_roots.h"
#include "model/ip4.h"
#include "store/store.h"

struct objects;

/* A user of this machine. */
enum {
    OBJECT_USER_NAME_SIZE = 256
};
struct object_user {
    char name[OBJECT_USER_NAME_SIZE];
    int64_t gid;
    char group[OBJECT_USER_NAME_SIZE]; /* "": unknown */
};
/* False: the uid has no user. */
typedef bool (*object_user_fn)(void *arg, int64_t uid, struct object_user *ret);
/* Is the user, whose own group is `gid`, a member of the group? */
typedef bool (*object_member_fn)(void *arg, const char *user, int64_t gid, const char *group);

struct objects_options {
    struct store *store; /* borrowed, outlives the objects */
    struct loop *loop;   /* its wall clock makes the timestamps */
    /*
     * Fills `ret` with unpredictable bytes (uids, generated names); tests pass a seeded generator.
     */
    void (*random)(void *arg, void *ret, size_t size);
    void *arg;
    const struct host_roots *host_roots;       /* hostPaths allowed for all users; NULL: none */
    const struct network_tiers *network_tiers; /* network_tiers.h; borrowed; NULL: none */
    struct ip4_net service_network;            /* addresses of Services; {0}: SERVICE_NETWORK */
    object_user_fn find_user;   /* names and groups of the users of jobs; NULL: unknown */
    object_member_fn is_member; /* NULL: users are members of no group */
    void *find_user_arg;        /* of both */
};

struct objects *objects_new(const struct objects_options *o);
void objects_free(struct objects *o); /* accepts NULL */
static inline void objects_freep(struct objects **o)
{
    objects_free(*o);
}

struct store *objects_store(const struct objects *o);
struct loop *objects_loop(const struct objects *o);

/* The time of accounting: a wall clock that never goes back (account.h). */
int64_t objects_now_ns(struct objects *o);

struct admission;
struct admission_context;

struct hook_caller;

/*
 * Webhooks and policies are asked about writes (kinds/admission/admission.h): about those with a
 * context, and about pods that controllers make. Such a creation fails with ERR_PENDING while
 * webhooks are asked, and finds their answers when the controller tries again. Borrowed; NULL:
 * nobody is asked.
 */
void objects_set_admission(struct objects *o, const struct admission *a,
                           const struct hook_caller *caller);
/* Is anybody asked about writes now? Then a request needs an admission context. */
bool objects_asks(const struct objects *o);
/* The source of random bytes (objects_options). */
void objects_random(const struct objects *o, void (**ret)(void *arg, void *ret, size_t size),
                    void **ret_arg);

struct objects_request {
    const struct kind *kind;
    const char *ns;          /* "" for cluster-wide kinds */
    const char *name;        /* NULL for create: the body's, or generated from generateName */
    const char *subresource; /* NULL, "status", "binding" (create only), "ephemeralcontainers"
                                (pods), "finalize" (namespaces, system only) */
    struct kind_context who;
    enum field_validation validation;
    bool is_dry_run;
    json_t *warnings;    /* array, may be NULL */
    const char *manager; /* who owns the written fields; NULL: one of Mete's own processes, whose
                            writes are tracked only where they change what others applied */
    bool force;          /* of an apply: takes fields from other managers */
    /* Judges the object that a create, update, patch or apply would leave; `before` is NULL for a
     * create. NULL: all may pass. */
    struct err *(*judge)(void *arg, const json_t *before, const json_t *after);
    void *judge_arg;
    /* Keeps the answers of webhooks between the attempts of the write
     * (kinds/admission/admission_context.h). While it waits, the write fails and changes nothing.
     * NULL: nobody is asked, as for most writes of Mete's own processes. */
    struct admission_context *admission;
    const struct kind *asked; /* the version of the request's path, if not `kind`; NULL: `kind` */
};

struct delete_options {
    int64_t grace_seconds;   /* -1: the kind's default */
    const char *if_uid;      /* NULL: any */
    int64_t if_version;      /* 0: any */
    const char *propagation; /* NULL (Background), "Background", "Foreground", "Orphan" */
    bool is_dry_run;
    /* Not NULL: the pod is disrupted, and gets the condition DisruptionTarget with this reason and
     * message in the same write. */
    const char *disruption;
    const char *disruption_message;
    bool is_requeued; /* a pod without a controller is created again after its removal: requeue.h */
};

/* `*ret` is a new reference to the object as written. `done` may be NULL. The call may change
 * `object`. With the subresource "binding" `object` is a Binding, and `*ret` is the Status that
 * answers it. */
struct err *objects_create(struct objects *o, const struct objects_request *r, json_t *object,
                           store_done_fn done, void *arg, json_t **ret) MUST_CHECK;
/* Replaces an object. ERR_CONFLICT: `object` has a metadata.resourceVersion other than the present
 * one. */
struct err *objects_update(struct objects *o, const struct objects_request *r, json_t *object,
                           store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

/*
 * Tells `fn` of each SlurmJob that is created, once the store has accepted it: before it is
 * durable. `job` is borrowed, and for readers. What `fn` writes because of it, the store keeps only
 * with the job; `fn` tells no client. `fn` NULL: nobody is told.
 */
typedef void (*objects_accepted_fn)(void *arg, const json_t *job);
void objects_on_slurm_job(struct objects *o, objects_accepted_fn fn, void *arg);

enum patch_type {
    PATCH_MERGE,
    PATCH_STRATEGIC,
    PATCH_JSON
};

struct err *objects_patch(struct objects *o, const struct objects_request *r, enum patch_type type,
                          const json_t *patch, store_done_fn done, void *arg,
                          json_t **ret) MUST_CHECK;

/* Server-side apply: merges `config` into the object, or creates it. The request has a manager.
 * ERR_CONFLICT: others own fields that have other values in `config`. */
struct err *objects_apply(struct objects *o, const struct objects_request *r, const json_t *config,
                          store_done_fn done, void *arg, json_t **ret) MUST_CHECK;

/* A write of objects_write_all. */
struct objects_write {
    struct objects_request request;
    enum {
        WRITE_CREATE,
        WRITE_PATCH /* strategic merge */
    } type;
    json_t *tree;      /* the object, which the call may change, or the patch */
    bool must_change;  /* ERR_CONFLICT if the patch changes nothing */
    bool *ret_is_gone; /* of a patch of a pod; not NULL: removes the pod, too, if it is over, the
                        * patch takes its last finalizer and no quota counts it */
};

/*
 * Commits all writes in one transaction, or none. Each write is checked against the state before
 * the transaction. So no two may write the same object or the same dependent object (a quota,
 * released gpus): ERR_INVALID. At most one may create. `*ret_revision` is the version of all
 * objects written.
 */
struct err *objects_write_all(struct objects *o, const struct objects_write *writes, size_t n,
                              store_done_fn done, void *arg, int64_t *ret_revision) MUST_CHECK;

/*
 * Marks the object for deletion (grace, finalizers), or removes it: `*ret_is_gone`. `*ret` is the
 * object, or its last state. A pod on a node is removed by the node, with grace 0, once its
 * containers are proven gone.
 */
struct err *objects_delete(struct objects *o, const struct objects_request *r,
                           const struct delete_options *d, store_done_fn done, void *arg,
                           json_t **ret, bool *ret_is_gone) MUST_CHECK;

/* The object's tree, with metadata.resourceVersion set from its version. New reference. */
struct err *objects_decode(const struct store_object *o, json_t **ret) MUST_CHECK;
/* As objects_decode, much faster, for readers: without metadata.managedFields. The tree shares
 * parts with other trees and must not be changed (base/json_pool.h). */
struct err *objects_decode_shared(struct objects *objects, const struct store_object *o,
                                  json_t **ret) MUST_CHECK;
/* As objects_decode_shared, but only the member "metadata" is certain to be there. */
struct err *objects_decode_metadata(struct objects *objects, const struct store_object *o,
                                    json_t **ret) MUST_CHECK;
/* The object as text for replies and watches, made without a tree. */
void objects_format(const struct store_object *o, struct buf *b);

struct store_key objects_key(const struct kind *k, const char *ns, const char *name);

/* ERR_NOT_FOUND: `pods "x" not found`, `workloads.mete.dev "x" not found`. */
struct err *objects_not_found(const struct kind *k, const char *name) MUST_CHECK;
