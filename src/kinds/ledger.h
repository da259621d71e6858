/*
 * ledger.h - who holds which gpu: the one function that gives devices away
 *
 * Internal objects of group "mete.dev", never served for writing:
 *   placements/<ns>/<name>   one a workload, of a large one "<name>/1" and so on beside it, each
 *                            with some of its pods, so that the end of one costs what a few do:
 * {"workload","uid","pods":[{"name","uid","node","containers":[{"name", "gpus":[uuid...]}],
 *                            "fromNs","attempt","gpus":[{"uuid","model"}]}]}   (account.h)
 *   ledger//<gpu uuid>       one a gpu that is held:
 * {"placement":"ns/name","pod":"ns/name","podUid","node"}
 *
 * ledger_bind writes the placement, one ledger object a gpu with "must be absent" (so that a device
 * cannot be given twice, whoever asks) and the projection onto the pods (spec.nodeName, the
 * annotation mete.dev/devices, the condition PodScheduled) in one transaction. The scheduler and
 * the pods/binding route both call it.
 */
#pragma once

#include "kinds/object/objects.h"

struct account_end;
struct txn;

struct ledger_container {
    const char *name;
    const char *const *gpus; /* uuids; each is on the node by its annotation mete.dev/gpus */
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
    int64_t now_ns; /* realtime, for the condition and the accounting: of objects_now_ns */
};

/*
 * ERR_CONFLICT names the gpu and who holds it, the pod that is bound, gone or being deleted, or the
 * node that is gone or has no such gpu. All or nothing. Two containers of one pod may name the same
 * gpu only where one of them is an init container. A placement that is there already grows by the
 * pods.
 */
struct err *ledger_bind(struct store *s, const struct ledger_placement *p, store_done_fn done,
                        void *arg) MUST_CHECK;

/*
 * Adds to a transaction what frees the devices of `pod` (its tree), and the row of its attempt:
 * called by objects_* when a pod becomes terminal by its node's word, or is removed. Adds nothing
 * where it holds nothing.
 */
void ledger_release_in(struct store *s, struct txn *t, const json_t *pod,
                       const struct account_end *end);

/* The pod ("ns/name") that holds `uuid`, or NULL. The caller frees it. */
char *ledger_holder(const struct store *s, const char *uuid);

/* The same by what is applied: for choosing gpus, never for a reply. */
bool ledger_is_free(const struct store *s, const char *uuid);

/*
 * Checks that each ledger object names a live pod with that uid, on that node, listing that gpu,
 * and each bound live pod's gpus are in the ledger under its name: the invariant "never given
 * twice". ERR_INTERNAL tells what is wrong.
 */
struct err *ledger_check(const struct store *s) MUST_CHECK;
