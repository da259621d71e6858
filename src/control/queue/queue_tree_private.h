/*
 * queue_tree_private.h - the parts of the queue tree: Queue objects, and what the engine has of
 * them
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "control/queue/queue_tree.h"
#include "control/writes.h"

struct queue_entry {
    struct map_handle handle;
    char *name;
    json_t *object; /* NULL: deleted, but still in the engine */
    json_t *fed;    /* the spec that the engine has; NULL: not in the engine */
    json_t *status; /* as last written; NULL: unknown */
    bool is_settled;
    const char *problem; /* one word; NULL: none */
    char *message;
};

struct queue_space {
    struct map_handle handle;
    char *name;
    json_t *object;
};

struct queue_tree {
    struct queue_tree_options options;
    struct queue_entry *entries;
    struct queue_space *spaces;
    struct cluster_watch *queues_watch;
    struct cluster_watch *spaces_watch;
    struct loop_timer *status_timer;
    struct writes *writes;
    int64_t told_ns; /* time of the last write of statuses; 0: none yet */
    bool is_status_due;
    bool has_unsettled;  /* the engine lacks a queue of an object, or has a deleted one */
    unsigned n_unsynced; /* watches: the engine is fed after them */
};

struct queue_entry *queue_tree_find(const struct queue_tree *q, const char *name);

/* queue_tree_feed.c: brings the engine to the state of the objects, as far as possible. */
void queue_tree_feed(struct queue_tree *q);
/* The same after a change of this entry alone: a tree of n queues is set in n steps, not n x n. */
void queue_tree_feed_one(struct queue_tree *q, struct queue_entry *entry);

/* queue_tree_status.c */
void queue_tree_on_status(void *queues);
