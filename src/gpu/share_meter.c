/* share_meter.c - a share's use from the driver's readings */

#include "gpu/share_meter.h"

#include <string.h>

uint64_t share_meter_held(const struct share_state *state, uint32_t gpu)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < state->n_slots && i < SHARE_SLOTS_MAX; i++)
        if (state->slots[i].is_taken)
            sum += state->slots[i].bytes[gpu];
    return sum;
}

/*
 * A program allocates and frees between the two readings, so a single difference says little. What
 * the driver holds beyond the program's allocations, contexts and code, stays.
 */
static uint64_t surplus_least(struct share_surplus *s, uint64_t bytes)
{
    uint64_t least = bytes;

    s->bytes[s->n++ % SHARE_METER_KEEP] = bytes;
    if (s->n < SHARE_METER_KEEP)
        return 0;
    for (unsigned i = 0; i < SHARE_METER_KEEP; i++)
        if (s->bytes[i] < least)
            least = s->bytes[i];
    return least;
}

void share_meter_note(struct share_limit *limit, struct share_surplus *surplus,
                      const struct share_reading *reading, uint64_t held_bytes)
{
    uint64_t more = reading->bytes > held_bytes ? reading->bytes - held_bytes : 0;

    __atomic_store_n(&limit->other_bytes, surplus_least(surplus, more), __ATOMIC_RELAXED);
    if (!reading->has_sm)
        return;
    __atomic_store_n(&limit->used_milli, reading->sm_milli, __ATOMIC_RELAXED);
    (void)__atomic_add_fetch(&limit->sample, 1, __ATOMIC_RELEASE);
}

bool share_meter_is_over(const struct share_limit *limit, const struct share_reading *reading,
                         unsigned *n_over)
{
    uint64_t most = limit->memory_bytes + reading->n_processes * SHARE_METER_CONTEXT_BYTES;

    *n_over = reading->bytes > most ? *n_over + 1 : 0;
    return *n_over > 0 && *n_over % SHARE_METER_OVER == 0;
}

bool share_meter_is_of(const char *cgroup, const char *pod)
{
    size_t size = strlen(pod);

    for (const char *slash = strchr(cgroup, '/'); slash; slash = strchr(slash + 1, '/'))
        if (strncmp(slash + 1, pod, size) == 0 && slash[1 + size] == '-')
            return true;
    return false;
}
