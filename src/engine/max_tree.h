/*
 * max_tree.h - the largest of many numbers that change one by one; the first of equal ones
 *
 * A tree whose inner keys are the largest number of one cache line below, with its place. A change
 * reads one line for each level whose largest number changes, which mostly is none. The largest of
 * all is at the root.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

enum {
    MAX_TREE_STEPS_MAX = 16,
    MAX_TREE_NUMBERS = 16 /* on one cache line */
};

struct max_tree {
    size_t n;
    unsigned steps;                   /* levels up to the root */
    uint32_t *at;                     /* the numbers, in `block`, aligned to a cache line */
    uint64_t *keys;                   /* behind the numbers: key of the largest of a line below */
    size_t first[MAX_TREE_STEPS_MAX]; /* of each level's keys */
    unsigned char block[];
};

/* `n` zeros, at most 2^32. The caller frees it. */
struct max_tree *max_tree_new(size_t n);
void max_tree_free(struct max_tree *w);

/* Sets all numbers to 0. */
void max_tree_clear(struct max_tree *w);

size_t max_tree_bytes(size_t n);

/* A key that orders by the number, then by the earlier place; 0 for a 0. */
static inline uint64_t max_tree_key(uint32_t number, size_t i)
{
    uint32_t place = UINT32_MAX - (uint32_t)i;

    return (uint64_t)number << 32 | (number > 0 ? place : 0);
}

/* The largest number of the line changed, or a number became the largest: from `old` to `key`. */
void max_tree_change(struct max_tree *w, size_t line, uint64_t old, uint64_t key);

/* Sets number `i`. The function does not test for an unchanged number: the processor predicts that
 * branch badly, and predicts "is it the largest of its line" well. */
static inline void max_tree_set(struct max_tree *w, size_t i, uint32_t number)
{
    uint64_t best = w->keys[i / MAX_TREE_NUMBERS];
    uint64_t old = max_tree_key(w->at[i], i);
    uint64_t key = max_tree_key(number, i);

    w->at[i] = number;
    if (key > best || old == best)
        max_tree_change(w, i / MAX_TREE_NUMBERS, old, key);
}

static inline uint32_t max_tree_get(const struct max_tree *w, size_t i)
{
    return w->at[i];
}

/* Prefetches the lines that max_tree_set of number `i` writes. */
static ALWAYS_INLINE void max_tree_fetch(const struct max_tree *w, size_t i)
{
    __builtin_prefetch(&w->at[i], 1);
    __builtin_prefetch(&w->keys[i / MAX_TREE_NUMBERS], 1);
}

/* The largest number, and in `ret` its first place; 0 when all are 0. */
static inline uint32_t max_tree_best(const struct max_tree *w, size_t *ret)
{
    uint64_t key = w->keys[w->first[w->steps]];

    *ret = key == 0 ? 0 : UINT32_MAX - (uint32_t)key;
    return (uint32_t)(key >> 32);
}
