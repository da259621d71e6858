/* mig.h - MIG instances of an emulated gpu, for both libraries */
#pragma once

#include <stdbool.h>

#include "gpu/gpusim_machine.h"

/* The used gpu instance with this id; NULL: none. */
const struct gpusim_instance *instance_find(const struct gpusim_gpu *g, uint32_t id);
const struct gpusim_mig_profile *instance_profile(const struct gpusim_gpu *g, uint32_t id);

/* The UUID of a MIG device: it follows from the gpu's UUID and the ids of both instances. */
void compute_uuid(const struct gpusim_gpu *g, unsigned compute, char out[96]);

/* "1g.10gb", or "1c.3g.40gb" for a part of its gpu instance. */
void compute_name(const struct gpusim_gpu *g, unsigned compute, char out[48]);
