/*
 * nvml_mig_linux.c - MIG instances by NVML
 *
 * A slice is a GPU instance with one compute instance of its full size, which the driver shows as
 * a MIG device. GPU instances that are divided further are left out: nobody can request them.
 */

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "gpu/nvml_private.h"
#include "model/mig.h"

enum {
    INSTANCES_MAX = 16
};

void nvml_mig_load(struct gpu_driver *d)
{
    LOAD(d, mig.mode, "nvmlDeviceGetMigMode", NULL);
    LOAD(d, mig.set_mode, "nvmlDeviceSetMigMode", NULL);
    LOAD(d, mig.profile, "nvmlDeviceGetGpuInstanceProfileInfo", NULL);
    LOAD(d, mig.profile_v, "nvmlDeviceGetGpuInstanceProfileInfoV", NULL);
    LOAD(d, mig.create, "nvmlDeviceCreateGpuInstanceWithPlacement", NULL);
    LOAD(d, mig.destroy, "nvmlGpuInstanceDestroy", NULL);
    LOAD(d, mig.list, "nvmlDeviceGetGpuInstances", NULL);
    LOAD(d, mig.by_id, "nvmlDeviceGetGpuInstanceById", NULL);
    LOAD(d, mig.info, "nvmlGpuInstanceGetInfo", NULL);
    LOAD(d, mig.compute_profile, "nvmlGpuInstanceGetComputeInstanceProfileInfo", NULL);
    LOAD(d, mig.compute_create, "nvmlGpuInstanceCreateComputeInstance", NULL);
    LOAD(d, mig.compute_list, "nvmlGpuInstanceGetComputeInstances", NULL);
    LOAD(d, mig.compute_destroy, "nvmlComputeInstanceDestroy", NULL);
    LOAD(d, mig.devices_max, "nvmlDeviceGetMaxMigDeviceCount", NULL);
    LOAD(d, mig.device_at, "nvmlDeviceGetMigDeviceHandleByIndex", NULL);
    LOAD(d, mig.gpu_instance, "nvmlDeviceGetGpuInstanceId", NULL);
    LOAD(d, mig.compute_instance, "nvmlDeviceGetComputeInstanceId", NULL);
    LOAD(d, mig.attributes, "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes");
}

/* ---- profiles ---- */

/* A profile of the driver. */
struct driver_profile {
    struct nvmlGpuInstanceProfileInfo info;
    char name[GPU_PROFILE_SIZE]; /* "" if the driver does not say */
};

/* Copies "1g.10gb" of "MIG 1g.10gb". */
static void copy_name(const char *text, char ret[GPU_PROFILE_SIZE])
{
    char name[MIG_NAME_SIZE];

    if (mig_name_read(text_starts_with(text, "MIG ") ? text + 4 : text, name))
        (void)snprintf(ret, GPU_PROFILE_SIZE, "%s", name);
}

/* False: the gpu has no profile of this number. */
static bool read_profile(const struct gpu_driver *d, nvmlDevice_t device, unsigned number,
                         struct driver_profile *ret)
{
    struct nvmlGpuInstanceProfileInfo_v2 v2 = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V2};

    *ret = (struct driver_profile){0};
    if (CALL(d->mig.profile_v, device, number, &v2) == NVML_SUCCESS)
        copy_name(v2.name, ret->name);
    return CALL(d->mig.profile, device, number, &ret->info) == NVML_SUCCESS;
}

static bool has_profiles(const struct gpu_driver *d, nvmlDevice_t device)
{
    struct driver_profile p;

    for (unsigned i = 0; i < NVML_GPU_INSTANCE_PROFILES; i++)
        if (read_profile(d, device, i, &p))
            return true;
    return false;
}

/* The table's name for an instance that the driver does not name. */
static void name_by_table(const struct gpu *g, unsigned compute, unsigned size,
                          char ret[GPU_PROFILE_SIZE])
{
    const struct mig_geometry *geometry = mig_geometry_of(g->model, g->memory_bytes);

    for (unsigned i = 0; geometry && i < geometry->n_profiles; i++) {
        const struct mig_profile *p = &geometry->profiles[i];

        if (p->compute != compute || (size > 0 && p->size != size) || p->media != MIG_MEDIA_USUAL)
            continue;
        (void)snprintf(ret, GPU_PROFILE_SIZE, "%s", p->name);
        return;
    }
}

/* ---- reading ---- */

/* A MIG device, by its gpu instance. */
static void read_device(const struct gpu_driver *d, nvmlDevice_t mig, struct gpu_slice *s)
{
    struct nvmlDeviceAttributes a = {0};
    unsigned id = 0;

    (void)d->uuid(mig, s->uuid, sizeof(s->uuid));
    if (CALL(d->mig.compute_instance, mig, &id) == NVML_SUCCESS)
        s->compute_instance = (int)id;
    if (CALL(d->mig.attributes, mig, &a) != NVML_SUCCESS)
        return;
    s->memory_bytes = (int64_t)a.memorySizeMB << 20;
    s->multiprocessors = (int)a.multiprocessorCount;
    s->gpu_slices = (int)a.gpuInstanceSliceCount;
    s->compute_slices = (int)a.computeInstanceSliceCount;
    s->copy_engines = (int)a.sharedCopyEngineCount;
    s->decoders = (int)a.sharedDecoderCount;
    s->encoders = (int)a.sharedEncoderCount;
    s->jpegs = (int)a.sharedJpegCount;
    s->ofas = (int)a.sharedOfaCount;
}

/* Finds the MIG device of a gpu instance. False: the instance is divided further. */
static bool find_device(const struct gpu_driver *d, nvmlDevice_t device, struct gpu_slice *s)
{
    unsigned max = 0;
    unsigned found = 0;

    (void)CALL(d->mig.devices_max, device, &max);
    for (unsigned i = 0; i < max && i < INSTANCES_MAX; i++) {
        nvmlDevice_t mig = NULL;
        unsigned id = 0;

        if (CALL(d->mig.device_at, device, i, &mig) != NVML_SUCCESS ||
            CALL(d->mig.gpu_instance, mig, &id) != NVML_SUCCESS || (int)id != s->gpu_instance)
            continue;
        read_device(d, mig, s);
        found++;
    }
    return found == 0 || (found == 1 && s->compute_slices == s->gpu_slices);
}

static void read_instance(const struct gpu_driver *d, nvmlDevice_t device,
                          const struct driver_profile *p, nvmlGpuInstance_t instance, struct gpu *g)
{
    struct nvmlGpuInstanceInfo info = {0};
    struct gpu_slice s = {.compute_instance = -1,
                          .memory_bytes = (int64_t)p->info.memorySizeMB << 20,
                          .multiprocessors = (int)p->info.multiprocessorCount,
                          .gpu_slices = (int)p->info.sliceCount,
                          .compute_slices = -1,
                          .copy_engines = -1,
                          .decoders = -1,
                          .encoders = -1,
                          .jpegs = -1,
                          .ofas = -1};

    if (g->n_slices == GPU_SLICES_MAX || CALL(d->mig.info, instance, &info) != NVML_SUCCESS ||
        info.placement.start >= MIG_UNITS_MAX)
        return;
    s.gpu_instance = (int)info.id;
    s.start = info.placement.start;
    (void)snprintf(s.profile, sizeof(s.profile), "%s", p->name);
    if (!s.profile[0])
        name_by_table(g, p->info.sliceCount, info.placement.size, s.profile);
    if (s.profile[0] && find_device(d, device, &s))
        g->slices[g->n_slices++] = s;
}

static void sort_slices(struct gpu *g)
{
    for (size_t i = 1; i < g->n_slices; i++)
        for (size_t k = i; k > 0 && g->slices[k - 1].start > g->slices[k].start; k--) {
            struct gpu_slice s = g->slices[k];

            g->slices[k] = g->slices[k - 1];
            g->slices[k - 1] = s;
        }
}

void nvml_mig_read(struct gpu_driver *d, nvmlDevice_t device, struct gpu *g)
{
    unsigned current = 0;
    unsigned pending = 0;

    if (CALL(d->mig.mode, device, &current, &pending) != NVML_SUCCESS ||
        (current != 1 && !has_profiles(d, device)))
        return;
    g->mig_mode = current == 1;
    g->mig_pending = pending == 1;
    if (current != 1)
        return;
    g->mode = GPU_MODE_SLICES;
    for (unsigned i = 0; i < NVML_GPU_INSTANCE_PROFILES; i++) {
        nvmlGpuInstance_t instances[INSTANCES_MAX] = {NULL};
        struct driver_profile p;
        unsigned n = 0;

        if (!read_profile(d, device, i, &p) || p.info.instanceCount > INSTANCES_MAX ||
            CALL(d->mig.list, device, p.info.id, instances, &n) != NVML_SUCCESS)
            continue;
        for (unsigned k = 0; k < n && k < INSTANCES_MAX; k++)
            read_instance(d, device, &p, instances[k], g);
    }
    sort_slices(g);
}

/* ---- changing ---- */

struct err *gpu_driver_set_mig(struct gpu_driver *d, unsigned index, bool is_on)
{
    nvmlDevice_t device = NULL;
    int activation = NVML_SUCCESS;
    int code;

    TRY(nvml_device_at(d, index, &device));
    code = CALL(d->mig.set_mode, device, is_on, &activation);
    if (code == NVML_SUCCESS)
        code = activation;
    if (code == NVML_ERROR_IN_USE)
        return err_new(ERR_CONFLICT, "nvml: MIG mode: the gpu is in use by another program");
    if (code == NVML_ERROR_RESET_REQUIRED)
        return err_new(ERR_UNAVAILABLE,
                       "nvml: MIG mode: the gpu needs a reset: nvidia-smi --gpu-reset -i %u, or a "
                       "reboot",
                       index);
    return code == NVML_SUCCESS ? NULL : nvml_error(d, code, "MIG mode");
}

/* Finds the driver's profile by name. */
static struct err *find_profile(const struct gpu_driver *d, nvmlDevice_t device,
                                const struct gpu *g, const char *name, struct driver_profile *ret)
{
    for (unsigned i = 0; i < NVML_GPU_INSTANCE_PROFILES; i++) {
        struct driver_profile p;

        if (!read_profile(d, device, i, &p))
            continue;
        if (!p.name[0])
            name_by_table(g, p.info.sliceCount, 0, p.name);
        if (!text_equal(p.name, name))
            continue;
        *ret = p;
        return NULL;
    }
    return err_new(ERR_INVALID, "the driver has no profile %s for this gpu", name);
}

/* Creates the compute instance of a gpu instance's full size. */
static struct err *create_compute(const struct gpu_driver *d, nvmlGpuInstance_t instance,
                                  unsigned slices)
{
    nvmlComputeInstance_t made = NULL;
    int code = NVML_ERROR_NOT_FOUND;

    for (unsigned i = 0; i < NVML_COMPUTE_INSTANCE_PROFILES; i++) {
        struct nvmlComputeInstanceProfileInfo info = {0};

        if (CALL(d->mig.compute_profile, instance, i, 0, &info) != NVML_SUCCESS ||
            info.sliceCount != slices)
            continue;
        code = CALL(d->mig.compute_create, instance, info.id, &made);
        if (code == NVML_SUCCESS)
            return NULL;
    }
    return nvml_error(d, code, "create a compute instance");
}

struct err *gpu_driver_create_slice(struct gpu_driver *d, unsigned index, const char *profile,
                                    unsigned start, unsigned size)
{
    const struct nvmlPlacement placement = {.start = start, .size = size};
    struct gpu g = GPU_UNKNOWN((int)index);
    nvmlDevice_t device = NULL;
    nvmlGpuInstance_t made = NULL;
    struct driver_profile p = {0};
    struct err *e = NULL;
    int code;

    TRY(gpu_driver_read(d, index, &g));
    TRY(nvml_device_at(d, index, &device));
    TRY(find_profile(d, device, &g, profile, &p));
    code = CALL(d->mig.create, device, p.info.id, &placement, &made);
    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "create a gpu instance");
    e = create_compute(d, made, p.info.sliceCount);
    if (e)
        (void)CALL(d->mig.destroy, made); /* the compute instance's error is the cause */
    return e;
}

/* Destroys the compute instances of a gpu instance. */
static struct err *destroy_computes(const struct gpu_driver *d, nvmlGpuInstance_t instance)
{
    for (unsigned i = 0; i < NVML_COMPUTE_INSTANCE_PROFILES; i++) {
        nvmlComputeInstance_t all[INSTANCES_MAX] = {NULL};
        struct nvmlComputeInstanceProfileInfo info = {0};
        unsigned n = 0;

        if (CALL(d->mig.compute_profile, instance, i, 0, &info) != NVML_SUCCESS ||
            info.instanceCount > INSTANCES_MAX ||
            CALL(d->mig.compute_list, instance, info.id, all, &n) != NVML_SUCCESS)
            continue;
        for (unsigned k = 0; k < n && k < INSTANCES_MAX; k++) {
            int code = CALL(d->mig.compute_destroy, all[k]);

            if (code == NVML_ERROR_IN_USE)
                return err_new(ERR_CONFLICT, "nvml: a process uses the slice");
            if (code != NVML_SUCCESS)
                return nvml_error(d, code, "destroy a compute instance");
        }
    }
    return NULL;
}

struct err *gpu_driver_destroy_slice(struct gpu_driver *d, unsigned index, unsigned gpu_instance)
{
    nvmlDevice_t device = NULL;
    nvmlGpuInstance_t instance = NULL;
    int code;

    TRY(nvml_device_at(d, index, &device));
    code = CALL(d->mig.by_id, device, gpu_instance, &instance);
    if (code == NVML_ERROR_NOT_FOUND)
        return NULL;
    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "gpu instance by id");
    TRY(destroy_computes(d, instance));
    code = CALL(d->mig.destroy, instance);
    if (code == NVML_ERROR_IN_USE)
        return err_new(ERR_CONFLICT, "nvml: a process uses the slice");
    return code == NVML_SUCCESS ? NULL : nvml_error(d, code, "destroy a gpu instance");
}
