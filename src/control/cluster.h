/*
 * cluster.h - the cluster as the control loops see it: watches of objects, and the few ways to
 * change them
 *
 * A seam. Over our own store (cluster_store.c) every change is one transaction, changes that a loop
 * asks for in one turn are carried out in that order, and a placement is all or nothing. A
 * kube-apiserver has no transactions over several objects. There a bind would be: assume, bind each
 * pod, and delete the bound pods if one fails. A gang can then be seen in part, the ledger is a
 * cache and not the judge, and another scheduler can give a device a second time until the node
 * refuses it. Code above this header counts on the store's guarantees only if the function's
 * comment promises them.
 *
 * Objects are complete trees (with apiVersion, kind and resourceVersion), except the internal
 * resources `placements` and `ledger` of group "mete.dev".
 */
#pragma once

#include <assert.h>

#include "base/json.h"
#include "kinds/ledger.h"

/*
 * What happens to the objects of a resource. The watch puts all present objects first; later
 * changes come from the loop, once each and in order. Without `loaded`, all present objects are put
 * before the watch is returned. With `loaded` (for resources with many objects), present objects
 * are put in turns of the loop, then `loaded` is called once. An object that changes meanwhile is
 * put in its new state; an object that is deleted before its turn is not reported.
 *
 * Trees are borrowed: keep one with json_incref. Listeners share a tree and never change it.
 */
struct cluster_listener {
    void (*put)(void *arg, const char *ns, const char *name, const json_t *object);
    void (*removed)(void *arg, const char *ns, const char *name, const json_t *last);
    void *arg;
    void (*loaded)(void *arg); /* NULL: all objects are put before the watch is returned */
};

struct cluster_watch;

/* One write of a transaction. */
struct cluster_write {
    const char *resource;
    const char *ns;
    const char *name;        /* NULL: create the object in `tree` */
    const char *subresource; /* of a patch: NULL or "status" */
    json_t *tree;            /* the object, or a strategic merge patch */
    bool must_change;        /* ERR_CONFLICT if the patch changes nothing */
};

/* A pod to end so that another can start. */
struct cluster_eviction {
    const char *ns;
    const char *name;
    const char *uid;
    const char *reason; /* of its condition DisruptionTarget */
    const char *message;
};

/* The object of a write. `resource` carries its API group: "jobs.batch". */
struct cluster_target {
    const char *resource;
    const char *ns;
    const char *name;
    const char *subresource; /* NULL or "status" */
};

/*
 * The receiver of a write's answer: `done` is called once, later, never from inside the write. The
 * store may take back a write that it had accepted, so every write has a `done` (writes.h). A write
 * that fails at once gets no answer.
 */
struct cluster_answer {
    store_done_fn done;
    void *arg;
};

struct cluster_ops {
    struct err *(*watch)(void *self, const char *group, const char *resource,
                         const struct cluster_listener *l, struct cluster_watch **ret);
    void (*unwatch)(void *self, struct cluster_watch *w);
    struct err *(*list)(void *self, const char *group, const char *resource, const char *ns,
                        json_t **ret);
    json_t *(*get)(void *self, const char *group, const char *resource, const char *ns,
                   const char *name);
    struct err *(*bind)(void *self, const struct ledger_placement *p, struct cluster_answer a);
    struct err *(*create)(void *self, const char *resource, const char *ns, json_t *object,
                          struct cluster_answer a);
    struct err *(*write_all)(void *self, const struct cluster_write *writes, size_t n,
                             struct cluster_answer a, int64_t *ret_version);
    struct err *(*patch)(void *self, const struct cluster_target *t, const json_t *patch,
                         struct cluster_answer a);
    struct err *(*remove)(void *self, const struct cluster_target *t, const char *if_uid,
                          struct cluster_answer a);
    struct err *(*check_budget)(void *self, const char *ns, const char *pod);
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
    return c->ops->watch(c->self, group, resource, l, ret);
}

/* Accepts NULL. */
static inline void cluster_unwatch(struct cluster *c, struct cluster_watch *w)
{
    if (w)
        c->ops->unwatch(c->self, w);
}

/* The durable objects, by namespace and name; `ns` NULL: all namespaces. A new array. */
static inline struct err *cluster_list(struct cluster *c, const char *group, const char *resource,
                                       const char *ns, json_t **ret)
{
    return c->ops->list(c->self, group, resource, ns, ret);
}

/* A new reference, or NULL. */
static inline json_t *cluster_get(struct cluster *c, const char *group, const char *resource,
                                  const char *ns, const char *name)
{
    return c->ops->get(c->self, group, resource, ns, name);
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

/* ERR_BUSY if a PodDisruptionBudget does not allow the end of the pod. */
static inline struct err *cluster_check_budget(struct cluster *c, const char *ns, const char *pod)
{
    return c->ops->check_budget(c->self, ns, pod);
}

/*
 * Ends a pod with its own grace period. A pod without a controller comes back after its end
 * (kinds/object/requeue.h: our own store only). A pod that is being deleted already keeps its grace
 * period.
 */
static inline struct err *cluster_evict(struct cluster *c, const struct cluster_eviction *e,
                                        struct cluster_answer a)
{
    assert(a.done);
    return c->ops->evict(c->self, e, a);
}

/* A cluster over our own store. Both arguments are borrowed. */
struct cluster *cluster_store_new(struct store *store, struct objects *objects);

/* Accepts NULL. All watches must be gone. */
void cluster_free(struct cluster *c);
