/*
 * scheduler_bind.c - decisions of the engine to the ledger, each in one transaction
 *
 * A workload holds its gpus in the engine from the decision on. If the store refuses the binding,
 * or takes it back before it is durable, the workload gives them up and waits again.
 */
#include <assert.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "control/scheduler/scheduler_private.h"

#define RETRY_MIN_NS (INT64_C(250) * NS_PER_MS)
#define RETRY_MAX_NS (INT64_C(30) * NS_PER_SEC)

void sched_retry_later(struct scheduler *s)
{
    loop_timer_set(s->retry_timer, retry_pause(&s->retry_ns, RETRY_MIN_NS, RETRY_MAX_NS));
}

/*
 * A workload that could not be bound waits again in its old place, and is retried on the next
 * change or after a pause. The rest of a gang that lost pods meanwhile is formed anew, because
 * the rest may be less than the minimum.
 */
static void work_take_back(struct scheduler *s, struct sched_work *w)
{
    struct sched_group *group = w->is_short && w->pods.n > 0 ? w->pods.at[0]->group : NULL;

    sched_work_unplaced(s, w);
    if (group) {
        sched_work_end(s, w);
        sched_group_changed(s, group);
        scheduler_poke(s);
    }
    sched_retry_later(s);
}

/*
 * The gang exceeds what one transaction can take, now and later: its pods say so until the group
 * changes.
 */
static void work_refuse(struct scheduler *s, struct sched_work *w, const struct err *why)
{
    AUTO_FREE char *text = mem_format("cannot be bound at once: %s", err_message(why));
    VEC(struct sched_pod *) pods = {0};

    VEC_EACH (&w->pods, p) {
        vec_add(&pods, *p);
    }
    sched_work_unplaced(s, w);
    sched_work_end(s, w);
    VEC_EACH (&pods, p) {
        sched_pod_wait(s, *p, "GangRefused", "yours", text);
    }
    vec_done(&pods);
}

/* Deals the pod's devices to its containers. */
static size_t devices_deal(struct arena *a, const struct sched_pod *p,
                           struct ledger_container **ret)
{
    struct pod_part *parts = arena_alloc(a, (p->parts.n + 1) * sizeof(*parts));

    for (size_t i = 0; i < p->parts.n; i++)
        parts[i] = (struct pod_part){.container = p->parts.at[i].container,
                                     .first = p->parts.at[i].first,
                                     .count = p->parts.at[i].count};
    return ledger_deal(a, parts, p->parts.n, p->devices.at, p->devices.n, ret);
}

void sched_pod_tell_bound(struct scheduler *s, const struct sched_pod *p)
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

static void tell_taken_back(struct scheduler *s, const struct sched_pod *p, const struct err *why)
{
    AUTO_FREE char *message = mem_format("The binding to %s was taken back and is tried again: %s",
                                         p->node, err_message(why));

    events_record(s->options.events, &(struct event){
                                         .kind = "Pod",
                                         .ns = p->ns,
                                         .name = p->name,
                                         .uid = p->uid,
                                         .is_warning = true,
                                         .reason = "FailedBinding",
                                         .message = message,
                                         .component = "mete-scheduler",
                                     });
}

static bool is_bound(const struct sched_work *w)
{
    VEC_EACH (&w->pods, p) {
        if ((*p)->phase == SCHED_BOUND)
            return true;
    }
    return false;
}

/* Later decisions about the workload assumed the binding. */
static void undo_eviction(struct sched_work *w)
{
    if (w->phase == SCHED_WORK_LEAVING)
        w->phase = SCHED_WORK_PLACED;
    free(w->evicted_because);
    w->evicted_because = NULL;
    VEC_EACH (&w->pods, p) {
        (*p)->ending = SCHED_STAYS;
    }
}

void sched_work_answered(struct scheduler *s, struct sched_work *w)
{
    if (w->binding == 0)
        return;
    map_remove(by_binding, s->bindings, w);
    w->binding = 0;
}

/* The answer or the watch says so, whichever is first. */
static void work_is_bound(struct scheduler *s, struct sched_work *w)
{
    sched_work_answered(s, w);
    s->retry_ns = 0;
    VEC_EACH (&w->pods, p) {
        LOG(INFO, "pod bound", S("pod", (*p)->key), S("node", (*p)->node),
            U("gpus", (*p)->devices.n));
        if (!(*p)->is_slurm)
            sched_pod_tell_bound(s, *p);
        (*p)->bound_ns = loop_now_ns(s->options.loop);
        observe(&s->options.observer, OBSERVED_WAIT, (*p)->queue,
                loop_wall_ns(s->options.loop) - (*p)->submit_ns, (*p)->key);
    }
    if (w->evicted_because)
        scheduler_poke(s);
}

void sched_work_seen(struct scheduler *s, struct sched_work *w)
{
    if (w->binding == 0)
        return;
    VEC_EACH (&w->pods, p) {
        if ((*p)->phase != SCHED_BOUND)
            return;
    }
    work_is_bound(s, w);
}

void sched_work_give_back(struct scheduler *s, struct sched_work *w, const struct err *why)
{
    sched_work_answered(s, w);
    if (is_bound(w))
        return; /* the watch knows better: a placement is bound as a whole */
    LOG(WARN, "binding was taken back", S("workload", w->key), U("pods", w->pods.n), E(why));
    VEC_EACH (&w->pods, p) {
        tell_taken_back(s, *p, why);
    }
    undo_eviction(w);
    work_take_back(s, w);
}

/* The cluster says that the binding contradicts what is there. */
static bool is_refusal(const struct err *e)
{
    return err_code(e) == ERR_CONFLICT || err_code(e) == ERR_NOT_FOUND ||
           err_code(e) == ERR_TOO_LARGE;
}

static void work_refused(struct scheduler *s, struct sched_work *w, const struct err *e)
{
    LOG(WARN, "workload was not bound", S("workload", w->key), U("pods", w->pods.n), E(e));
    sched_work_answered(s, w);
    if (is_bound(w))
        return; /* by somebody else: the watch has told */
    undo_eviction(w);
    if (w->is_gang && err_code(e) == ERR_TOO_LARGE)
        work_refuse(s, w, e);
    else
        work_take_back(s, w);
}

static void on_answer(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct scheduler *s = owner;
    struct sched_work *w = NULL;

    (void)key;
    map_find(by_binding, s->bindings, &number, sizeof(number), w);
    if (!w)
        return; /* the watch was first, or the answer is too late */
    if (!e)
        work_is_bound(s, w);
    else if (is_refusal(e))
        work_refused(s, w, e);
    else
        sched_work_give_back(s, w, e);
}

static void await_answer(struct scheduler *s, struct sched_work *w)
{
    w->binding = ++s->next_binding;
    w->binding_ns = loop_now_ns(s->options.loop);
    map_add(by_binding, s->bindings, &w->binding, sizeof(w->binding), w);
    scheduler_await_answer(s);
}

static struct err *bind_work(struct scheduler *s, struct sched_work *w)
{
    struct arena *a = arena_new();
    struct ledger_pod *pods = arena_alloc(a, w->pods.n * sizeof(*pods));
    AUTO_FREE char *nodes = sched_ranks_nodes(w);
    struct ledger_placement placement = {.ns = w->ns,
                                         .workload = w->name,
                                         .pods = pods,
                                         .n_pods = w->pods.n,
                                         .now_ns = loop_wall_ns(s->options.loop)};
    struct cluster_answer answer;
    struct err *e;

    await_answer(s, w);
    answer = writes_begin(s->writes, on_answer, NULL, w->binding);
    for (size_t i = 0; i < w->pods.n; i++) {
        const struct sched_pod *p = w->pods.at[i];
        struct ledger_container *containers = NULL;

        pods[i] = (struct ledger_pod){
            .name = p->name, .uid = p->uid, .node = p->node, .nodes = nodes, .claims = p->claims};
        pods[i].n_containers = devices_deal(a, p, &containers);
        pods[i].containers = containers;
    }
    e = writes_end(answer, cluster_bind(s->options.cluster, &placement, answer));
    arena_free(a);
    return e;
}

/* The workload's pods are in the engine's order. */
static void work_place(struct scheduler *s, struct sched_work *w, const struct mete_placement *at)
{
    struct arena *a = arena_new();

    sched_ranks_order(w, at);
    for (size_t i = 0; i < at->n_pods && i < w->pods.n; i++) {
        const struct mete_pod_placement *to = &at->pods[i];
        struct sched_pod *p = w->pods.at[i];
        struct device *devices = NULL;
        size_t n;

        assert(p->set == to->pod_set && p->index == to->pod);
        scheduler_unlist(s, p);
        n = sched_devices_chosen(a, to, &devices);
        sched_pod_place(p, to->node, devices, n);
    }
    arena_free(a);
    w->started_ns = loop_wall_ns(s->options.loop);
    sched_work_placed(s, w);
}

void scheduler_carry_out(struct scheduler *s, const struct mete_placement *at)
{
    struct sched_work *w = scheduler_find_work(s, at->workload);
    AUTO(err_freep) struct err *e = NULL;

    if (!w)
        return; /* cannot happen: every workload in the queue is ours */
    work_place(s, w, at);
    e = bind_work(s, w);
    if (e)
        work_refused(s, w, e);
}
