/* view.h - the emulated machine as one process may see it */
#pragma once

#include <stdbool.h>

#include "gpu/gpusim_machine.h"

struct view {
    const struct gpusim_machine *machine;
    struct gpusim_machine *writable;                /* the same; NULL: mapped read-only */
    int fd;                                         /* of the file, for locks */
    unsigned n;                                     /* gpus that this process may open */
    const struct gpusim_gpu *gpus[GPUSIM_GPUS_MAX]; /* in NVML's order */
    bool is_all;                                    /* all devices are visible */
};

/*
 * Maps the machine and finds the visible gpus. A writable file gives a writable map. False: no
 * machine, or another version of its file.
 */
bool view_open(struct view *v);

/*
 * Unmaps the machine. The file stays open until another is opened: a close would drop the
 * process-owned locks that another library of this process holds on it.
 */
void view_close(struct view *v);

/* The index of a gpu in the machine's file. */
unsigned view_index(const struct view *v, const struct gpusim_gpu *g);

/* May this process use the MIG device? `compute` is an index in the gpu's computes. */
bool view_has_compute(const struct view *v, const struct gpusim_gpu *g, unsigned compute);

/* May this process change MIG instances, by the nodes that it may open? */
bool view_may_configure(const struct view *v);

/* Does NVLink connect the two gpus? */
bool view_are_linked(const struct gpusim_gpu *a, const struct gpusim_gpu *b);
