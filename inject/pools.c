/*
 * pools.c - memory pools (stream-ordered allocations), and the memory of graphs
 *
 * A pool keeps memory that a program freed. So a pool counts with what the driver reserved for it,
 * read after each operation; before an allocation the share must have room for what the pool would
 * grow by.
 */

#include <pthread.h>

#include "graphs.h"
#include "hooks.h"
#include "memory.h"
#include "share.h"

static uint64_t pool_read(CUhandle pool, int attribute)
{
    uint64_t value = 0;

    return DRIVER(cuMemPoolGetAttribute, pool, attribute, &value) == CUDA_SUCCESS ? value : 0;
}

/* Makes the bytes that a pool counts with those that the driver says. */
static void pool_count(int gpu, uint64_t key, uint64_t bytes)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct table_entry e = {.kind = TABLE_POOL, .gpu = gpu, .key = key, .refs = 1};
    uint64_t before;

    (void)pthread_mutex_lock(&mutex);
    (void)table_get(TABLE_POOL, key, &e);
    before = e.bytes;
    e.bytes = bytes;
    if (table_put(&e) && bytes > before)
        share_charge_anyway(gpu, bytes - before);
    else if (bytes < before)
        share_release(gpu, before - bytes);
    (void)pthread_mutex_unlock(&mutex);
}

static void pool_look(int gpu, CUhandle pool)
{
    pool_count(gpu, (uintptr_t)pool, pool_read(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
}

/* The bytes by which the pool grows for an allocation of `size`. */
static uint64_t pool_growth(CUhandle pool, uint64_t size)
{
    uint64_t reserved = pool_read(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    uint64_t used = pool_read(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);

    if (size > UINT64_MAX - used)
        return UINT64_MAX;
    return used + size > reserved ? used + size - reserved : 0;
}

/* Claims the growth; the pool itself notes it afterwards. */
static bool pool_has_room(int gpu, CUhandle pool, uint64_t size, struct memory_claim *ret)
{
    pool_look(gpu, pool);
    *ret = memory_claim(gpu, pool_growth(pool, size));
    return !ret->is_refused;
}

static CUresult pool_settle(const struct memory_claim *c, CUhandle pool, CUresult result,
                            const CUdeviceptr *address)
{
    pool_look(c->gpu, pool);
    share_release(c->gpu, c->bytes); /* last: the share is never seen with too little in use */
    if (result == CUDA_SUCCESS)
        (void)table_put(&(struct table_entry){
            .kind = TABLE_POOLED, .gpu = c->gpu, .key = *address, .of = (uintptr_t)pool});
    return result;
}

/* The pool of the current device; NULL: it is not shared. */
static CUhandle pool_here(int *ret_gpu)
{
    CUdevice device = -1;
    CUhandle pool = NULL;

    *ret_gpu = SHARE_NONE;
    if (DRIVER(cuCtxGetDevice, &device) != CUDA_SUCCESS)
        return NULL;
    *ret_gpu = driver_gpu(device);
    if (*ret_gpu == SHARE_NONE || DRIVER(cuDeviceGetMemPool, &pool, device) != CUDA_SUCCESS)
        return NULL;
    return pool;
}

/* Defines an allocation from the current device's pool. */
#define ALLOC_ASYNC(name)                                                           \
    HOOK(name, CUdeviceptr *address, size_t size, CUhandle stream)                  \
    {                                                                               \
        struct memory_claim c;                                                      \
        int gpu;                                                                    \
        CUhandle pool = pool_here(&gpu);                                            \
                                                                                    \
        if (!pool)                                                                  \
            return DRIVER(name, address, size, stream);                             \
        if (!pool_has_room(gpu, pool, size, &c))                                    \
            return CUDA_ERROR_OUT_OF_MEMORY;                                        \
        return pool_settle(&c, pool, DRIVER(name, address, size, stream), address); \
    }

ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)

/* Defines an allocation from a pool that the caller names. */
#define ALLOC_FROM_POOL(name)                                                             \
    HOOK(name, CUdeviceptr *address, size_t size, CUhandle pool, CUhandle stream)         \
    {                                                                                     \
        struct memory_claim c;                                                            \
        int gpu = driver_current_gpu();                                                   \
                                                                                          \
        if (gpu == SHARE_NONE || !pool)                                                   \
            return DRIVER(name, address, size, pool, stream);                             \
        if (!pool_has_room(gpu, pool, size, &c))                                          \
            return CUDA_ERROR_OUT_OF_MEMORY;                                              \
        return pool_settle(&c, pool, DRIVER(name, address, size, pool, stream), address); \
    }

ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)

static CUresult pool_freed(CUresult result, CUdeviceptr address)
{
    struct table_entry e;

    if (result == CUDA_SUCCESS && table_take(TABLE_POOLED, address, &e))
        pool_look(e.gpu, (CUhandle)(uintptr_t)e.of); /* NOLINT(performance-no-int-to-ptr) */
    return result;
}

HOOK(cuMemFreeAsync, CUdeviceptr address, CUhandle stream)
{
    return pool_freed(DRIVER(cuMemFreeAsync, address, stream), address);
}

HOOK(cuMemFreeAsync_ptsz, CUdeviceptr address, CUhandle stream)
{
    return pool_freed(DRIVER(cuMemFreeAsync_ptsz, address, stream), address);
}

HOOK(cuMemPoolTrimTo, CUhandle pool, size_t keep)
{
    CUresult result = DRIVER(cuMemPoolTrimTo, pool, keep);
    struct table_entry e;

    if (table_get(TABLE_POOL, (uintptr_t)pool, &e))
        pool_look(e.gpu, pool);
    return result;
}

HOOK(cuMemPoolDestroy, CUhandle pool)
{
    CUresult result = DRIVER(cuMemPoolDestroy, pool);
    struct table_entry e;

    if (result == CUDA_SUCCESS && table_take(TABLE_POOL, (uintptr_t)pool, &e))
        memory_release(&e);
    return result;
}

/* ---- graphs ---- */

/* A device's graphs count as one pool, under the number of the gpu. */
static void graphs_look(CUdevice device, int gpu)
{
    uint64_t bytes = 0;

    if (DRIVER(cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
               &bytes) == CUDA_SUCCESS)
        pool_count(gpu, (uint64_t)gpu, bytes);
}

HOOK(cuGraphAddMemAllocNode, CUhandle *node, CUhandle graph, const CUhandle *after, size_t n_after,
     struct CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    int gpu = params && params->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE
                  ? driver_gpu(params->poolProps.location.id)
                  : SHARE_NONE;

    if (gpu != SHARE_NONE && params->bytesize > share_memory_bytes(gpu))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return DRIVER(cuGraphAddMemAllocNode, node, graph, after, n_after, params);
}

HOOK(cuDeviceGraphMemTrim, CUdevice device)
{
    CUresult result = DRIVER(cuDeviceGraphMemTrim, device);
    int gpu = driver_gpu(device);

    if (gpu != SHARE_NONE)
        graphs_look(device, gpu);
    return result;
}

/* Defines the launch of a graph, which costs the threads of its kernels. */
#define GRAPH_LAUNCH(name)                                                                     \
    HOOK(name, CUhandle graph, CUhandle stream)                                                \
    {                                                                                          \
        CUdevice device = -1;                                                                  \
        int gpu =                                                                              \
            DRIVER(cuCtxGetDevice, &device) == CUDA_SUCCESS ? driver_gpu(device) : SHARE_NONE; \
        CUresult result;                                                                       \
                                                                                               \
        if (gpu == SHARE_NONE)                                                                 \
            return DRIVER(name, graph, stream);                                                \
        if (share_used_bytes(gpu) > share_memory_bytes(gpu))                                   \
            return CUDA_ERROR_OUT_OF_MEMORY;                                                   \
        share_launch(gpu, graph_threads(graph));                                               \
        result = DRIVER(name, graph, stream);                                                  \
        graphs_look(device, gpu);                                                              \
        return result;                                                                         \
    }

GRAPH_LAUNCH(cuGraphLaunch)
GRAPH_LAUNCH(cuGraphLaunch_ptsz)
