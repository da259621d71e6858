/* nvml_mig_compute.c - compute instances: parts of the compute of a gpu instance */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "nvml_mig.h"

enum {
    COMPUTE_PROFILES = 9
};

/* The slices of NVML's numbers of compute profiles. The last is for NVLink. */
static const unsigned compute_slices[COMPUTE_PROFILES] = {1, 2, 3, 4, 7, 8, 6, 1, 7};

static int compute_profile_find(const struct gpusim_mig_profile *p, unsigned number)
{
    if (number >= COMPUTE_PROFILES)
        return NVML_ERROR_INVALID_ARGUMENT;
    return number < 7 && compute_slices[number] <= p->slices ? NVML_SUCCESS
                                                             : NVML_ERROR_NOT_SUPPORTED;
}

static struct nvmlComputeInstanceProfileInfo compute_info(const struct gpusim_mig_profile *p,
                                                          unsigned number)
{
    return (struct nvmlComputeInstanceProfileInfo){
        .id = number,
        .sliceCount = compute_slices[number],
        .instanceCount = p->slices / compute_slices[number],
        .multiprocessorCount = p->multiprocessors * compute_slices[number] / p->slices,
        .sharedCopyEngineCount = p->copy_engines,
        .sharedDecoderCount = p->decoders,
        .sharedEncoderCount = p->encoders,
        .sharedJpegCount = p->jpegs,
        .sharedOfaCount = p->ofas};
}

FUNCTION(nvmlGpuInstanceGetComputeInstanceProfileInfo, nvmlGpuInstance_t handle, unsigned number,
         unsigned engine, struct nvmlComputeInstanceProfileInfo *out)
{
    const struct gpusim_mig_profile *p;
    int result;
    ENTER_INSTANCE(handle, g, instance);

    p = instance_profile(g, instance->id);
    if (!out || !p || engine > 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    result = compute_profile_find(p, number);
    if (result == NVML_SUCCESS)
        *out = compute_info(p, number);
    return result;
}

/* Versions 2 and 3 put a version before and a name behind; version 3 adds capabilities. */
struct compute_info_v3 {
    unsigned version;
    struct nvmlComputeInstanceProfileInfo info;
    char name[96];
    unsigned capabilities;
};

FUNCTION(nvmlGpuInstanceGetComputeInstanceProfileInfoV, nvmlGpuInstance_t handle, unsigned number,
         unsigned engine, struct compute_info_v3 *out)
{
    const struct gpusim_mig_profile *p;
    int result;
    ENTER_INSTANCE(handle, g, instance);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_COMPUTE_PROFILE_INFO_V2 &&
        out->version != NVML_COMPUTE_PROFILE_INFO_V3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    result = nvmlGpuInstanceGetComputeInstanceProfileInfo(handle, number, engine, &out->info);
    if (result != NVML_SUCCESS)
        return result;
    p = instance_profile(g, instance->id);
    if (compute_slices[number] < p->slices)
        (void)snprintf(out->name, sizeof(out->name), "MIG %uc.%.31s", compute_slices[number],
                       p->name);
    else
        (void)snprintf(out->name, sizeof(out->name), "MIG %.31s", p->name);
    if (out->version == NVML_COMPUTE_PROFILE_INFO_V3)
        out->capabilities = 0;
    return NVML_SUCCESS;
}

FUNCTION(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, nvmlGpuInstance_t handle, unsigned id,
         unsigned *out)
{
    const struct gpusim_mig_profile *p;
    int result;
    ENTER_INSTANCE(handle, g, instance);

    p = instance_profile(g, instance->id);
    result = p ? compute_profile_find(p, id) : NVML_ERROR_NOT_FOUND;
    return result == NVML_SUCCESS ? give(compute_room(g, instance->id, compute_slices[id]), out)
                                  : result;
}

FUNCTION(nvmlGpuInstanceGetComputeInstancePossiblePlacements, nvmlGpuInstance_t handle, unsigned id,
         struct nvmlPlacement *out, unsigned *count)
{
    const struct gpusim_mig_profile *p;
    int result;
    unsigned n = 0;
    ENTER_INSTANCE(handle, g, instance);

    p = instance_profile(g, instance->id);
    result = p ? compute_profile_find(p, id) : NVML_ERROR_NOT_FOUND;
    if (result != NVML_SUCCESS || !count)
        return count ? result : NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned at = 0; at + compute_slices[id] <= p->slices; at += compute_slices[id]) {
        if (out && n >= *count)
            return NVML_ERROR_INSUFFICIENT_SIZE;
        if (out)
            out[n] = (struct nvmlPlacement){.start = at, .size = compute_slices[id]};
        n++;
    }
    *count = n;
    return NVML_SUCCESS;
}

static int compute_create(const struct gpusim_gpu *g, const struct gpusim_instance *instance,
                          unsigned id, int start, nvmlComputeInstance_t *out)
{
    const struct gpusim_mig_profile *p = instance_profile(g, instance->id);
    unsigned gpu = view_index(&library_view, g);
    int result = p ? compute_profile_find(p, id) : NVML_ERROR_NOT_FOUND;
    int slot;

    if (!out || result != NVML_SUCCESS)
        return out ? result : NVML_ERROR_INVALID_ARGUMENT;
    if (mig_check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    gpu_lock(&library_view, gpu);
    slot = compute_add(mig_writable(g), instance->id, compute_slices[id], start);
    gpu_unlock(&library_view, gpu);
    if (slot < 0)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    *out = (nvmlComputeInstance_t)(uintptr_t)&g->computes[slot];
    return NVML_SUCCESS;
}

FUNCTION(nvmlGpuInstanceCreateComputeInstance, nvmlGpuInstance_t handle, unsigned id,
         nvmlComputeInstance_t *out)
{
    ENTER_INSTANCE(handle, g, instance);

    return compute_create(g, instance, id, -1, out);
}

FUNCTION(nvmlGpuInstanceCreateComputeInstanceWithPlacement, nvmlGpuInstance_t handle, unsigned id,
         const struct nvmlPlacement *placement, nvmlComputeInstance_t *out)
{
    ENTER_INSTANCE(handle, g, instance);

    if (!placement || placement->start >= GPUSIM_INSTANCES_MAX || id >= COMPUTE_PROFILES ||
        placement->size != compute_slices[id])
        return NVML_ERROR_INVALID_ARGUMENT;
    return compute_create(g, instance, id, (int)placement->start, out);
}

/* Finds the gpu and the compute instance of a handle. */
static int compute_enter(nvmlComputeInstance_t handle, const struct gpusim_gpu **ret,
                         const struct gpusim_compute **ret_compute)
{
    const struct gpusim_gpu *g = library_references ? mig_gpu_with(handle) : NULL;

    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; g && i < GPUSIM_INSTANCES_MAX; i++) {
        if (handle != &g->computes[i])
            continue;
        *ret_compute = &g->computes[i];
        return g->computes[i].is_used ? library_find((nvmlDevice_t)(uintptr_t)g, ret)
                                      : NVML_ERROR_NOT_FOUND;
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlComputeInstanceDestroy, nvmlComputeInstance_t handle)
{
    const struct gpusim_gpu *g = NULL;
    const struct gpusim_compute *c = NULL;
    int result = compute_enter(handle, &g, &c);
    unsigned gpu;

    if (result != NVML_SUCCESS)
        return result;
    if (mig_check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    if (mig_is_in_use(g, false, 1 + (unsigned)(c - g->computes)))
        return NVML_ERROR_IN_USE;
    gpu = view_index(&library_view, g);
    gpu_lock(&library_view, gpu);
    mig_writable(g)->energy_mj += library_compute_mj(g, (unsigned)(c - g->computes));
    mig_writable(g)->computes[c - g->computes] = (struct gpusim_compute){0};
    gpu_unlock(&library_view, gpu);
    return NVML_SUCCESS;
}

FUNCTION(nvmlGpuInstanceGetComputeInstances, nvmlGpuInstance_t handle, unsigned id,
         nvmlComputeInstance_t *out, unsigned *count)
{
    unsigned n = 0;
    ENTER_INSTANCE(handle, g, instance);

    if (!out || !count || id >= COMPUTE_PROFILES)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        const struct gpusim_compute *c = &g->computes[i];

        if (c->is_used && c->instance == instance->id && c->slices == compute_slices[id])
            out[n++] = (nvmlComputeInstance_t)(uintptr_t)c;
    }
    *count = n;
    return NVML_SUCCESS;
}

FUNCTION(nvmlGpuInstanceGetComputeInstanceById, nvmlGpuInstance_t handle, unsigned id,
         nvmlComputeInstance_t *out)
{
    ENTER_INSTANCE(handle, g, instance);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        const struct gpusim_compute *c = &g->computes[i];

        if (!c->is_used || c->instance != instance->id || c->id != id)
            continue;
        *out = (nvmlComputeInstance_t)(uintptr_t)c;
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

FUNCTION(nvmlComputeInstanceGetInfo_v2, nvmlComputeInstance_t handle,
         struct nvmlComputeInstanceInfo *out)
{
    const struct gpusim_gpu *g = NULL;
    const struct gpusim_compute *c = NULL;
    int result = compute_enter(handle, &g, &c);
    unsigned number = 0;

    if (result != NVML_SUCCESS || !out)
        return out ? result : NVML_ERROR_INVALID_ARGUMENT;
    while (number < 6 && compute_slices[number] != c->slices)
        number++;
    *out = (struct nvmlComputeInstanceInfo){
        .device = (nvmlDevice_t)(uintptr_t)g,
        .gpuInstance = (nvmlGpuInstance_t)(uintptr_t)instance_find(g, c->instance),
        .id = c->id,
        .profileId = number,
        .placement = {.start = c->start, .size = c->slices}};
    return NVML_SUCCESS;
}

/* The old version ends before the placement. */
FUNCTION(nvmlComputeInstanceGetInfo, nvmlComputeInstance_t handle, void *out)
{
    struct nvmlComputeInstanceInfo info;
    int result = out ? nvmlComputeInstanceGetInfo_v2(handle, &info) : NVML_ERROR_INVALID_ARGUMENT;

    if (result == NVML_SUCCESS)
        memcpy(out, &info, offsetof(struct nvmlComputeInstanceInfo, placement));
    return result;
}
