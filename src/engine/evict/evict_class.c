/* evict_class.c - the rules by which classes of workloads evict other classes */

#include <string.h>

#include "engine/evict/lend.h"
#include "engine/evict/preempt.h"
#include "engine/record/record.h"

/* Adds to each class the victims of its victims until nothing changes: a class in its own set may
 * in the end evict itself. */
static bool has_loop(const uint64_t victims[METE_EVICT_CLASSES])
{
    uint64_t reach[METE_EVICT_CLASSES];

    memcpy(reach, victims, sizeof(reach));
    for (unsigned middle = 0; middle < METE_EVICT_CLASSES; middle++)
        for (unsigned c = 0; c < METE_EVICT_CLASSES; c++)
            if (reach[c] >> middle & 1)
                reach[c] |= reach[middle];
    for (unsigned c = 0; c < METE_EVICT_CLASSES; c++)
        if (reach[c] >> c & 1)
            return true;
    return false;
}

enum mete_result mete_evict_rules_set(struct mete_engine *e, const struct mete_evict_rules *rules)
{
    uint64_t victims[METE_EVICT_CLASSES] = {0};

    for (size_t i = 0; i < rules->n_pairs; i++) {
        const struct mete_evict_pair p = rules->pairs[i];

        if (p.by == 0 || p.by >= METE_EVICT_CLASSES || p.victim == 0 ||
            p.victim >= METE_EVICT_CLASSES)
            return engine_refuse(e, METE_INVALID, "evictions of class %u by %u: want 1 to %u",
                                 p.victim, p.by, METE_EVICT_CLASSES - 1);
        victims[p.by] |= UINT64_C(1) << p.victim;
    }
    if (has_loop(victims))
        return engine_refuse(e, METE_INVALID, "the rules of evictions have a loop");
    record_call(e, RECORD_EVICT_RULES_SET, rules);
    memcpy(e->class_victims, victims, sizeof(victims));
    e->class_suspended = rules->suspended & ~UINT64_C(1); /* class 0 is none */
    lend_fill_all(e);
    e->version++; /* evictions that did not help may help now */
    e->eased++;
    return METE_OK;
}

bool preempt_by_class(const struct mete_engine *e, const struct workload *w,
                      const struct workload *victim)
{
    return e->class_victims[w->group->evict_class] >> victim->group->evict_class & 1;
}
