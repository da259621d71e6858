/* nvml_mig_device.c - MIG devices: compute instances as devices of their own */

#include <stdio.h>
#include <string.h>

#include "nvml_mig.h"

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
#define ENTER_MIG(device, gpu, compute)                                          \
    const struct gpusim_gpu *gpu = NULL;                                         \
    unsigned compute = 0; /* NOLINT(bugprone-macro-parentheses): a declarator */ \
    do {                                                                         \
        int enter_ = mig_find((device), &(gpu), &(compute));                     \
        if (enter_ != NVML_SUCCESS)                                              \
            return enter_;                                                       \
    } while (0)

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
