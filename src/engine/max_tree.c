/* max_tree.c - the tree of max_tree.h: its layout, and changes up to the root */

#include "engine/max_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* On one cache line. */
enum {
    NUMBERS = MAX_TREE_NUMBERS,
    KEYS = 8,
    LINE_BYTES = 64
};

static size_t lines_of(size_t n, size_t each)
{
    return n > 0 ? (n + each - 1) / each : 1;
}

static size_t numbers_bytes(size_t n)
{
    return lines_of(n, NUMBERS) * LINE_BYTES;
}

static size_t keys_bytes(size_t n)
{
    size_t lines = 1;

    for (n = lines_of(n, NUMBERS); n > 1; n = lines_of(n, KEYS))
        lines += lines_of(n, KEYS);
    return lines * LINE_BYTES;
}

size_t max_tree_bytes(size_t n)
{
    return sizeof(struct max_tree) + numbers_bytes(n) + keys_bytes(n) + LINE_BYTES;
}

struct max_tree *max_tree_new(size_t n)
{
    struct max_tree *w = mem_alloc(max_tree_bytes(n));
    uintptr_t misfit = (uintptr_t)w->block % LINE_BYTES;
    unsigned char *at = w->block + (LINE_BYTES - misfit) % LINE_BYTES;

    w->n = n;
    w->at = (uint32_t *)(void *)at;
    w->keys = (uint64_t *)(void *)(at + numbers_bytes(n));
    for (size_t left = lines_of(n, NUMBERS); left > 1; left = lines_of(left, KEYS)) {
        assert(w->steps + 1 < MAX_TREE_STEPS_MAX);
        w->first[w->steps + 1] = w->first[w->steps] + lines_of(left, KEYS) * KEYS;
        w->steps++;
    }
    return w;
}

void max_tree_free(struct max_tree *w)
{
    free(w);
}

void max_tree_clear(struct max_tree *w)
{
    memset(w->at, 0, numbers_bytes(w->n) + keys_bytes(w->n));
}

/* The place of the larger number; of equal ones `a`, which is before `b`. */
static size_t better(const uint32_t *at, size_t a, size_t b)
{
    return at[b] > at[a] ? b : a;
}

static size_t best_of_four(const uint32_t *at, size_t i)
{
    return better(at, better(at, i, i + 1), better(at, i + 2, i + 3));
}

static uint64_t best_number(const struct max_tree *w, size_t line)
{
    const uint32_t *at = &w->at[line * NUMBERS];
    size_t early = better(at, best_of_four(at, 0), best_of_four(at, 4));
    size_t late = better(at, best_of_four(at, 8), best_of_four(at, 12));
    size_t best = better(at, early, late);

    return max_tree_key(at[best], line * NUMBERS + best);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t best_key(const uint64_t *at)
{
    return larger(larger(larger(at[0], at[1]), larger(at[2], at[3])),
                  larger(larger(at[4], at[5]), larger(at[6], at[7])));
}

void max_tree_change(struct max_tree *w, size_t line, uint64_t old, uint64_t key)
{
    for (unsigned step = 0;; step++, line /= KEYS) {
        uint64_t *here = &w->keys[w->first[step] + line];
        uint64_t was = *here;

        if (key < was && old != was)
            return; /* another number is the line's largest, before and after */
        if (key < was)
            key = step == 0 ? best_number(w, line)
                            : best_key(&w->keys[w->first[step - 1] + line * KEYS]);
        *here = key;
        if (step == w->steps || key == was)
            return;
        old = was;
    }
}
