/* slices_build.h - small inputs with gpus in slices and replicas, and decisions as text */
#pragma once

#include "engine_build.h"

#define GIB (INT64_C(1) << 30)

enum {
    SLICE_GPUS = 8,
    SLICES_TOLD = 8,
};

struct gpu_spec {
    const char *model; /* NULL: no more gpus */
    int64_t gib;
    const char *profiles[SLICES_TOLD]; /* what the driver has, ... */
    uint32_t starts[SLICES_TOLD];
    uint32_t replicas;
    bool is_flexible;
    bool is_sick;
    bool is_sliced; /* also without instances */
    bool is_renamed;
    bool is_fenced;
    bool keeps_mig;
};

/* Sets a node; uuids of gpus are NODE-INDEX, of instances MIG-NODE-INDEX-START. */
static inline enum mete_result set_sliced(struct mete_engine *e, const char *name,
                                          const struct gpu_spec *specs)
{
    static const struct mete_amount capacity[] = {{"cpu", 64000}, {"pods", 64}};
    struct mete_gpu gpus[SLICE_GPUS];
    struct mete_slice slices[SLICE_GPUS][SLICES_TOLD];
    char uuids[SLICE_GPUS][SLICES_TOLD + 1][64];
    size_t n = 0;

    for (; n < SLICE_GPUS && specs[n].model; n++) {
        const struct gpu_spec *s = &specs[n];
        size_t told = 0;

        (void)snprintf(uuids[n][0], sizeof(uuids[n][0]), "%s-%zu", name, n);
        for (; told < SLICES_TOLD && s->profiles[told]; told++) {
            char *uuid = uuids[n][told + 1];

            (void)snprintf(uuid, 64, "MIG-%s-%zu-%u", name, n, s->starts[told]);
            slices[n][told] = (struct mete_slice){s->profiles[told], s->starts[told], uuid};
        }
        gpus[n] = (struct mete_gpu){
            .uuid = uuids[n][0],
            .model = s->model,
            .memory_bytes = s->gib * GIB,
            .numa_node = -1,
            .link_group = -1,
            .is_healthy = !s->is_sick,
            .mode = s->replicas > 0            ? METE_GPU_REPLICAS
                    : told > 0 || s->is_sliced ? METE_GPU_SLICES
                                               : METE_GPU_WHOLE,
            .replicas = s->replicas,
            .slices = slices[n],
            .n_slices = told,
            .is_flexible = s->is_flexible,
            .is_renamed = s->is_renamed,
            .is_fenced = s->is_fenced,
            .keeps_mig = s->keeps_mig,
        };
    }
    return mete_node_set(e, &(struct mete_node){.name = name,
                                                .capacity = capacity,
                                                .n_capacity = 2,
                                                .gpus = gpus,
                                                .n_gpus = n,
                                                .is_ready = true});
}

struct ask_job {
    uint64_t id;
    struct mete_gpu_ask asks[4]; /* to the first without count */
    int64_t cpu;                 /* milli; 0: 1 cpu */
    uint32_t pods;               /* 0: 1 */
    const char *queue;           /* NULL: "default" */
    const char *ns;              /* NULL: "" */
    int32_t priority;
    bool is_preemptible;
};

struct ask_parts {
    struct mete_amount requests[2];
    struct mete_pod_set set;
    struct mete_workload workload;
    char name[32];
};

static inline const struct mete_workload *ask_parts(const struct ask_job *j, struct ask_parts *p)
{
    size_t n = 0;

    while (n < 4 && j->asks[n].count > 0)
        n++;
    *p = (struct ask_parts){.requests = {{"cpu", j->cpu ? j->cpu : 1000}, {"pods", 1}}};
    (void)snprintf(p->name, sizeof(p->name), "team/job-%u", (unsigned)j->id);
    p->set = (struct mete_pod_set){
        .name = "main",
        .count = j->pods ? j->pods : 1,
        .requests = p->requests,
        .n_requests = 2,
        .asks = j->asks,
        .n_asks = n,
        .ns = j->ns,
    };
    p->workload = (struct mete_workload){
        .id = j->id,
        .name = p->name,
        .queue = j->queue ? j->queue : "default",
        .user = "ann",
        .priority = j->priority,
        .is_preemptible = j->is_preemptible,
        .submit_ns = (int64_t)j->id * SECOND,
        .pod_sets = &p->set,
        .n_pod_sets = 1,
    };
    return &p->workload;
}

static inline enum mete_result add_asks(struct mete_engine *e, struct ask_job job)
{
    struct ask_parts parts;

    return mete_workload_add(e, ask_parts(&job, &parts));
}

static inline const char *last_part(const char *uuid)
{
    const char *dash = strrchr(uuid, '-');

    return dash ? dash + 1 : uuid;
}

/* Runs a cycle: "1:a(0 1:1g.10gb@6+ 1:2g.20gb@4=MIG-a-1-4 2/4 3:250,20Gi)": + is to be created, 2
 * is one of four replicas, 3 a share. */
static inline const char *devices_text(struct mete_engine *e, int64_t now_s, char *text,
                                       size_t size)
{
    struct mete_decisions d;
    size_t used = 0;

    mete_cycle(e, now_s * SECOND, 0, &d);
    text[0] = '\0';
    for (size_t i = 0; i < d.n_placements; i++)
        for (size_t k = 0; k < d.placements[i].n_pods && used + 1 < size; k++) {
            const struct mete_pod_placement *p = &d.placements[i].pods[k];

            used += (size_t)snprintf(text + used, size - used, "%s%u:%s(", used ? " " : "",
                                     (unsigned)d.placements[i].workload, p->node);
            for (size_t n = 0; n < p->n_gpus && used + 1 < size; n++) {
                used += (size_t)snprintf(text + used, size - used, "%s%s", n ? " " : "",
                                         last_part(p->gpus[n]));
                if (n < p->n_devices && p->devices[n].kind == METE_DEVICE_REPLICA &&
                    used + 1 < size)
                    used +=
                        (size_t)snprintf(text + used, size - used, "/%u", p->devices[n].replicas);
                if (n < p->n_devices && p->devices[n].kind == METE_DEVICE_SHARE && used + 1 < size)
                    used += (size_t)snprintf(text + used, size - used, ":%u,%gGi",
                                             p->devices[n].gpu_milli,
                                             (double)p->devices[n].memory_bytes / (double)GIB);
                if (n < p->n_devices && p->devices[n].profile && used + 1 < size)
                    used += (size_t)snprintf(text + used, size - used, ":%s@%u%s%s%s",
                                             p->devices[n].profile, p->devices[n].start,
                                             p->devices[n].must_create ? "+" : "",
                                             p->devices[n].slice ? "=" : "",
                                             p->devices[n].slice ? p->devices[n].slice : "");
            }
            if (used + 1 < size)
                used += (size_t)snprintf(text + used, size - used, ")");
        }
    for (size_t i = 0; i < d.n_evictions && used + 1 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u for %u", used ? " " : "",
                                 (unsigned)d.evictions[i].workload, (unsigned)d.evictions[i].by);
    return text;
}
