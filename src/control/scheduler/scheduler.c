/* scheduler.c - the scheduler's cycles, start, and answers */

#include "base/arena.h"
#include "base/log.h"
#include "base/stamp.h"
#include "control/scheduler/scheduler_private.h"

enum {
    CYCLE_STEPS = 1 << 20, /* then the loop gets its turn */
    NODES_MAX = 64         /* nodes in a reason */
};

/* Time alone changes which workloads may be evicted, and the order of the queue. */
#define TICK_NS (INT64_C(10) * NS_PER_SEC)

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

static const struct mete_device *copy_devices(struct arena *a, const struct mete_device *from,
                                              size_t n)
{
    struct mete_device *to = arena_alloc(a, (n + 1) * sizeof(*to));

    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
        to[i].gpu = arena_strdup(a, from[i].gpu);
        to[i].profile = from[i].profile ? arena_strdup(a, from[i].profile) : NULL;
        to[i].slice = from[i].slice ? arena_strdup(a, from[i].slice) : NULL;
    }
    return to;
}

/*
 * The decisions are valid until the engine changes, and a failed bind changes it: the copy has no
 * pointer into the engine.
 */
void sched_placement_copy(struct arena *a, const struct mete_placement *from,
                          struct mete_placement *ret)
{
    struct mete_pod_placement *pods = arena_alloc(a, from->n_pods * sizeof(*pods));

    for (size_t i = 0; i < from->n_pods; i++) {
        const struct mete_pod_placement *pod = &from->pods[i];
        const char **gpus = arena_alloc(a, (pod->n_gpus + 1) * sizeof(*gpus));

        for (size_t k = 0; k < pod->n_gpus; k++)
            gpus[k] = arena_strdup(a, pod->gpus[k]);
        pods[i] = *pod;
        pods[i].gpus = gpus;
        pods[i].node = arena_strdup(a, pod->node);
        pods[i].devices = copy_devices(a, pod->devices, pod->n_devices);
    }
    *ret = *from;
    ret->pods = pods;
}

/* A cycle's decisions, copied. */
struct decided {
    struct mete_placement *placements;
    size_t n_placements;
    struct sched_eviction *evictions;
    size_t n_evictions;
    uint64_t *resumes; /* workloads */
    size_t n_resumes;
    bool is_cut;
};

static void count_cycle(struct scheduler *s, int64_t ns)
{
    s->cycles.n++;
    s->cycles.last_ns = ns;
    s->cycles.most_ns = ns > s->cycles.most_ns ? ns : s->cycles.most_ns;
    s->cycles.sum_ns += ns;
    observe(&s->options.observer, OBSERVED_CYCLE, NULL, ns, NULL);
}

struct scheduler_cycles scheduler_cycles(const struct scheduler *s)
{
    return s->cycles;
}

static struct decided cycle_decide(struct scheduler *s, struct arena *a)
{
    int64_t begun_ns = loop_now_ns(s->options.loop);
    struct mete_decisions d;
    struct decided ret;

    mete_cycle(s->engine, loop_wall_ns(s->options.loop), CYCLE_STEPS, &d);
    count_cycle(s, loop_now_ns(s->options.loop) - begun_ns);
    ret = (struct decided){
        .placements = arena_alloc(a, (d.n_placements + 1) * sizeof(*ret.placements)),
        .n_placements = d.n_placements,
        .evictions = arena_alloc(a, (d.n_evictions + 1) * sizeof(*ret.evictions)),
        .n_evictions = d.n_evictions,
        .n_resumes = d.n_resumes,
        .is_cut = d.is_cut,
    };
    for (size_t i = 0; i < d.n_placements; i++)
        sched_placement_copy(a, &d.placements[i], &ret.placements[i]);
    scheduler_read_evictions(s, a, &d, ret.evictions);
    scheduler_read_resumes(&d, a, &ret.resumes);
    return ret;
}

static void forget_placement(struct decided *d, uint64_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_placements; i++)
        if (d->placements[i].workload != id)
            d->placements[n++] = d->placements[i];
    d->n_placements = n;
}

/*
 * A cycle may place a workload and then evict it for a newer one that goes first. Such a workload
 * is not bound yet: nothing ends, and it waits again.
 */
static void drop_passing(struct scheduler *s, struct decided *d)
{
    for (size_t i = 0; i < d->n_evictions; i++) {
        const struct sched_work *w = scheduler_find_work(s, d->evictions[i].id);

        if (!w || w->phase != SCHED_WORK_WAITING)
            continue;
        forget_placement(d, w->id);
        (void)mete_workload_unplace(s->engine, w->id); /* just placed: cannot fail */
        d->evictions[i].id = 0;
        scheduler_poke(s);
    }
}

static void on_cycle(void *arg)
{
    struct scheduler *s = arg;
    struct decided d;
    struct arena *a;

    s->is_poked = false;
    if (s->is_held || scheduler_is_loading(s))
        return;
    scheduler_finish_evictions(s);
    scheduler_settle_suspensions(s);
    scheduler_settle_groups(s);
    scheduler_ask_again(s);
    a = arena_new();
    d = cycle_decide(s, a);
    drop_passing(s, &d);
    scheduler_evict(s, d.evictions, d.n_evictions);
    for (size_t i = 0; i < d.n_resumes; i++) {
        struct sched_work *w = scheduler_find_work(s, d.resumes[i]);

        if (w)
            sched_work_unsuspend(s, w);
    }
    for (size_t i = 0; i < d.n_placements; i++)
        scheduler_carry_out(s, &d.placements[i]);
    arena_free(a);
    if (d.is_cut)
        scheduler_poke(s);
    else
        scheduler_tell_later(s);
    if (s->told || s->untold)
        loop_timer_set(s->tick_timer, TICK_NS);
    queue_tree_touch(s->queues);
    reservations_touch(s->reservations);
}

/* Pods that came before the queues may not use them. */
static void queues_synced(void *arg)
{
    scheduler_look_at_holds(arg);
    scheduler_synced(arg);
}

static struct err *watch_queues(struct scheduler *s)
{
    const struct queue_tree_options o = {.loop = s->options.loop,
                                         .cluster = s->options.cluster,
                                         .engine = s->engine,
                                         .on_change = scheduler_look_at_holds,
                                         .on_synced = queues_synced,
                                         .arg = s};

    s->n_unsynced++;
    return queue_tree_new(&o, &s->queues);
}

static void on_reservation(void *arg)
{
    scheduler_poke(arg);
}

static struct err *watch_reservations(struct scheduler *s)
{
    const struct reservations_options o = {.loop = s->options.loop,
                                           .cluster = s->options.cluster,
                                           .engine = s->engine,
                                           .on_change = on_reservation,
                                           .on_synced = scheduler_synced,
                                           .arg = s};

    s->n_unsynced++;
    return reservations_new(&o, &s->reservations);
}

/* Reservations come last: the engine picks gpus for them, so it must know all holders. */
void scheduler_synced(void *arg)
{
    struct scheduler *s = arg;

    if (--s->n_unsynced > 0)
        return;
    s->is_loading = false;
    sched_works_loaded(s);
    sched_suspensions_loaded(s);
    if (s->options.binds_one_by_one)
        sched_halves_find(s);
    scheduler_check_all_held(s);
    reservations_feed(s->reservations);
    LOG(INFO, "all pods have been read", U("pods", map_count(handle, s->pods)));
    scheduler_poke(s);
}

static struct err *sched_watch_all(struct scheduler *s)
{
    void (*const synced)(void *) = scheduler_synced;
    const struct {
        const char *group;
        const char *resource;
        struct cluster_listener listener;
        struct cluster_watch **watch;
    } all[] = {
        {"", "nodes", {scheduler_put_node, scheduler_remove_node, s, synced}, &s->nodes_watch},
        {"mete.dev",
         "ledger",
         {scheduler_put_held, scheduler_remove_held, s, synced},
         &s->ledger_watch},
        {"scheduling.k8s.io",
         "priorityclasses",
         {scheduler_put_class, scheduler_remove_class, s, synced},
         &s->classes_watch},
        {"policy",
         "poddisruptionbudgets",
         {scheduler_put_budget, scheduler_remove_budget, s, synced},
         &s->budgets_watch},
        {"", "pods", {scheduler_put_pod, scheduler_remove_pod, s, synced}, &s->pods_watch},
    };

    s->is_loading = true;
    s->n_unsynced = 1; /* until all watches are there */
    TRY(watch_queues(s));
    TRY(watch_reservations(s));
    TRY(scheduler_watch_groups(s));
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        s->n_unsynced++;
        TRY(cluster_watch(s->options.cluster, all[i].group, all[i].resource, &all[i].listener,
                          all[i].watch));
    }
    scheduler_synced(s);
    return NULL;
}

struct err *scheduler_new(const struct scheduler_options *o, struct scheduler **ret)
{
    const struct mete_options engine = {.policy = o->policy,
                                        .nodes_max = NODES_MAX,
                                        .record = o->record,
                                        .record_arg = o->record_arg};
    struct scheduler *s = mem_alloc(sizeof(*s));
    struct err *e = NULL;

    s->options = *o;
    s->options.policy = NULL; /* borrowed for the call only */
    s->options.scheduler_names = NULL;
    if (s->options.answer_ns == 0)
        s->options.answer_ns = SCHED_ANSWER_NS;
    s->cycle_timer = loop_timer_new(o->loop, on_cycle, s);
    s->retry_timer = loop_timer_new(o->loop, on_retry, s);
    s->tick_timer = loop_timer_new(o->loop, on_retry, s);
    s->tell_timer = loop_timer_new(o->loop, scheduler_on_tell, s);
    s->status_timer = loop_timer_new(o->loop, scheduler_on_group_status, s);
    s->shrink_timer = loop_timer_new(o->loop, scheduler_tell_shrunk, s);
    s->answer_timer = loop_timer_new(o->loop, scheduler_on_deadline, s);
    s->lost_timer = loop_timer_new(o->loop, scheduler_on_lost, s);
    s->partial_timer = loop_timer_new(o->loop, scheduler_on_partial, s);
    s->start_timer = loop_timer_new(o->loop, scheduler_look_at_holds, s);
    s->writes = writes_new(s);
    s->engine = mete_engine_new(&engine);
    if (!s->engine)
        e = err_new(ERR_INVALID, "there is no policy '%s'", o->policy);
    if (!e)
        e = scheduler_names_parse(o->scheduler_names ? o->scheduler_names : SCHEDULER_NAMES,
                                  o->has_names_alone, &s->names);
    s->names_text = scheduler_names_format(&s->names);
    if (!e)
        e = sched_watch_all(s);
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
    cluster_unwatch(s->options.cluster, s->nodes_watch);
    cluster_unwatch(s->options.cluster, s->pods_watch);
    cluster_unwatch(s->options.cluster, s->ledger_watch);
    cluster_unwatch(s->options.cluster, s->classes_watch);
    cluster_unwatch(s->options.cluster, s->budgets_watch);
    sched_works_free(s);
    while (s->pods)
        sched_pod_free(s, s->pods);
    scheduler_groups_free(s);
    while (s->nodes)
        sched_node_free(s, s->nodes);
    while (s->held)
        sched_held_free(s, s->held);
    while (s->budgets)
        sched_budget_free(s, s->budgets);
    while (s->classes)
        sched_class_free(s, s->classes);
    json_decref(s->evict_rules);
    sched_models_free(s);
    while (s->node_resources) {
        struct sched_node_resource *r = s->node_resources;

        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, s->node_resources, r);
        free(r->name);
        free(r);
    }
    loop_timer_free(s->cycle_timer);
    loop_timer_free(s->retry_timer);
    loop_timer_free(s->tell_timer);
    loop_timer_free(s->tick_timer);
    loop_timer_free(s->status_timer);
    loop_timer_free(s->shrink_timer);
    loop_timer_free(s->answer_timer);
    loop_timer_free(s->lost_timer);
    loop_timer_free(s->partial_timer);
    loop_timer_free(s->start_timer);
    queue_tree_free(s->queues);
    reservations_free(s->reservations);
    mete_engine_free(s->engine);
    writes_free(s->writes);
    scheduler_names_done(&s->names);
    free(s->names_text);
    free(s->why_text);
    free(s);
}

void scheduler_hold(struct scheduler *s, const char *why)
{
    if (s->is_held == (why != NULL))
        return;
    s->is_held = why != NULL;
    if (why)
        LOG(ERROR, "scheduling is stopped until the cause is gone", S("cause", why));
    else
        scheduler_poke(s);
}

static const struct sched_pod *find_with_uid(const struct scheduler *s, const char *key,
                                             const char *uid)
{
    const struct sched_pod *p = scheduler_find_pod(s, key);

    return p && text_equal(p->uid, uid) ? p : NULL;
}

/* As a reason of the engine: such a pod is in no queue. */
static void tell_wait(const struct scheduler *s, const struct sched_pod *p, struct mete_reason *ret)
{
    *ret = (struct mete_reason){
        .code = METE_REASON_QUEUE_STOPPED,
        .code_text = p->wait.code,
        .class_text = p->wait.class_text,
        .queue = p->tree ? scheduler_queue_of(s, p->tree) : "default",
        .message = p->wait.message,
        .since_ns = p->wait.since_ns,
        .evaluated_ns = loop_wall_ns(s->options.loop),
    };
}

/* The engine's reasons are wrong until all pods have been read. */
static void tell_loading(const struct scheduler *s, struct mete_reason *ret)
{
    int64_t now_ns = loop_wall_ns(s->options.loop);

    *ret = (struct mete_reason){
        .code = METE_REASON_NOT_YET_EVALUATED,
        .code_text = "NotYetEvaluated",
        .class_text = "turn",
        .queue = "default",
        .message = "not evaluated yet: the server has just started and is reading its pods",
        .since_ns = now_ns,
        .evaluated_ns = now_ns,
    };
}

struct err *scheduler_check_loaded(const struct scheduler *s)
{
    if (!scheduler_is_loading(s))
        return NULL;
    return err_new(ERR_UNAVAILABLE, "the server has just started and is reading its pods: try "
                                    "again in a few seconds");
}

bool scheduler_is_loading(const struct scheduler *s)
{
    return s->is_loading;
}

bool scheduler_why(struct scheduler *s, const char *key, const char *uid, bool is_brief,
                   struct mete_reason *ret)
{
    const struct sched_pod *p = find_with_uid(s, key, uid);
    int64_t now_ns = loop_wall_ns(s->options.loop);
    enum mete_result result;

    if (scheduler_is_loading(s) && !(p && sched_pod_is_placed(p))) {
        tell_loading(s, ret);
        return true;
    }
    if (!p)
        return false;
    if (p->wait.code) {
        tell_wait(s, p, ret);
        return true;
    }
    if (!p->work)
        return false;
    free(s->why_text);
    s->why_text = NULL;
    result = is_brief ? mete_why_brief(s->engine, p->work->id, now_ns, ret)
                      : mete_why(s->engine, p->work->id, now_ns, ret);
    if (result != METE_OK || ret->code == METE_REASON_NONE)
        return false;
    if (p->work->is_extra) {
        s->why_text = mem_format("beyond the minimum of its group; %s", ret->message);
        ret->message = s->why_text;
    }
    return true;
}

struct mete_engine *scheduler_engine(struct scheduler *s)
{
    return s->engine;
}

json_t *scheduler_queues(const struct scheduler *s)
{
    return queue_tree_list(s->queues);
}
