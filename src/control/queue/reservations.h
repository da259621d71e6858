/*
 * reservations.h - Reservation objects to the engine, what it picked for them onto their status
 *
 * One that is over goes a day later. What was picked is given to the engine again after a restart.
 * Where the engine refuses one (its nodes are another's at that time) its status says so, and it is
 * tried again when others change.
 */
#pragma once

#include "control/cluster.h"
#include "mete/engine.h"

struct reservations;

struct reservations_options {
    struct loop *loop;
    struct cluster *cluster;
    struct mete_engine *engine;
    void (*on_change)(void *arg); /* one came or went, begins or ends */
    void *arg;
};

struct err *reservations_new(const struct reservations_options *o,
                             struct reservations **ret) MUST_CHECK;
void reservations_free(struct reservations *r); /* accepts NULL */

/* What the engine picked may have changed: the status is looked at again soon. */
void reservations_touch(struct reservations *r);
