/*
 * share_meter.h - measures what capped shares use, and writes it where their share library reads it
 *
 * The measurement runs in a helper process, because the driver may hang. Its input is lines of
 * JSON, each the whole list of the shares:
 *
 *   {"shares": [{"pod": UID, "dir": DIRECTORY}...]}
 *
 * DIRECTORY holds the files of share_state.h. The processes of a share are those whose cgroup's
 * name begins with the pod's uid. The helper writes a line for a pod whose processes hold more than
 * the share, by the driver's count, in all measurements of two seconds: they went around the
 * library.
 *
 *   {"over": {"pod": UID, "gpu": UUID, "bytes": N, "limit": N}}
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpu/gpu_driver.h"
#include "gpu/share_state.h"

enum {
    SHARE_METER_KEEP = 5, /* measurements that a surplus must last to count */
    SHARE_METER_OVER = 10 /* measurements over the limit after which it is told */
};

/* Room for a process's context, which the driver allocates before the library knows of it. */
#define SHARE_METER_CONTEXT_BYTES (UINT64_C(1) << 30)

/* The driver's answer about one share of one gpu. */
struct share_reading {
    uint64_t bytes;
    unsigned n_processes;
    unsigned sm_milli;
    bool has_sm;
};

/* The last surpluses of the driver's bytes over what the share library counted. */
struct share_surplus {
    uint64_t bytes[SHARE_METER_KEEP];
    unsigned n; /* since the start */
};

/*
 * Takes a reading into a limit. `held_bytes`: by all processes of the share, the larger of before
 * and after the reading.
 */
void share_meter_note(struct share_limit *limit, struct share_surplus *surplus,
                      const struct share_reading *reading, uint64_t held_bytes);

/* Counts the readings over the limit in a row. True: it is told now, once in SHARE_METER_OVER. */
bool share_meter_is_over(const struct share_limit *limit, const struct share_reading *reading,
                         unsigned *n_over);

/* The bytes that all slots hold of the limit with this index. */
uint64_t share_meter_held(const struct share_state *state, uint32_t gpu);

/* Is this the text of /proc/PID/cgroup of a process of the pod? */
bool share_meter_is_of(const char *cgroup, const char *pod);

/* Serves the helper until its input ends; returns its exit status. */
int share_meter_serve(struct gpu_driver *d);
