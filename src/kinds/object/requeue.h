/*
 * requeue.h - pods that come back: ended so that others can start, or by hand, and made again
 *
 * A pod without a controller that is deleted so leaves a record of itself, in the transaction that
 * marks it for deletion:
 *   requeues/<ns>/<name>   of group "mete.dev": {"uid","requeues","pod": its manifest}
 * and once its containers are proven gone and it is removed, the pod is made from it again, in the
 * transaction that takes the record away: the same name, job number, user and place in the order of
 * its priority; a new uid. Who deletes the pod meanwhile takes the record away too. Pods of Jobs
 * and of other controllers are made anew by these.
 */
#pragma once

#include "kinds/object/objects.h"

struct txn;

#define POD_REQUEUES    "mete.dev/requeues"    /* annotation: how often it was made again */
#define POD_REQUEUE     "mete.dev/requeue"     /* annotation, anybody's: "never" */
#define POD_PREEMPTIBLE "mete.dev/preemptible" /* annotation, administrators': "false" */

/* Reasons of the condition DisruptionTarget of one that ends so. */
#define POD_PREEMPTED "PreemptionByScheduler" /* as in Kubernetes */
#define POD_REQUEUED  "RequeuedByUser"

/* Whether somebody makes it anew who is not us. */
bool pod_has_controller(const json_t *pod);
/* Whether it comes back when it is ended for others. */
bool pod_is_requeued(const json_t *pod);

/* Adds its record to the transaction that marks it for deletion; nothing where it does not come
 * back. */
void requeue_record_in(const struct store *s, struct txn *t, const json_t *pod);
/* Adds that it does not come back. */
void requeue_forget_in(const struct store *s, struct txn *t, const json_t *pod);

/*
 * Makes the pod of a record again. ERR_CONFLICT while the old one is there; other errors are those
 * of a creation (a quota that is full) and may pass. `*ret_is_over`: there is no record any more,
 * or it was dropped because its namespace goes or another has its name. Where there is no error,
 * `done` comes once, when what was written is durable or taken back.
 */
struct err *requeue_make(struct objects *o, const char *ns, const char *name, store_done_fn done,
                         void *arg, bool *ret_is_over) MUST_CHECK;
