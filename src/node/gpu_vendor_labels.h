/*
 * gpu_vendor_labels.h - the labels of a node about gpus of AMD and Intel
 *
 * Names and values are those of the vendors' own labellers: AMD's k8s-node-labeller
 * (amd.com/gpu.NAME, and the same under beta.amd.com) and Intel's rules for Node Feature Discovery
 * (gpu.intel.com/...).
 */
#pragma once

#include "node/gpu_labels.h"

/* Puts the labels into `labels`, and null for those of an earlier report that no longer hold. */
void gpu_vendor_labels_put(const struct gpu_labels_facts *f, json_t *labels);
