/*
 * ledger.h - the ledger: the holder of each gpu, and the one function that gives devices to pods
 *
 * Internal objects of group "mete.dev", never served for writing:
 *
 *   placements/<ns>/<name>   one a workload; a large workload has parts "<name>/1" and so on, so
 *                            that the end of a pod writes a small object:
 *   {"workload","uid","pods":[{"name","uid","node","containers":[{"name", "gpus":[device...]}],
 *                              "fromNs","attempt","gpus":[{"uuid","model"}]}]}   (account.h)
 *   ledger//<gpu uuid>       one a gpu that is held, whole or in parts:
 *   {"node","holders":[{"placement":"ns/name","pod":"ns/name","podUid","device","claim"}]}
 *
 * The claim is the uid of the ResourceClaim that the device is for, if any: pods that share a claim
 * are holders of one device, which counts once. A device is a text (model/device.h). An older
 * ledger object has one holder, of the whole gpu, beside "node"; such an object is still read.
 *
 * ledger_bind writes in one transaction the placement, one ledger object a gpu at the version that
 * was read (so that no part of a gpu is given twice), and the projection onto the pods
 * (spec.nodeName, the annotation mete.dev/devices, the condition PodScheduled). The holders of a
 * gpu fit on the gpu: device_load_add. The scheduler and the route pods/binding both call
 * ledger_bind.
 */
#pragma once

#include "kinds/object/objects.h"
#include "model/device.h"

struct account_end;
struct arena;
struct pod_part;
struct txn;

struct ledger_container {
    const char *name;
    const struct device *devices; /* their gpus are in the node's annotation mete.dev/gpus */
    size_t n_devices;
};

struct ledger_pod {
    const char *name;
    const char *uid; /* must be the present pod's */
    const char *node;
    const struct ledger_container *containers;
    size_t n_containers;
    const char *nodes;  /* SLURM_NODES_ANNOTATION of the pod; NULL: none */
    const char *claims; /* the pod's annotation mete.dev/claims when its devices were chosen; NULL:
                         * not compared with the present one */
};

struct ledger_placement {
    const char *ns;
    const char *workload; /* the placement's name: the pod's for a single pod */
    const struct ledger_pod *pods;
    size_t n_pods;
    int64_t now_ns; /* from objects_now_ns, for the condition and the accounting */
};

/*
 * Deals a pod's devices, which are in the order of pod_gpu_asks, to its containers; `parts` are
 * those of pod_each_part. Missing devices are left out. Returns the number of containers.
 */
size_t ledger_deal(struct arena *a, const struct pod_part *parts, size_t n_parts,
                   const struct device *devices, size_t n_devices, struct ledger_container **ret);

/* The pod's annotation mete.dev/devices; NULL: it has no devices. The caller frees the text. */
char *ledger_devices_format(const struct ledger_pod *pod);

/*
 * Binds all pods or none. ERR_CONFLICT names the gpu and its holder, the pod that is bound, gone or
 * being deleted, or the node that is gone or lacks the gpu. Two containers of a pod may name the
 * same device only if one of them is an init container. The pods join a placement that is there
 * already.
 */
struct err *ledger_bind(struct store *s, const struct ledger_placement *p, store_done_fn done,
                        void *arg) MUST_CHECK;

/*
 * Adds to a transaction the release of the devices of `pod` (its tree), and the row of its attempt;
 * nothing if the pod holds nothing. objects_* calls it when a node reports the pod's end, or the
 * pod is removed.
 */
void ledger_release_in(struct store *s, struct txn *t, const json_t *pod,
                       const struct account_end *end);

/*
 * Reads a ledger object: {"node","holders":[...]}, also from the older form with one holder. A new
 * tree. ERR_INVALID: damaged.
 */
struct err *ledger_entry_parse(struct str bytes, json_t **ret) MUST_CHECK;
/* The same for a decoded tree: a new reference. */
json_t *ledger_entry_of(const json_t *tree);
/* The device of one holder of gpu `uuid`. */
struct err *ledger_holder_device(const json_t *holder, const char *uuid,
                                 struct device *ret) MUST_CHECK;

/* Does an earlier holder have the same device by the same claim? Then it does not count again. */
bool ledger_holder_repeats(const json_t *holders, size_t i);
/*
 * The uid of the claim that gives a bound pod, or one to bind, the device number `index` of
 * `container`; empty: none. `*ret_is_held`: another pod had the claim's devices first. All texts
 * are borrowed from the pod.
 */
struct str ledger_claim_of(const json_t *pod, const char *container, size_t index,
                           bool *ret_is_held, struct str *ret_request);
/* Adds the devices that the pod shares with others to its containers, in the arena. */
void ledger_add_held(struct arena *a, const json_t *pod, struct ledger_pod *p);

/* Model and usable memory of a gpu in the node's annotation mete.dev/gpus. */
struct gpu ledger_gpu_of(const json_t *gpu);
/* The same of the gpu `uuid` in that list; false: the list has no such gpu. */
bool ledger_find_gpu(const json_t *gpus, const char *uuid, struct gpu *ret);

/* The first pod ("ns/name") that holds something of `uuid`, or NULL. The caller frees the text. */
char *ledger_holder(const struct store *s, const char *uuid);

/* The part of the gpu that is held in the applied state: for choosing devices, never for a reply.
 * ERR_INVALID, ERR_CONFLICT: the ledger object is damaged. */
struct err *ledger_load(const struct store *s, const char *uuid, const struct gpu *gpu,
                        struct device_load *ret) MUST_CHECK;

/* Does a pod outside the namespace hold something of the gpu? As ledger_load; also true if the
 * ledger object is damaged. */
bool ledger_is_held_outside(const struct store *s, const char *uuid, const char *ns);

/* Is the gpu free in the applied state? As ledger_load. */
bool ledger_is_free(const struct store *s, const char *uuid);

/*
 * Checks the invariant "a device is never given twice": each holder in the ledger is a live pod
 * with its uid, on its node, that lists the device; the holders of a gpu fit on the gpu; and each
 * device of a bound live pod is in the ledger under the pod's name. ERR_INTERNAL says what is
 * wrong.
 */
struct err *ledger_check(const struct store *s) MUST_CHECK;
