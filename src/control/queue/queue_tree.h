/*
 * queue_tree.h - Queue objects to the engine, what it says of them onto their status
 *
 * Parents before their children, whichever order the objects came in: a queue whose parent is not
 * there is out of the engine with all that is below it, and says so in its condition Active. The
 * object `root` sets how turns are taken. Status is written at a bounded rate.
 */
#pragma once

#include "control/cluster.h"
#include "mete/engine.h"

struct queue_tree;

struct queue_tree_options {
    struct loop *loop;
    struct cluster *cluster;
    struct mete_engine *engine;
    void (*on_change)(void *arg); /* the engine's queues, or whom they let in */
    void *arg;
};

struct err *queue_tree_new(const struct queue_tree_options *o, struct queue_tree **ret) MUST_CHECK;
void queue_tree_free(struct queue_tree *q); /* accepts NULL */

/* May what is in the namespace be in the queue? True for a queue that is not there. */
bool queue_tree_let_in(const struct queue_tree *q, const char *queue, const char *ns);

/* What the engine holds may have changed: the status is looked at again soon. */
void queue_tree_touch(struct queue_tree *q);
