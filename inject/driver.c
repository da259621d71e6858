/* driver.c - the driver's own functions, and which of its devices is which share */

#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>

#include "libc_old.h"
#include "share.h"

enum {
    DEVICES_MAX = 64,
    GPU_UNKNOWN = -2
};

/* The library is among those that the share library needs, so the loader has it. */
void *driver_find(const char *name)
{
    static void *library;

    if (!library)
        library = dlopen(SHARE_DRIVER, RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

static int driver_gpu_read(CUdevice device)
{
    struct CUuuid uuid;
    char text[40];
    size_t n = 0;
    CUresult result = DRIVER(cuDeviceGetUuid_v2, &uuid, device);

    if (result == CUDA_ERROR_NOT_SUPPORTED)
        result = DRIVER(cuDeviceGetUuid, &uuid, device);
    if (result != CUDA_SUCCESS)
        return GPU_UNKNOWN;
    for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";

        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02x", dash, uuid.bytes[i]);
    }
    return share_find(text);
}

int driver_gpu(CUdevice device)
{
    static int known[DEVICES_MAX]; /* the index + 3; 0: not read yet */
    int gpu;

    if (device < 0 || device >= DEVICES_MAX)
        return SHARE_NONE;
    gpu = __atomic_load_n(&known[device], __ATOMIC_RELAXED) - 3;
    if (gpu != -3)
        return gpu;
    gpu = driver_gpu_read(device);
    if (gpu == GPU_UNKNOWN)
        return SHARE_NONE;
    __atomic_store_n(&known[device], gpu + 3, __ATOMIC_RELAXED);
    return gpu;
}

int driver_current_gpu(void)
{
    CUdevice device = -1;

    return DRIVER(cuCtxGetDevice, &device) == CUDA_SUCCESS ? driver_gpu(device) : SHARE_NONE;
}
