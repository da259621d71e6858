/* memory.c - allocations of device memory: linear, pitched, managed, arrays */

#include "memory.h"

#include "hooks.h"
#include "share.h"

struct memory_claim memory_claim(int gpu, uint64_t bytes)
{
    struct memory_claim c = {.gpu = gpu, .bytes = bytes};

    if (share_is_forked())
        table_clear();
    if (gpu != SHARE_NONE)
        c.is_refused = !share_charge(gpu, bytes);
    return c;
}

struct memory_claim memory_claim_here(uint64_t bytes)
{
    return memory_claim(driver_current_gpu(), bytes);
}

CUresult memory_settle(const struct memory_claim *c, CUresult result, enum table_kind kind,
                       uint64_t key)
{
    struct table_entry e = {.kind = kind, .gpu = c->gpu, .key = key, .bytes = c->bytes, .refs = 1};

    if (c->gpu == SHARE_NONE)
        return result;
    if (result != CUDA_SUCCESS) {
        share_release(c->gpu, c->bytes);
        return result;
    }
    if (kind == TABLE_MEMORY || kind == TABLE_ARRAY)
        (void)DRIVER(cuCtxGetCurrent, &e.context);
    (void)table_put(&e); /* without memory for the entry, the allocation counts until the end */
    return CUDA_SUCCESS;
}

void memory_release(const struct table_entry *e)
{
    share_release(e->gpu, e->bytes);
}

static bool is_of_context(const struct table_entry *e, const void *context)
{
    return (e->kind == TABLE_MEMORY || e->kind == TABLE_ARRAY) && e->context == context;
}

void memory_end_context(const void *context)
{
    table_take_all(&(struct table_filter){is_of_context, memory_release, context});
}

static CUresult memory_freed(CUresult result, enum table_kind kind, uint64_t key)
{
    struct table_entry e;

    if (result == CUDA_SUCCESS && table_take(kind, key, &e))
        memory_release(&e);
    return result;
}

/* ---- linear memory ---- */

HOOK(cuMemAlloc_v2, CUdeviceptr *address, size_t size)
{
    struct memory_claim c = memory_claim_here(size);
    CUresult result;

    if (c.is_refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = DRIVER(cuMemAlloc_v2, address, size);
    return memory_settle(&c, result, TABLE_MEMORY, address ? *address : 0);
}

HOOK(cuMemAllocManaged, CUdeviceptr *address, size_t size, unsigned flags)
{
    struct memory_claim c = memory_claim_here(size);
    CUresult result;

    if (c.is_refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = DRIVER(cuMemAllocManaged, address, size, flags);
    return memory_settle(&c, result, TABLE_MEMORY, address ? *address : 0);
}

enum {
    PITCH_ALIGN = 512 /* the driver's alignment of rows is not known before the call */
};

HOOK(cuMemAllocPitch_v2, CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
     unsigned element)
{
    uint64_t row = ((uint64_t)width + PITCH_ALIGN - 1) / PITCH_ALIGN * PITCH_ALIGN;
    uint64_t bytes = height != 0 && row > UINT64_MAX / height ? UINT64_MAX : row * height;
    struct memory_claim c = memory_claim_here(bytes);
    CUresult result;

    if (c.is_refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = DRIVER(cuMemAllocPitch_v2, address, pitch, width, height, element);
    return memory_settle(&c, result, TABLE_MEMORY, address ? *address : 0);
}

HOOK(cuMemFree_v2, CUdeviceptr address)
{
    return memory_freed(DRIVER(cuMemFree_v2, address), TABLE_MEMORY, address);
}

/* ---- arrays ---- */

/* Bytes of one channel by CUarray_format; formats of blocks and planes are counted as 4 bytes. */
static uint64_t format_bytes(unsigned format)
{
    switch (format) {
    case 0x01: /* unsigned 8 */
    case 0x08: /* signed 8 */
        return 1;
    case 0x02: /* unsigned 16 */
    case 0x09: /* signed 16 */
    case 0x10: /* half */
        return 2;
    default:
        return 4;
    }
}

static uint64_t array_bytes(uint64_t width, uint64_t height, uint64_t depth, unsigned format,
                            unsigned channels)
{
    unsigned __int128 n = (unsigned __int128)width * (height ? height : 1);

    if (n > UINT64_MAX)
        return UINT64_MAX;
    n = n * (depth ? depth : 1);
    if (n > UINT64_MAX)
        return UINT64_MAX;
    n = n * format_bytes(format) * (channels ? channels : 1);
    return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

HOOK(cuArrayCreate_v2, CUhandle *array, const struct CUDA_ARRAY_DESCRIPTOR *d)
{
    struct memory_claim c =
        memory_claim_here(d ? array_bytes(d->Width, d->Height, 0, d->Format, d->NumChannels) : 0);
    CUresult result;

    if (c.is_refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = DRIVER(cuArrayCreate_v2, array, d);
    return memory_settle(&c, result, TABLE_ARRAY, array ? (uintptr_t)*array : 0);
}

HOOK(cuArray3DCreate_v2, CUhandle *array, const struct CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct memory_claim c = memory_claim_here(
        d ? array_bytes(d->Width, d->Height, d->Depth, d->Format, d->NumChannels) : 0);
    CUresult result;

    if (c.is_refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = DRIVER(cuArray3DCreate_v2, array, d);
    return memory_settle(&c, result, TABLE_ARRAY, array ? (uintptr_t)*array : 0);
}

/* All levels together hold at most a third more than the first, and at most twice as much. */
HOOK(cuMipmappedArrayCreate, CUhandle *array, const struct CUDA_ARRAY3D_DESCRIPTOR *d,
     unsigned levels)
{
    uint64_t bytes = d ? array_bytes(d->Width, d->Height, d->Depth, d->Format, d->NumChannels) : 0;
    struct memory_claim c =
        memory_claim_here(levels > 1 && bytes < UINT64_MAX / 2 ? 2 * bytes : bytes);
    CUresult result;

    if (c.is_refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = DRIVER(cuMipmappedArrayCreate, array, d, levels);
    return memory_settle(&c, result, TABLE_ARRAY, array ? (uintptr_t)*array : 0);
}

HOOK(cuArrayDestroy, CUhandle array)
{
    return memory_freed(DRIVER(cuArrayDestroy, array), TABLE_ARRAY, (uintptr_t)array);
}

HOOK(cuMipmappedArrayDestroy, CUhandle array)
{
    return memory_freed(DRIVER(cuMipmappedArrayDestroy, array), TABLE_ARRAY, (uintptr_t)array);
}

/* ---- contexts, whose end frees their memory ---- */

HOOK(cuCtxDestroy_v2, CUhandle context)
{
    CUresult result = DRIVER(cuCtxDestroy_v2, context);

    if (result == CUDA_SUCCESS)
        memory_end_context(context);
    return result;
}

enum {
    DEVICES_MAX = 64
};

static CUhandle primary[DEVICES_MAX];

HOOK(cuDevicePrimaryCtxRetain, CUhandle *context, CUdevice device)
{
    CUresult result = DRIVER(cuDevicePrimaryCtxRetain, context, device);

    if (result == CUDA_SUCCESS && device >= 0 && device < DEVICES_MAX)
        __atomic_store_n(&primary[device], *context, __ATOMIC_RELAXED);
    return result;
}

static CUresult primary_ended(CUresult result, CUdevice device)
{
    unsigned flags = 0;
    int is_active = 1;

    if (result == CUDA_SUCCESS && device >= 0 && device < DEVICES_MAX && primary[device] &&
        DRIVER(cuDevicePrimaryCtxGetState, device, &flags, &is_active) == CUDA_SUCCESS &&
        !is_active)
        memory_end_context(primary[device]);
    return result;
}

HOOK(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    return primary_ended(DRIVER(cuDevicePrimaryCtxRelease_v2, device), device);
}

HOOK(cuDevicePrimaryCtxReset_v2, CUdevice device)
{
    return primary_ended(DRIVER(cuDevicePrimaryCtxReset_v2, device), device);
}

/* ---- the forms of before 64 bit sizes: no program of today uses them ---- */

HOOK(cuMemAlloc, unsigned *address, unsigned size)
{
    (void)address;
    (void)size;
    return CUDA_ERROR_NOT_SUPPORTED;
}

HOOK(cuMemAllocPitch, unsigned *address, unsigned *pitch, unsigned width, unsigned height,
     unsigned element)
{
    (void)address;
    (void)pitch;
    (void)width;
    (void)height;
    (void)element;
    return CUDA_ERROR_NOT_SUPPORTED;
}

HOOK(cuMemFree, unsigned address)
{
    (void)address;
    return CUDA_ERROR_NOT_SUPPORTED;
}

HOOK(cuArrayCreate, CUhandle *array, const void *d)
{
    (void)array;
    (void)d;
    return CUDA_ERROR_NOT_SUPPORTED;
}

HOOK(cuArray3DCreate, CUhandle *array, const void *d)
{
    (void)array;
    (void)d;
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* The first forms of these take the same arguments as the second ones. */
HOOK(cuCtxDestroy, CUhandle context)
{
    return cuCtxDestroy_v2(context);
}

HOOK(cuDevicePrimaryCtxRelease, CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

HOOK(cuDevicePrimaryCtxReset, CUdevice device)
{
    return cuDevicePrimaryCtxReset_v2(device);
}
