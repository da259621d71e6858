/* gpu_env.h - variables that number the gpus of a host process, as Slurm sets them */
#pragma once

#include "base/json.h"
#include "node/spec/container_devices.h"

/*
 * Puts CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK, by the vendors of the
 * devices, and GPU_DEVICE_ORDINAL (OpenCL): 0 to n-1, since the drivers count only gpus that the
 * device cgroup lets the process open, as with Slurm's ConstrainDevices=yes. MIG instances are
 * named by their UUIDs, which alone CUDA takes for them. SLURM_JOB_GPUS are the node's numbers of
 * the gpus, SLURM_GPUS_ON_NODE is the number of gpus or instances. Without devices nothing changes.
 */
void gpu_env_put(const struct container_devices *devices, json_t *env);
