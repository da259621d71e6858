/*
 * scheduler_evict.c - carries out the engine's evictions
 *
 * Each pod of a victim is marked for deletion with its grace period; a pod without a controller
 * leaves its record in the same transaction (kinds/object/requeue.h). The engine keeps the victim's
 * resources for the workload that evicts it until the victim's last pod is gone.
 *
 * After a restart the engine does not know its earlier evictions. A workload that is being evicted
 * is restored as the cheapest victim, so that the engine chooses it first: no decision is undone,
 * and no other workload is evicted in vain. A gang with only some pods marked ends as a whole.
 */
#include <inttypes.h>

#include "base/arena.h"
#include "base/log.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"

/* "job 12", or the workload's name if it has no number of its own. */
static char *evictor_name(const struct scheduler *s, uint64_t id)
{
    const struct sched_work *w = scheduler_find_work(s, id);

    if (id < METE_ID_UNNAMED)
        return mem_format("job %" PRIu64, id);
    return mem_strdup(w ? w->key : "another");
}

static char *eviction_message(const struct scheduler *s, const struct mete_eviction *e)
{
    const struct sched_work *by_work = scheduler_find_work(s, e->by);
    const struct sched_work *victim = scheduler_find_work(s, e->workload);
    bool is_higher = by_work && victim && by_work->asked_priority > victim->asked_priority;
    AUTO_FREE char *by = evictor_name(s, e->by);

    if (victim && victim->is_extra)
        return mem_format("Preempted by %s: its group goes on without it", by);
    switch (e->reason) {
    case METE_EVICTED_RECLAIM:
        return mem_format("Preempted by %s, whose queue takes back what it had lent", by);
    case METE_EVICTED_MOVE:
        return mem_format("Preempted by %s, for which it moves elsewhere", by);
    case METE_EVICTED_SUSPEND:
        return mem_format("Suspended for %s, whose QOS or partition may preempt this one", by);
    case METE_EVICTED_CLASS:
        return mem_format("Preempted by %s, whose QOS or partition may preempt this one", by);
    case METE_EVICTED_PRIORITY:
        break;
    }
    return mem_format("Preempted by %s, which %s", by,
                      is_higher ? "has a higher priority" : "goes first in the queue");
}

static void tell_preempted(struct scheduler *s, const struct sched_pod *p, const char *message)
{
    LOG(INFO, "pod preempted", S("pod", p->key), S("cause", message));
    events_record(s->options.events, &(struct event){
                                         .kind = "Pod",
                                         .ns = p->ns,
                                         .name = p->name,
                                         .uid = p->uid,
                                         .reason = "Preempted",
                                         .message = message,
                                         .component = "mete-scheduler",
                                     });
}

void sched_pod_tell_evicted(struct scheduler *s, struct sched_pod *p)
{
    if (p->ending != SCHED_EVICTING || !p->work || !p->work->evicted_because)
        return;
    p->ending = SCHED_EVICTED;
    tell_preempted(s, p, p->work->evicted_because);
}

void sched_pod_evict_again(struct scheduler *s, struct sched_pod *p, const char *why)
{
    AUTO_FREE char *message = mem_format("The preemption is tried again: %s", why);

    LOG(WARN, "preemption was taken back, will be tried again", S("pod", p->key), S("cause", why));
    events_record(s->options.events, &(struct event){
                                         .kind = "Pod",
                                         .ns = p->ns,
                                         .name = p->name,
                                         .uid = p->uid,
                                         .is_warning = true,
                                         .reason = "FailedPreemption",
                                         .message = message,
                                         .component = "mete-scheduler",
                                     });
    p->ending = SCHED_STAYS;
    s->has_unevicted = true;
    sched_retry_later(s);
}

/* The pod is gone, or another pod has its name: nothing is left to evict. */
static bool is_gone(const struct err *e)
{
    return err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_CONFLICT;
}

/* Durable: writes the event. Taken back: the pod is marked again soon. */
static void on_answer(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct scheduler *s = owner;
    struct sched_pod *p = scheduler_find_pod(s, key);

    (void)number;
    if (!p || p->ending != SCHED_EVICTING || !p->work || p->work->phase != SCHED_WORK_LEAVING)
        return;
    if (!e)
        sched_pod_tell_evicted(s, p);
    else if (is_gone(e))
        p->ending = SCHED_EVICTED;
    else
        sched_pod_evict_again(s, p, err_message(e));
}

/* An eviction that could not be written is retried soon; a pod that is gone needs none. */
static void evict_pod(struct scheduler *s, struct sched_pod *p, const char *message)
{
    const struct cluster_eviction what = {.ns = p->ns,
                                          .name = p->name,
                                          .uid = p->uid,
                                          .reason = POD_PREEMPTED,
                                          .message = message,
                                          .grace_s = p->work->grace_s};
    struct cluster_answer a = writes_begin(s->writes, on_answer, p->key, 0);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_evict(s->options.cluster, &what, a));

    if (e && !is_gone(e)) {
        LOG(WARN, "pod was not preempted, will be tried again", S("pod", p->key), E(e));
        s->has_unevicted = true;
        sched_retry_later(s);
        return;
    }
    p->ending = e ? SCHED_EVICTED : SCHED_EVICTING;
    p->evict_ns = loop_now_ns(s->options.loop);
    scheduler_await_answer(s);
}

/* A workload whose binding is on its way is evicted once it is bound. */
static void evict_work(struct scheduler *s, struct sched_work *w)
{
    if (w->binding != 0) {
        s->has_unevicted = true;
        return;
    }
    for (size_t i = 0; i < w->pods.n; i++)
        if (w->pods.at[i]->ending == SCHED_STAYS)
            evict_pod(s, w->pods.at[i], w->evicted_because);
}

/*
 * Does a disruption budget protect any pod of the workload? Asked once: when the engine chooses the
 * workload again, it has found no other.
 */
static bool is_spared(struct scheduler *s, const struct sched_work *w)
{
    for (size_t i = 0; i < w->pods.n && !w->is_dear; i++) {
        if (sched_pod_is_protected(s, w->pods.at[i]))
            return true;
    }
    return false;
}

static void evict_begin(struct scheduler *s, struct sched_work *w, const char *because)
{
    w->phase = SCHED_WORK_LEAVING;
    free(w->evicted_because);
    w->evicted_because = mem_strdup(because);
    evict_work(s, w);
}

void scheduler_evict_with(struct scheduler *s, struct sched_work *w, const char *because)
{
    if (!is_spared(s, w))
        evict_begin(s, w, because);
}

/* Spares all victims for the workload `by`. */
static void call_off(struct sched_eviction *list, size_t n, uint64_t by)
{
    for (size_t i = 0; i < n; i++)
        list[i].is_off = list[i].is_off || list[i].by == by;
}

void scheduler_read_evictions(const struct scheduler *s, struct arena *a,
                              const struct mete_decisions *d, struct sched_eviction *ret)
{
    for (size_t i = 0; i < d->n_evictions; i++) {
        AUTO_FREE char *message = eviction_message(s, &d->evictions[i]);

        ret[i] =
            (struct sched_eviction){.id = d->evictions[i].workload,
                                    .by = d->evictions[i].by,
                                    .is_suspension = d->evictions[i].reason == METE_EVICTED_SUSPEND,
                                    .message = arena_strdup(a, message)};
    }
}

void scheduler_evict(struct scheduler *s, struct sched_eviction *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_work *w = scheduler_find_work(s, list[i].id);

        if (!w || list[i].is_suspension || !is_spared(s, w))
            continue;
        w->is_dear = true;
        call_off(list, n, list[i].by);
    }
    for (size_t i = 0; i < n; i++) {
        struct sched_work *w = scheduler_find_work(s, list[i].id);

        if (w && list[i].is_off)
            sched_work_again(s, w);
        else if (w && list[i].is_suspension)
            sched_work_suspend(s, w, list[i].message);
        else if (w)
            evict_begin(s, w, list[i].message);
    }
}

void scheduler_finish_evictions(struct scheduler *s)
{
    struct sched_work *w;
    struct sched_work *next;

    if (!s->has_unevicted)
        return;
    s->has_unevicted = false;
    map_each (handle, s->works, w, next) {
        if (w->evicted_because)
            evict_work(s, w);
    }
}

static bool is_preempted(const json_t *pod)
{
    const json_t *condition = object_condition(pod, "DisruptionTarget");

    return pod_is_deleting(pod) && text_equal(json_text(condition, "status"), "True") &&
           text_equal(json_text(condition, "reason"), POD_PREEMPTED);
}

/* The eviction came from an earlier server. */
void sched_pod_note_eviction(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    const json_t *condition = object_condition(pod, "DisruptionTarget");
    const char *message = json_text(condition, "message");
    struct sched_work *w = p->work;

    if (!is_preempted(pod))
        return;
    if (p->ending != SCHED_STAYS) {
        sched_pod_tell_evicted(s, p);
        return;
    }
    p->ending = SCHED_EVICTED;
    if (!w || w->phase == SCHED_WORK_LEAVING || w->phase == SCHED_WORK_GOING)
        return;
    w->phase = SCHED_WORK_GOING;
    w->gone_ns = stamp_or(json_text_at(pod, "metadata", "deletionTimestamp", NULL), 0);
    w->evicted_because = mem_strdup(message ? message : "Preempted");
    s->has_unevicted = true;
    if (!s->is_loading || !w->is_gang)
        sched_work_again(s, w);
    scheduler_poke(s);
}
