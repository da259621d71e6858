/*
 * autoscale.h - HorizontalPodAutoscalers: the number of pods of a target follows what they use
 *
 * The semantics are those of Kubernetes' horizontal pod autoscaler. A target is any object with the
 * subresource scale. The controller looks at each autoscaler every 15 s, and soon
 * after its spec changed.
 * Measures come from the nodes' samples: cpu and memory of containers, and readings of the pods'
 * GPUs as metrics of type Pods, under the names of NVIDIA's dcgm-exporter. No metric exists
 * without pods: a target without pods stays so until a user scales it, or raises the minimum of an
 * autoscaler that put it to sleep.
 */
#pragma once

#include "control/control.h"
#include "control/events.h"
#include "kinds/object/objects.h"

struct autoscale;

/* The nodes' last samples (control.h); each may be NULL: unknown. */
struct autoscale_samples {
    container_load_fn container_load;
    container_gpu_fn container_gpu;
    gpu_sample_fn gpu_sample;
    void *arg;
};

struct autoscale_options {
    struct loop *loop;
    struct objects *objects;
    struct events *events;
    struct autoscale_samples samples;
};

struct err *autoscale_new(const struct autoscale_options *o, struct autoscale **ret) MUST_CHECK;
void autoscale_free(struct autoscale *s); /* accepts NULL */
