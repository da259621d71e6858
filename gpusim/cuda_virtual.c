/* cuda_virtual.c - virtual memory management: addresses and physical memory apart from each other
 */

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda.h"

/* Physical memory: a piece of the arena, or of a file of its own that another process may get. */
struct physical {
    struct device *device;
    uint64_t size;
    uint64_t file_at;
    int fd; /* -1: the arena */
    unsigned references;
    uint64_t accounted;
    struct CUmemAllocationProp wanted;
};

static CUresult physical_find(CUmemGenericAllocationHandle handle, struct physical **ret)
{
    struct physical *p = (struct physical *)(uintptr_t)handle;

    REQUIRE(handle_is(p, HANDLE_PHYSICAL));
    *ret = p;
    return CUDA_SUCCESS;
}

static void physical_unref(struct physical *p)
{
    if (--p->references > 0)
        return;
    if (p->fd >= 0)
        (void)close(p->fd);
    else
        arena_discard(p->file_at, p->size);
    account_give(p->device, p->accounted);
    handle_free(p);
}

/* ---- physical memory ---- */

static CUresult location_device(const struct CUmemAllocationProp *wanted, struct device **ret)
{
    REQUIRE(wanted && wanted->type == CU_MEM_ALLOCATION_TYPE_PINNED);
    REQUIRE(wanted->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    return device_find(wanted->location.id, ret);
}

API(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, 10020, size_t *ret,
    const struct CUmemAllocationProp *wanted, unsigned option)
{
    struct device *d = NULL;

    ENTER();
    REQUIRE(ret && option <= 1);
    CHECK(location_device(wanted, &d));
    *ret = CHUNK_SIZE;
    return CUDA_SUCCESS;
}

/* Opens the file or takes the piece of the arena behind physical memory. */
static bool physical_back(struct physical *p)
{
    if (p->wanted.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        p->fd = (int)syscall(SYS_memfd_create, "gpusim-shared", 1u /* MFD_CLOEXEC */);
        return p->fd >= 0 && ftruncate(p->fd, (off_t)p->size) == 0;
    }
    p->fd = -1;
    p->file_at = arena_fd() >= 0 ? arena_take(p->size) : 0;
    return p->file_at != 0;
}

API(cuMemCreate, cuMemCreate, 10020, CUmemGenericAllocationHandle *ret, size_t size,
    const struct CUmemAllocationProp *wanted, unsigned long long flags)
{
    struct device *d = NULL;
    struct physical *p;

    ENTER();
    REQUIRE(ret && flags == 0 && size > 0 && size % CHUNK_SIZE == 0);
    CHECK(location_device(wanted, &d));
    if (wanted->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (d->n_contexts == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    CHECK(account_take(d, size));
    p = handle_new(HANDLE_PHYSICAL, sizeof(*p));
    if (p) {
        *p = (struct physical){.device = d,
                               .size = size,
                               .fd = -1,
                               .references = 1,
                               .accounted = size,
                               .wanted = *wanted};
        if (physical_back(p)) {
            *ret = (uintptr_t)p;
            return CUDA_SUCCESS;
        }
        if (p->fd >= 0)
            (void)close(p->fd);
        handle_free(p);
    }
    account_give(d, size);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuMemRelease, cuMemRelease, 10020, CUmemGenericAllocationHandle handle)
{
    struct physical *p = NULL;

    ENTER();
    CHECK(physical_find(handle, &p));
    physical_unref(p);
    return CUDA_SUCCESS;
}

API(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle, 10020,
    struct CUmemAllocationProp *ret, CUmemGenericAllocationHandle handle)
{
    struct physical *p = NULL;

    ENTER();
    REQUIRE(ret);
    CHECK(physical_find(handle, &p));
    *ret = p->wanted;
    return CUDA_SUCCESS;
}

API(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000,
    CUmemGenericAllocationHandle *ret, void *at)
{
    struct memory *m;

    ENTER();
    REQUIRE(ret);
    m = memory_find((uintptr_t)at);
    REQUIRE(m && m->kind == MEMORY_MAPPED);
    ((struct physical *)m->owner)->references++;
    *ret = (uintptr_t)m->owner;
    return CUDA_SUCCESS;
}

API(cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020, void *ret,
    CUmemGenericAllocationHandle handle, unsigned type, unsigned long long flags)
{
    struct physical *p = NULL;
    int fd;

    ENTER();
    REQUIRE(ret && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CHECK(physical_find(handle, &p));
    REQUIRE(p->fd >= 0);
    fd = dup(p->fd);
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)ret = fd;
    return CUDA_SUCCESS;
}

/* Imported memory counts for the process that made it alone. */
API(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020,
    CUmemGenericAllocationHandle *ret, void *shared, unsigned type)
{
    int fd = (int)(intptr_t)shared;
    struct physical *p;
    off_t size;

    ENTER_CONTEXT(c);
    REQUIRE(ret && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    size = lseek(fd, 0, SEEK_END);
    REQUIRE(size > 0);
    p = handle_new(HANDLE_PHYSICAL, sizeof(*p));
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *p = (struct physical){
        .device = c->device, .size = (uint64_t)size, .fd = dup(fd), .references = 1};
    p->wanted = (struct CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = c->device->ordinal}};
    if (p->fd < 0) {
        handle_free(p);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *ret = (uintptr_t)p;
    return CUDA_SUCCESS;
}

/* ---- addresses ---- */

API(cuMemAddressReserve, cuMemAddressReserve, 10020, CUdeviceptr *ret, size_t size,
    size_t alignment, CUdeviceptr wanted, unsigned long long flags)
{
    size_t align = alignment > CHUNK_SIZE ? alignment : CHUNK_SIZE;
    struct memory m = {.size = size, .kind = MEMORY_RANGE};
    uintptr_t start;
    char *wide;

    ENTER();
    (void)wanted;
    REQUIRE(ret && flags == 0 && size > 0 && size % CHUNK_SIZE == 0 && (align & (align - 1)) == 0);
    wide = mmap(NULL, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wide == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    start = ALIGN((uintptr_t)wide, align);
    if (start > (uintptr_t)wide)
        (void)munmap(wide, start - (uintptr_t)wide);
    (void)munmap((void *)(start + size), (uintptr_t)wide + align - start);
    m.base = start;
    if (!memory_note(&m)) {
        (void)munmap((void *)start, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret = start;
    return CUDA_SUCCESS;
}

/* The block of this kind at exactly these addresses. */
static struct memory *memory_exact(uint64_t base, uint64_t size, enum memory_kind kind)
{
    struct memory *m = memory_find(base);

    return m && m->kind == kind && m->base == base && m->size == size ? m : NULL;
}

API(cuMemAddressFree, cuMemAddressFree, 10020, CUdeviceptr base, size_t size)
{
    struct memory *m;

    ENTER();
    m = memory_exact(base, size, MEMORY_RANGE);
    REQUIRE(m);
    memory_forget(m);
    (void)munmap((void *)(uintptr_t)base, size);
    return CUDA_SUCCESS;
}

/* ---- mappings ---- */

API(cuMemMap, cuMemMap, 10020, CUdeviceptr at, size_t size, size_t offset,
    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct physical *p = NULL;
    const struct memory *range;
    struct memory m;
    void *mapped;

    ENTER();
    REQUIRE(flags == 0 && size > 0 && size % CHUNK_SIZE == 0 && at % CHUNK_SIZE == 0);
    CHECK(physical_find(handle, &p));
    REQUIRE(offset <= p->size && size <= p->size - offset);
    range = memory_find(at);
    REQUIRE(range && range->kind == MEMORY_RANGE && size <= range->base + range->size - at);
    m = (struct memory){.base = at,
                        .size = size,
                        .kind = MEMORY_MAPPED,
                        .device = p->device,
                        .file_at = p->file_at + offset,
                        .owner = p};
    REQUIRE(memory_note(&m));
    mapped = mmap((void *)(uintptr_t)at, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                  p->fd >= 0 ? p->fd : arena_fd(), (off_t)m.file_at);
    if (mapped == MAP_FAILED) {
        memory_forget(memory_find(at));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->references++;
    return CUDA_SUCCESS;
}

/* The mappings that fill exactly these addresses, one after the other. */
static bool is_mapped(uint64_t at, uint64_t size)
{
    while (size > 0) {
        const struct memory *m = memory_find(at);

        if (!m || m->kind != MEMORY_MAPPED || m->base != at || m->size > size)
            return false;
        at += m->size;
        size -= m->size;
    }
    return true;
}

API(cuMemUnmap, cuMemUnmap, 10020, CUdeviceptr at, size_t size)
{
    ENTER();
    REQUIRE(is_mapped(at, size));
    while (size > 0) {
        struct memory *m = memory_find(at);
        struct physical *p = m->owner;

        (void)mmap((void *)(uintptr_t)at, m->size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        at += m->size;
        size -= m->size;
        memory_forget(m);
        physical_unref(p);
    }
    return CUDA_SUCCESS;
}

API(cuMemSetAccess, cuMemSetAccess, 10020, CUdeviceptr at, size_t size,
    const struct CUmemAccessDesc *access, size_t n)
{
    bool is_open;

    ENTER();
    REQUIRE(access && n > 0 && is_mapped(at, size));
    is_open = access[0].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (mprotect((void *)(uintptr_t)at, size, is_open ? PROT_READ | PROT_WRITE : PROT_NONE) < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    while (size > 0) {
        struct memory *m = memory_find(at);

        m->is_accessible = is_open;
        at += m->size;
        size -= m->size;
    }
    return CUDA_SUCCESS;
}

API(cuMemGetAccess, cuMemGetAccess, 10020, unsigned long long *ret,
    const struct CUmemLocation *location, CUdeviceptr at)
{
    const struct memory *m;

    ENTER();
    REQUIRE(ret && location);
    m = memory_find(at);
    REQUIRE(m && m->kind == MEMORY_MAPPED);
    *ret = m->is_accessible ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}
