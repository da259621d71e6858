/* info.c - what a program reads of its gpu: the share instead of the whole */

#include "hooks.h"
#include "share.h"

/* A share that cannot be used ends here, with its reason on stderr, and not in an allocation. */
HOOK(cuInit, unsigned flags)
{
    if (!share_open())
        return CUDA_ERROR_SYSTEM_NOT_READY;
    return DRIVER(cuInit, flags);
}

static void total_limit(size_t *bytes, CUdevice device)
{
    int gpu = driver_gpu(device);

    if (gpu != SHARE_NONE && bytes && *bytes > share_memory_bytes(gpu))
        *bytes = share_memory_bytes(gpu);
}

HOOK(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
{
    CUresult result = DRIVER(cuDeviceTotalMem_v2, bytes, device);

    if (result == CUDA_SUCCESS)
        total_limit(bytes, device);
    return result;
}

HOOK(cuMemGetInfo_v2, size_t *free_bytes, size_t *total)
{
    CUresult result = DRIVER(cuMemGetInfo_v2, free_bytes, total);
    int gpu = result == CUDA_SUCCESS ? driver_current_gpu() : SHARE_NONE;
    uint64_t limit;
    uint64_t left;

    if (gpu == SHARE_NONE)
        return result;
    limit = share_memory_bytes(gpu);
    left = share_used_bytes(gpu);
    left = left < limit ? limit - left : 0;
    if (free_bytes && *free_bytes > left)
        *free_bytes = left;
    if (total && *total > limit)
        *total = limit;
    return result;
}

/* ---- the forms of before 64 bit sizes, which say at most 4 GiB ---- */

HOOK(cuDeviceTotalMem, unsigned *bytes, CUdevice device)
{
    size_t size = 0;
    CUresult result = cuDeviceTotalMem_v2(&size, device);

    if (result == CUDA_SUCCESS && bytes)
        *bytes = size > UINT32_MAX ? UINT32_MAX : (unsigned)size;
    return result;
}

HOOK(cuMemGetInfo, unsigned *free_bytes, unsigned *total)
{
    size_t left = 0;
    size_t size = 0;
    CUresult result = cuMemGetInfo_v2(&left, &size);

    if (result == CUDA_SUCCESS && free_bytes)
        *free_bytes = left > UINT32_MAX ? UINT32_MAX : (unsigned)left;
    if (result == CUDA_SUCCESS && total)
        *total = size > UINT32_MAX ? UINT32_MAX : (unsigned)size;
    return result;
}
