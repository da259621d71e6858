/*
 * kube_partitions.h - changes MIG instances of this machine's gpus beside a kubelet
 *
 * A gpu whose instances have to change is unhealthy at the kubelet, so that it gives it to no new
 * pod, and is changed once the kubelet names no pod that has it.
 */
#pragma once

#include "cli/kube/kube_pods.h"
#include "gpu/gpu_watch.h"
#include "node/gpu_partitions.h"

struct kube_partitions;

struct kube_partitions_options {
    struct loop *loop;
    struct gpu_watch *gpus; /* this and the following: borrowed */
    struct kube_pods *pods;
    const char *self_path;
    const char *driver_root;    /* NULL: as the watch finds it */
    const char *machine;        /* of emulated gpus; NULL: real ones */
    const char *dir;            /* for the wishes on disk */
    void (*changed)(void *arg); /* the state of a gpu has changed */
    void *arg;
};

struct err *kube_partitions_new(const struct kube_partitions_options *o,
                                struct kube_partitions **ret) MUST_CHECK;
void kube_partitions_free(struct kube_partitions *p); /* accepts NULL */

/* For gpu_modes. */
struct gpu_partitions *kube_partitions_get(struct kube_partitions *p);

/* Starts what may start: after each update of the modes. */
void kube_partitions_advance(struct kube_partitions *p);
