/* cuda_pointer.c - host memory, hints for managed memory, attributes of pointers */

#include <stdlib.h>

#include "cuda.h"

/* ---- host memory ---- */

API(cuMemHostAlloc, cuMemHostAlloc, 2020, void **ret, size_t size, unsigned flags)
{
    struct memory m = {.size = size, .kind = MEMORY_HOST, .flags = flags, .is_accessible = true};
    void *at = NULL;

    ENTER_CONTEXT(c);
    REQUIRE(ret && size > 0 && flags <= 7);
    if (posix_memalign(&at, 4096, ALIGN(size, 4096)) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m.base = (uintptr_t)at;
    m.context = c;
    m.device = c->device;
    if (!memory_note(&m)) {
        free(at);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret = at;
    return CUDA_SUCCESS;
}

API(cuMemAllocHost_v2, cuMemAllocHost, 3020, void **ret, size_t size)
{
    return cuMemHostAlloc(ret, size, 0);
}

API(cuMemFreeHost, cuMemFreeHost, 2000, void *at)
{
    struct memory *m;

    ENTER_CONTEXT(c);
    (void)c;
    m = block_find((uintptr_t)at);
    REQUIRE(m && m->kind == MEMORY_HOST && m->base == (uintptr_t)at);
    memory_free(m);
    return CUDA_SUCCESS;
}

API(cuMemHostRegister_v2, cuMemHostRegister, 6050, void *at, size_t size, unsigned flags)
{
    struct memory m = {.base = (uintptr_t)at,
                       .size = size,
                       .kind = MEMORY_REGISTERED,
                       .flags = flags,
                       .is_accessible = true};

    ENTER_CONTEXT(c);
    REQUIRE(at && size > 0);
    m.context = c;
    m.device = c->device;
    return memory_note(&m) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

API(cuMemHostUnregister, cuMemHostUnregister, 4000, void *at)
{
    struct memory *m;

    ENTER_CONTEXT(c);
    (void)c;
    m = block_find((uintptr_t)at);
    if (!m || m->kind != MEMORY_REGISTERED || m->base != (uintptr_t)at)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    memory_free(m);
    return CUDA_SUCCESS;
}

static struct memory *host_find(const void *at)
{
    struct memory *m = block_find((uintptr_t)at);

    return m && (m->kind == MEMORY_HOST || m->kind == MEMORY_REGISTERED) ? m : NULL;
}

API(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer, 3020, CUdeviceptr *ret, void *at,
    unsigned flags)
{
    ENTER_CONTEXT(c);
    (void)c;
    REQUIRE(ret && flags == 0 && host_find(at));
    *ret = (uintptr_t)at;
    return CUDA_SUCCESS;
}

API(cuMemHostGetFlags, cuMemHostGetFlags, 2030, unsigned *ret, void *at)
{
    const struct memory *m;

    ENTER_CONTEXT(c);
    (void)c;
    m = host_find(at);
    REQUIRE(ret && m);
    *ret = m->flags;
    return CUDA_SUCCESS;
}

/* ---- hints for managed memory ---- */

/* The emulation has one copy of managed memory: a hint changes nothing. */
API(cuMemAdvise, cuMemAdvise, 8000, CUdeviceptr address, size_t size, unsigned advice,
    CUdevice device)
{
    ENTER_CONTEXT(c);
    (void)c;
    (void)device;
    REQUIRE(advice >= 1 && advice <= 6 && memory_is_usable(address, size));
    return CUDA_SUCCESS;
}

API(cuMemAdvise_v2, cuMemAdvise, 12020, CUdeviceptr address, size_t size, unsigned advice,
    struct CUmemLocation location)
{
    return cuMemAdvise(address, size, advice, location.id);
}

API(cuMemPrefetchAsync, cuMemPrefetchAsync, 8000, CUdeviceptr address, size_t size, CUdevice device,
    CUstream stream)
{
    struct CUstream_st *s = NULL;

    ENTER_CONTEXT(c);
    (void)c;
    (void)device;
    CHECK(stream_find(stream, &s));
    REQUIRE(memory_is_usable(address, size));
    return CUDA_SUCCESS;
}

API(cuMemPrefetchAsync_v2, cuMemPrefetchAsync, 12020, CUdeviceptr address, size_t size,
    struct CUmemLocation location, unsigned flags, CUstream stream)
{
    REQUIRE(flags == 0);
    return cuMemPrefetchAsync(address, size, location.id, stream);
}

/* ---- attributes of pointers ---- */

/* Writes one attribute. The type of `out` follows from it. */
static CUresult pointer_attribute(const struct memory *m, CUdeviceptr address, int attribute,
                                  void *out)
{
    bool is_host = m->kind == MEMORY_HOST || m->kind == MEMORY_REGISTERED;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)out = m->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)out = address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!is_host && m->kind != MEMORY_MANAGED)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)out = (void *)(uintptr_t)address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)out = m->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)out = m->kind == MEMORY_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = m->device->ordinal;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)out = m->kind == MEMORY_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)out = m->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)out = m->size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)out = m->is_accessible;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)out = m->kind == MEMORY_POOL ? m->owner : NULL;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

API(cuPointerGetAttribute, cuPointerGetAttribute, 4000, void *out, int attribute,
    CUdeviceptr address)
{
    const struct memory *m;

    ENTER();
    m = memory_find(address);
    REQUIRE(out && m && m->device);
    return pointer_attribute(m, address, attribute, out);
}

/* A pointer that CUDA does not know has attributes of zero, and is no error. */
API(cuPointerGetAttributes, cuPointerGetAttributes, 7000, unsigned n, const int *wanted, void **out,
    CUdeviceptr address)
{
    const struct memory *m;

    ENTER();
    REQUIRE(n > 0 && wanted && out);
    m = memory_find(address);
    for (unsigned i = 0; i < n; i++) {
        if (m && m->device) {
            (void)pointer_attribute(m, address, wanted[i], out[i]);
            continue;
        }
        switch (wanted[i]) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *(void **)out[i] = NULL;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)out[i] = -2;
            break;
        default:
            *(unsigned *)out[i] = 0;
        }
    }
    return CUDA_SUCCESS;
}

API(cuPointerSetAttribute, cuPointerSetAttribute, 6000, const void *value, int attribute,
    CUdeviceptr address)
{
    ENTER();
    REQUIRE(value && memory_find(address));
    return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}
