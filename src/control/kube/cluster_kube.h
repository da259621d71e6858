/*
 * cluster_kube.h - the cluster over a kube-apiserver
 *
 * The server has no transactions over several objects. A placement is bound pod by pod, each with
 * the devices of its decision in the annotation mete.dev/devices, and the version precondition is
 * the pod's uid. When a pod of a gang cannot be bound, the others that were bound are deleted, and
 * the placement is refused once they are gone: their controllers make them anew. An answer that was
 * lost is asked for. The ledger is no object here: the pods' annotations say what is held, and
 * kube_devices.h names the devices of pods that other schedulers bound.
 *
 * The ResourceClaims of a pod get their devices and the pod as a user before its binding, each at
 * the version that was read; of a gang, all claims come before the first binding. When the pod
 * cannot be bound, what was written of its claims is taken back. Another scheduler may give a
 * device of a claim a second time meanwhile; then the driver on the node refuses one of both.
 *
 * A resource that the server does not have is empty, and is looked for again each 30 s.
 */
#pragma once

#include "client/client.h"
#include "control/cluster.h"

/* The use of queue objects of other schedulers: kube_foreign.h. */
enum kube_foreign_how {
    KUBE_FOREIGN_NONE,   /* their labels name Queues of mete.dev */
    KUBE_FOREIGN_READ,   /* they are queues */
    KUBE_FOREIGN_IGNORE, /* their controllers admit: labels that name no Queue have no meaning */
};

struct cluster_kube_options {
    struct loop *loop;
    struct client *client; /* borrowed */
    bool has_claims;       /* pods may have ResourceClaims (control/claims/claims_kube.h) */
    enum kube_foreign_how foreign;
    /* The server cannot be read: once for each cause. May be NULL. */
    void (*on_problem)(void *arg, const char *resource, const struct err *e);
    void *arg;
};

/* cluster_free ends it. */
struct cluster *cluster_kube_new(const struct cluster_kube_options *o);

/*
 * Waits until no request is under way, then calls `done` in a turn of its own. `is_empty` false:
 * after `limit_ns` some are. The watches are gone, and nothing new is asked for.
 */
void cluster_kube_drain(struct cluster *c, int64_t limit_ns, void (*done)(void *arg, bool is_empty),
                        void *arg);

/* The scheduler over the cluster, for claims that can be met in several ways; NULL: it ends. */
struct scheduler;
void cluster_kube_set_scheduler(struct cluster *c, struct scheduler *s);

/*
 * The objects of watched core resources, as their listeners were told: for reports
 * (control/report/views.h). Borrowed until cluster_free.
 */
struct views_source;
const struct views_source *cluster_kube_source(struct cluster *c);
