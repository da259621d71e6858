/*
 * ledger.h - who holds which gpu: the one function that gives devices away
 *
 * Internal objects of group "mete.dev", never served for writing:
 *   placements/<ns>/<name>   one a workload: {"workload","uid","pods":[{"name","uid","node","containers":[{"name",
 *                            "gpus":[uuid...]}]}]}
 *   ledger//<gpu uuid>       one a gpu that is held: {"placement":"ns/name","pod":"ns/name","podUid","node"}
 *
 * ledger_bind writes the placement, one ledger object a gpu with "must be absent" (so that a device
 * cannot be given twice, whoever asks) and the projection onto the pods (spec.nodeName, the annotation mete.dev/devices,
 * the condition PodScheduled) in one transaction. The scheduler and the pods/binding route both call it.
 */
#pragma once

#include "kinds/objects.h"

struct ledger_container {
    const char *name;
    const char *const *gpus; /* uuids */
    size_t n_gpus;
};

struct ledger_pod {
    const char *name;
    const char *uid; /* must be the pod's that is there */
    const char *node;
    const struct ledger_container *containers;
    size_t n_containers;
};

struct ledger_placement {
    const char *ns;
    const char *workload; /* name of the placement: the pod's name for a pod by itself */
    const struct ledger_pod *pods;
    size_t n_pods;
    int64_t now_ns;
};

/* ERR_CONFLICT names the gpu and who holds it, or the pod that is bound, gone or being deleted. All or nothing. */
struct err *ledger_bind(struct store *s, const struct ledger_placement *p, store_done_fn done, void *arg) MUST_CHECK;

/*
 * Adds to a transaction what frees the devices of one pod: called by objects_* when a pod becomes terminal by its
 * node's word, or is removed. Idempotent.
 */
struct err *ledger_release(struct store *s, const char *ns, const char *pod, const char *pod_uid, store_done_fn done,
                           void *arg) MUST_CHECK;

/* The pod ("ns/name") that holds `uuid`, or NULL. The caller frees it. */
char *ledger_holder(const struct store *s, const char *uuid);

/*
 * Checks that each ledger object names a live pod with that uid, on that node, listing that gpu, and each bound live
 * pod's gpus are in the ledger under its name: the invariant "never given twice". ERR_INTERNAL tells what is wrong.
 */
struct err *ledger_check(const struct store *s) MUST_CHECK;
