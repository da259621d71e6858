/*
 * nvml.c - the management library (libnvidia-ml.so.1) inside a container with shares: memory is the
 * share's
 *
 * All other functions are the driver's own, which the loader finds behind this library.
 */

#include <dlfcn.h>
#include <string.h>

#include "gpu/nvml_abi.h"
#include "libc_old.h"
#include "share.h"

#define FUNCTION(name, ...)                                       \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned size);

static void *nvml_find(const char *name)
{
    static void *library;

    if (!library)
        library = dlopen(SHARE_DRIVER, RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

#define NVML(name, ...)                                        \
    ({                                                         \
        static __typeof__(&(name)) real_;                      \
        if (!real_)                                            \
            real_ = (__typeof__(&(name)))nvml_find(#name);     \
        real_ ? real_(__VA_ARGS__) : NVML_ERROR_NOT_SUPPORTED; \
    })

static int nvml_gpu(nvmlDevice_t device)
{
    char uuid[96];
    const char *dash;

    if (NVML(nvmlDeviceGetUUID, device, uuid, (unsigned)sizeof(uuid)) != NVML_SUCCESS)
        return SHARE_NONE;
    dash = strchr(uuid, '-');
    return dash ? share_find(dash + 1) : SHARE_NONE;
}

struct nvml_share {
    uint64_t total;
    uint64_t used;
};

/* False: the gpu is not shared. */
static bool nvml_read_share(nvmlDevice_t device, struct nvml_share *ret)
{
    int gpu = nvml_gpu(device);

    if (gpu == SHARE_NONE)
        return false;
    ret->total = share_memory_bytes(gpu);
    ret->used = share_used_bytes(gpu);
    if (ret->used > ret->total)
        ret->used = ret->total;
    return true;
}

FUNCTION(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, struct nvmlMemory *out)
{
    int result = NVML(nvmlDeviceGetMemoryInfo, device, out);
    struct nvml_share s;

    if (result == NVML_SUCCESS && nvml_read_share(device, &s))
        *out = (struct nvmlMemory){.total = s.total, .free = s.total - s.used, .used = s.used};
    return result;
}

FUNCTION(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t device, struct nvmlMemory_v2 *out)
{
    int result = NVML(nvmlDeviceGetMemoryInfo_v2, device, out);
    struct nvml_share s;

    if (result == NVML_SUCCESS && nvml_read_share(device, &s))
        *out = (struct nvmlMemory_v2){
            .version = out->version, .total = s.total, .free = s.total - s.used, .used = s.used};
    return result;
}
