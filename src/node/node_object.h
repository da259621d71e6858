/* node_object.h - the Node object of this machine, as merge patches */
#pragma once

#include "base/json.h"
#include "gpu/gpu_watch.h"
#include "gpu/sharing_config.h"
#include "node/host.h"

enum {
    NODE_PODS_MAX = 500
};

struct node_facts {
    const char *name;
    const struct host_info *host;
    const json_t *images;        /* Node.status.images; NULL: none */
    const char *runtime_version; /* "crun://1.8.1" */
    const char *version;
    bool gpus_known; /* false: the server's list of gpus stays as it is */
    const struct gpu *gpus;
    size_t n_gpus;
    const struct gpu_driver_info *driver; /* NULL: none */
    const char *driver_problem; /* why the driver of known gpus does not work; "": it does */
    enum mig_strategy mig_strategy;
    const char *mig_state; /* of the label mig.config.state; NULL: none */
    const json_t *node;    /* the Node as the server has it; NULL: unknown */
    bool is_fenced;        /* kinds/node_lease.h */
    int64_t began_ns;      /* realtime */
    int64_t now_ns;        /* realtime */
};

/* {"metadata": labels and annotations}; with `is_whole` the whole object, to be created. A new
 * reference. */
json_t *node_object_make(const struct node_facts *f, bool is_whole);
/*
 * Has `stored` all that the merge patch would write? Heartbeat times of conditions do not count:
 * each report has another.
 */
bool node_object_has(const json_t *stored, const json_t *patch);
/* {"status": ...}. A new reference. */
json_t *node_status_make(const struct node_facts *f);

/* The parts of both that are about gpus, for a Node of which a kubelet reports the rest. Needs
 * known gpus. Labels that no longer hold become null. */
void node_object_put_labels(const struct node_facts *f, json_t *labels);
void node_object_put_conditions(const struct node_facts *f, json_t *status);
