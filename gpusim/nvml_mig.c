/*
 * nvml_mig.c - MIG: the mode, profiles, gpu instances
 *
 * Instances live in the machine's file. A process that changes an instance needs root, a file that
 * the process may write, and in a container the node of the capability "config".
 */

#include "nvml_mig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- handles ---- */

const struct gpusim_gpu *mig_gpu_with(const void *handle)
{
    uintptr_t at = (uintptr_t)handle;

    for (unsigned i = 0; i < library_view.n; i++) {
        uintptr_t first = (uintptr_t)library_view.gpus[i];

        if (at >= first && at < first + sizeof(struct gpusim_gpu))
            return library_view.gpus[i];
    }
    return NULL;
}

int mig_instance_enter(nvmlGpuInstance_t handle, const struct gpusim_gpu **ret,
                       const struct gpusim_instance **ret_instance)
{
    const struct gpusim_gpu *g = library_references ? mig_gpu_with(handle) : NULL;

    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; g && i < GPUSIM_INSTANCES_MAX; i++) {
        if (handle != &g->instances[i])
            continue;
        *ret_instance = &g->instances[i];
        return g->instances[i].is_used ? library_find((nvmlDevice_t)(uintptr_t)g, ret)
                                       : NVML_ERROR_NOT_FOUND;
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

int mig_check_change(void)
{
    return view_may_configure(&library_view) && geteuid() == 0 && library_view.writable
               ? NVML_SUCCESS
               : NVML_ERROR_NO_PERMISSION;
}

struct gpusim_gpu *mig_writable(const struct gpusim_gpu *g)
{
    return &library_view.writable->gpus[view_index(&library_view, g)];
}

bool mig_is_in_use(const struct gpusim_gpu *g, bool is_any, unsigned engine)
{
    unsigned gpu = view_index(&library_view, g);

    for (unsigned i = 0; i < GPUSIM_CLIENTS_MAX; i++) {
        if (client_uses(&library_view, i, gpu) &&
            (is_any || library_view.machine->clients[i].uses[gpu].engine == engine))
            return true;
    }
    return false;
}

/* ---- the mode ---- */

FUNCTION(nvmlDeviceGetMigMode, nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    ENTER(device, g);

    if (!current || !pending)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (g->mig_units == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *current = g->mig_mode;
    *pending = g->mig_mode_pending;
    return NVML_SUCCESS;
}

/* A gpu that needs a reset keeps its mode until `gpusim set ... reset=1`. */
FUNCTION(nvmlDeviceSetMigMode, nvmlDevice_t device, unsigned mode, int *activation)
{
    ENTER(device, g);
    bool has_instances = false;

    if (!activation || mode > 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (g->mig_units == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    if (mig_check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++)
        has_instances = has_instances || g->instances[i].is_used;
    *activation = NVML_SUCCESS;
    mig_writable(g)->mig_mode_pending = mode;
    if (mode == g->mig_mode)
        return NVML_SUCCESS;
    if (has_instances || mig_is_in_use(g, true, 0))
        *activation = NVML_ERROR_IN_USE;
    else if (g->mig_needs_reset)
        *activation = NVML_ERROR_RESET_REQUIRED;
    else
        mig_writable(g)->mig_mode = mode;
    return NVML_SUCCESS;
}

/* ---- profiles of gpu instances ---- */

static const struct gpusim_mig_profile *profile_by_id(const struct gpusim_gpu *g, unsigned id)
{
    for (unsigned i = 0; i < GPUSIM_MIG_PROFILES_MAX; i++) {
        if (g->mig_profiles[i].size > 0 && g->mig_profiles[i].id == id)
            return &g->mig_profiles[i];
    }
    return NULL;
}

/* Finds a profile by NVML's number. INVALID_ARGUMENT: past the end; NOT_SUPPORTED: a hole. */
static int profile_by_number(const struct gpusim_gpu *g, unsigned number,
                             const struct gpusim_mig_profile **ret)
{
    if (number >= GPUSIM_MIG_PROFILES_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    *ret = &g->mig_profiles[number];
    return (*ret)->size > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* The members that all versions of a profile have. */
#define PROFILE_MEMBERS(p)                                                                 \
    .id = (p)->id, .sliceCount = (p)->slices, .instanceCount = (p)->count,                 \
    .multiprocessorCount = (p)->multiprocessors, .copyEngineCount = (p)->copy_engines,     \
    .decoderCount = (p)->decoders, .encoderCount = (p)->encoders, .jpegCount = (p)->jpegs, \
    .ofaCount = (p)->ofas, .memorySizeMB = (p)->memory_mib

FUNCTION(nvmlDeviceGetGpuInstanceProfileInfo, nvmlDevice_t device, unsigned number,
         struct nvmlGpuInstanceProfileInfo *out)
{
    const struct gpusim_mig_profile *p = NULL;
    int result;
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    result = profile_by_number(g, number, &p);
    if (result == NVML_SUCCESS)
        *out = (struct nvmlGpuInstanceProfileInfo){PROFILE_MEMBERS(p)};
    return result;
}

/* Version 3: without P2P and with capabilities at the end. */
struct profile_info_v3 {
    unsigned version;
    unsigned id;
    unsigned sliceCount;
    unsigned instanceCount;
    unsigned multiprocessorCount;
    unsigned copyEngineCount;
    unsigned decoderCount;
    unsigned encoderCount;
    unsigned jpegCount;
    unsigned ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
    unsigned capabilities;
};

_Static_assert(sizeof(struct profile_info_v3) == 152, "nvmlGpuInstanceProfileInfo_v3_t");

static int give_profile(const struct gpusim_mig_profile *p,
                        struct nvmlGpuInstanceProfileInfo_v2 *out)
{
    unsigned version = out->version;
    struct profile_info_v3 v3 = {.version = version, PROFILE_MEMBERS(p)};

    if (version == NVML_GPU_INSTANCE_PROFILE_INFO_V3) {
        (void)snprintf(v3.name, sizeof(v3.name), "MIG %.31s", p->name);
        memcpy(out, &v3, sizeof(v3));
        return NVML_SUCCESS;
    }
    if (version != NVML_GPU_INSTANCE_PROFILE_INFO_V2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *out = (struct nvmlGpuInstanceProfileInfo_v2){.version = version, PROFILE_MEMBERS(p)};
    (void)snprintf(out->name, sizeof(out->name), "MIG %.31s", p->name);
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetGpuInstanceProfileInfoV, nvmlDevice_t device, unsigned number,
         struct nvmlGpuInstanceProfileInfo_v2 *out)
{
    const struct gpusim_mig_profile *p = NULL;
    int result;
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    result = profile_by_number(g, number, &p);
    return result == NVML_SUCCESS ? give_profile(p, out) : result;
}

FUNCTION(nvmlDeviceGetGpuInstanceProfileInfoByIdV, nvmlDevice_t device, unsigned id,
         struct nvmlGpuInstanceProfileInfo_v2 *out)
{
    const struct gpusim_mig_profile *p;
    ENTER(device, g);

    p = profile_by_id(g, id);
    if (!out || !p)
        return out ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    return give_profile(p, out);
}

/* Asks for the count if `out` is NULL. */
FUNCTION(nvmlDeviceGetGpuInstancePossiblePlacements_v2, nvmlDevice_t device, unsigned id,
         struct nvmlPlacement *out, unsigned *count)
{
    const struct gpusim_mig_profile *p;
    unsigned n = 0;
    ENTER(device, g);

    p = profile_by_id(g, id);
    if (!count || !p)
        return count ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned left = p->starts; left; left &= left - 1) {
        if (out && n >= *count)
            return NVML_ERROR_INSUFFICIENT_SIZE;
        if (out)
            out[n] =
                (struct nvmlPlacement){.start = (unsigned)__builtin_ctz(left), .size = p->size};
        n++;
    }
    *count = n;
    return NVML_SUCCESS;
}

/* The old version trusts the caller to have room for all. */
FUNCTION(nvmlDeviceGetGpuInstancePossiblePlacements, nvmlDevice_t device, unsigned id,
         struct nvmlPlacement *out, unsigned *count)
{
    if (count)
        *count = 32;
    return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, id, out, count);
}

/* ---- gpu instances ---- */

FUNCTION(nvmlDeviceGetGpuInstanceRemainingCapacity, nvmlDevice_t device, unsigned id, unsigned *out)
{
    const struct gpusim_mig_profile *p;
    ENTER(device, g);

    p = profile_by_id(g, id);
    if (!g->mig_mode || !p)
        return g->mig_mode ? NVML_ERROR_NOT_FOUND : NVML_ERROR_NOT_SUPPORTED;
    return give(instance_room(g, p), out);
}

static int instance_create(const struct gpusim_gpu *g, unsigned id, int start, unsigned size,
                           nvmlGpuInstance_t *out)
{
    const struct gpusim_mig_profile *p = profile_by_id(g, id);
    unsigned gpu = view_index(&library_view, g);
    int slot;

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!g->mig_mode || !p)
        return NVML_ERROR_NOT_SUPPORTED;
    if (mig_check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    if (start >= 0 && (size != p->size || start >= 32 || !(p->starts >> start & 1)))
        return NVML_ERROR_INVALID_ARGUMENT;
    gpu_lock(&library_view, gpu);
    slot = instance_add(mig_writable(g), p, start);
    gpu_unlock(&library_view, gpu);
    if (slot < 0)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    *out = (nvmlGpuInstance_t)(uintptr_t)&g->instances[slot];
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceCreateGpuInstance, nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *out)
{
    ENTER(device, g);

    return instance_create(g, id, -1, 0, out);
}

FUNCTION(nvmlDeviceCreateGpuInstanceWithPlacement, nvmlDevice_t device, unsigned id,
         const struct nvmlPlacement *placement, nvmlGpuInstance_t *out)
{
    ENTER(device, g);

    if (!placement || placement->start > INT16_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    return instance_create(g, id, (int)placement->start, placement->size, out);
}

FUNCTION(nvmlGpuInstanceDestroy, nvmlGpuInstance_t handle)
{
    unsigned gpu;
    ENTER_INSTANCE(handle, g, instance);

    if (mig_check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        if (g->computes[i].is_used && g->computes[i].instance == instance->id)
            return NVML_ERROR_IN_USE;
    }
    gpu = view_index(&library_view, g);
    gpu_lock(&library_view, gpu);
    mig_writable(g)->instances[instance - g->instances] = (struct gpusim_instance){0};
    gpu_unlock(&library_view, gpu);
    return NVML_SUCCESS;
}

/* The caller has room for as many as the profile allows. */
FUNCTION(nvmlDeviceGetGpuInstances, nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *out,
         unsigned *count)
{
    const struct gpusim_mig_profile *p;
    unsigned n = 0;
    ENTER(device, g);

    p = profile_by_id(g, id);
    if (!out || !count || !p)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX && n < p->count; i++) {
        if (g->instances[i].is_used && instance_profile(g, g->instances[i].id) == p)
            out[n++] = (nvmlGpuInstance_t)(uintptr_t)&g->instances[i];
    }
    *count = n;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetGpuInstanceById, nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *out)
{
    const struct gpusim_instance *i;
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    i = instance_find(g, id);
    if (!i)
        return NVML_ERROR_NOT_FOUND;
    *out = (nvmlGpuInstance_t)(uintptr_t)i;
    return NVML_SUCCESS;
}

FUNCTION(nvmlGpuInstanceGetInfo, nvmlGpuInstance_t handle, struct nvmlGpuInstanceInfo *out)
{
    const struct gpusim_mig_profile *p;
    ENTER_INSTANCE(handle, g, instance);

    p = instance_profile(g, instance->id);
    if (!out || !p)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (struct nvmlGpuInstanceInfo){.device = (nvmlDevice_t)(uintptr_t)g,
                                        .id = instance->id,
                                        .profileId = p->id,
                                        .placement = {.start = instance->start, .size = p->size}};
    return NVML_SUCCESS;
}
