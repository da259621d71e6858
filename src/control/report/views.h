/*
 * views.h - the views of mete.dev/v1, computed from pods, nodes, the ledger and the engine when
 * asked
 *
 * New references. `ns` NULL: of all namespaces.
 */
#pragma once

#include "control/scheduler/scheduler.h"

struct views {
    struct loop *loop;
    struct cluster *cluster;
    struct scheduler *scheduler;
    uint64_t learned_pods; /* what the engine's values were learned from; 0: nothing */
    int64_t learned_ns;
};

json_t *views_workloads(struct views *v, const char *ns);
/* With the nodes and what would help, or NULL. */
json_t *views_workload(struct views *v, const char *ns, const char *name);
/* Why a pod waits; brief: for lists. NULL where it does not, or the scheduler does not know of it.
 */
json_t *views_reason(struct views *v, const json_t *pod, bool is_brief);
/* Why a pod that has its node does not run: of the first container that waits for its image, its
 * configuration or its back-off. The same members, with `container`, `image`, `node` and `advice`.
 * NULL where none waits so. */
json_t *views_start_reason(const json_t *pod);
json_t *views_gpus(struct views *v);
json_t *views_gpu(struct views *v, const char *uuid);
