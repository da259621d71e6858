/*
 * queue.h - mete.dev/v1 Queue, and the labels and annotations by which pods and Jobs queue
 *
 * Creation writes a pod's queue onto it as the label QUEUE_LABEL: the pod's own queue, else its
 * namespace's. A pod without the label is in "default".
 */
#pragma once

#include "kinds/kind/kind.h"
#include "model/quantity.h"

#define QUEUE_LABEL       "mete.dev/queue"            /* label of a pod, Job or namespace */
#define QUEUE_KUEUE_LABEL "kueue.x-k8s.io/queue-name" /* label: the same, from Kueue */
#define QUEUE_HOLD        "mete.dev/hold"             /* annotation: "user" or "admin" */
#define QUEUE_NOT_BEFORE  "mete.dev/not-before"       /* annotation: a time, RFC 3339 */
#define QUEUE_SINCE \
    "mete.dev/queued-since" /* annotation of our own: the pod waits since this time, RFC 3339 */
#define QUEUE_PRIORITY \
    "mete.dev/priority" /* annotation: a number in place of the pod's spec.priority */
#define QUEUE_RESERVATION \
    "mete.dev/reservation" /* annotation: the pod runs in this reservation only */
#define QUEUE_EXPECTED "mete.dev/expected-run-time" /* annotation: a duration */
#define QUEUE_TIME_LIMIT \
    "mete.dev/time-limit" /* annotation: a duration; sets activeDeadlineSeconds at creation */
#define QUEUE_KUEUE_LIMIT "kueue.x-k8s.io/max-exec-time-seconds" /* label: the same */
/* Annotations of a Queue that stands for another scheduler's object
 * (control/queue/foreign_queue.h): the object, what it says that Mete does not do, and why Mete
 * does not use it. */
#define QUEUE_SOURCE  "mete.dev/source"
#define QUEUE_NOTE    "mete.dev/note"
#define QUEUE_REFUSED "mete.dev/refused"
#define QUEUE_DEFAULT "default"
#define QUEUE_ROOT    "root" /* the object for settings of all queues: spec.fairness, spec.moves */

enum {
    QUEUE_QUOTAS_MAX = 61 /* the number of resources that the engine counts in all */
};

/* The queue that an object's labels name, or NULL. Borrowed. */
const char *queue_of(const json_t *object);

/* The queue's annotation QUEUE_SOURCE; NULL: the queue is an object of the store. */
const char *queue_source(const json_t *queue);

/* Reads an amount in the engine's units: gpus and cpu in thousandths, other resources in whole
 * units, rounded up. ERR_INVALID: the amount is negative or over 2^60. */
struct err *queue_amount(const char *resource, const char *text, int64_t *ret) MUST_CHECK;
/* Formats an amount in the engine's units as a quantity. */
void queue_amount_format(const char *resource, int64_t amount, char ret[QUANTITY_TEXT_SIZE]);

/* Does a queue admit workloads of this namespace, by its `namespaces` or its `namespaceSelector`? A
 * queue with neither admits all. */
bool queue_lets_in(const json_t *queue, const json_t *ns);

/* Since when the pod waits: the annotation, else its creation. Realtime; 0: unknown. */
int64_t queue_since_ns(const json_t *pod);

/* The priority of a waiting pod in its queue: the annotation, else spec.priority. */
int32_t queue_priority(const json_t *pod);

/* Checks the annotations above. Users set and remove the hold "user"; administrators also set and
 * remove "admin". Users set a priority of at most spec.priority, on pods that exist; administrators
 * set any. The other annotations must parse. */
struct causes;
void queue_check_annotations(const json_t *before, const json_t *after, bool is_admin,
                             struct causes *causes);
