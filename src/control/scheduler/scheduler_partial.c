/*
 * scheduler_partial.c - gangs that were bound in part
 *
 * A cluster without transactions binds a gang pod by pod (cluster.h), and the leader may end in the
 * middle. The next one sees such a gang when it has read the cluster: fewer pods than the minimum
 * are there, and others that are older than their bindings wait. A pod that was made in place of
 * one that the gang has lost is younger. The rest of the gang is queued as any gang; if it has
 * found no room after PARTIAL_NS, the pods that are bound are evicted, so that they hold nothing.
 */

#include "base/log.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_state.h"

#define PARTIAL_NS (INT64_C(30) * NS_PER_SEC)

static int64_t created_ns(const struct sched_pod *p)
{
    return stamp_or(json_text_at(p->tree, "metadata", "creationTimestamp", NULL), INT64_MAX);
}

static int64_t bound_ns(const struct sched_pod *p)
{
    const json_t *condition = object_condition(p->tree, "PodScheduled");

    return stamp_or(json_text(condition, "lastTransitionTime"), 0);
}

/* The pods of the group that the watch has told of. */
struct partial_count {
    int64_t there;
    int64_t first_bound_ns; /* of its bindings; INT64_MAX: no pod is bound */
    int64_t waiting;        /* that were there at the first binding */
    bool is_pending;        /* of the rest, a binding is not certain yet */
};

static void partial_count(const struct sched_group *g, const struct gang_rules *rules,
                          struct partial_count *ret)
{
    *ret = (struct partial_count){.first_bound_ns = INT64_MAX};
    VEC_EACH (&g->pods, p) {
        bool is_there = sched_pod_is_placed(*p) && !(*p)->is_deleting;

        ret->there += is_there || ((*p)->phase == SCHED_SUCCEEDED && !rules->counts_what_runs);
        if (is_there && bound_ns(*p) < ret->first_bound_ns)
            ret->first_bound_ns = bound_ns(*p);
        ret->is_pending = ret->is_pending || (*p)->phase == SCHED_ASSUMED;
    }
    VEC_EACH (&g->pods, p)
        ret->waiting += (*p)->phase == SCHED_WAITING && created_ns(*p) <= ret->first_bound_ns;
}

static bool group_is_partial(const struct scheduler *s, const struct sched_group *g,
                             struct partial_count *ret)
{
    struct gang_rules rules;

    if (!sched_group_read(s, g, &rules))
        return false;
    partial_count(g, &rules, ret);
    return ret->first_bound_ns < INT64_MAX && ret->there < rules.min && ret->waiting > 0;
}

static void group_undo(struct scheduler *s, struct sched_group *g)
{
    LOG(WARN, "a gang was bound in part, and its rest finds no room: its bound pods are evicted",
        S("group", g->key));
    VEC_EACH (&g->pods, p)
        if ((*p)->phase == SCHED_BOUND && (*p)->work && (*p)->work->phase == SCHED_WORK_PLACED)
            scheduler_evict_with(s, (*p)->work,
                                 "its gang was bound in part, and the rest found no room");
    scheduler_poke(s);
}

void scheduler_on_partial(void *arg)
{
    struct scheduler *s = arg;
    struct sched_group *g;
    struct sched_group *next;
    struct partial_count count;

    map_each (handle, s->groups, g, next) {
        if (!g->is_partial)
            continue;
        g->is_partial = group_is_partial(s, g, &count);
        if (!g->is_partial)
            continue;
        if (!count.is_pending)
            group_undo(s, g);
        loop_timer_set(s->partial_timer, PARTIAL_NS);
    }
}

void sched_halves_find(struct scheduler *s)
{
    struct sched_group *g;
    struct sched_group *next;
    struct partial_count count;

    map_each (handle, s->groups, g, next) {
        g->is_partial = group_is_partial(s, g, &count);
        if (g->is_partial)
            loop_timer_set(s->partial_timer, PARTIAL_NS);
    }
}
