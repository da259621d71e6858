/*
 * max_tree.h - the largest of many numbers, which change one by one; of equal ones the first
 *
 * A tree in which the largest of a line of the processor's cache goes up, with its place: a change
 * looks at one line for each step up that it is felt, which mostly is none, and the largest of all
 * is at hand.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

enum {
    MAX_TREE_STEPS_MAX = 16,
    MAX_TREE_NUMBERS = 16 /* on a line */
};

struct max_tree {
    size_t n;
    unsigned steps;                   /* up to the only key */
    uint32_t *at;                     /* the numbers, in `block`, on a line */
    uint64_t *keys;                   /* behind them: of the largest of a line below */
    size_t first[MAX_TREE_STEPS_MAX]; /* of each step's keys */
    unsigned char block[];
};

/* `n` zeros, at most 2^32. The caller frees it. */
struct max_tree *max_tree_new(size_t n);
void max_tree_free(struct max_tree *w);

/* As new. */
void max_tree_clear(struct max_tree *w);

size_t max_tree_bytes(size_t n);

/* In the order of what is better: the number, then an earlier place; 0 for a 0. */
static inline uint64_t max_tree_key(uint32_t number, size_t i)
{
    uint32_t place = UINT32_MAX - (uint32_t)i;

    return (uint64_t)number << 32 | (number > 0 ? place : 0);
}

/* A number of that line, the best or better than it, was `old` and is `key` now. */
void max_tree_change(struct max_tree *w, size_t line, uint64_t old, uint64_t key);

/* Whether it is something else than before is not asked: that is hard to foresee for the processor,
 * whether it is the best of its line is not. */
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

/* Tells the processor that a number is about to be set. */
static ALWAYS_INLINE void max_tree_fetch(const struct max_tree *w, size_t i)
{
    __builtin_prefetch(&w->at[i], 1);
    __builtin_prefetch(&w->keys[i / MAX_TREE_NUMBERS], 1);
}

/* The largest, and in `ret` the first place where it is; 0 where that is 0. */
static inline uint32_t max_tree_best(const struct max_tree *w, size_t *ret)
{
    uint64_t key = w->keys[w->first[w->steps]];

    *ret = key == 0 ? 0 : UINT32_MAX - (uint32_t)key;
    return (uint32_t)(key >> 32);
}
