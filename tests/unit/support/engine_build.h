/* engine_build.h - short forms of nodes and jobs for the engine's tests */
#pragma once

#include <stdio.h>
#include <string.h>

#include "mete/engine.h"

#define SECOND INT64_C(1000000000)

struct node_spec {
    const char *name;
    unsigned gpus;
    const char *model; /* NULL: "h100" */
    unsigned sick;     /* bits: unhealthy gpus */
    int64_t cpu;       /* milli; 0: 64 cpus */
    const char *label; /* of key "disk" */
    const char *taint; /* of key "dedicated", NoSchedule */
    bool is_not_ready;
    bool is_cordoned;
    const char *cordon_reason;
    bool has_no_links; /* else gpus 0-3 and 4-7 are linked */
};

/* gpu uuids are NODE-INDEX; two gpus share a NUMA node. */
static inline enum mete_result set_node(struct mete_engine *e, struct node_spec s)
{
    char uuids[64][64];
    struct mete_gpu gpus[64];
    const struct mete_amount capacity[] = {{"cpu", s.cpu ? s.cpu : 64000}, {"pods", 16}};
    const struct mete_label label = {"disk", s.label};
    const struct mete_taint taint = {"dedicated", s.taint, METE_NO_SCHEDULE};

    for (unsigned i = 0; i < s.gpus; i++) {
        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s-%u", s.name, i);
        gpus[i] = (struct mete_gpu){
            .uuid = uuids[i],
            .model = s.model ? s.model : "h100",
            .memory_bytes = INT64_C(80) << 30,
            .numa_node = (int)i / 2,
            .link_group = s.has_no_links ? -1 : (int)i / 4,
            .is_healthy = !(s.sick >> i & 1),
        };
    }
    return mete_node_set(e, &(struct mete_node){
                                .name = s.name,
                                .capacity = capacity,
                                .n_capacity = 2,
                                .labels = &label,
                                .n_labels = s.label ? 1 : 0,
                                .taints = &taint,
                                .n_taints = s.taint ? 1 : 0,
                                .gpus = gpus,
                                .n_gpus = s.gpus,
                                .is_ready = !s.is_not_ready,
                                .is_cordoned = s.is_cordoned,
                                .cordon_reason = s.cordon_reason,
                            });
}

struct job_spec {
    uint64_t id;
    uint32_t gpus;
    const char *model;
    uint32_t milli; /* of each gpu; 0: whole gpus */
    int64_t gpu_bytes;
    bool is_linked;
    int64_t cpu; /* milli; 0: 1 cpu */
    int32_t priority;
    int64_t submit_s; /* 0: the id */
    int64_t limit_s;
    const char *queue; /* NULL: "default" */
    const char *user;  /* NULL: "ann" */
    bool is_preemptible;
    bool never_preempts;
    bool is_extra;
    uint32_t evict_class;
    int64_t min_run_s;
    int64_t checkpoint_s;
    int64_t estimate_s;
    uint32_t pods;         /* 0: 1 */
    const char *label;     /* of key "disk" */
    const char *tolerates; /* value of key "dedicated" */
    const char *node;
    const char *reservation;
    const char *restored_on; /* for restore_job: the node */
    unsigned restored_at;    /* its first gpu */
};

struct job_parts {
    struct mete_amount requests[2];
    struct mete_label label;
    struct mete_toleration toleration;
    const char *models[1];
    struct mete_pod_set set;
    struct mete_workload workload;
    char name[32];
};

static inline const struct mete_workload *job_parts(struct job_spec s, struct job_parts *p)
{
    *p = (struct job_parts){
        .requests = {{"cpu", s.cpu ? s.cpu : 1000}, {"pods", 1}},
        .label = {"disk", s.label},
        .models = {s.model},
        .toleration = {.key = "dedicated", .value = s.tolerates, .any_effect = true},
    };
    (void)snprintf(p->name, sizeof(p->name), "team/job-%u", (unsigned)s.id);
    p->set = (struct mete_pod_set){
        .name = "main",
        .count = s.pods ? s.pods : 1,
        .requests = p->requests,
        .n_requests = 2,
        .gpus = s.gpus,
        .is_linked = s.is_linked,
        .gpu_milli = s.milli,
        .gpu_memory_bytes = s.gpu_bytes,
        .gpu_models = p->models,
        .n_gpu_models = s.model ? 1 : 0,
        .selector = &p->label,
        .n_selector = s.label ? 1 : 0,
        .tolerations = &p->toleration,
        .n_tolerations = s.tolerates ? 1 : 0,
        .node = s.node,
    };
    p->workload = (struct mete_workload){
        .id = s.id,
        .name = p->name,
        .queue = s.queue ? s.queue : "default",
        .user = s.user ? s.user : "ann",
        .priority = s.priority,
        .is_preemptible = s.is_preemptible,
        .never_preempts = s.never_preempts,
        .is_extra = s.is_extra,
        .evict_class = s.evict_class,
        .min_run_ns = s.min_run_s * SECOND,
        .checkpoint_ns = s.checkpoint_s * SECOND,
        .estimate_ns = s.estimate_s * SECOND,
        .submit_ns = (s.submit_s ? s.submit_s : (int64_t)s.id) * SECOND,
        .time_limit_ns = s.limit_s * SECOND,
        .pod_sets = &p->set,
        .n_pod_sets = 1,
        .reservation = s.reservation,
    };
    return &p->workload;
}

static inline enum mete_result add_job(struct mete_engine *e, struct job_spec s)
{
    struct job_parts parts;

    return mete_workload_add(e, job_parts(s, &parts));
}

static inline enum mete_result restore_job(struct mete_engine *e, struct job_spec s,
                                           int64_t started_s)
{
    struct job_parts parts;
    char uuids[64][64];
    const char *gpus[64];
    struct mete_pod_placement pod = {.node = s.restored_on, .gpus = gpus, .n_gpus = s.gpus};
    struct mete_placement placement = {
        .workload = s.id, .pods = &pod, .n_pods = 1, .started_ns = started_s * SECOND};

    for (unsigned i = 0; i < s.gpus; i++) {
        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s-%u", s.restored_on, s.restored_at + i);
        gpus[i] = uuids[i];
    }
    return mete_workload_restore(e, job_parts(s, &parts), &placement);
}

/* Runs a cycle and writes its decisions: "1:a(0,1) 2:b 3 for 4" (3 is evicted for 4) "5 goes on".
 */
static inline const char *cycle_text(struct mete_engine *e, int64_t now_s, char *text, size_t size)
{
    struct mete_decisions d;
    size_t used = 0;

    mete_cycle(e, now_s * SECOND, 0, &d);
    text[0] = '\0';
    for (size_t i = 0; i < d.n_placements; i++) {
        const struct mete_placement *p = &d.placements[i];

        for (size_t k = 0; k < p->n_pods && used + 1 < size; k++) {
            used += (size_t)snprintf(text + used, size - used, "%s%u:%s", used ? " " : "",
                                     (unsigned)p->workload, p->pods[k].node);
            for (size_t g = 0; g < p->pods[k].n_gpus && used + 1 < size; g++)
                used += (size_t)snprintf(text + used, size - used, "%c%s", g ? ',' : '(',
                                         strrchr(p->pods[k].gpus[g], '-') + 1);
            if (p->pods[k].n_gpus > 0 && used + 1 < size)
                used += (size_t)snprintf(text + used, size - used, ")");
        }
    }
    for (size_t i = 0; i < d.n_evictions && used + 1 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u for %u", used ? " " : "",
                                 (unsigned)d.evictions[i].workload, (unsigned)d.evictions[i].by);
    for (size_t i = 0; i < d.n_resumes && used + 1 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u goes on", used ? " " : "",
                                 (unsigned)d.resumes[i].workload);
    return text;
}
