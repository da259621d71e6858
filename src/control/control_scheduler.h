/*
 * control_scheduler.h - the loops that need a cluster and nothing else: the scheduler with its
 * queues, reservations and budgets, its events, and what is kept of its decisions
 *
 * The loops run over any struct cluster; control_cluster.h has the loops that need our own store.
 */
#pragma once

#include "control/report/arrivals.h"
#include "control/report/recorder.h"
#include "control/scheduler/scheduler.h"

/* Open: all members are borrowed from it, and it ends with control_scheduler_free. */
struct control_scheduler {
    struct events *events;
    struct arrivals *arrivals; /* that the engine saw */
    struct recorder *recorder;
    struct scheduler *scheduler;
};

struct control_scheduler_options {
    struct loop *loop;
    struct cluster *cluster;     /* borrowed */
    const char *policy;          /* of the engine; NULL: the default policy */
    const char *scheduler_names; /* kinds/scheduler_names.h; NULL: SCHEDULER_NAMES */
    bool has_names_alone;        /* without the built-in names */
    bool binds_one_by_one;       /* scheduler.h */
    int64_t answer_ns;           /* scheduler.h; 0: the default */
    struct observer observer;
};

struct err *control_scheduler_new(const struct control_scheduler_options *o,
                                  struct control_scheduler **ret) MUST_CHECK;
void control_scheduler_free(struct control_scheduler *c); /* accepts NULL */
