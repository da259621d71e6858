/*
 * queue.h - mete.dev/v1 Queue, and what pods and Jobs say of theirs
 *
 * A pod's queue is written down when it is created, as the label QUEUE_LABEL: what it says itself,
 * else what its namespace says, else none, which is "default".
 */
#pragma once

#include "kinds/kind/kind.h"
#include "model/quantity.h"

#define QUEUE_LABEL       "mete.dev/queue"             /* of a pod, Job or namespace */
#define QUEUE_KUEUE_LABEL "kueue.x-k8s.io/queue-name"  /* the same, in Kueue's words */
#define QUEUE_HOLD        "mete.dev/hold"              /* annotation: "user" or "admin" */
#define QUEUE_NOT_BEFORE  "mete.dev/not-before"        /* annotation: a time, RFC 3339 */
#define QUEUE_RESERVATION "mete.dev/reservation"       /* annotation: it runs in that one only */
#define QUEUE_EXPECTED    "mete.dev/expected-run-time" /* annotation: a duration */
#define QUEUE_TIME_LIMIT \
    "mete.dev/time-limit" /* annotation: a duration; at creation the pod's limit */
#define QUEUE_KUEUE_LIMIT "kueue.x-k8s.io/max-exec-time-seconds" /* label: the same */
#define QUEUE_DEFAULT     "default"
#define QUEUE_ROOT        "root" /* what is said of all queues: spec.fairness, spec.moves */

enum {
    QUEUE_QUOTAS_MAX = 61 /* as many resources as the engine counts in all */
};

/* What the labels of an object say, or NULL. Borrowed. */
const char *queue_of(const json_t *object);

/*
 * An amount as the engine counts it: gpus and cpu in thousandths, all else in whole units, rounded
 * up. ERR_INVALID where it is negative or over 2^60.
 */
struct err *queue_amount(const char *resource, const char *text, int64_t *ret) MUST_CHECK;
/* The quantity's text of what the engine counts. */
void queue_amount_format(const char *resource, int64_t amount, char ret[QUANTITY_TEXT_SIZE]);

/* Whether a queue lets in what is in that namespace, by its `namespaces` and `namespaceSelector`:
 * one of them is enough, and none of both lets in all. */
bool queue_lets_in(const json_t *queue, const json_t *ns);

/*
 * Who holds and who releases: a user puts "user" there and takes it away, an administrator also
 * "admin", which no user takes away. And a time to wait for is one.
 */
struct causes;
void queue_check_annotations(const json_t *before, const json_t *after, bool is_admin,
                             struct causes *causes);
