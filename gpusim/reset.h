/* reset.h - the reset of an emulated gpu */
#pragma once

#include <stdbool.h>

#include "gpu/gpusim_machine.h"

/* Ends faults and volatile counts, frees memory of processes that are gone, and lets a pending MIG
 * mode begin. A failed row remapping and the counts of the board's life stay. */
void gpusim_reset(struct gpusim_gpu *g);

/* Does a living process that `gpusim set` added use the gpu? */
bool gpusim_has_process(const struct gpusim_gpu *g);
