/* preemptor.c - the workloads that wait for their victims to end */

#include <stdlib.h>

#include "engine/evict/preempt.h"

void preempt_count(struct mete_engine *e, struct workload *w)
{
    struct charge c;

    charge_of(e, w, NULL, &c);
    queue_users_make(e, w);
    free(w->charged);
    w->charged = mem_dup(c.at, e->counted.n * sizeof(*c.at));
    w->billed = 0;
    w->is_secured = queue_would_secure(e, w, w->charged);
    queue_count_held(e, w, w->charged, 1);
}

void preempt_forget(struct mete_engine *e, struct workload *w)
{
    for (size_t i = 0; i < e->preemptors.n; i++)
        if (e->preemptors.at[i] == w) {
            vec_remove(&e->preemptors, i);
            queue_count_held(e, w, w->charged, -1);
            e->may_secure = e->may_secure || w->is_secured;
            free(w->charged);
            w->charged = NULL;
            w->is_secured = false;
            return;
        }
}

bool preempt_is_pending(const struct mete_engine *e, const struct workload *w)
{
    VEC_EACH (&e->preemptors, each) {
        if (*each == w)
            return true;
    }
    return false;
}

void preempt_gone(struct mete_engine *e, struct workload *w)
{
    struct workload *by = w->evicted_by != 0 ? engine_workload(e, w->evicted_by) : NULL;

    if (by && by->n_evicting > 0)
        by->n_evicting--;
    w->evicted_by = 0;
}

const struct workload *preempt_first(const struct mete_engine *e, const struct workload *w)
{
    const struct workload *first = NULL;

    VEC_EACH (&e->queues, q) {
        for (const struct workload *v = (*q)->first_placed; v; v = v->placed_after)
            if (v->evicted_by == w->key.id && (!first || v->key.id < first->key.id))
                first = v;
    }
    return first;
}
