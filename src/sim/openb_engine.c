/* openb_engine.c - nodes, pods and demand of an openb trace as calls of the engine */

#include "sim/openb_engine.h"

#include <stdio.h>

#include "base/mem.h"

enum {
    NAME_SIZE = 32,
    /* The trace has no gpu memory: an amount that 1000 divides. */
    GPU_MIB = 16000,
    MIB_SHIFT = 20
};

/* A pod set with the requests that it points to. */
struct pod_parts {
    struct mete_amount requests[2];
    struct mete_pod_set set;
};

static struct err *refused(const struct mete_engine *e, const char *what)
{
    return err_new(ERR_INVALID, "the engine refuses %s: %s", what, mete_last_error(e));
}

static void parts_of(const struct openb_pod *pod, bool has_memory, struct pod_parts *ret)
{
    *ret = (struct pod_parts){
        .requests = {{"cpu", pod->cpu_milli}, {"memory", pod->memory_mib << MIB_SHIFT}},
        .set = {.name = "pod",
                .count = 1,
                .n_requests = has_memory ? 2 : 1,
                .gpus = pod->gpus,
                .gpu_milli = pod->gpu_milli < 1000 ? pod->gpu_milli : 0,
                .gpu_models = pod->models,
                .n_gpu_models = pod->n_models}};
    ret->set.requests = ret->requests;
}

static struct err *openb_engine_add_node(struct mete_engine *e, const struct openb_node *node,
                                         uint32_t rank)
{
    const struct mete_amount capacity[] = {{"cpu", node->cpu_milli},
                                           {"memory", node->memory_mib << MIB_SHIFT}};
    struct mete_gpu gpus[OPENB_GPUS_MAX];
    char uuids[OPENB_GPUS_MAX][NAME_SIZE];
    char name[NAME_SIZE];
    const struct mete_node n = {.name = name,
                                .capacity = capacity,
                                .n_capacity = 2,
                                .gpus = gpus,
                                .n_gpus = node->gpus,
                                .is_ready = true};

    (void)snprintf(name, sizeof(name), "%05u", rank);
    for (uint32_t i = 0; i < node->gpus; i++) {
        (void)snprintf(uuids[i], NAME_SIZE, "%05u-%02u", rank, i);
        gpus[i] = (struct mete_gpu){.uuid = uuids[i],
                                    .model = node->model,
                                    .memory_bytes = (int64_t)GPU_MIB << MIB_SHIFT,
                                    .numa_node = -1,
                                    .link_group = -1,
                                    .is_healthy = true};
    }
    return mete_node_set(e, &n) == METE_OK ? NULL : refused(e, "a node");
}

static struct err *set_demand(struct mete_engine *e, const struct openb *o)
{
    const struct openb_kind *kinds;
    const size_t n = openb_kinds(o, &kinds);
    AUTO_FREE struct pod_parts *parts = mem_alloc(n * sizeof(*parts));
    AUTO_FREE struct mete_demand *demand = mem_alloc(n * sizeof(*demand));

    for (size_t i = 0; i < n; i++) {
        parts_of(&openb_pods(o)[kinds[i].pod], false, &parts[i]);
        demand[i] = (struct mete_demand){.set = &parts[i].set, .weight = kinds[i].count};
    }
    return mete_demand_set(e, demand, n, openb_pod_count(o)) == METE_OK ? NULL
                                                                        : refused(e, "the demand");
}

static void engine_freep(struct mete_engine **e)
{
    mete_engine_free(*e);
}

struct err *openb_engine_new(const struct openb *o, const struct mete_options *options,
                             const struct openb_list *ranks, struct mete_engine **ret)
{
    AUTO(engine_freep) struct mete_engine *e = mete_engine_new(options);

    if (!e)
        return err_new(ERR_INVALID, "the engine has no policy '%s'", options->policy);
    for (size_t i = 0; i < openb_node_count(o); i++)
        TRY(openb_engine_add_node(e, &openb_nodes(o)[i], ranks->items[i]));
    TRY(set_demand(e, o));
    *ret = TAKE(e);
    return NULL;
}

static struct err *add_pod(struct mete_engine *e, const struct openb_pod *pod, uint64_t id,
                           int64_t now_ns)
{
    struct pod_parts parts;
    const struct mete_workload w = {.id = id,
                                    .name = "pod",
                                    .queue = "default",
                                    .user = "",
                                    .submit_ns = now_ns,
                                    .pod_sets = &parts.set,
                                    .n_pod_sets = 1};

    parts_of(pod, true, &parts);
    return mete_workload_add(e, &w) == METE_OK ? NULL : refused(e, "a pod");
}

struct err *openb_engine_try(struct mete_engine *e, const struct openb_pod *pod, uint64_t id,
                             int64_t now_ns, bool *ret)
{
    struct mete_decisions decisions = {0};
    bool is_placed;

    TRY(add_pod(e, pod, id, now_ns));
    mete_cycle(e, now_ns, 0, &decisions);
    is_placed = decisions.n_placements > 0;
    if (!is_placed && mete_workload_remove(e, id) != METE_OK)
        return refused(e, "to drop a pod");
    *ret = is_placed;
    return NULL;
}
