/*
 * engine.h - the shared compute of an emulated gpu: how much time each client gets
 *
 * gpusim_machine.h has the rule. Nobody runs an engine in the background: whoever looks at it
 * brings it up to date first, from the work that its clients have left. A reader without write
 * access does so on its copy.
 */
#pragma once

#include "client.h"

struct engine {
    struct gpusim_engine state;
    unsigned n; /* clients of the engine, alive */
    unsigned slots[GPUSIM_CLIENTS_MAX];
    struct gpusim_use uses[GPUSIM_CLIENTS_MAX];
};

uint64_t clock_ns(void);

/* Copies an engine and its clients. Before engine_save: under the gpu's lock. */
void engine_load(struct engine *e, const struct view *v, unsigned gpu, unsigned engine);
void engine_save(const struct engine *e, const struct view *v, unsigned gpu, unsigned engine);

/* Lets the time until `now_ns` pass. */
void engine_advance(struct engine *e, uint64_t now_ns);

/* The time at which the engine reaches a virtual time, if no client adds work. */
uint64_t engine_when(const struct engine *e, uint64_t virtual_ns);

/* The time at which the engine passed a virtual time; the earliest known if that is long ago. */
uint64_t engine_was_at(const struct gpusim_engine *e, uint64_t virtual_ns);

/* Busy percent over the last second. */
unsigned loads_pct(const struct gpusim_load loads[GPUSIM_LOADS_MAX], uint64_t now_ns);
