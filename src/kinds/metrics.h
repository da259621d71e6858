/*
 * metrics.h - the seams of the metrics: rooms that know numbers, the page that shows them, the
 * doors that ask for the page
 */
#pragma once

#include "base/exposition.h"
#include "model/device.h"

/* The contents of a page. */
struct metrics_question {
    bool is_open; /* OpenMetrics */
    bool has_mete;
    bool has_dcgm;    /* names and labels of NVIDIA's dcgm-exporter */
    bool has_old;     /* its names before version 2: dcgm_gpu_temp */
    bool drops_users; /* no label "user" */
};

/* Makes a page. It never waits: a page shows what is known. */
struct metrics_maker {
    void (*make)(void *arg, const struct metrics_question *q, struct buf *ret);
    void *arg;
};

/* Durations that rooms tell of as they end. */
enum observed {
    OBSERVED_WAIT,  /* of a pod, from its creation to its binding; label: its queue */
    OBSERVED_START, /* of a pod, from its binding to its start; label: "cached" or "pulled" */
    OBSERVED_CYCLE, /* of the scheduler */
    OBSERVED_SYNC,  /* of a batch of the store, until it is durable */
    OBSERVED_COUNT
};

/* Takes a duration. `label` and `example`, the pod's "ns/name", may be NULL. */
struct observer {
    void (*took)(void *arg, enum observed what, const char *label, int64_t ns,
                 const char *example); /* NULL: nobody listens */
    void *arg;
};

static inline void observe(const struct observer *o, enum observed what, const char *label,
                           int64_t ns, const char *example)
{
    if (o->took)
        o->took(o->arg, what, label, ns, example);
}

/* Adds the families of one room to a page; a family has one source. */
struct metrics_source {
    void (*write)(void *arg, struct exposition *x, const struct metrics_question *q);
    void *arg;
};

/* A container's hold on a device. Texts are borrowed; "": unknown. */
struct device_holder {
    const char *ns;
    const char *pod;
    const char *container;
    const char *user;
    const char *queue;
    int64_t job_id; /* 0: unknown */
    const struct device *device;
};

/* A gpu of a node, and what holds it. Borrowed. */
struct device_row {
    const char *node;
    const char *driver; /* version; "": unknown */
    bool takes_pods;    /* the node is ready and not cordoned */
    const struct gpu *gpu;
    const struct device_holder *holders;
    size_t n_holders;
};

/* The gpus that the server knows, in the order of nodes and of gpus on the node. */
typedef void (*device_row_fn)(void *arg, const struct device_row *row);

/* A node, also one without gpus. Texts are borrowed; "": unknown or none. */
struct node_row {
    const char *name;
    const char *drain_reason;
    const char *agent; /* version of the node's program */
    bool is_ready;
    bool takes_pods; /* ready and not cordoned */
};
typedef void (*node_row_fn)(void *arg, const struct node_row *row);

struct device_table {
    void (*each)(void *arg, device_row_fn fn, void *fn_arg);
    void (*each_node)(void *arg, node_row_fn fn, void *fn_arg); /* in the same order; NULL: none */
    void *arg;
};
