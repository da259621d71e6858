/*
 * cuda_pool.c - memory in the order of streams, and its pools
 *
 * The emulated pools keep nothing back: a block that a stream frees returns to the gpu when the
 * call is made, after the work that is queued before it.
 */

#include "cuda.h"

enum {
    ATTRIBUTE_RELEASE_THRESHOLD = 4,
    ATTRIBUTE_RESERVED_CURRENT = 5,
    ATTRIBUTE_RESERVED_HIGH = 6,
    ATTRIBUTE_USED_CURRENT = 7,
    ATTRIBUTE_USED_HIGH = 8
};

struct CUmemPoolHandle_st *pool_new(struct device *d)
{
    struct CUmemPoolHandle_st *p = handle_new(HANDLE_POOL, sizeof(*p));

    if (p)
        *p = (struct CUmemPoolHandle_st){.device = d, .attributes = {[1] = 1, [2] = 1, [3] = 1}};
    return p;
}

static CUresult default_pool(struct device *d, struct CUmemPoolHandle_st **ret)
{
    if (!d->default_pool) {
        d->default_pool = pool_new(d);
        if (!d->default_pool)
            return CUDA_ERROR_OUT_OF_MEMORY;
        d->default_pool->is_default = true;
        d->pool = d->default_pool;
    }
    *ret = d->default_pool;
    return CUDA_SUCCESS;
}

void pool_give(struct memory *m)
{
    struct CUmemPoolHandle_st *p = m->owner;

    if (handle_is(p, HANDLE_POOL))
        p->used -= m->size < p->used ? m->size : p->used;
    memory_free(m);
}

/* ---- blocks ---- */

API(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, CUdeviceptr *ret, size_t size,
    CUmemoryPool pool, CUstream stream)
{
    struct CUstream_st *s = NULL;
    struct memory *m = NULL;

    ENTER();
    REQUIRE(ret && size > 0);
    CHECK(stream_find(stream, &s));
    CHECK(stream_refuse_capture(s));
    REQUIRE(handle_is(pool, HANDLE_POOL) && pool->device == s->context->device);
    if (pool->max_bytes && size > pool->max_bytes - pool->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(memory_new(s->context, MEMORY_POOL, size, &m));
    m->owner = pool;
    pool->used += size;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    *ret = m->base;
    return CUDA_SUCCESS;
}
API_ALIAS(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);

API(cuMemAllocAsync, cuMemAllocAsync, 11020, CUdeviceptr *ret, size_t size, CUstream stream)
{
    struct CUstream_st *s = NULL;
    struct CUmemPoolHandle_st *p = NULL;

    ENTER();
    CHECK(stream_find(stream, &s));
    CHECK(default_pool(s->context->device, &p));
    return cuMemAllocFromPoolAsync(ret, size, s->context->device->pool, stream);
}
API_ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);

API(cuMemFreeAsync, cuMemFreeAsync, 11020, CUdeviceptr address, CUstream stream)
{
    struct CUstream_st *s = NULL;
    struct memory *m;

    ENTER();
    CHECK(stream_find(stream, &s));
    CHECK(stream_refuse_capture(s));
    m = memory_find(address);
    REQUIRE(m && m->base == address && (m->kind == MEMORY_POOL || m->kind == MEMORY_DEVICE));
    if (m->kind == MEMORY_POOL)
        pool_give(m);
    else
        memory_free(m);
    return CUDA_SUCCESS;
}
API_ALIAS(cuMemFreeAsync_ptsz, cuMemFreeAsync);

/* ---- pools ---- */

API(cuMemPoolCreate, cuMemPoolCreate, 11020, CUmemoryPool *ret, const struct CUmemPoolProps *wanted)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret && wanted && wanted->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    if (wanted->handleTypes != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    CHECK(device_find(wanted->location.id, &d));
    *ret = pool_new(d);
    if (!*ret)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*ret)->max_bytes = wanted->maxSize;
    return CUDA_SUCCESS;
}

API(cuMemPoolDestroy, cuMemPoolDestroy, 11020, CUmemoryPool pool)
{
    ENTER();
    REQUIRE(handle_is(pool, HANDLE_POOL) && !pool->is_default);
    if (pool->device->pool == pool)
        pool->device->pool = pool->device->default_pool;
    handle_free(pool);
    return CUDA_SUCCESS;
}

API(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, CUmemoryPool pool, size_t keep)
{
    ENTER();
    (void)keep;
    REQUIRE(handle_is(pool, HANDLE_POOL));
    return CUDA_SUCCESS;
}

API(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, CUmemoryPool pool, unsigned attribute,
    void *value)
{
    ENTER();
    REQUIRE(handle_is(pool, HANDLE_POOL) && value && attribute >= 1);
    if (attribute < ATTRIBUTE_RELEASE_THRESHOLD)
        pool->attributes[attribute] = (uint64_t)(*(const int *)value != 0);
    else if (attribute == ATTRIBUTE_RELEASE_THRESHOLD)
        pool->attributes[attribute] = *(const uint64_t *)value;
    else if (attribute == ATTRIBUTE_RESERVED_HIGH || attribute == ATTRIBUTE_USED_HIGH)
        pool->used_high = pool->used;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

API(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, CUmemoryPool pool, unsigned attribute,
    void *out)
{
    ENTER();
    REQUIRE(handle_is(pool, HANDLE_POOL) && out && attribute >= 1 &&
            attribute <= ATTRIBUTE_USED_HIGH);
    if (attribute < ATTRIBUTE_RELEASE_THRESHOLD)
        *(int *)out = (int)pool->attributes[attribute];
    else if (attribute == ATTRIBUTE_RELEASE_THRESHOLD)
        *(uint64_t *)out = pool->attributes[attribute];
    else if (attribute == ATTRIBUTE_RESERVED_CURRENT || attribute == ATTRIBUTE_USED_CURRENT)
        *(uint64_t *)out = pool->used;
    else
        *(uint64_t *)out = pool->used_high;
    return CUDA_SUCCESS;
}

API(cuMemPoolSetAccess, cuMemPoolSetAccess, 11020, CUmemoryPool pool,
    const struct CUmemAccessDesc *access, size_t n)
{
    ENTER();
    REQUIRE(handle_is(pool, HANDLE_POOL) && (access || n == 0));
    return CUDA_SUCCESS;
}

API(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *ret, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(device, &d));
    return default_pool(d, ret);
}

API(cuDeviceGetMemPool, cuDeviceGetMemPool, 11020, CUmemoryPool *ret, CUdevice device)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(device_find(device, &d));
    CHECK(default_pool(d, ret));
    *ret = d->pool;
    return CUDA_SUCCESS;
}

API(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, CUdevice device, CUmemoryPool pool)
{
    struct CUmemPoolHandle_st *standard = NULL;
    struct device *d = NULL;

    ENTER();
    CHECK(device_find(device, &d));
    REQUIRE(handle_is(pool, HANDLE_POOL) && pool->device == d);
    CHECK(default_pool(d, &standard));
    d->pool = pool;
    return CUDA_SUCCESS;
}
