/*
 * gpu_offer.h - the gpus that a node offers, by its MIG strategy
 *
 * As NVIDIA's device plugin: `mixed` offers each slice by its profile; `none` offers no slices;
 * `single` offers each slice as a gpu of its own, if all gpus are sliced into one profile. Such a
 * slice is listed as a gpu with the MIG device's uuid, beside its gpu, which then has no slices.
 */
#pragma once

#include "base/vec.h"
#include "gpu/sharing_config.h"

typedef VEC(struct gpu) gpu_offer_list;

/* Adds the offered gpus to `ret`. */
void gpu_offer_make(const struct gpu *gpus, size_t n, enum mig_strategy strategy,
                    gpu_offer_list *ret);

/* Can `single` offer the slices: is every gpu sliced, and all into one profile? `*ret` (may be
 * NULL) is the first slice. */
bool gpu_offer_is_single(const struct gpu *gpus, size_t n, const struct gpu_slice **ret);

/* Is it the uuid of a slice, not of a gpu? */
bool gpu_offer_is_slice(const char *uuid);
