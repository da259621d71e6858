/* starts.c - how many copies of a workload could start now */

#include "engine/place/place.h"

enum {
    STARTS_MAX = 1 << 16
};

/* Places one workload and counts it in its queues. False: it does not fit. */
static bool start_one(struct mete_engine *e, struct workload *w, int64_t now_ns)
{
    struct attempt a = {.w = w, .now_ns = now_ns};
    struct charge c;

    charge_of(e, w, NULL, &c);
    if (!queue_admits(e, w, &c, NULL) || !place_pods(e, &a))
        return false;
    queue_count_trial(e, w);
    return true;
}

/* Makes the first workload before the trial: the others share its group and shapes. */
enum mete_result mete_count_starts(struct mete_engine *e, const struct mete_workload *from,
                                   uint32_t max, int64_t now_ns, uint32_t *ret)
{
    VEC(struct workload *) made = {0};
    struct workload *w = NULL;
    enum mete_result result = workload_make(e, from, &w);
    uint32_t n = 0;
    size_t mark;

    if (result != METE_OK)
        return result;
    vec_add(&made, w);
    if (e->counted.n > 0)
        queue_users_make(e, w);
    max = max < STARTS_MAX ? max : STARTS_MAX;
    mark = journal_open(&e->journal);
    while (n < max && start_one(e, made.at[made.n - 1], now_ns)) {
        n++;
        if (n == max || workload_make(e, from, &w) != METE_OK)
            break; /* never fails: the first one was valid */
        vec_add(&made, w);
    }
    journal_undo(&e->journal, mark);
    VEC_EACH (&made, each) {
        workload_free(e, *each);
    }
    vec_done(&made);
    *ret = n;
    return METE_OK;
}
