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
    WINNERS_STEPS_MAX = 16,
    WINNERS_NUMBERS = 16 /* on a line */
};

struct winners {
    size_t n;
    unsigned steps;                  /* up to the only key */
    uint32_t *at;                    /* the numbers, in `block`, on a line */
    uint64_t *keys;                  /* behind them: of the largest of a line below */
    size_t first[WINNERS_STEPS_MAX]; /* of each step's keys */
    unsigned char block[];
};

/* `n` zeros, at most 2^32. The caller frees it. */
struct winners *winners_new(size_t n);
void winners_free(struct winners *w);

/* As new. */
void winners_clear(struct winners *w);

size_t winners_bytes(size_t n);

/* In the order of what is better: the number, then an earlier place; 0 for a 0. */
static inline uint64_t winners_key(uint32_t number, size_t i)
{
    uint32_t place = UINT32_MAX - (uint32_t)i;

    return (uint64_t)number << 32 | (number > 0 ? place : 0);
}

/* A number of that line, the best or better than it, was `old` and is `key` now. */
void winners_change(struct winners *w, size_t line, uint64_t old, uint64_t key);

/* Whether it is something else than before is not asked: that is hard to foresee for the processor,
 * whether it is the best of its line is not. */
static inline void winners_set(struct winners *w, size_t i, uint32_t number)
{
    uint64_t best = w->keys[i / WINNERS_NUMBERS];
    uint64_t old = winners_key(w->at[i], i);
    uint64_t key = winners_key(number, i);

    w->at[i] = number;
    if (key > best || old == best)
        winners_change(w, i / WINNERS_NUMBERS, old, key);
}

static inline uint32_t winners_get(const struct winners *w, size_t i)
{
    return w->at[i];
}

/* Tells the processor that a number is about to be set. */
static ALWAYS_INLINE void winners_fetch(const struct winners *w, size_t i)
{
    __builtin_prefetch(&w->at[i], 1);
    __builtin_prefetch(&w->keys[i / WINNERS_NUMBERS], 1);
}

/* The largest, and in `ret` the first place where it is; 0 where that is 0. */
static inline uint32_t winners_best(const struct winners *w, size_t *ret)
{
    uint64_t key = w->keys[w->first[w->steps]];

    *ret = key == 0 ? 0 : UINT32_MAX - (uint32_t)key;
    return (uint32_t)(key >> 32);
}
