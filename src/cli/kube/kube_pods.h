/*
 * kube_pods.h - who has which gpu of this machine: the last answer of the kubelet, which is asked
 * each 10 s, and new answers for those who must be sure
 */
#pragma once

#include "gpu/gpu_wish.h"
#include "kubelet/pod_resources.h"

struct kube_pods;

typedef void (*kube_pods_fn)(void *arg, const struct err *e, const struct gpu_holding *list,
                             size_t n);

struct kube_pods_options {
    struct loop *loop;
    const char *kubelet_dir; /* "/var/lib/kubelet" */
    /* The gpus as they are given. */
    const struct gpu *(*list)(void *arg, size_t *ret_count);
    /* The last answer has changed. */
    void (*changed)(void *arg);
    void *arg;
};

struct kube_pods *kube_pods_new(const struct kube_pods_options *o);
void kube_pods_free(struct kube_pods *p); /* accepts NULL */

/* The last answer; empty before the first one. Borrowed until the loop runs again. */
const struct pod_resource_list *kube_pods_list(const struct kube_pods *p);

/* The same as holdings of devices. Borrowed until the loop runs again. */
const struct gpu_holding *kube_pods_holdings(struct kube_pods *p, size_t *ret_count);

/* Asks the kubelet, whose answer goes to `fn` once, later. One question at a time. */
void kube_pods_ask(struct kube_pods *p, kube_pods_fn fn, void *arg);

/* The device of this gpu that has the uuid. False: it is not the gpu's. */
bool kube_pods_device(const struct gpu *g, const char *uuid, struct device *ret);
