/* queue_tree_private.h - one Queue object, and what the engine was told of it */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "control/queue/queue_tree.h"
#include "control/writes.h"

struct queue_entry {
    struct map_handle handle;
    char *name;
    json_t *object; /* NULL: it is gone, and the engine still has it */
    json_t *fed;    /* the spec that the engine has; NULL: it has none */
    json_t *status; /* as it was written last; NULL: not known */
    bool is_settled;
    const char *problem; /* a word; NULL: none */
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
    int64_t told_ns; /* when the statuses were written last; 0: not yet */
    bool is_status_due;
    bool is_loading; /* the first list: fed when all is read */
};

struct queue_entry *queue_tree_find(const struct queue_tree *q, const char *name);

/* queue_tree_feed.c: brings the engine to what the objects say, as far as that can be. */
void queue_tree_feed(struct queue_tree *q);

/* queue_tree_status.c */
void queue_tree_on_status(void *queues);
