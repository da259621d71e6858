/* cluster_kube_private.h - the parts of the cluster over a kube-apiserver */
#pragma once

#include "base/list.h"
#include "base/vec.h"
#include "client/informer.h"
#include "control/claims/claims_kube.h"
#include "control/kube/cluster_kube.h"
#include "control/kube/kube_devices.h"
#include "control/kube/kube_foreign.h"
#include "control/report/views.h"
#include "kinds/kind/kind.h"

struct over_kube {
    struct cluster cluster;
    struct cluster_kube_options o;
    struct kube_devices *devices;
    struct claims_kube *claims;   /* NULL: claims are not read */
    struct kube_foreign *foreign; /* NULL: no queues of other schedulers */
    struct kube_watch *watches;
    struct kube_bind *binds;
    struct kube_claiming *claimings; /* of them */
    struct kube_call *calls;         /* under way */
    struct kube_call *unsent;
    size_t n_calls; /* in `calls` */
    struct views_source source;
    bool knows_claims;              /* or does not read them: nodes may be read */
    bool knows_nodes;               /* the nodes have been listed: pods may be read */
    struct loop_timer *drain_timer; /* NULL: not draining */
    int64_t drain_end_ns;           /* monotonic */
    void (*drained)(void *arg, bool is_empty);
    void *drained_arg;
};

/* ---- cluster_kube_watch.c ---- */

struct err *over_kube_watch(void *self, const char *group, const char *resource,
                            const struct cluster_listener *l,
                            struct cluster_watch **ret) MUST_CHECK;
void over_kube_unwatch(void *self, struct cluster_watch *w);
/* The pod with its devices, its queue, and with what its claims ask for. A new reference. */
json_t *kube_pod_told(struct over_kube *c, const json_t *pod);
/* Tells the pods that have made room for a pod that names its gpus (kube_devices.h). */
void kube_moved_tell(struct over_kube *c);
/* Tells a pod, or all pods, once more. */
void kube_pod_put_again(struct over_kube *c, const char *key);
void kube_pods_put_again(struct over_kube *c);
/* A watched resource whose objects say in which queue pods are. */
struct kube_resource {
    const char *group;
    const char *plural;
};
extern const struct kube_resource kube_jobs;
extern const struct kube_resource kube_volcano_groups;
/* Has the resource been read, if it is watched? */
bool kube_knows(const struct over_kube *c, const struct kube_resource *r);
/* An object of it by "NAMESPACE/NAME", or NULL. A new reference. */
json_t *kube_object(const struct over_kube *c, const struct kube_resource *r, const char *key);
/* The version of a watched kind that the server has; `k`: not known. */
const struct kind *kube_served(const struct over_kube *c, const struct kind *k);
/* For struct views_source: of core resources, sorted by namespace and name. */
json_t *over_kube_list(void *self, const char *resource, const char *ns);
json_t *over_kube_get(void *self, const char *resource, const char *ns, const char *name);

/* claims_kube.h tells: the listeners get the object again, or an object of the ledger. */
void kube_claims_ready(void *over_kube);
void kube_claims_pod(void *over_kube, const char *key);
void kube_claims_node(void *over_kube, const char *key);
void kube_claims_held(void *over_kube, const char *uuid, const json_t *entry);

/* ---- cluster_kube_claims.c ---- */

/*
 * The claims of a pod on its way to a node: each gets its devices and the pod as a user, one after
 * the other, at the version that was read. `done` is told once, later: NULL, or why not. After a
 * failure too, kube_claiming_undo takes back what was written, and tells.
 */
struct kube_claiming_options {
    const char *ns;
    const char *pod;
    const char *uid;
    struct claims_plan *plans; /* taken */
    size_t n_plans;
    void (*done)(void *arg, const struct err *e);
    void *arg;
};
struct kube_claiming;
struct kube_claiming *kube_claiming_new(struct over_kube *c, const struct kube_claiming_options *o);
void kube_claiming_undo(struct kube_claiming *k, void (*done)(void *arg, const struct err *e));
void kube_claiming_free(struct kube_claiming *k); /* accepts NULL */
/* Does a write that is under way, perhaps for a pod that is gone, give a device of these plans to
 * another claim? */
bool kube_claiming_collides(const struct over_kube *c, const struct claims_plan *plans, size_t n);

/* ---- cluster_kube_bind.c ---- */

struct err *over_kube_bind(void *self, const struct ledger_placement *p,
                           struct cluster_answer a) MUST_CHECK;
/* A pod is gone: a refused gang may have waited for it. */
void kube_bind_gone(struct over_kube *c, const char *uid);
void kube_binds_free(struct over_kube *c);

/* ---- cluster_kube_write.c ---- */

/* The server may or may not have carried out the request. */
bool kube_is_lost(const struct err *e);

/* The path of a resource ("pods", "jobs.batch") or of one object of it; `ns` NULL or "": of all
 * namespaces; `name` NULL: of the list. The caller frees it. */
char *kube_path(const struct kind *k, const char *ns, const char *name, const char *subresource);
/* The kind for "pods" or "jobs.batch". */
const struct kind *kube_kind(const char *resource);

/* A request, sent once few enough are under way; its answer goes to `fn`, borrowed. */
typedef void (*kube_fn)(void *arg, const struct err *e, const json_t *answer);
struct kube_request {
    const char *method; /* static */
    const char *path;
    const char *content_type; /* static; NULL: JSON */
    const json_t *body;       /* NULL: none */
    kube_fn fn;
    void *arg;
};
struct kube_call *kube_send(struct over_kube *c, const struct kube_request *r);
void kube_call_free(struct kube_call *call); /* no answer after it */
/* Ends all requests, or those that were not sent: each gets ERR_UNAVAILABLE. */
void kube_calls_end(struct over_kube *c);
void kube_unsent_end(struct over_kube *c);

struct err *over_kube_create(void *self, const char *resource, const char *ns, json_t *object,
                             struct cluster_answer a) MUST_CHECK;
struct err *over_kube_write_all(void *self, const struct cluster_write *writes, size_t n,
                                struct cluster_answer a, int64_t *ret_version) MUST_CHECK;
struct err *over_kube_patch(void *self, const struct cluster_target *t, const json_t *patch,
                            struct cluster_answer a) MUST_CHECK;
struct err *over_kube_remove(void *self, const struct cluster_target *t, const char *if_uid,
                             struct cluster_answer a) MUST_CHECK;
struct err *over_kube_evict(void *self, const struct cluster_eviction *e,
                            struct cluster_answer a) MUST_CHECK;
struct cluster_read *over_kube_read(void *self, const char *resource, const char *ns,
                                    const char *name, struct cluster_reader r);
void over_kube_unread(void *self, struct cluster_read *r);
