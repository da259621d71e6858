/*
 * share.h - the share of this process: its limits, and what all processes of the share hold
 *
 * The library stands in the place of the driver's libraries inside other people's containers. The
 * state is global, as theirs is. All functions are safe from several threads. A process without
 * readable limits gets no memory: a share never becomes a whole gpu by a fault.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/share_state.h"

enum {
    SHARE_NONE = -1 /* a gpu that is not shared */
};

/* False: the limits or the state cannot be read; the first call says so on stderr. */
bool share_open(void);

/* The index of the limit of a gpu or MIG instance, or SHARE_NONE. `id`: the UUID behind "GPU-". */
int share_find(const char *id);
/* Is the compute of a gpu limited? */
bool share_has_compute(void);

uint64_t share_memory_bytes(int gpu);
/* The bytes that all living processes of the share hold, together with what the driver adds. */
uint64_t share_used_bytes(int gpu);

/* Takes memory of the share. False: the share has less than `bytes` left. */
bool share_charge(int gpu, uint64_t bytes);
/* Takes memory that is allocated already, even beyond the limit. */
void share_charge_anyway(int gpu, uint64_t bytes);
/* Gives memory of this process back. */
void share_release(int gpu, uint64_t bytes);

/* True once in each child of a fork: the parent's memory is not the child's. */
bool share_is_forked(void);

/* Waits until the share may launch a kernel of this many threads. */
void share_launch(int gpu, uint64_t threads);

/*
 * The tokens a second by a measurement: the share spent `spent` tokens in `ns` and used
 * limit->used_milli of the gpu meanwhile, so limit->gpu_milli are worth this many. `rate` is the
 * rate before, 0: none. A step goes from half to double, because the driver's measurement lags.
 */
uint64_t share_rate(const struct share_limit *limit, uint64_t rate, uint64_t spent, int64_t ns);
