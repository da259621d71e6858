/*
 * foreign_queue.h - Queues that stand for the queue objects of other schedulers
 *
 * The Queue is never stored: it has no uid, and the annotation QUEUE_SOURCE names its object. An
 * object with a restriction that Mete cannot keep is refused: the Queue is stopped, and the
 * annotation QUEUE_REFUSED says why. The annotation QUEUE_NOTE names the other settings of the
 * object that Mete does not follow.
 */
#pragma once

#include "base/json.h"
#include "mete/engine.h"

/* A new Queue for the object `source` ("ClusterQueue.kueue.x-k8s.io team-a"). */
json_t *foreign_queue_new(const char *name, const char *source);

/* Stops the queue. The first reason stays. */
void foreign_queue_refuse(json_t *queue, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool foreign_queue_is_refused(const json_t *queue);
/* Adds a setting that Mete does not follow to QUEUE_NOTE. */
void foreign_queue_note(json_t *queue, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the weight from the number or Quantity `weight` of the object's member `field`; NULL: 1. A
 * weight that is not whole counts as 1, with a note. */
void foreign_queue_weight(json_t *queue, const char *field, const json_t *weight);

/* Adds a quota; the queue refuses a second one of the resource. METE_UNLIMITED: no limit. */
void foreign_queue_quota(json_t *queue, const struct mete_quota *quota);

/*
 * The resource of Queues for a resource of pods: "gpu" for whole gpus. ERR_INVALID: parts of gpus,
 * which Queues count as gpu.
 */
struct err *foreign_resource(const char *resource, const char **ret) MUST_CHECK;

/* Reads a Quantity, a text or a number, in the engine's units; `resource` is one of Queues. */
struct err *foreign_amount(const char *resource, const json_t *quantity, int64_t *ret) MUST_CHECK;
