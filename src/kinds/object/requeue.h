/*
 * requeue.h - requeues: evicted or requeued pods are created again
 *
 * A pod without a controller that is deleted for a requeue leaves a record, in the transaction that
 * marks it for deletion:
 *
 *   requeues/<ns>/<name>   of group "mete.dev": {"uid","requeues","pod": its manifest}
 *
 * Once its containers are proven gone and the pod is removed, the server creates the pod from the
 * record, in the transaction that deletes the record: the same name, job number, user and place in
 * the order of its priority; a new uid. A user who deletes the pod in the meantime deletes the
 * record too. Pods of Jobs and of other controllers are replaced by their controllers.
 *
 * A pod that its node ends as GpuLost is marked for deletion by the write of that status.
 */
#pragma once

#include "kinds/object/objects.h"

struct change;
struct txn;

#define POD_REQUEUES    "mete.dev/requeues"    /* annotation: how often the pod was requeued */
#define POD_REQUEUE     "mete.dev/requeue"     /* annotation of users: "never" */
#define POD_PREEMPTIBLE "mete.dev/preemptible" /* annotation of administrators: "false" */

/* Reasons of a requeued pod's condition DisruptionTarget. */
#define POD_PREEMPTED "PreemptionByScheduler" /* as in Kubernetes */
#define POD_REQUEUED  "RequeuedByUser"

/* Does a controller own the pod, and replace it? */
bool pod_has_controller(const json_t *pod);
/* Is the pod created again after an eviction? */
bool pod_is_requeued(const json_t *pod);

/* Adds the record to the transaction that marks the pod for deletion; nothing if the pod is not
 * requeued. */
void requeue_record_in(const struct store *s, struct txn *t, const json_t *pod);
/* If the change ends the pod as GpuLost, and the pod is requeued: marks it for deletion, and adds
 * the record. */
void requeue_lost_in(struct change *c);
/* Adds the deletion of the pod's record, if there is one. */
void requeue_forget_in(const struct store *s, struct txn *t, const json_t *pod);

/*
 * Creates the pod of a record. ERR_CONFLICT: the old pod is still there. Other errors are those of
 * a creation (a full quota) and may pass. `*ret_is_over`: the record is gone, or was dropped
 * because its namespace is being deleted or another pod has its name. Without an error `done` comes
 * once, when the write is durable or taken back.
 */
struct err *requeue_make(struct objects *o, const char *ns, const char *name, store_done_fn done,
                         void *arg, bool *ret_is_over) MUST_CHECK;
