/*
 * views.h - the views of mete.dev/v1, computed on request from pods, nodes, the ledger and the
 * engine
 *
 * Results are new references. `ns` NULL: all namespaces.
 */
#pragma once

#include "control/control.h"
#include "control/scheduler/scheduler.h"
#include "kinds/object/objects.h"

/* The source of the objects, where it is not our own store. */
struct views_source {
    json_t *(*list)(void *arg, const char *resource, const char *ns); /* as views_list */
    json_t *(*get)(void *arg, const char *resource, const char *ns, const char *name);
    void *arg;
};

struct holders;

struct views {
    struct loop *loop;
    struct objects *objects;           /* NULL with `source` */
    const struct views_source *source; /* NULL: `objects` */
    const struct holders *holders;     /* with `source`, while gpus are viewed */
    struct scheduler *scheduler;
    gpu_sample_fn gpu_sample;       /* NULL: no samples */
    container_gpu_fn container_gpu; /* NULL with `gpu_sample` */
    void *gpu_sample_arg;
    uint64_t learned_pods; /* pods that the engine's values were learned from; 0: none */
    int64_t learned_ns;
};

/* The durable objects of a core resource; an unreadable one is left out. A new array. */
json_t *views_list(const struct views *v, const char *resource, const char *ns);
/* NULL: there is none. */
json_t *views_get(const struct views *v, const char *resource, const char *ns, const char *name);

json_t *views_workloads(struct views *v, const char *ns);
/* With the nodes and the changes that would help. NULL: no such workload. */
json_t *views_workload(struct views *v, const char *ns, const char *name);
/*
 * Why a pod waits; brief: for lists. NULL: the pod does not wait, or the scheduler does not know
 * it.
 */
json_t *views_reason(struct views *v, const json_t *pod, bool is_brief);
/*
 * Why a pod with a node does not run: the first container that waits for its image, its
 * configuration or its back-off. The same members, with `container`, `image`, `node` and `advice`.
 * NULL: no container waits so.
 */
json_t *views_start_reason(const json_t *pod);
/* Gpus that are not given as an administrator wants, with their problems; at most 8. */
json_t *views_unwanted_gpus(struct views *v);
json_t *views_gpus(struct views *v);
json_t *views_gpu(struct views *v, const char *uuid);
