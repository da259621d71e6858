/*
 * arena.c - arenas as chains of blocks
 *
 * The first block of the chain has the free room. A reset keeps the memory, joining several blocks
 * into one, so that a repeated cycle soon allocates nothing. Under ASan free memory is poisoned, so
 * that a use after the reset is reported.
 */

#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HAS_ASAN)
#include <sanitizer/asan_interface.h>
#define POISON(at, size)   __asan_poison_memory_region(at, size)
#define UNPOISON(at, size) __asan_unpoison_memory_region(at, size)
enum {
    GAP_BYTES = 16
}; /* gap between allocations, so that an overrun is reported */
#else
#define POISON(at, size)   ((void)0)
#define UNPOISON(at, size) ((void)0)
enum {
    GAP_BYTES = 0
};
#endif

enum {
    FIRST_BLOCK_BYTES = 4096,
    ALIGN_BYTES = 16
};

struct block {
    struct block *next;
    size_t size; /* of `bytes` */
    size_t used;
    _Alignas(ALIGN_BYTES) unsigned char bytes[];
};

struct arena {
    struct block *first;
};

static struct block *block_new(size_t size, struct block *next)
{
    struct block *b = mem_alloc(sizeof(*b) + size);

    b->next = next;
    b->size = size;
    POISON(b->bytes, size);
    return b;
}

/* Frees the chain that starts at `b`; returns how many bytes it held. */
static size_t block_free_all(struct block *b)
{
    size_t total = 0;

    while (b) {
        struct block *next = b->next;

        total += b->size;
        UNPOISON(b->bytes, b->size);
        free(b);
        b = next;
    }
    return total;
}

struct arena *arena_new(void)
{
    return mem_alloc(sizeof(struct arena));
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    (void)block_free_all(a->first);
    free(a);
}

void arena_reset(struct arena *a)
{
    if (!a->first)
        return;
    if (a->first->next)
        a->first = block_new(block_free_all(a->first), NULL);
    POISON(a->first->bytes, a->first->size);
    a->first->used = 0;
}

void *arena_alloc(struct arena *a, size_t size_bytes)
{
    size_t need = 0;
    void *at;

    assert(size_bytes < SIZE_MAX / 4);
    need = (size_bytes + GAP_BYTES + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    if (!a->first || need > a->first->size - a->first->used) {
        size_t size = a->first ? a->first->size * 2 : FIRST_BLOCK_BYTES;

        a->first = block_new(need > size ? need : size, a->first);
    }
    at = a->first->bytes + a->first->used;
    a->first->used += need;
    UNPOISON(at, size_bytes);
    memset(at, 0, size_bytes);
    return at;
}

char *arena_strndup(struct arena *a, const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char *copy = arena_alloc(a, length + 1);

    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

char *arena_format(struct arena *a, const char *fmt, ...)
{
    va_list again;
    va_list ap;
    char *text;
    int size;

    va_start(ap, fmt);
    va_copy(again, ap);
    size = vsnprintf(NULL, 0, fmt, ap);
    assert(size >= 0);
    text = arena_alloc(a, (size_t)size + 1);
    (void)vsnprintf(text, (size_t)size + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return text;
}
