/*
 * sim_loop.h - a struct loop for tests: virtual time, one callback at a time, the same order each
 * run
 *
 * Time stands still unless sim_loop_advance moves it. Timers run in order of their time, then of
 * their setting. Descriptors are real and polled without waiting; sim_loop_wait_io is the one call
 * that waits for something outside (a thread, a child), with a deadline in real time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

/* The clock begins at 1 s; the wall clock at 2026-01-01T00:00:00Z plus that. */
struct loop *sim_loop_new(void);
void sim_loop_free(
    struct loop *l); /* accepts NULL; timers and ios must be freed before: asserted */

static inline void sim_loop_freep(struct loop **l)
{
    sim_loop_free(*l);
}

/* Calls one due timer or one ready descriptor. False: none is due. */
bool sim_loop_step(struct loop *l);

/* Runs all due timers and ready descriptors. Asserts that ten million steps are enough. */
void sim_loop_run(struct loop *l);

/* Moves the clock by `ns`: runs the due timers and descriptors, then each timer at its own time, up
 * to and with the end. */
void sim_loop_advance(struct loop *l, int64_t ns);

/* Waits until a descriptor is ready and calls it. False after `deadline_ms` of real time. */
bool sim_loop_wait_io(struct loop *l, int deadline_ms);

/* Nanoseconds until the next timer, 0 when one is due, -1 when none is set. */
int64_t sim_loop_next_ns(const struct loop *l);

/* Steps the wall clock, as an administrator would. Timers stay as they are. */
void sim_loop_step_wall(struct loop *l, int64_t ns);
