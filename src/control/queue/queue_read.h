/* queue_read.h - Queue objects as the engine's queues */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "mete/engine.h"

/* `object` is validated; texts are borrowed from it, lists are in the arena. */
void queue_read(struct arena *a, const char *name, const json_t *object, struct mete_queue *ret);

/* The parent queue, or NULL. */
const char *queue_read_parent(const json_t *object);

/* The cluster-wide settings of the queue `root`; NULL: the defaults. */
void queue_read_fairness(const json_t *root, struct mete_fairness *ret);
void queue_read_moves(const json_t *root, struct mete_moves *ret);
