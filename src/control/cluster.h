/*
 * cluster.h - the cluster as the loops of control see it: objects that come and go, and the few
 * ways to change them
 *
 * A seam. Over our own store (cluster_store.c) every change is one transaction, what was asked for
 * in one turn of the loop is carried out in that order, and a placement is all or nothing. Over a
 * kube-apiserver, which has no transactions over several objects, a bind would be: assume, bind
 * each pod, and unbind by deletion where one fails; a gang can then be seen in part, the ledger is
 * a cache and not the judge, and whoever else binds pods can give a device a second time until the
 * node refuses it. Nothing above this header may count on more than that where it says so.
 *
 * Objects are complete trees (with apiVersion, kind and resourceVersion, but for the internal
 * resources of group "mete.dev": `placements`, `ledger`).
 */
#pragma once

#include <assert.h>

#include "base/json.h"
#include "kinds/ledger.h"

/*
 * What happens to a resource. All that is there is put first, later changes come from the loop,
 * once each and in order. Without `loaded` the watch is returned when all was put. With `loaded`
 * (for resources of which there are many) objects are put in turns of the loop, then `loaded` is
 * called once; an object that changes meanwhile is put as it is then, one that goes before it was
 * put is not told.
 *
 * Trees are borrowed: keep one with json_incref. Listeners share a tree: it is never changed.
 */
struct cluster_listener {
    void (*put)(void *arg, const char *ns, const char *name, const json_t *object);
    void (*removed)(void *arg, const char *ns, const char *name, const json_t *last);
    void *arg;
    void (*loaded)(void *arg); /* NULL: all is put before the watch is returned */
};

struct cluster_watch;

/* One write of several. */
struct cluster_write {
    const char *resource;
    const char *ns;
    const char *name;        /* NULL: it is created */
    const char *subresource; /* of a patch: NULL or "status" */
    json_t *tree;            /* the object, or a strategic merge patch */
    bool must_change;        /* ERR_CONFLICT where the patch changes nothing */
};

/* A pod that ends so that another can start. */
struct cluster_eviction {
    const char *ns;
    const char *name;
    const char *uid;
    const char *reason; /* of its condition DisruptionTarget */
    const char *message;
};

/* The object that a write is about. A resource of a group is named with it: "jobs.batch". */
struct cluster_target {
    const char *resource;
    const char *ns;
    const char *name;
    const char *subresource; /* NULL or "status" */
};

/*
 * How a write is answered: `done` is called once, later, never from inside the write. The store may
 * take back a write that it had accepted, so every write has a `done` (writes.h). A write that
 * fails at once is not answered.
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

/* As it is on disk, by namespace and name; `ns` NULL: of all. A new array. */
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
 * A whole placement, or nothing of it: ledger_bind. The placement does not wait for earlier ones to
 * be on disk; the answer comes when this one is.
 */
static inline struct err *cluster_bind(struct cluster *c, const struct ledger_placement *p,
                                       struct cluster_answer a)
{
    assert(a.done);
    return c->ops->bind(c->self, p, a);
}

/*
 * Writes are done as the control loops. `object` is as it was written afterwards, with its name and
 * uid.
 */
static inline struct err *cluster_create(struct cluster *c, const char *resource, const char *ns,
                                         json_t *object, struct cluster_answer a)
{
    assert(a.done);
    return c->ops->create(c->self, resource, ns, object, a);
}

/*
 * All of them or none: objects_write_all. `*ret_version` is the resourceVersion that they will
 * have. A kube-apiserver has nothing like it: what relies on it (jobs.h) is for our own store only.
 */
static inline struct err *cluster_write_all(struct cluster *c, const struct cluster_write *writes,
                                            size_t n, struct cluster_answer a, int64_t *ret_version)
{
    assert(a.done);
    return c->ops->write_all(c->self, writes, n, a, ret_version);
}

/* A strategic merge patch. */
static inline struct err *cluster_patch(struct cluster *c, const struct cluster_target *t,
                                        const json_t *patch, struct cluster_answer a)
{
    assert(a.done);
    return c->ops->patch(c->self, t, patch, a);
}

/* With the kind's grace. `if_uid` NULL: whichever has the name. */
static inline struct err *cluster_remove(struct cluster *c, const struct cluster_target *t,
                                         const char *if_uid, struct cluster_answer a)
{
    assert(a.done);
    return c->ops->remove(c->self, t, if_uid, a);
}

/* ERR_BUSY where the pod's end would take from its PodDisruptionBudget what that has not. */
static inline struct err *cluster_check_budget(struct cluster *c, const char *ns, const char *pod)
{
    return c->ops->check_budget(c->self, ns, pod);
}

/*
 * With its own grace; a pod that nobody else makes anew comes back once it is gone
 * (kinds/object/requeue.h: for our own store only). A pod that is being deleted already goes on
 * with that.
 */
static inline struct err *cluster_evict(struct cluster *c, const struct cluster_eviction *e,
                                        struct cluster_answer a)
{
    assert(a.done);
    return c->ops->evict(c->self, e, a);
}

/* Over our own store. Both are borrowed. */
struct cluster *cluster_store_new(struct store *store, struct objects *objects);

/* Accepts NULL. Its watches must be gone. */
void cluster_free(struct cluster *c);
