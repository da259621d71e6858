/* cluster_kube.c - the cluster over a kube-apiserver */

#include "control/kube/cluster_kube.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/cluster_kube_private.h"

#define DRAIN_LOOK_NS (10 * NS_PER_MS)

static void over_kube_free(void *self)
{
    struct over_kube *c = self;

    kube_binds_free(c);
    claims_kube_free(c->claims);
    kube_calls_end(c);
    kube_devices_free(c->devices);
    kube_foreign_free(c->foreign);
    loop_timer_free(c->drain_timer);
    free(c);
}

static const struct cluster_ops ops = {
    .watch = over_kube_watch,
    .unwatch = over_kube_unwatch,
    .read = over_kube_read,
    .unread = over_kube_unread,
    .bind = over_kube_bind,
    .create = over_kube_create,
    .write_all = over_kube_write_all,
    .patch = over_kube_patch,
    .remove = over_kube_remove,
    .evict = over_kube_evict,
    .free = over_kube_free,
};

static void claims_begin(struct over_kube *c)
{
    c->claims = claims_kube_new(&(struct claims_kube_options){.loop = c->o.loop,
                                                              .cluster = &c->cluster,
                                                              .ready = kube_claims_ready,
                                                              .pod_changed = kube_claims_pod,
                                                              .node_changed = kube_claims_node,
                                                              .held_changed = kube_claims_held,
                                                              .arg = c});
}

struct cluster *cluster_kube_new(const struct cluster_kube_options *o)
{
    struct over_kube *c = mem_alloc(sizeof(*c));

    *c = (struct over_kube){.cluster = {.ops = &ops, .self = c},
                            .o = *o,
                            .source = {.list = over_kube_list, .get = over_kube_get, .arg = c},
                            .devices = kube_devices_new(),
                            .knows_claims = !o->has_claims};
    if (o->has_claims)
        claims_begin(c);
    if (o->foreign != KUBE_FOREIGN_NONE)
        c->foreign = kube_foreign_new(c);
    return &c->cluster;
}

static void on_drain(void *arg)
{
    struct over_kube *c = arg;

    if (c->calls && loop_now_ns(c->o.loop) < c->drain_end_ns)
        loop_timer_set(c->drain_timer, DRAIN_LOOK_NS);
    else
        c->drained(c->drained_arg, !c->calls); /* may free the cluster */
}

void cluster_kube_drain(struct cluster *cluster, int64_t limit_ns,
                        void (*done)(void *arg, bool is_empty), void *arg)
{
    struct over_kube *c = cluster->self;

    c->drained = done;
    c->drained_arg = arg;
    c->drain_end_ns = loop_now_ns(c->o.loop) + limit_ns;
    c->drain_timer = loop_timer_new(c->o.loop, on_drain, c);
    kube_unsent_end(c);
    loop_timer_set(c->drain_timer, 0);
}

void cluster_kube_set_scheduler(struct cluster *c, struct scheduler *s)
{
    struct over_kube *over = c->self;

    if (over->claims)
        claims_kube_set_scheduler(over->claims, s);
}

const struct views_source *cluster_kube_source(struct cluster *c)
{
    const struct over_kube *over = c->self;

    return &over->source;
}
