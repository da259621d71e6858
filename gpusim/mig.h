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

/* The number of further instances of a profile that have room. */
unsigned instance_room(const struct gpusim_gpu *g, const struct gpusim_mig_profile *p);

/* Adds an instance at a start, or at the one that leaves the most choice (-1). Returns its index in
 * the gpu's instances; -1: there is no room. Under the gpu's lock. */
int instance_add(struct gpusim_gpu *g, const struct gpusim_mig_profile *p, int start);

/* The same for compute instances, in the compute slices of a gpu instance. */
unsigned compute_room(const struct gpusim_gpu *g, uint32_t instance, unsigned slices);
int compute_add(struct gpusim_gpu *g, uint32_t instance, unsigned slices, int start);
