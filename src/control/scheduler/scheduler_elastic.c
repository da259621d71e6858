/*
 * scheduler_elastic.c - elastic pods: beyond a group's minimum, they start as room comes and end
 * first
 *
 * An elastic pod is a workload of its own, an extra to the engine (mete/engine.h). The extras of a
 * group are found anew whenever a pod comes or goes, from the present pods alone, so that a restart
 * finds the same: the pods that started together, then the oldest, are needed until the minimum is
 * reached; the rest are extras. When a needed pod goes, an extra becomes needed.
 */
#include "base/log.h"
#include "control/scheduler/scheduler_private.h"

bool sched_rules_are_elastic(const struct gang_rules *rules)
{
    return !rules->counts_what_runs && (rules->min > 0 || rules->tasks);
}

/* Succeeded pods still count; pods that are being deleted do not. */
static bool counts_as_there(const struct sched_pod *p)
{
    return p->phase == SCHED_SUCCEEDED || (sched_pod_is_placed(p) && !p->is_deleting);
}

static bool is_of_gang(const struct sched_pod *p)
{
    return p->work && p->work->is_gang;
}

static int compare_needed(const void *left, const void *right)
{
    const struct sched_pod *a = *(struct sched_pod *const *)left;
    const struct sched_pod *b = *(struct sched_pod *const *)right;

    if (is_of_gang(a) != is_of_gang(b))
        return is_of_gang(a) ? -1 : 1;
    return sched_pod_compare(a, b);
}

typedef VEC(struct sched_pod *) pod_list;

/*
 * Marks the first unneeded pods of a task (NULL: any) as needed, at most `missing`. Returns how
 * many are still missing.
 */
static int64_t need_pods(const pod_list *list, const char *task, int64_t missing)
{
    VEC_EACH (list, p) {
        if (missing <= 0)
            break;
        if ((*p)->is_needed || (task && !text_equal(sched_pod_task(*p), task)))
            continue;
        (*p)->is_needed = true;
        missing--;
    }
    return missing;
}

static void find_needed(const pod_list *list, const struct gang_rules *rules)
{
    int64_t n = 0;
    const char *task;
    json_t *count;

    VEC_EACH (list, p) {
        (*p)->is_needed = false;
    }
    json_object_foreach ((json_t *)(uintptr_t)rules->tasks, task, count) {
        (void)need_pods(list, task, json_integer_value(count));
    }
    VEC_EACH (list, p) {
        n += (*p)->is_needed;
    }
    (void)need_pods(list, NULL, rules->min - n);
}

void sched_group_sort_extras(struct scheduler *s, struct sched_group *g,
                             const struct gang_rules *rules)
{
    pod_list list = {0};

    if (!sched_rules_are_elastic(rules))
        return;
    VEC_EACH (&g->pods, p) {
        if (counts_as_there(*p))
            vec_add(&list, *p);
    }
    if (list.n > 1)
        qsort(list.at, list.n, sizeof(*list.at), compare_needed);
    find_needed(&list, rules);
    VEC_EACH (&list, p) {
        struct sched_work *w = (*p)->work;

        if (!w || w->is_gang || w->evicted_because || w->is_extra == !(*p)->is_needed)
            continue;
        w->is_extra = !(*p)->is_needed;
        sched_work_again(s, w);
    }
    vec_done(&list);
}

/* The group's gang that is being evicted, or NULL. */
static const struct sched_work *ending_of(const struct sched_group *g)
{
    VEC_EACH (&g->pods, p) {
        if (is_of_gang(*p) && (*p)->work->evicted_because)
            return (*p)->work;
    }
    return NULL;
}

void sched_group_end_rest(struct scheduler *s, struct sched_group *g)
{
    const struct sched_work *gang = ending_of(g);

    for (size_t i = 0; gang && i < g->pods.n; i++) {
        const struct sched_pod *p = g->pods.at[i];

        if (p->work && sched_pod_is_placed(p) && !p->is_deleting && !p->work->is_gang &&
            !p->work->evicted_because)
            scheduler_evict_with(s, p->work, gang->evicted_because);
    }
}
