/*
 * gc.h - garbage collection: dependents without owners, content of namespaces, old events, pods of
 * deleted nodes
 *
 * Owner references as in Kubernetes: an object without any living owner is deleted; Foreground
 * waits for the dependents that block it, Orphan cuts their references. An owner of an unknown
 * kind, or a namespaced owner of a cluster-wide object, counts as alive. A node without an object
 * for `node_gone_ns` is gone: its pods fail with the reason NodeLost and give back their gpus, and
 * its pods that were being deleted are removed. Deleting the Node is the administrator's word; a
 * node that is only silent keeps its pods (node_monitor.h).
 *
 * The collector takes all work from a watch and repeats work until it is done; a restart loses
 * nothing.
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct gc;

struct gc_options {
    struct loop *loop;
    struct objects *objects; /* borrowed, outlives this, with its store */
    int64_t event_ttl_ns;    /* 0: 1 h */
    int64_t node_gone_ns;    /* 0: 40 s */
    int64_t check_ns;        /* between two checks of the ledger; 0: 30 s */
    /*
     * Called after each check of the ledger: `e` (borrowed) is the damage, NULL: none. With damage
     * the scheduler must place nothing. May be NULL; damage is logged anyway.
     */
    void (*on_ledger)(void *arg, const struct err *e);
    void *arg;
};

struct err *gc_new(const struct gc_options *o, struct gc **ret) MUST_CHECK;
void gc_free(struct gc *gc); /* accepts NULL */
