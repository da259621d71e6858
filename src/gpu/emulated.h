/*
 * emulated.h - compiles profiles of emulated machines into the file that the emulated driver maps
 *
 * A profile is "8xH100" (a count and a known model) or a YAML document:
 *
 *     driver: 570.124.06
 *     cuda: "12.8"
 *     gpus:
 *     - count: 8
 *       model: H100          # fills in all that follows
 *       name: NVIDIA H100 80GB HBM3
 *       memory: 81559Mi
 *       reserved: 558Mi
 *       compute: "9.0"
 *       links: switch        # switch: each reaches each; pairs: two by two; none
 *       linkCount: 18
 *       numaNodes: 2         # spread evenly over so many
 *       powerLimit: 700      # watts
 *       gpusPerSwitch: 2     # gpus that share a PCIe switch; gpusPerPort, gpusPerBridge likewise
 *       cpusPerNode: 32      # of each NUMA node
 *       clique: 8f1c1d9e-0d5c-4b5a-9c1e-2f6a7b8c9d0e.1 # NVLink domain of several machines
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct gpusim_machine;

/*
 * `spec` is "NxMODEL", or the path of a YAML file whose text is `yaml` (NULL for the first form).
 * UUIDs follow from `seed` and the gpu's index: they survive restarts and differ between machines.
 * ERR_INVALID names the mistake, its place, and the known models.
 */
struct err *emulated_compile(const char *spec, const struct str *yaml, const char *seed,
                             struct gpusim_machine *ret) MUST_CHECK;
