/*
 * turns.h - the frame of a control loop: the objects that it reads, a queue of work, and a restart
 * after a lost write
 *
 * A loop reads its sources one after the other: when a source begins, the ones before it are known
 * completely. No item is looked at before all sources are known. If the store takes a write back,
 * the loop forgets all and reads anew, once all of its writes are durable.
 */
#pragma once

#include "base/loop.h"
#include "control/cluster.h"

struct turns;

/* A thing to look at; the loop's own struct begins with it. */
struct turn_item {
    struct turn_item *prev;
    struct turn_item *next;
    struct turns *turns;
    struct loop_timer *timer;
    int64_t timer_at_ns; /* monotonic; 0: not set */
    bool is_queued;
};

struct turns_source {
    const char *group;
    const char *resource;
    void (*put)(void *arg, const char *ns, const char *name, const json_t *object);
    void (*removed)(void *arg, const char *ns, const char *name, const json_t *last);
};

enum {
    TURNS_SOURCES_MAX = 8
};

struct turns_options {
    struct loop *loop;
    struct cluster *cluster;
    const char *name;                   /* of the loop, in log lines and errors */
    const struct turns_source *sources; /* borrowed */
    size_t n_sources;
    void (*look)(struct turn_item *item);
    void (*forget)(void *arg); /* frees all items */
    void *arg;
};

/* `*ret` is set before the first put. */
struct err *turns_new(const struct turns_options *o, struct turns **ret) MUST_CHECK;
void turns_free(struct turns *t); /* accepts NULL; forgets all */

void turn_item_init(struct turns *t, struct turn_item *item);
void turn_item_done(struct turn_item *item);

/* Looks at the item in one of the next turns. */
void turn_poke(struct turn_item *item);
/* Looks at the item after `in_ns`, or at an earlier time that was asked for before. */
void turn_poke_in(struct turn_item *item, int64_t in_ns);

/* The answer for a write, then writes_end (writes.h). */
struct cluster_answer turns_answer(struct turns *t);
void turns_reload_later(struct turns *t);

struct loop *turns_loop(const struct turns *t);
struct cluster *turns_cluster(const struct turns *t);
