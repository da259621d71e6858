/*
 * gpu_labels.h - the labels of a node that NVIDIA's GPU Feature Discovery sets, with its names and
 * values, and Mete's own labels of gpus
 */
#pragma once

#include "base/json.h"
#include "gpu/gpu_watch.h"
#include "gpu/sharing_config.h"

struct gpu_labels_facts {
    const struct gpu *gpus;
    size_t n_gpus;
    const struct gpu_driver_info *driver; /* NULL: none */
    const char *machine;                  /* the product name of the machine; "": unknown */
    enum mig_strategy mig_strategy;
    const json_t *present; /* labels that the node has now; NULL: unknown */
    int64_t began_ns;      /* realtime: the value of gfd.timestamp */
};

/*
 * Puts the labels into `labels`. Labels of an earlier report that no longer hold become null, which
 * removes them in a merge patch; labels of users (mig.config, device-plugin.config, ...) stay.
 */
void gpu_labels_put(const struct gpu_labels_facts *f, json_t *labels);

/* A label value: characters that labels do not allow become '-'. The caller frees it. */
char *label_value(const char *text);
