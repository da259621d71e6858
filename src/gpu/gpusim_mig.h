/* gpusim_mig.h - the MIG table of an emulated gpu */
#pragma once

struct gpusim_gpu;

/*
 * Fills in the MIG profiles of a gpu from its name and memory, as the driver would report them: the
 * geometry of model/mig.h, with NVML's numbers, multiprocessors and engines. A model without MIG
 * keeps an empty table.
 */
void gpusim_mig_fill(struct gpusim_gpu *g);
