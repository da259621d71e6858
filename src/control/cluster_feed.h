/*
 * cluster_feed.h - one resource of the store for several listeners, read in turns of the loop
 *
 * Each version of an object is decoded once and handed to all listeners. json_pool.h lends the
 * trees: they are shared, and listeners do not change them. A feed begins in its first turn.
 * Objects that are present then are put in the order of their keys, a bounded number a turn. An
 * object that changes before its turn is put with its change, and not again.
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
    const char *group; /* static, like `resource` */
    const char *resource;
};

/* The feeds of one cluster; {0}: none. */
struct feeds {
    struct feed *all;
};

/*
 * Joins a feed of the resource that has not begun, or starts a new feed. Inside a call of the feed,
 * a listener neither leaves nor makes others leave.
 */
struct feed_member *feeds_join(struct feeds *feeds, const struct feed_options *o,
                               const struct cluster_listener *l);
void feed_leave(struct feed_member *m);
