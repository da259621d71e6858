/*
 * cuda_memory.c - device and managed memory, and what the gpu has left
 *
 * Blocks of less than half a chunk share chunks of 2 MiB, as in the driver; others take whole
 * chunks. A context's blocks end with it.
 */

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda.h"

enum {
    UNIT_SIZE = 512, /* alignment of all blocks */
    CHUNK_UNITS = CHUNK_SIZE / UNIT_SIZE,
    CHUNKS_PER_WORD = 64
};

/* ---- what the gpu has ---- */

/* Bytes that all processes hold on the gpu or gpu instance, and that programs cannot have. */
static uint64_t device_used(const struct device *d)
{
    if (d->engine == GPUSIM_WHOLE)
        return gpu_memory_used(&cuda_view, d->index);
    return instance_memory_of_clients(&cuda_view, d->index, d->g->computes[d->engine - 1].instance);
}

CUresult account_take(const struct device *d, uint64_t bytes)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t limit = mps_limit();
    uint64_t used;

    gpu_lock(&cuda_view, d->index);
    used = device_used(d);
    if (used > d->memory_bytes || bytes > d->memory_bytes - used ||
        (limit > 0 && (bytes > limit || device_use(d)->memory_bytes > limit - bytes)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else
        device_use(d)->memory_bytes += bytes;
    gpu_unlock(&cuda_view, d->index);
    return result;
}

void account_give(const struct device *d, uint64_t bytes)
{
    struct gpusim_use *use = device_use(d);

    gpu_lock(&cuda_view, d->index);
    use->memory_bytes -= bytes < use->memory_bytes ? bytes : use->memory_bytes;
    gpu_unlock(&cuda_view, d->index);
}

void account_free(const struct device *d, uint64_t *ret_free)
{
    uint64_t used = device_used(d);

    *ret_free = used < d->memory_bytes ? d->memory_bytes - used : 0;
}

/* ---- the arena ---- */

/* The file's size: sparse, and more than a process can map. */
#define ARENA_SIZE (UINT64_C(1) << 46)

static int arena = -1;
static uint64_t arena_end = CHUNK_SIZE;

int arena_fd(void)
{
    if (arena >= 0)
        return arena;
    arena = (int)syscall(SYS_memfd_create, "gpusim", 1u /* MFD_CLOEXEC */);
    if (arena >= 0 && ftruncate(arena, (off_t)ARENA_SIZE) < 0) {
        (void)close(arena);
        arena = -1;
    }
    return arena;
}

uint64_t arena_take(uint64_t size)
{
    uint64_t at = arena_end;

    if (size > ARENA_SIZE - arena_end)
        return 0;
    arena_end += ALIGN(size, CHUNK_SIZE);
    return at;
}

void arena_discard(uint64_t at, uint64_t size)
{
    enum {
        KEEP_SIZE_PUNCH_HOLE = 3
    };

    (void)syscall(SYS_fallocate, arena, KEEP_SIZE_PUNCH_HOLE, (off_t)at, (off_t)size);
}

void *arena_map(uint64_t size, uint64_t *ret_at)
{
    uint64_t at = arena_fd() >= 0 ? arena_take(size) : 0;
    uintptr_t start;
    char *wide;
    void *mapped;

    if (at == 0)
        return NULL;
    /* The addresses are aligned as device memory is. */
    wide = mmap(NULL, size + CHUNK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
    if (wide == MAP_FAILED)
        return NULL;
    start = ALIGN((uintptr_t)wide, CHUNK_SIZE);
    mapped = mmap((void *)start, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED | MAP_NORESERVE, arena, (off_t)at);
    if (mapped == MAP_FAILED) {
        (void)munmap(wide, size + CHUNK_SIZE);
        return NULL;
    }
    if (start > (uintptr_t)wide)
        (void)munmap(wide, start - (uintptr_t)wide);
    (void)munmap((void *)(start + size), (uintptr_t)wide + CHUNK_SIZE - start);
    *ret_at = at;
    return mapped;
}

/* ---- the list of blocks ---- */

static void *blocks; /* a tree of struct memory by address; ranges have one of their own */
static void *ranges;
static uint64_t block_ids;

/* Blocks that overlap compare as equal: a look-up by an address finds the block that has it. */
static int block_compare(const void *a, const void *b)
{
    const struct memory *x = a;
    const struct memory *y = b;

    if (x->base + x->size <= y->base)
        return -1;
    return y->base + y->size <= x->base;
}

static void **tree_of(enum memory_kind kind)
{
    return kind == MEMORY_RANGE ? &ranges : &blocks;
}

static struct memory *tree_find(void *const *tree, uint64_t address)
{
    struct memory key = {.base = address, .size = 1};
    void *node = tfind(&key, tree, block_compare);

    return node ? *(struct memory **)node : NULL;
}

struct memory *block_find(uint64_t address)
{
    return tree_find(&blocks, address);
}

struct memory *memory_find(uint64_t address)
{
    struct memory *m = tree_find(&blocks, address);

    return m ? m : tree_find(&ranges, address);
}

struct memory *memory_note(const struct memory *entry)
{
    struct memory *m = malloc(sizeof(*m));
    struct memory **node;

    if (!m)
        return NULL;
    *m = *entry;
    m->id = ++block_ids;
    node = tsearch(m, tree_of(m->kind), block_compare);
    if (node && *node == m)
        return m;
    free(m);
    return NULL;
}

void memory_forget(struct memory *m)
{
    (void)tdelete(m, tree_of(m->kind), block_compare);
    free(m);
}

bool memory_is_usable(uint64_t address, uint64_t size)
{
    while (size > 0) {
        const struct memory *m = tree_find(&blocks, address);
        uint64_t part;

        if (!m || !m->is_accessible || address + size < address)
            return false;
        part = m->base + m->size - address;
        if (part >= size)
            return true;
        address += part;
        size -= part;
    }
    return true;
}

/* ---- chunks of small blocks ---- */

struct chunk {
    struct chunk *next;
    struct CUctx_st *context;
    char *base;
    uint64_t file_at;
    unsigned n_used; /* units */
    uint64_t used[CHUNK_UNITS / CHUNKS_PER_WORD];
};

static struct chunk *chunks;

static bool unit_is_used(const struct chunk *k, unsigned unit)
{
    return k->used[unit / CHUNKS_PER_WORD] >> unit % CHUNKS_PER_WORD & 1;
}

static void units_mark(struct chunk *k, unsigned first, unsigned n, bool is_used)
{
    for (unsigned i = first; i < first + n; i++) {
        uint64_t bit = UINT64_C(1) << i % CHUNKS_PER_WORD;

        if (is_used)
            k->used[i / CHUNKS_PER_WORD] |= bit;
        else
            k->used[i / CHUNKS_PER_WORD] &= ~bit;
    }
    k->n_used = is_used ? k->n_used + n : k->n_used - n;
}

/* The first of `n` free units; -1: there are none in a row. */
static int units_find(const struct chunk *k, unsigned n)
{
    unsigned run = 0;

    if (CHUNK_UNITS - k->n_used < n)
        return -1;
    for (unsigned i = 0; i < CHUNK_UNITS; i++) {
        run = unit_is_used(k, i) ? 0 : run + 1;
        if (run == n)
            return (int)(i + 1 - n);
    }
    return -1;
}

static CUresult chunk_new(struct CUctx_st *c, struct chunk **ret)
{
    struct chunk *k = calloc(1, sizeof(*k));

    if (!k)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (account_take(c->device, CHUNK_SIZE) != CUDA_SUCCESS) {
        free(k);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    k->base = arena_map(CHUNK_SIZE, &k->file_at);
    if (!k->base) {
        account_give(c->device, CHUNK_SIZE);
        free(k);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    k->context = c;
    k->next = chunks;
    chunks = k;
    *ret = k;
    return CUDA_SUCCESS;
}

static CUresult small_take(struct CUctx_st *c, uint64_t size, struct memory *out)
{
    unsigned n = (unsigned)(ALIGN(size, UNIT_SIZE) / UNIT_SIZE);
    struct chunk *k = chunks;
    int first = -1;

    for (; k; k = k->next) {
        if (k->context != c)
            continue;
        first = units_find(k, n);
        if (first >= 0)
            break;
    }
    if (!k) {
        CHECK(chunk_new(c, &k));
        first = 0;
    }
    units_mark(k, (unsigned)first, n, true);
    out->base = (uintptr_t)k->base + (uint64_t)first * UNIT_SIZE;
    out->file_at = k->file_at + (uint64_t)first * UNIT_SIZE;
    return CUDA_SUCCESS;
}

/* Gives the units of a small block back, and its chunk with the last of them. */
static void small_give(const struct memory *m)
{
    struct chunk **at = &chunks;
    struct chunk *k;

    while (*at &&
           (m->base < (uintptr_t)(*at)->base || m->base - (uintptr_t)(*at)->base >= CHUNK_SIZE))
        at = &(*at)->next;
    k = *at;
    if (!k)
        return;
    units_mark(k, (unsigned)((m->base - (uintptr_t)k->base) / UNIT_SIZE),
               (unsigned)(ALIGN(m->size, UNIT_SIZE) / UNIT_SIZE), false);
    if (k->n_used > 0)
        return;
    *at = k->next;
    (void)munmap(k->base, CHUNK_SIZE);
    arena_discard(k->file_at, CHUNK_SIZE);
    account_give(k->context->device, CHUNK_SIZE);
    free(k);
}

/* ---- device memory ---- */

static CUresult large_take(struct CUctx_st *c, uint64_t size, struct memory *out)
{
    uint64_t bytes = ALIGN(size, CHUNK_SIZE);
    void *mapped;

    if (bytes < size)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* Managed memory that the gpu has no room for stays on the host. */
    if (account_take(c->device, bytes) == CUDA_SUCCESS)
        out->accounted = bytes;
    else if (out->kind != MEMORY_MANAGED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mapped = arena_map(bytes, &out->file_at);
    if (!mapped) {
        account_give(c->device, out->accounted);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    out->base = (uintptr_t)mapped;
    out->map_size = bytes;
    return CUDA_SUCCESS;
}

/* Frees what is behind a m-> */
static void block_release(const struct memory *m)
{
    if (m->kind == MEMORY_HOST) {
        free((void *)(uintptr_t)m->base);
        return;
    }
    if (m->kind == MEMORY_REGISTERED)
        return;
    if (m->map_size == 0) {
        small_give(m);
        return;
    }
    (void)munmap((void *)(uintptr_t)m->base, m->map_size);
    if (m->kind == MEMORY_IMPORTED)
        return;
    arena_discard(m->file_at, m->map_size);
    account_give(m->device, m->accounted);
}

CUresult memory_new(struct CUctx_st *c, enum memory_kind kind, uint64_t size, struct memory **ret)
{
    struct memory m = {
        .size = size, .kind = kind, .context = c, .device = c->device, .is_accessible = true};

    if (size < CHUNK_SIZE / 2)
        CHECK(small_take(c, size, &m));
    else
        CHECK(large_take(c, size, &m));
    *ret = memory_note(&m);
    if (*ret)
        return CUDA_SUCCESS;
    block_release(&m);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void memory_free(struct memory *m)
{
    struct memory block = *m;

    memory_forget(m);
    block_release(&block);
}

/* A list of the blocks of one context, which twalk() fills. */
static struct {
    struct CUctx_st *context;
    struct memory **blocks;
    size_t n;
    size_t room;
} owned;

static void owned_collect(const void *node, VISIT visit, int depth)
{
    struct memory *m = *(struct memory *const *)node;

    (void)depth;
    if ((visit != postorder && visit != leaf) || m->context != owned.context)
        return;
    if (m->kind == MEMORY_ARRAY)
        return;
    if (owned.n == owned.room) {
        size_t room = owned.room ? owned.room * 2 : 64;
        struct memory **more = realloc(owned.blocks, room * sizeof(struct memory *));

        if (!more)
            return;
        owned.blocks = more;
        owned.room = room;
    }
    owned.blocks[owned.n++] = m;
}

void memory_free_of(struct CUctx_st *c)
{
    owned.context = c;
    owned.n = 0;
    twalk(blocks, owned_collect);
    for (size_t i = 0; i < owned.n; i++)
        owned.blocks[i]->kind == MEMORY_POOL ? pool_give(owned.blocks[i])
                                             : memory_free(owned.blocks[i]);
    free(owned.blocks);
    owned.blocks = NULL;
    owned.room = 0;
}

API(cuMemGetInfo_v2, cuMemGetInfo, 3020, size_t *ret_free, size_t *ret_total)
{
    uint64_t free_bytes = 0;

    ENTER_CONTEXT(c);
    REQUIRE(ret_free && ret_total);
    account_free(c->device, &free_bytes);
    *ret_free = free_bytes;
    *ret_total = c->device->memory_bytes;
    return CUDA_SUCCESS;
}

API(cuMemAlloc_v2, cuMemAlloc, 3020, CUdeviceptr *ret, size_t size)
{
    struct memory *m = NULL;

    ENTER_CONTEXT(c);
    REQUIRE(ret && size > 0);
    CHECK(memory_new(c, MEMORY_DEVICE, size, &m));
    *ret = m->base;
    return CUDA_SUCCESS;
}

API(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, CUdeviceptr *ret, size_t *ret_pitch, size_t width,
    size_t height, unsigned element_size)
{
    struct memory *m = NULL;
    size_t pitch = ALIGN(width, UNIT_SIZE);
    size_t size = 0;

    ENTER_CONTEXT(c);
    REQUIRE(ret && ret_pitch && width > 0 && height > 0);
    REQUIRE(element_size == 4 || element_size == 8 || element_size == 16);
    if (pitch < width || __builtin_mul_overflow(pitch, height, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(memory_new(c, MEMORY_DEVICE, size, &m));
    *ret = m->base;
    *ret_pitch = pitch;
    return CUDA_SUCCESS;
}

API(cuMemAllocManaged, cuMemAllocManaged, 6000, CUdeviceptr *ret, size_t size, unsigned flags)
{
    struct memory *m = NULL;

    ENTER_CONTEXT(c);
    REQUIRE(ret && size > 0 && (flags == 1 || flags == 2));
    CHECK(memory_new(c, MEMORY_MANAGED, size, &m));
    m->flags = flags;
    *ret = m->base;
    return CUDA_SUCCESS;
}

/* As in the driver, waits for the work of the context. */
API(cuMemFree_v2, cuMemFree, 3020, CUdeviceptr address)
{
    struct memory *m;

    ENTER_CONTEXT(c);
    if (address == 0)
        return CUDA_SUCCESS;
    m = tree_find(&blocks, address);
    REQUIRE(m && m->base == address);
    REQUIRE(m->kind == MEMORY_DEVICE || m->kind == MEMORY_MANAGED || m->kind == MEMORY_POOL);
    CHECK(context_wait(c));
    m = tree_find(&blocks, address);
    REQUIRE(m);
    if (m->kind == MEMORY_POOL)
        pool_give(m);
    else
        memory_free(m);
    return CUDA_SUCCESS;
}

API(cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020, CUdeviceptr *ret_base, size_t *ret_size,
    CUdeviceptr address)
{
    const struct memory *m;

    ENTER_CONTEXT(c);
    (void)c;
    m = memory_find(address);
    if (!m)
        return CUDA_ERROR_NOT_FOUND;
    if (ret_base)
        *ret_base = m->base;
    if (ret_size)
        *ret_size = m->size;
    return CUDA_SUCCESS;
}
