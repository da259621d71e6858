/* ladder.h - counts how many of some ascending numbers are at most x, without a search */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    LADDER_BITS = 4, /* bits that choose the part of an octave */
    LADDER_PARTS = (64 - LADDER_BITS) << LADDER_BITS,
    LADDER_STEPS_MAX = 255
};

/*
 * For each part of an octave, the count of numbers below it: few are left to compare from there. A
 * value. The numbers are borrowed and must not change.
 */
struct ladder {
    const int64_t *steps;
    size_t n;
    uint8_t below[LADDER_PARTS];
};

/* Takes `n` ascending numbers from 0 on, at most LADDER_STEPS_MAX. */
void ladder_init(struct ladder *l, const int64_t *steps, size_t n);

static inline unsigned ladder_part(uint64_t x)
{
    unsigned octave;

    if (x < (1U << LADDER_BITS))
        return (unsigned)x;
    octave = 63 - (unsigned)__builtin_clzll(x);
    return ((octave - LADDER_BITS) << LADDER_BITS) + (unsigned)(x >> (octave - LADDER_BITS));
}

/* The count of numbers that are at most `x`. */
static inline size_t ladder_count(const struct ladder *l, int64_t x)
{
    size_t i = x < 0 ? 0 : l->below[ladder_part((uint64_t)x)];

    while (i < l->n && l->steps[i] <= x)
        i++;
    return i;
}
