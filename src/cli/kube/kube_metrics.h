/*
 * kube_metrics.h - the page /metrics of `mete kube node`: this machine's gpus under the names of
 * NVIDIA's dcgm-exporter and under ours, with the pods that the kubelet has given them to
 */
#pragma once

#include "cli/kube/kube_pods.h"
#include "gpu/gpu_watch.h"

struct kube_metrics;

struct kube_metrics_options {
    struct loop *loop;            /* the real one */
    const char *address;          /* "HOST:PORT"; port 0: the kernel chooses */
    const char *node;             /* its name */
    struct gpu_watch *gpus;       /* samples; borrowed */
    const struct kube_pods *pods; /* borrowed */
    /* The gpus as they are given. */
    const struct gpu *(*list)(void *arg, size_t *ret_count);
    void *arg;
};

/* `*ret_port` is the port. */
struct err *kube_metrics_new(const struct kube_metrics_options *o, struct kube_metrics **ret,
                             unsigned *ret_port) MUST_CHECK;
void kube_metrics_free(struct kube_metrics *m); /* accepts NULL */
