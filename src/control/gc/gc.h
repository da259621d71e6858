/*
 * gc.h - what goes when something else went: owned objects, the content of namespaces, old events,
 * pods of nodes that are gone
 *
 * Owner references as in Kubernetes: an object all of whose owners are gone is deleted; Foreground
 * waits for the dependents that block it, Orphan cuts their references. An owner of an unknown
 * kind, or a namespaced owner of a cluster-wide object, counts as there. A node whose object is
 * away for `node_gone_ns` is taken for gone: its pods fail with the reason NodeLost and give back
 * their gpus; those that were being deleted are removed. That is the administrator's word, by
 * deleting the Node; a node that is only silent keeps its pods (node_monitor.h).
 *
 * Everything is read from a watch and repeated until it is so; nothing is remembered across
 * restarts.
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
     * The ledger was checked: `e` (borrowed) says what is wrong, NULL that it is right. While it is
     * wrong nothing more may be placed. May be NULL; it is logged anyway.
     */
    void (*on_ledger)(void *arg, const struct err *e);
    void *arg;
};

struct err *gc_new(const struct gc_options *o, struct gc **ret) MUST_CHECK;
void gc_free(struct gc *gc); /* accepts NULL */
