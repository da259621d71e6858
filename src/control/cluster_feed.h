/*
 * cluster_feed.h - one resource of the store for several listeners, read in turns of the loop
 *
 * Each version of an object is decoded once and handed to all listeners. Trees are lent by
 * json_pool.h: shared, and not to be changed. Objects that are there when the feed begins, in its
 * first turn, are put in order of their keys, a bounded number a turn; an object that changes
 * before its turn comes is put by its change, and not again.
 */
#pragma once

#include "base/loop.h"
#include "control/cluster.h"
#include "kinds/object/objects.h"

struct feed;
struct feed_member;

struct feed_options {
    struct loop *loop;
    struct store *store;
    struct objects *objects;
    const char *group; /* static, as `resource` */
    const char *resource;
};

/* Feeds of one cluster; {0} has none. */
struct feeds {
    struct feed *all;
};

/*
 * Joins the feed of that resource that has not begun, or a new one. A listener does not leave, nor
 * make others leave, from inside a call of the feed.
 */
struct feed_member *feeds_join(struct feeds *feeds, const struct feed_options *o,
                               const struct cluster_listener *l);
void feed_leave(struct feed_member *m);
