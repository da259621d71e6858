/*
 * kube_mps.h - the MPS daemons of the gpus that a kubelet gives as clients of MPS (sharing.mps)
 *
 * A gpu has one daemon, whose folder is below DATA/mps. Daemons end with this process; those that
 * an earlier process has left are found again, or ended.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "gpu/driver_root.h"
#include "model/gpu.h"

struct kube_mps;

struct kube_mps_options {
    struct loop *loop;
    const char *self_path;
    const char *data;         /* the role's directory; the machine has it by the same path, or below
                                 `machine_root` */
    const char *machine_root; /* NULL: this process sees the machine's own root */
    bool is_emulated;         /* the gpus are */
    void (*changed)(void *arg); /* a daemon is ready, or it is no more */
    void *arg;
};

struct kube_mps *kube_mps_new(const struct kube_mps_options *o);
void kube_mps_free(struct kube_mps *k); /* accepts NULL; daemons go on */

/* Starts the daemon of each gpu of the list that is shared by MPS. Gpus whose daemon serves no
 * clients become unhealthy in the list. Daemons of other gpus end. */
void kube_mps_apply(struct kube_mps *k, const struct driver_root *driver, struct gpu *gpus,
                    size_t n);

/* The edits of containers that get a gpu shared by MPS, by the gpus' uuids. A new object. */
json_t *kube_mps_edits(const struct kube_mps *k, const struct gpu *gpus, size_t n);

/* Ends the daemons; then, perhaps at once, calls `fn`. */
void kube_mps_stop(struct kube_mps *k, void (*fn)(void *arg), void *arg);
