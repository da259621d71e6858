/* scheduler_fit.c - trials of pods that others place */

#include "control/scheduler/scheduler_fit.h"

#include "base/arena.h"
#include "control/scheduler/scheduler_private.h"

uint32_t scheduler_count_starts(struct scheduler *s, const json_t *pod, const char *node,
                                uint32_t max)
{
    struct arena *a = arena_new();
    struct sched_ask ask;
    struct mete_pod_set set;
    uint32_t n = 0;

    scheduler_ask(s, a, pod, &ask);
    ask.workload.id = METE_ID_UNNAMED;
    set = ask.workload.pod_sets[0];
    set.node = node;
    ask.workload.pod_sets = &set;
    if (mete_count_starts(s->engine, &ask.workload, max, loop_wall_ns(s->options.loop), &n) !=
        METE_OK)
        n = 0;
    arena_free(a);
    return n;
}

bool scheduler_has_node(const struct scheduler *s, const char *name)
{
    const struct sched_node *n = NULL;

    map_find_text(handle, s->nodes, name, n);
    return n != NULL;
}
