/* view.h - the emulated machine as one process may see it */
#pragma once

#include <stdbool.h>

#include "gpu/gpusim_machine.h"

struct view {
    const struct gpusim_machine *machine;
    unsigned n;                                     /* gpus that this process may open */
    const struct gpusim_gpu *gpus[GPUSIM_GPUS_MAX]; /* in the machine's order */
};

/* Maps the machine and finds the visible gpus. False: no machine, or another version of its
 * file. */
bool view_open(struct view *v);
void view_close(struct view *v);
