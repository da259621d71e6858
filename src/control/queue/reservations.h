/*
 * reservations.h - Reservation objects to the engine, the engine's picks onto their status
 *
 * A reservation is deleted a day after its end. After a restart the engine gets its earlier picks
 * again. If the engine refuses a reservation (another has its nodes at that time), its status says
 * so, and the next change of a reservation retries it.
 */
#pragma once

#include "control/cluster.h"
#include "mete/engine.h"

struct reservations;

struct reservations_options {
    struct loop *loop;
    struct cluster *cluster;
    struct mete_engine *engine;
    void (*on_change)(void *arg); /* a reservation came, went, begins or ends */
    void (*on_synced)(void *arg); /* all reservations have been read: called once, maybe at once */
    void *arg;
};

struct err *reservations_new(const struct reservations_options *o,
                             struct reservations **ret) MUST_CHECK;
void reservations_free(struct reservations *r); /* accepts NULL */

/*
 * Gives the reservations to the engine, once: after on_synced, and when the engine knows all
 * holders, as it picks gpus for them.
 */
void reservations_feed(struct reservations *r);

/* The engine's picks may have changed: checks the status again soon. */
void reservations_touch(struct reservations *r);
