/*
 * sizes.h - how large the jobs of a queue are: which are small and which are the largest
 *
 * Counts sizes (gpu seconds) in steps of an eighth of an octave; a question costs nothing, a new
 * size a walk over the steps.
 */
#pragma once

#include <stdint.h>

enum {
    SIZES_STEPS = 64 * 8
};

/* {0} to begin with: nothing is small then, and nothing among the largest. */
struct sizes {
    uint64_t count[SIZES_STEPS];
    double work[SIZES_STEPS];
    uint64_t n;
    double total;
    /* Sizes below are small: together at most a tenth of all work. */
    int64_t small_below;
    /* Sizes from here on are the largest: at most one job in a hundred. */
    int64_t largest_from;
};

void sizes_add(struct sizes *s, int64_t size);
