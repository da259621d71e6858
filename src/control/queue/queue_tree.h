/*
 * queue_tree.h - Queue objects to the engine, the engine's view of queues onto their status
 *
 * The engine gets parents before their children, in whatever order the objects come. A queue
 * without its parent is not in the engine, nor are the queues below it; its condition Active says
 * so. The object `root` sets the fairness of the cluster. Status is written at a bounded rate.
 */
#pragma once

#include "control/cluster.h"
#include "mete/engine.h"

struct queue_tree;

struct queue_tree_options {
    struct loop *loop;
    struct cluster *cluster;
    struct mete_engine *engine;
    void (*on_change)(void *arg); /* the engine's queues, or the namespaces that they admit */
    void (*on_synced)(void *arg); /* the engine has the queues: called once, maybe at once */
    void *arg;
};

struct err *queue_tree_new(const struct queue_tree_options *o, struct queue_tree **ret) MUST_CHECK;
void queue_tree_free(struct queue_tree *q); /* accepts NULL */

/* May workloads of the namespace use the queue? True for a queue that does not exist. */
bool queue_tree_let_in(const struct queue_tree *q, const char *queue, const char *ns);

/* The engine's holdings may have changed: checks the status again soon. */
void queue_tree_touch(struct queue_tree *q);

/* The Queue objects with their status, sorted by name: those of the store, and those that stand for
 * others (foreign_queue.h). A new array. */
json_t *queue_tree_list(const struct queue_tree *q);
