/*
 * gpu_modes.h - how the gpus of this node are given to pods
 *
 * For each gpu the first of these counts: the annotation mete.dev/gpu-modes of the Node
 * (gpu/gpu_wish.h; `mete gpus set`), the device plugin's configuration that the server found for
 * the node (annotation mete.dev/gpu-config, written by control/gpu_config.h), the configuration
 * file of the node. The mig-config that the node's label nvidia.com/mig.config names comes from the
 * same annotation, else from the node's mig-parted file; it counts after mete.dev/gpu-modes. Pods
 * that hold a gpu keep it in its present mode until they end. When they have kept it from its mode
 * for ten minutes, the gpu takes no new pods until the mode is there: else steady load would keep
 * it for ever. The node remembers nothing else: after a restart the modes follow from the Node
 * object and its pods, and the ten minutes begin again.
 */
#pragma once

#include "node/gpu_partitions.h"

struct gpu_modes;

/* From files of this node. */
struct gpu_modes_options {
    const struct sharing_config *sharing; /* copied; NULL: none */
    const json_t *parted;                 /* mig-parted file; kept; NULL: none */
    struct gpu_partitions *partitions;    /* changes MIG instances; borrowed; NULL: nobody does */
    struct loop *loop;                    /* NULL: gpus wait without a limit */
    void (*waited)(void *arg);            /* a gpu has waited for ten minutes: update */
    void *arg;
};

struct gpu_modes *gpu_modes_new(const struct gpu_modes_options *o);
void gpu_modes_free(struct gpu_modes *m); /* accepts NULL */

/* Takes the Node as the server has it. True: its configuration of gpus has changed. */
bool gpu_modes_set_node(struct gpu_modes *m, const json_t *node);

/* Computes the modes of the gpus `read`, as the driver lists them. True: the result differs from
 * the last one in a mode or a problem. */
bool gpu_modes_update(struct gpu_modes *m, const struct gpu *read, size_t n,
                      const struct gpu_holding *holdings, size_t n_holdings);

/* The gpus of the last update. Borrowed until the next one. */
const struct gpu *gpu_modes_list(const struct gpu_modes *m, size_t *ret_count);

/* The MIG strategy of the last update: the configured one, but holders keep the names by which they
 * got their slices. */
enum mig_strategy gpu_modes_strategy(const struct gpu_modes *m);

/* The value of the label nvidia.com/mig.config.state: "pending", "success", "failed"; NULL: the
 * node has no label nvidia.com/mig.config. */
const char *gpu_modes_mig_state(const struct gpu_modes *m);

/* The Node as the server has it; NULL: not known yet. Borrowed. */
const json_t *gpu_modes_node(const struct gpu_modes *m);
