/*
 * plugin_choice.h - the devices that suit a container best (GetPreferredAllocation)
 *
 * Replicas come from the gpus of which the fewest replicas are given, so that load spreads, as
 * NVIDIA's plugin distributes them. Whole gpus are chosen by their connections: the sum over all
 * pairs of the chosen gpus is the largest, then the sum over the pairs that are left for others.
 */
#pragma once

#include "kubelet/plugin_devices.h"

/*
 * Chooses `size` of the `n` available devices, with all that are `must`. `ret` has room for `size`
 * pointers to devices of `r`. ERR_INVALID: an unknown id, fewer devices than `size`, or more that
 * must be chosen.
 */
struct plugin_choice {
    const struct plugin_resource *resource;
    char *const *available; /* ids */
    size_t n;
    char *const *must; /* ids, each available */
    size_t n_must;
    size_t size;
};
struct err *plugin_choose(const struct plugin_choice *c,
                          const struct plugin_device **ret) MUST_CHECK;
