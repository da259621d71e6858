/*
 * handles.c - physical memory and its mappings (the driver's virtual memory management)
 *
 * The memory of a handle is free when the handle and all its mappings are released.
 */

#include "hooks.h"
#include "memory.h"
#include "share.h"

HOOK(cuMemCreate, uint64_t *handle, size_t size, const struct CUmemAllocationProp *prop,
     uint64_t flags)
{
    bool is_device = prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    struct memory_claim c =
        memory_claim(is_device ? driver_gpu(prop->location.id) : SHARE_NONE, size);
    CUresult result;

    if (c.is_refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = DRIVER(cuMemCreate, handle, size, prop, flags);
    return memory_settle(&c, result, TABLE_HANDLE, handle ? *handle : 0);
}

static void handle_refer(uint64_t handle, int more)
{
    struct table_entry e;

    if (table_refer(TABLE_HANDLE, handle, more, &e) && e.refs == 0)
        memory_release(&e);
}

HOOK(cuMemRelease, uint64_t handle)
{
    CUresult result = DRIVER(cuMemRelease, handle);

    if (result == CUDA_SUCCESS)
        handle_refer(handle, -1);
    return result;
}

HOOK(cuMemRetainAllocationHandle, uint64_t *handle, void *address)
{
    CUresult result = DRIVER(cuMemRetainAllocationHandle, handle, address);

    if (result == CUDA_SUCCESS)
        handle_refer(*handle, 1);
    return result;
}

HOOK(cuMemMap, CUdeviceptr address, size_t size, size_t offset, uint64_t handle, uint64_t flags)
{
    CUresult result = DRIVER(cuMemMap, address, size, offset, handle, flags);
    struct table_entry e;

    if (result != CUDA_SUCCESS || !table_refer(TABLE_HANDLE, handle, 1, &e))
        return result;
    (void)table_put(&(struct table_entry){
        .kind = TABLE_MAPPING, .gpu = e.gpu, .key = address, .bytes = size, .of = handle});
    return result;
}

struct range {
    CUdeviceptr first;
    size_t size;
};

static bool lies_in_range(const struct table_entry *e, const void *arg)
{
    const struct range *r = arg;

    return e->kind == TABLE_MAPPING && e->key >= r->first && e->key - r->first < r->size;
}

enum {
    UNMAPPED_MAX = 256
};

/* The table is locked while entries are taken: what they refer to is released afterwards. */
static __thread uint64_t unmapped[UNMAPPED_MAX];
static __thread size_t n_unmapped;

static bool is_unmapped(const struct table_entry *e, const void *arg)
{
    return n_unmapped < UNMAPPED_MAX && lies_in_range(e, arg);
}

static void note_unmapped(const struct table_entry *e)
{
    unmapped[n_unmapped++] = e->of;
}

HOOK(cuMemUnmap, CUdeviceptr address, size_t size)
{
    struct range r = {address, size};
    CUresult result = DRIVER(cuMemUnmap, address, size);

    if (result != CUDA_SUCCESS)
        return result;
    do {
        n_unmapped = 0;
        table_take_all(&(struct table_filter){is_unmapped, note_unmapped, &r});
        for (size_t i = 0; i < n_unmapped; i++)
            handle_refer(unmapped[i], -1);
    } while (n_unmapped == UNMAPPED_MAX);
    return result;
}
