#include "base/arena.h"
#include "base/log.h"
#include "base/stamp.h"
#include "control/scheduler_private.h"

enum {
    CYCLE_STEPS = 1 << 20 /* then the loop gets its turn */
};

#define RETRY_MIN_NS (INT64_C(250) * NS_PER_MS)
#define RETRY_MAX_NS (INT64_C(30) * NS_PER_SEC)

void scheduler_poke(struct scheduler *s)
{
    if (s->is_poked)
        return;
    s->is_poked = true;
    loop_timer_set(s->cycle_timer, 0);
}

static void on_retry(void *arg)
{
    scheduler_poke(arg);
}

/* It could not be bound: it waits again in its old place, and is tried again on the next change or
 * a while later. */
static void take_back(struct scheduler *s, struct sched_pod *p)
{
    (void)mete_workload_unplace(s->engine, p->id); /* it is placed: that is why we are here */
    sched_pod_unplace(s, p);
    scheduler_list_waiting(s, p);
    s->retry_ns = s->retry_ns == 0 ? RETRY_MIN_NS : s->retry_ns * 2;
    if (s->retry_ns > RETRY_MAX_NS)
        s->retry_ns = RETRY_MAX_NS;
    loop_timer_set(s->retry_timer, s->retry_ns);
}

/* A container's gpus are the first ones not yet dealt; an init container gets the first ones of
 * all. */
static size_t deal(struct arena *a, const struct sched_pod *p, const struct mete_pod_placement *at,
                   struct ledger_container **ret)
{
    struct ledger_container *list = arena_alloc(a, (p->containers.n + 1) * sizeof(*list));
    size_t dealt = 0;
    size_t n = 0;

    VEC_EACH (&p->containers, c) {
        size_t first = c->is_init ? 0 : dealt;
        size_t count = c->gpus;

        if (first + count > at->n_gpus)
            count =
                at->n_gpus - first; /* the sums were made from the same numbers: does not happen */
        list[n++] =
            (struct ledger_container){.name = c->name, .gpus = at->gpus + first, .n_gpus = count};
        if (!c->is_init)
            dealt += count;
    }
    *ret = list;
    return n;
}

static struct err *bind_pod(struct scheduler *s, struct sched_pod *p,
                            const struct mete_pod_placement *at)
{
    struct ledger_container *containers = NULL;
    struct arena *a = arena_new();
    struct ledger_pod pod = {.name = p->name, .uid = p->uid, .node = at->node};
    struct ledger_placement placement = {.ns = p->ns,
                                         .workload = p->name,
                                         .pods = &pod,
                                         .n_pods = 1,
                                         .now_ns = loop_wall_ns(s->options.loop)};
    struct err *e;

    pod.n_containers = deal(a, p, at, &containers);
    pod.containers = containers;
    e = cluster_bind(s->options.cluster, &placement, NULL, NULL);
    arena_free(a);
    return e;
}

static void tell_bound(struct scheduler *s, const struct sched_pod *p)
{
    AUTO_FREE char *message = mem_format("Successfully assigned %s to %s", p->key, p->node);

    events_record(s->options.events, &(struct event){
                                         .kind = "Pod",
                                         .ns = p->ns,
                                         .name = p->name,
                                         .uid = p->uid,
                                         .reason = "Scheduled",
                                         .message = message,
                                         .component = "mete-scheduler",
                                     });
}

static void carry_out(struct scheduler *s, const struct mete_placement *placement)
{
    const struct mete_pod_placement *at = &placement->pods[0];
    struct sched_pod *p = scheduler_find_id(s, placement->workload);
    AUTO(err_freep) struct err *e = NULL;

    if (!p)
        return; /* every workload in the queue is a pod's */
    scheduler_unlist(s, p);
    sched_pod_place(p, at->node, at->gpus, at->n_gpus);
    e = bind_pod(s, p, at);
    if (e) {
        LOG(WARN, "pod was not bound", S("pod", p->key), S("node", p->node), E(e));
        take_back(s, p);
        return;
    }
    s->retry_ns = 0;
    LOG(INFO, "pod bound", S("pod", p->key), S("node", p->node), U("gpus", at->n_gpus));
    tell_bound(s, p);
}

/* The decisions are valid until the engine changes, which a failed bind does: copied first. */
static void copy_placements(struct arena *a, const struct mete_decisions *d,
                            struct mete_placement *ret)
{
    for (size_t i = 0; i < d->n_placements; i++) {
        struct mete_pod_placement *pod = arena_alloc(a, sizeof(*pod));
        const char **gpus;

        *pod = d->placements[i].pods[0];
        gpus = arena_alloc(a, (pod->n_gpus + 1) * sizeof(*gpus));
        for (size_t k = 0; k < pod->n_gpus; k++)
            gpus[k] = arena_strdup(a, pod->gpus[k]);
        pod->gpus = gpus;
        pod->node = arena_strdup(a, pod->node);
        ret[i] = (struct mete_placement){
            .workload = d->placements[i].workload, .pods = pod, .n_pods = 1};
    }
}

static void on_cycle(void *arg)
{
    struct scheduler *s = arg;
    struct arena *a;
    struct mete_placement *placements;
    struct mete_decisions d;
    size_t n;
    bool is_cut;

    s->is_poked = false;
    if (s->is_held)
        return;
    a = arena_new();
    mete_cycle(s->engine, loop_wall_ns(s->options.loop), CYCLE_STEPS, &d);
    n = d.n_placements;
    is_cut = d.is_cut;
    placements = arena_alloc(a, (n + 1) * sizeof(*placements));
    copy_placements(a, &d, placements);
    for (size_t i = 0; i < n; i++)
        carry_out(s, &placements[i]);
    arena_free(a);
    if (is_cut)
        scheduler_poke(s);
    else
        scheduler_tell_later(s);
}

static struct err *watch_all(struct scheduler *s)
{
    struct cluster *c = s->options.cluster;
    const struct cluster_listener nodes = {scheduler_put_node, scheduler_remove_node, s};
    const struct cluster_listener pods = {scheduler_put_pod, scheduler_remove_pod, s};
    const struct cluster_listener ledger = {scheduler_put_held, scheduler_remove_held, s};

    TRY(cluster_watch(c, "", "nodes", &nodes, &s->nodes_watch));
    TRY(cluster_watch(c, "", "pods", &pods, &s->pods_watch));
    return cluster_watch(c, "mete.dev", "ledger", &ledger, &s->ledger_watch);
}

struct err *scheduler_new(const struct scheduler_options *o, struct scheduler **ret)
{
    const struct mete_options engine = {.policy = o->policy};
    struct scheduler *s = mem_alloc(sizeof(*s));
    struct err *e = NULL;

    s->options = *o;
    s->options.policy = NULL; /* not kept */
    s->cycle_timer = loop_timer_new(o->loop, on_cycle, s);
    s->retry_timer = loop_timer_new(o->loop, on_retry, s);
    s->tell_timer = loop_timer_new(o->loop, scheduler_on_tell, s);
    s->engine = mete_engine_new(&engine);
    if (!s->engine)
        e = err_new(ERR_INVALID, "there is no policy '%s'", o->policy);
    else
        e = watch_all(s);
    if (e) {
        scheduler_free(s);
        return err_wrap(e, "scheduler");
    }
    *ret = s;
    return NULL;
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    loop_timer_free(s->cycle_timer);
    loop_timer_free(s->retry_timer);
    loop_timer_free(s->tell_timer);
    cluster_unwatch(s->options.cluster, s->nodes_watch);
    cluster_unwatch(s->options.cluster, s->pods_watch);
    cluster_unwatch(s->options.cluster, s->ledger_watch);
    while (s->pods)
        sched_pod_free(s, s->pods);
    while (s->nodes)
        sched_node_free(s, s->nodes);
    while (s->held)
        sched_held_free(s, s->held);
    while (s->ports) {
        struct sched_port *port = s->ports;

        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, s->ports, port);
        free(port->resource);
        free(port);
    }
    mete_engine_free(s->engine);
    free(s);
}

void scheduler_hold(struct scheduler *s, const char *why)
{
    if (s->is_held == (why != NULL))
        return;
    s->is_held = why != NULL;
    if (why)
        LOG(ERROR, "nothing is placed until this is right", S("cause", why));
    else
        scheduler_poke(s);
}

uint64_t scheduler_workload(const struct scheduler *s, const char *ns, const char *pod,
                            const char *uid)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, pod);
    const struct sched_pod *p = scheduler_find_pod(s, key);

    return p && text_equal(p->uid, uid) ? p->id : 0;
}

struct mete_engine *scheduler_engine(struct scheduler *s)
{
    return s->engine;
}
