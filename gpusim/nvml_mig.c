/*
 * nvml_mig.c - MIG: the mode, profiles, gpu and compute instances, MIG devices
 *
 * Instances live in the machine's file. Who changes one needs a file that it may write, root, and
 * in a container the node of the capability "config".
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "library.h"
#include "mig.h"

enum {
    COMPUTE_PROFILES = 9
};

/* ---- handles ---- */

/* The handle of a MIG device is the address of its entry here. */
struct mig_handle {
    const struct gpusim_gpu *g;
    unsigned compute; /* index in the gpu's computes */
};

static struct mig_handle mig_handles[GPUSIM_GPUS_MAX][GPUSIM_INSTANCES_MAX];

bool library_is_mig(nvmlDevice_t device)
{
    uintptr_t at = (uintptr_t)device;
    uintptr_t first = (uintptr_t)mig_handles;

    return at >= first && at < first + sizeof(mig_handles) &&
           (at - first) % sizeof(struct mig_handle) == 0;
}

/* Finds the gpu and the compute instance of a MIG device; NOT_FOUND: it is gone. */
static int mig_find(nvmlDevice_t device, const struct gpusim_gpu **ret, unsigned *ret_compute)
{
    const struct mig_handle *h = device;
    int result;

    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    if (!library_is_mig(device) || !h->g)
        return NVML_ERROR_INVALID_ARGUMENT;
    result = library_find((nvmlDevice_t)(uintptr_t)h->g, ret);
    if (result != NVML_SUCCESS)
        return result;
    *ret_compute = h->compute;
    return view_has_compute(&library_view, h->g, h->compute) ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* Declares the gpu and the compute instance of a MIG device, or returns the error. */
#define ENTER_MIG(device, gpu, compute)                      \
    const struct gpusim_gpu *gpu = NULL;                     \
    unsigned compute = 0;                                    \
    do {                                                     \
        int enter_ = mig_find((device), &(gpu), &(compute)); \
        if (enter_ != NVML_SUCCESS)                          \
            return enter_;                                   \
    } while (0)

/* The gpu in whose entry a handle of an instance lies; NULL: none that is visible. */
static const struct gpusim_gpu *gpu_with(const void *handle)
{
    uintptr_t at = (uintptr_t)handle;

    for (unsigned i = 0; i < library_view.n; i++) {
        uintptr_t first = (uintptr_t)library_view.gpus[i];

        if (at >= first && at < first + sizeof(struct gpusim_gpu))
            return library_view.gpus[i];
    }
    return NULL;
}

/* Finds the gpu and the instance of a handle. */
static int instance_enter(nvmlGpuInstance_t handle, const struct gpusim_gpu **ret,
                          const struct gpusim_instance **ret_instance)
{
    const struct gpusim_gpu *g = library_references ? gpu_with(handle) : NULL;

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

#define ENTER_INSTANCE(handle, gpu, instance)                       \
    const struct gpusim_gpu *gpu = NULL;                            \
    const struct gpusim_instance *instance = NULL;                  \
    do {                                                            \
        int enter_ = instance_enter((handle), &(gpu), &(instance)); \
        if (enter_ != NVML_SUCCESS)                                 \
            return enter_;                                          \
    } while (0)

/* May this process change instances? */
static int check_change(void)
{
    return view_may_configure(&library_view) && geteuid() == 0 && library_view.writable
               ? NVML_SUCCESS
               : NVML_ERROR_NO_PERMISSION;
}

static struct gpusim_gpu *writable(const struct gpusim_gpu *g)
{
    return &library_view.writable->gpus[view_index(&library_view, g)];
}

/* Do processes use the gpu, or an engine of it? */
static bool is_in_use(const struct gpusim_gpu *g, bool is_any, unsigned engine)
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
    if (check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++)
        has_instances = has_instances || g->instances[i].is_used;
    *activation = NVML_SUCCESS;
    writable(g)->mig_mode_pending = mode;
    if (mode == g->mig_mode)
        return NVML_SUCCESS;
    if (has_instances || is_in_use(g, true, 0))
        *activation = NVML_ERROR_IN_USE;
    else if (g->mig_needs_reset)
        *activation = NVML_ERROR_RESET_REQUIRED;
    else
        writable(g)->mig_mode = mode;
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

static struct nvmlGpuInstanceProfileInfo profile_info(const struct gpusim_mig_profile *p)
{
    return (struct nvmlGpuInstanceProfileInfo){.id = p->id,
                                               .sliceCount = p->slices,
                                               .instanceCount = p->count,
                                               .multiprocessorCount = p->multiprocessors,
                                               .copyEngineCount = p->copy_engines,
                                               .decoderCount = p->decoders,
                                               .encoderCount = p->encoders,
                                               .jpegCount = p->jpegs,
                                               .ofaCount = p->ofas,
                                               .memorySizeMB = p->memory_mib};
}

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
        *out = profile_info(p);
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
    struct profile_info_v3 v3 = {.version = version,
                                 .id = p->id,
                                 .sliceCount = p->slices,
                                 .instanceCount = p->count,
                                 .multiprocessorCount = p->multiprocessors,
                                 .copyEngineCount = p->copy_engines,
                                 .decoderCount = p->decoders,
                                 .encoderCount = p->encoders,
                                 .jpegCount = p->jpegs,
                                 .ofaCount = p->ofas,
                                 .memorySizeMB = p->memory_mib};

    if (version == NVML_GPU_INSTANCE_PROFILE_INFO_V3) {
        (void)snprintf(v3.name, sizeof(v3.name), "MIG %.31s", p->name);
        memcpy(out, &v3, sizeof(v3));
        return NVML_SUCCESS;
    }
    if (version != NVML_GPU_INSTANCE_PROFILE_INFO_V2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *out = (struct nvmlGpuInstanceProfileInfo_v2){.version = version,
                                                  .id = p->id,
                                                  .sliceCount = p->slices,
                                                  .instanceCount = p->count,
                                                  .multiprocessorCount = p->multiprocessors,
                                                  .copyEngineCount = p->copy_engines,
                                                  .decoderCount = p->decoders,
                                                  .encoderCount = p->encoders,
                                                  .jpegCount = p->jpegs,
                                                  .ofaCount = p->ofas,
                                                  .memorySizeMB = p->memory_mib};
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
    if (check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    if (start >= 0 && (size != p->size || start >= 32 || !(p->starts >> start & 1)))
        return NVML_ERROR_INVALID_ARGUMENT;
    gpu_lock(&library_view, gpu);
    slot = instance_add(writable(g), p, start);
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

    if (check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        if (g->computes[i].is_used && g->computes[i].instance == instance->id)
            return NVML_ERROR_IN_USE;
    }
    gpu = view_index(&library_view, g);
    gpu_lock(&library_view, gpu);
    writable(g)->instances[instance - g->instances] = (struct gpusim_instance){0};
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

/* ---- MIG devices ---- */

FUNCTION(nvmlDeviceIsMigDeviceHandle, nvmlDevice_t device, unsigned *out)
{
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    return give(library_is_mig(device), out);
}

FUNCTION(nvmlDeviceGetMaxMigDeviceCount, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give(g->mig_slices < GPUSIM_INSTANCES_MAX ? g->mig_slices : GPUSIM_INSTANCES_MAX, out);
}

FUNCTION(nvmlDeviceGetMigDeviceHandleByIndex, nvmlDevice_t device, unsigned index,
         nvmlDevice_t *out)
{
    unsigned gpu;
    ENTER(device, g);

    if (!out || index >= GPUSIM_INSTANCES_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!view_has_compute(&library_view, g, index))
        return NVML_ERROR_NOT_FOUND;
    gpu = view_index(&library_view, g);
    mig_handles[gpu][index] = (struct mig_handle){.g = g, .compute = index};
    *out = &mig_handles[gpu][index];
    return NVML_SUCCESS;
}

int library_find_mig(const char *uuid, nvmlDevice_t *out)
{
    for (unsigned i = 0; i < library_view.n; i++) {
        const struct gpusim_gpu *g = library_view.gpus[i];

        for (unsigned c = 0; c < GPUSIM_INSTANCES_MAX; c++) {
            char text[96];

            if (!view_has_compute(&library_view, g, c))
                continue;
            compute_uuid(g, c, text);
            if (strcmp(text, uuid) == 0)
                return nvmlDeviceGetMigDeviceHandleByIndex((nvmlDevice_t)(uintptr_t)g, c, out);
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

FUNCTION(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, nvmlDevice_t device, nvmlDevice_t *out)
{
    ENTER_MIG(device, g, compute);

    (void)compute;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (nvmlDevice_t)(uintptr_t)g;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetGpuInstanceId, nvmlDevice_t device, unsigned *out)
{
    ENTER_MIG(device, g, compute);

    return give(g->computes[compute].instance, out);
}

FUNCTION(nvmlDeviceGetComputeInstanceId, nvmlDevice_t device, unsigned *out)
{
    ENTER_MIG(device, g, compute);

    return give(g->computes[compute].id, out);
}

FUNCTION(nvmlDeviceGetAttributes_v2, nvmlDevice_t device, struct nvmlDeviceAttributes *out)
{
    const struct gpusim_mig_profile *p;
    ENTER_MIG(device, g, compute);

    p = instance_profile(g, g->computes[compute].instance);
    if (!out || !p)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (struct nvmlDeviceAttributes){
        .multiprocessorCount = p->multiprocessors * g->computes[compute].slices / p->slices,
        .sharedCopyEngineCount = p->copy_engines,
        .sharedDecoderCount = p->decoders,
        .sharedEncoderCount = p->encoders,
        .sharedJpegCount = p->jpegs,
        .sharedOfaCount = p->ofas,
        .gpuInstanceSliceCount = p->slices,
        .computeInstanceSliceCount = g->computes[compute].slices,
        .memorySizeMB = p->memory_mib};
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetAttributes, nvmlDevice_t device, struct nvmlDeviceAttributes *out)
{
    return nvmlDeviceGetAttributes_v2(device, out);
}

int mig_name(nvmlDevice_t device, char *out, unsigned size)
{
    char profile[48];
    char name[192];
    ENTER_MIG(device, g, compute);

    compute_name(g, compute, profile);
    (void)snprintf(name, sizeof(name), "%.95s MIG %s", g->name, profile);
    return give_text(name, out, size);
}

int mig_uuid(nvmlDevice_t device, char *out, unsigned size)
{
    char uuid[96];
    ENTER_MIG(device, g, compute);

    compute_uuid(g, compute, uuid);
    return give_text(uuid, out, size);
}

int mig_memory(nvmlDevice_t device, struct nvmlMemory_v2 *out)
{
    const struct gpusim_mig_profile *p;
    ENTER_MIG(device, g, compute);

    p = instance_profile(g, g->computes[compute].instance);
    if (!p)
        return NVML_ERROR_NOT_FOUND;
    out->total = p->memory_mib << 20;
    out->reserved = 0;
    out->used = instance_memory_of_clients(&library_view, view_index(&library_view, g),
                                           g->computes[compute].instance);
    if (out->used > out->total)
        out->used = out->total;
    out->free = out->total - out->used;
    return NVML_SUCCESS;
}

int mig_gpu(nvmlDevice_t device, const struct gpusim_gpu **ret, unsigned *ret_engine)
{
    int result = mig_find(device, ret, ret_engine);

    *ret_engine += 1;
    return result;
}

/* ---- compute instances ---- */

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

    p = instance_profile(g, instance->id);
    if (!out || !p || engine > 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_COMPUTE_PROFILE_INFO_V2 &&
        out->version != NVML_COMPUTE_PROFILE_INFO_V3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    result = compute_profile_find(p, number);
    if (result != NVML_SUCCESS)
        return result;
    out->info = compute_info(p, number);
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
    if (check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    gpu_lock(&library_view, gpu);
    slot = compute_add(writable(g), instance->id, compute_slices[id], start);
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
    const struct gpusim_gpu *g = library_references ? gpu_with(handle) : NULL;

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
    if (check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    if (is_in_use(g, false, 1 + (unsigned)(c - g->computes)))
        return NVML_ERROR_IN_USE;
    gpu = view_index(&library_view, g);
    gpu_lock(&library_view, gpu);
    writable(g)->computes[c - g->computes] = (struct gpusim_compute){0};
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
