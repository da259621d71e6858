/*
 * cluster.h - the cluster as the control loops see it: watches of objects, and the few ways to
 * change them
 *
 * A seam. Over our own store (cluster_store.c) every change is one transaction, changes that a loop
 * asks for in one turn are carried out in that order, and a placement is all or nothing. A
 * kube-apiserver (kube/cluster_kube.h) has no transactions over several objects: it binds each pod,
 * and deletes the bound pods if one fails. A gang can then be seen in part, the ledger is a cache
 * and not the judge, and another scheduler can give a device a second time until the node refuses
 * it. Code above this header counts on the store's guarantees only if the function's
 * comment promises them.
 *
 * The scheduler asks the cluster nothing in the middle of a decision: watches have told all that
 * it needs. Views and reports (report/) are computed at once for a waiting client; they read our
 * own store directly and are no part of the seam.
 *
 * Objects are complete trees (with apiVersion, kind and resourceVersion), except the internal
 * resources `placements` and `ledger` of group "mete.dev".
 */
#pragma once

#include <assert.h>

#include "base/json.h"
#include "kinds/ledger.h"

/*
 * The changes of a resource's objects. Present objects are put first, then `synced` is called
 * once: inside cluster_watch or later, as the cluster chooses. Callers take no object for missing
 * before `synced`, and the order in which watches are started says nothing about the order in which
 * they are synced. Changes of one object come once each and in order; changes of different objects
 * may come in any order. An object that changes before it was put is put in its new state; an
 * object that is deleted before it was put is not reported.
 *
 * Trees are borrowed: keep one with json_incref. Listeners share a tree and never change it.
 */
struct cluster_listener {
    void (*put)(void *arg, const char *ns, const char *name, const json_t *object);
    void (*removed)(void *arg, const char *ns, const char *name, const json_t *last);
    void *arg;
    void (*synced)(void *arg);
};

struct cluster_watch;
struct cluster_read;

/*
 * The receiver of one object: `done` is called once, later. `object` (borrowed) is durable; NULL:
 * there is none, or `e` (borrowed) says why it could not be read.
 */
struct cluster_reader {
    void (*done)(void *arg, const json_t *object, const struct err *e);
    void *arg;
};

/* One write of a transaction. */
struct cluster_write {
    const char *resource;
    const char *ns;
    const char *name;        /* NULL: create the object in `tree` */
    const char *subresource; /* of a patch: NULL or "status" */
    json_t *tree;            /* the object, or a strategic merge patch */
    bool must_change;        /* ERR_CONFLICT if the patch changes nothing */
    bool *ret_is_gone;       /* NULL, or as objects_write has it */
};

/* A pod to end so that another can start. */
struct cluster_eviction {
    const char *ns;
    const char *name;
    const char *uid;
    const char *reason; /* of its condition DisruptionTarget */
    const char *message;
    int64_t grace_s; /* 0: the pod's own, as always over a kube-apiserver */
};

/* The object of a write. `resource` carries its API group: "jobs.batch". */
struct cluster_target {
    const char *resource;
    const char *ns;
    const char *name;
    const char *subresource; /* NULL or "status" */
};

/*
 * The receiver of a write's answer: `done` is called once, later, never from inside the write. A
 * cluster may refuse a write at once, which then gets no answer, or by its answer; a write that it
 * had accepted may be taken back (writes.h). The answer may come before or after the watch's event
 * of the same write. An answer may be lost: callers that must know have a deadline.
 */
struct cluster_answer {
    store_done_fn done;
    void *arg;
};

struct cluster_ops {
    struct err *(*watch)(void *self, const char *group, const char *resource,
                         const struct cluster_listener *l, struct cluster_watch **ret);
    void (*unwatch)(void *self, struct cluster_watch *w);
    struct cluster_read *(*read)(void *self, const char *resource, const char *ns, const char *name,
                                 struct cluster_reader r);
    void (*unread)(void *self, struct cluster_read *r);
    struct err *(*bind)(void *self, const struct ledger_placement *p, struct cluster_answer a);
    struct err *(*create)(void *self, const char *resource, const char *ns, json_t *object,
                          struct cluster_answer a);
    struct err *(*write_all)(void *self, const struct cluster_write *writes, size_t n,
                             struct cluster_answer a, int64_t *ret_version);
    struct err *(*patch)(void *self, const struct cluster_target *t, const json_t *patch,
                         struct cluster_answer a);
    struct err *(*remove)(void *self, const struct cluster_target *t, const char *if_uid,
                          struct cluster_answer a);
    struct err *(*evict)(void *self, const struct cluster_eviction *e, struct cluster_answer a);
    void (*free)(void *self);
};

struct cluster {
    const struct cluster_ops *ops;
    void *self;
};

static inline struct err *cluster_watch(struct cluster *c, const char *group, const char *resource,
                                        const struct cluster_listener *l,
                                        struct cluster_watch **ret)
{
    assert(l->put && l->removed && l->synced);
    return c->ops->watch(c->self, group, resource, l, ret);
}

/* Accepts NULL. */
static inline void cluster_unwatch(struct cluster *c, struct cluster_watch *w)
{
    if (w)
        c->ops->unwatch(c->self, w);
}

/*
 * Reads one object of the resource ("pods", "jobs.batch"). Decisions use what watches told; this is
 * for the rest of an object that a loop does not keep.
 */
static inline struct cluster_read *cluster_read(struct cluster *c, const char *resource,
                                                const char *ns, const char *name,
                                                struct cluster_reader r)
{
    assert(r.done);
    return c->ops->read(c->self, resource, ns, name, r);
}

/* Cancels a read that is not answered. Accepts NULL. */
static inline void cluster_unread(struct cluster *c, struct cluster_read *r)
{
    if (r)
        c->ops->unread(c->self, r);
}

/*
 * Writes a whole placement, or nothing of it: ledger_bind. The placement does not wait until
 * earlier placements are durable; the answer comes when this placement is.
 */
static inline struct err *cluster_bind(struct cluster *c, const struct ledger_placement *p,
                                       struct cluster_answer a)
{
    assert(a.done);
    return c->ops->bind(c->self, p, a);
}

/*
 * Creates an object as the user of the control loops. `object` becomes the stored object, with its
 * name and uid.
 */
static inline struct err *cluster_create(struct cluster *c, const char *resource, const char *ns,
                                         json_t *object, struct cluster_answer a)
{
    assert(a.done);
    return c->ops->create(c->self, resource, ns, object, a);
}

/*
 * Makes all writes or none: objects_write_all. `*ret_version` is their resourceVersion. A
 * kube-apiserver cannot do this: callers (jobs.h) work over our own store only.
 */
static inline struct err *cluster_write_all(struct cluster *c, const struct cluster_write *writes,
                                            size_t n, struct cluster_answer a, int64_t *ret_version)
{
    assert(a.done);
    return c->ops->write_all(c->self, writes, n, a, ret_version);
}

/* Applies a strategic merge patch. */
static inline struct err *cluster_patch(struct cluster *c, const struct cluster_target *t,
                                        const json_t *patch, struct cluster_answer a)
{
    assert(a.done);
    return c->ops->patch(c->self, t, patch, a);
}

/* Deletes with the kind's grace period. `if_uid` NULL: any object of the name. */
static inline struct err *cluster_remove(struct cluster *c, const struct cluster_target *t,
                                         const char *if_uid, struct cluster_answer a)
{
    assert(a.done);
    return c->ops->remove(c->self, t, if_uid, a);
}

/*
 * Ends a pod with its own grace period. A pod without a controller comes back after its end
 * (kinds/object/requeue.h: our own store only). A pod that is being deleted already keeps its grace
 * period. ERR_CONFLICT: the pod has ended or is not bound, and stays as it is; or another pod has
 * its name.
 */
static inline struct err *cluster_evict(struct cluster *c, const struct cluster_eviction *e,
                                        struct cluster_answer a)
{
    assert(a.done);
    return c->ops->evict(c->self, e, a);
}

/*
 * A cluster over our own store. Both arguments are borrowed. The cluster reads the many pods in
 * turns of the loop, and puts all other objects inside cluster_watch.
 */
struct cluster *cluster_store_new(struct store *store, struct objects *objects);

/* Accepts NULL. All watches and reads must be gone. */
void cluster_free(struct cluster *c);
