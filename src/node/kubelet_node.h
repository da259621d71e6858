/*
 * kubelet_node.h - labels, conditions and a taint of gpus on the Node of a cluster, whose kubelet
 * reports the rest
 *
 * Labels are those of NVIDIA's GPU Feature Discovery, conditions those of docs/health.md. What
 * others write over them comes back; labels of users stay. Instead of the Node's labels, a file for
 * Node Feature Discovery can be written, as GPU Feature Discovery does; conditions are always the
 * Node's.
 */
#pragma once

#include "client/client.h"
#include "node/kubelet_taint.h"
#include "node/node_object.h"

struct kubelet_node;

struct kubelet_node_options {
    struct loop *loop;
    struct client *client; /* borrowed */
    const char *node;      /* its name */
    bool has_labels;       /* false: mig.config.state alone is written */
    const char *file;      /* of labels for Node Feature Discovery; NULL: the Node has them */
    const struct kubelet_taint *taint; /* while a gpu or the driver does not work; NULL: none */
    /* The Node as the server has it, at first and after each change. May be NULL. */
    void (*on_node)(void *arg, const json_t *node);
    void *arg;
};

struct err *kubelet_node_new(const struct kubelet_node_options *o,
                             struct kubelet_node **ret) MUST_CHECK;
/* Labels, conditions and the taint stay. Accepts NULL. */
void kubelet_node_free(struct kubelet_node *k);

struct kubelet_node_gpus {
    const struct gpu *gpus;
    size_t n;
    const struct gpu_driver_info *driver; /* NULL: none */
    const char *driver_problem;           /* "": it works */
    enum mig_strategy strategy;
    const char *mig_state; /* of the label nvidia.com/mig.config.state; static; NULL: none */
};
/* Takes a copy. */
void kubelet_node_update(struct kubelet_node *k, const struct kubelet_node_gpus *gpus);

/* The lines of the file: "nvidia.com/gpu.count=8". Labels that are null have none. The caller frees
 * it. */
char *kubelet_node_format_labels(const json_t *labels);
