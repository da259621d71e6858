/* cuda_copy.c - copies and sets of memory, in one to three dimensions */

#include <string.h>

#include "cuda.h"

/* ---- what is done ---- */

CUresult copy_bytes(uint64_t to, uint64_t from, uint64_t size)
{
    if (size > 0)
        memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    return CUDA_SUCCESS;
}

/* One side of a copy: the address of its first byte, and the steps to the next row and layer. */
struct side {
    uint64_t at;
    uint64_t row;
    uint64_t layer;
};

/* One side as the caller describes it. */
struct place {
    unsigned type;
    const void *host;
    uint64_t device;
    CUarray array;
    size_t x;
    size_t y;
    size_t z;
    size_t pitch; /* 0: dense, as is a height of 0 */
    size_t height;
};

static CUresult side_of_array(const struct place *p, const struct CUDA_MEMCPY3D *copy,
                              struct side *ret)
{
    size_t height;
    size_t depth;

    if (!handle_is(p->array, HANDLE_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    height = p->array->shape.Height ? p->array->shape.Height : 1;
    depth = p->array->shape.Depth ? p->array->shape.Depth : 1;
    *ret = (struct side){.at = p->array->memory->base,
                         .row = p->array->row_bytes,
                         .layer = p->array->row_bytes * height};
    REQUIRE(p->x + copy->WidthInBytes <= ret->row && p->y + copy->Height <= height &&
            p->z + copy->Depth <= depth);
    return CUDA_SUCCESS;
}

static CUresult side_find(const struct place *p, const struct CUDA_MEMCPY3D *copy, struct side *ret)
{
    if (p->type == CU_MEMORYTYPE_ARRAY) {
        CHECK(side_of_array(p, copy, ret));
    } else {
        REQUIRE(p->type >= CU_MEMORYTYPE_HOST && p->type <= CU_MEMORYTYPE_UNIFIED);
        ret->at = p->type == CU_MEMORYTYPE_HOST ? (uintptr_t)p->host : p->device;
        ret->row = p->pitch ? p->pitch : copy->WidthInBytes + p->x;
        ret->layer = ret->row * (p->height ? p->height : copy->Height + p->y);
    }
    REQUIRE(ret->at != 0 && ret->row >= copy->WidthInBytes);
    ret->at += p->z * ret->layer + p->y * ret->row + p->x;
    if (p->type == CU_MEMORYTYPE_DEVICE &&
        !memory_is_usable(ret->at, (copy->Depth - 1) * ret->layer + (copy->Height - 1) * ret->row +
                                       copy->WidthInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* The gpu that has the memory; NULL: the host. */
static const struct device *device_of(uint64_t address)
{
    const struct memory *m = memory_find(address);

    return m && m->kind != MEMORY_HOST && m->kind != MEMORY_REGISTERED ? m->device : NULL;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes `counter` */
static void count_bytes(uint64_t *counter, uint64_t bytes)
{
    (void)__atomic_fetch_add(counter, bytes, __ATOMIC_RELAXED);
}

/* Counts what a copy moves through PCIe or NVLink. */
static void count_traffic(uint64_t to_at, uint64_t from_at, uint64_t bytes)
{
    const struct device *to = device_of(to_at);
    const struct device *from = device_of(from_at);
    struct gpusim_gpu *gpus = cuda_view.writable->gpus;
    bool is_linked;

    if ((to ? to->g : NULL) == (from ? from->g : NULL))
        return;
    is_linked = to && from && view_are_linked(to->g, from->g);
    if (from)
        count_bytes(is_linked ? &gpus[from->index].nvlink_bytes[0]
                              : &gpus[from->index].pcie_bytes[0],
                    bytes);
    if (to)
        count_bytes(is_linked ? &gpus[to->index].nvlink_bytes[1] : &gpus[to->index].pcie_bytes[1],
                    bytes);
}

CUresult copy_3d_run(const struct CUDA_MEMCPY3D *copy)
{
    const struct place from_place = {copy->srcMemoryType, copy->srcHost,     copy->srcDevice,
                                     copy->srcArray,      copy->srcXInBytes, copy->srcY,
                                     copy->srcZ,          copy->srcPitch,    copy->srcHeight};
    const struct place to_place = {copy->dstMemoryType, copy->dstHost,     copy->dstDevice,
                                   copy->dstArray,      copy->dstXInBytes, copy->dstY,
                                   copy->dstZ,          copy->dstPitch,    copy->dstHeight};
    struct side from = {0};
    struct side to = {0};

    if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0)
        return CUDA_SUCCESS;
    CHECK(side_find(&from_place, copy, &from));
    CHECK(side_find(&to_place, copy, &to));
    count_traffic(to.at, from.at, (uint64_t)copy->WidthInBytes * copy->Height * copy->Depth);
    for (size_t z = 0; z < copy->Depth; z++) {
        for (size_t y = 0; y < copy->Height; y++)
            CHECK(copy_bytes(to.at + z * to.layer + y * to.row,
                             from.at + z * from.layer + y * from.row, copy->WidthInBytes));
    }
    return CUDA_SUCCESS;
}

/* Gives whole pages of zeros back to the system instead of touching them. */
static void set_zero(uint64_t at, uint64_t size)
{
    const struct memory *m = memory_find(at);
    uint64_t first = ALIGN(at, 4096);
    uint64_t last = (at + size) / 4096 * 4096;

    if (!m || m->kind == MEMORY_HOST || m->kind == MEMORY_REGISTERED ||
        m->kind == MEMORY_IMPORTED || m->kind == MEMORY_MAPPED || size < CHUNK_SIZE ||
        at + size > m->base + m->size) {
        memset((void *)(uintptr_t)at, 0, size);
        return;
    }
    memset((void *)(uintptr_t)at, 0, first - at);
    arena_discard(m->file_at + (first - m->base), last - first);
    memset((void *)(uintptr_t)last, 0, at + size - last);
}

CUresult set_run(const struct CUDA_MEMSET_NODE_PARAMS *set)
{
    size_t row = set->width * set->elementSize;
    size_t pitch = set->height > 1 ? set->pitch : row;

    REQUIRE(set->elementSize == 1 || set->elementSize == 2 || set->elementSize == 4);
    if (row == 0 || set->height == 0)
        return CUDA_SUCCESS;
    REQUIRE(set->dst % set->elementSize == 0 && pitch >= row);
    REQUIRE(memory_is_usable(set->dst, (set->height - 1) * pitch + row));
    for (size_t y = 0; y < set->height; y++) {
        uint64_t at = set->dst + y * pitch;

        if (set->value == 0)
            set_zero(at, row);
        else if (set->elementSize == 1)
            memset((void *)(uintptr_t)at, (int)set->value, row);
        for (size_t i = 0; set->value != 0 && set->elementSize == 2 && i < set->width; i++)
            ((uint16_t *)(uintptr_t)at)[i] = (uint16_t)set->value;
        for (size_t i = 0; set->value != 0 && set->elementSize == 4 && i < set->width; i++)
            ((uint32_t *)(uintptr_t)at)[i] = set->value;
    }
    return CUDA_SUCCESS;
}

/* ---- copies of bytes ---- */

static struct CUDA_MEMCPY3D copy_flat(uint64_t to, unsigned to_type, uint64_t from,
                                      unsigned from_type, size_t size)
{
    return (struct CUDA_MEMCPY3D){.srcMemoryType = from_type,
                                  .srcHost = (const void *)(uintptr_t)from,
                                  .srcDevice = from,
                                  .dstMemoryType = to_type,
                                  .dstHost = (void *)(uintptr_t)to,
                                  .dstDevice = to,
                                  .WidthInBytes = size,
                                  .Height = 1,
                                  .Depth = 1};
}

static CUresult copy_queue(const struct CUDA_MEMCPY3D *copy, CUstream stream)
{
    struct CUstream_st *s = NULL;

    ENTER();
    CHECK(stream_find(stream, &s));
    return s->capture ? capture_copy(s, copy) : copy_3d_run(copy);
}

/* Waits for the legacy stream, then copies. */
static CUresult copy_now(const struct CUDA_MEMCPY3D *copy)
{
    ENTER_CONTEXT(c);
    CHECK(stream_refuse_capture(c->legacy));
    CHECK(context_wait(c));
    if (c->broken != CUDA_SUCCESS)
        return c->broken;
    return copy_3d_run(copy);
}

static CUresult flat_now(uint64_t to, unsigned to_type, uint64_t from, unsigned from_type,
                         size_t size)
{
    const struct CUDA_MEMCPY3D copy = copy_flat(to, to_type, from, from_type, size);

    return copy_now(&copy);
}

static CUresult flat_queue(uint64_t to, unsigned to_type, uint64_t from, unsigned from_type,
                           size_t size, CUstream stream)
{
    const struct CUDA_MEMCPY3D copy = copy_flat(to, to_type, from, from_type, size);

    return copy_queue(&copy, stream);
}

API(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020, CUdeviceptr to, const void *from, size_t size)
{
    return flat_now(to, CU_MEMORYTYPE_DEVICE, (uintptr_t)from, CU_MEMORYTYPE_HOST, size);
}
API_ALIAS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);

API(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020, void *to, CUdeviceptr from, size_t size)
{
    return flat_now((uintptr_t)to, CU_MEMORYTYPE_HOST, from, CU_MEMORYTYPE_DEVICE, size);
}
API_ALIAS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);

API(cuMemcpyDtoD_v2, cuMemcpyDtoD, 3020, CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return flat_now(to, CU_MEMORYTYPE_DEVICE, from, CU_MEMORYTYPE_DEVICE, size);
}
API_ALIAS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);

API(cuMemcpy, cuMemcpy, 4000, CUdeviceptr to, CUdeviceptr from, size_t size)
{
    return flat_now(to, CU_MEMORYTYPE_UNIFIED, from, CU_MEMORYTYPE_UNIFIED, size);
}
API_ALIAS(cuMemcpy_ptds, cuMemcpy);

API(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020, CUdeviceptr to, const void *from, size_t size,
    CUstream stream)
{
    return flat_queue(to, CU_MEMORYTYPE_DEVICE, (uintptr_t)from, CU_MEMORYTYPE_HOST, size, stream);
}
API_ALIAS(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);

API(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020, void *to, CUdeviceptr from, size_t size,
    CUstream stream)
{
    return flat_queue((uintptr_t)to, CU_MEMORYTYPE_HOST, from, CU_MEMORYTYPE_DEVICE, size, stream);
}
API_ALIAS(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);

API(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 3020, CUdeviceptr to, CUdeviceptr from, size_t size,
    CUstream stream)
{
    return flat_queue(to, CU_MEMORYTYPE_DEVICE, from, CU_MEMORYTYPE_DEVICE, size, stream);
}
API_ALIAS(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);

API(cuMemcpyAsync, cuMemcpyAsync, 4000, CUdeviceptr to, CUdeviceptr from, size_t size,
    CUstream stream)
{
    return flat_queue(to, CU_MEMORYTYPE_UNIFIED, from, CU_MEMORYTYPE_UNIFIED, size, stream);
}
API_ALIAS(cuMemcpyAsync_ptsz, cuMemcpyAsync);

/* All gpus share the addresses of the process. */
API(cuMemcpyPeer, cuMemcpyPeer, 4000, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
    CUcontext from_context, size_t size)
{
    REQUIRE(to_context && from_context);
    return cuMemcpyDtoD_v2(to, from, size);
}

API(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, CUdeviceptr to, CUcontext to_context,
    CUdeviceptr from, CUcontext from_context, size_t size, CUstream stream)
{
    REQUIRE(to_context && from_context);
    return cuMemcpyDtoDAsync_v2(to, from, size, stream);
}

/* ---- copies of planes and volumes ---- */

static struct CUDA_MEMCPY3D copy_of_2d(const struct CUDA_MEMCPY2D *copy)
{
    return (struct CUDA_MEMCPY3D){.srcXInBytes = copy->srcXInBytes,
                                  .srcY = copy->srcY,
                                  .srcMemoryType = copy->srcMemoryType,
                                  .srcHost = copy->srcHost,
                                  .srcDevice = copy->srcDevice,
                                  .srcArray = copy->srcArray,
                                  .srcPitch = copy->srcPitch,
                                  .dstXInBytes = copy->dstXInBytes,
                                  .dstY = copy->dstY,
                                  .dstMemoryType = copy->dstMemoryType,
                                  .dstHost = copy->dstHost,
                                  .dstDevice = copy->dstDevice,
                                  .dstArray = copy->dstArray,
                                  .dstPitch = copy->dstPitch,
                                  .WidthInBytes = copy->WidthInBytes,
                                  .Height = copy->Height,
                                  .Depth = 1};
}

API(cuMemcpy2D_v2, cuMemcpy2D, 3020, const struct CUDA_MEMCPY2D *copy)
{
    struct CUDA_MEMCPY3D c3;

    REQUIRE(copy);
    c3 = copy_of_2d(copy);
    return copy_now(&c3);
}

API(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, 3020, const struct CUDA_MEMCPY2D *copy)
{
    return cuMemcpy2D_v2(copy);
}

API(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, 3020, const struct CUDA_MEMCPY2D *copy, CUstream stream)
{
    struct CUDA_MEMCPY3D c3;

    REQUIRE(copy);
    c3 = copy_of_2d(copy);
    return copy_queue(&c3, stream);
}

API(cuMemcpy3D_v2, cuMemcpy3D, 3020, const struct CUDA_MEMCPY3D *copy)
{
    REQUIRE(copy);
    return copy_now(copy);
}

API(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, 3020, const struct CUDA_MEMCPY3D *copy, CUstream stream)
{
    REQUIRE(copy);
    return copy_queue(copy, stream);
}

/* ---- sets ---- */

static CUresult set_queue(const struct CUDA_MEMSET_NODE_PARAMS *set, CUstream stream)
{
    struct CUstream_st *s = NULL;

    ENTER();
    CHECK(stream_find(stream, &s));
    return s->capture ? capture_set(s, set) : set_run(set);
}

static CUresult set_row(CUdeviceptr to, unsigned value, unsigned element_size, size_t n,
                        CUstream stream)
{
    struct CUDA_MEMSET_NODE_PARAMS set = {
        .dst = to, .value = value, .elementSize = element_size, .width = n, .height = 1};

    return set_queue(&set, stream);
}

API(cuMemsetD8_v2, cuMemsetD8, 3020, CUdeviceptr to, unsigned char value, size_t n)
{
    return set_row(to, value, 1, n, NULL);
}
API_ALIAS(cuMemsetD8_v2_ptds, cuMemsetD8_v2);

API(cuMemsetD16_v2, cuMemsetD16, 3020, CUdeviceptr to, unsigned short value, size_t n)
{
    return set_row(to, value, 2, n, NULL);
}

API(cuMemsetD32_v2, cuMemsetD32, 3020, CUdeviceptr to, unsigned value, size_t n)
{
    return set_row(to, value, 4, n, NULL);
}
API_ALIAS(cuMemsetD32_v2_ptds, cuMemsetD32_v2);

API(cuMemsetD8Async, cuMemsetD8Async, 3020, CUdeviceptr to, unsigned char value, size_t n,
    CUstream stream)
{
    return set_row(to, value, 1, n, stream);
}
API_ALIAS(cuMemsetD8Async_ptsz, cuMemsetD8Async);

API(cuMemsetD16Async, cuMemsetD16Async, 3020, CUdeviceptr to, unsigned short value, size_t n,
    CUstream stream)
{
    return set_row(to, value, 2, n, stream);
}

API(cuMemsetD32Async, cuMemsetD32Async, 3020, CUdeviceptr to, unsigned value, size_t n,
    CUstream stream)
{
    return set_row(to, value, 4, n, stream);
}
API_ALIAS(cuMemsetD32Async_ptsz, cuMemsetD32Async);

API(cuMemsetD2D8_v2, cuMemsetD2D8, 3020, CUdeviceptr to, size_t pitch, unsigned char value,
    size_t width, size_t height)
{
    return set_queue(&(struct CUDA_MEMSET_NODE_PARAMS){.dst = to,
                                                       .pitch = pitch,
                                                       .value = value,
                                                       .elementSize = 1,
                                                       .width = width,
                                                       .height = height},
                     NULL);
}

API(cuMemsetD2D32_v2, cuMemsetD2D32, 3020, CUdeviceptr to, size_t pitch, unsigned value,
    size_t width, size_t height)
{
    return set_queue(&(struct CUDA_MEMSET_NODE_PARAMS){.dst = to,
                                                       .pitch = pitch,
                                                       .value = value,
                                                       .elementSize = 4,
                                                       .width = width,
                                                       .height = height},
                     NULL);
}

API(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, CUdeviceptr to, size_t pitch, unsigned char value,
    size_t width, size_t height, CUstream stream)
{
    return set_queue(&(struct CUDA_MEMSET_NODE_PARAMS){.dst = to,
                                                       .pitch = pitch,
                                                       .value = value,
                                                       .elementSize = 1,
                                                       .width = width,
                                                       .height = height},
                     stream);
}

API(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, CUdeviceptr to, size_t pitch, unsigned value,
    size_t width, size_t height, CUstream stream)
{
    return set_queue(&(struct CUDA_MEMSET_NODE_PARAMS){.dst = to,
                                                       .pitch = pitch,
                                                       .value = value,
                                                       .elementSize = 4,
                                                       .width = width,
                                                       .height = height},
                     stream);
}
