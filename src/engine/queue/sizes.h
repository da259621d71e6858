/*
 * sizes.h - the order by size: small workloads first, the largest last
 *
 * A size is gpu time, in gpu seconds. The bounds of small and largest are learned from all sizes so
 * far, counted in steps of an eighth of an octave. A question costs nothing, a new size a walk over
 * the steps.
 *
 *   small ones      come first, the smallest first: together they are a sixteenth of the work, so
 *                   the others lose no more than that, and most do not wait
 *   the others      in order of submission, larger ones as if a 32nd of their size later: by age,
 *                   since what is passed over forever is what waits longest
 *   the largest     one in a hundred, as if 30 days later: they would hold up all others, and after
 *                   that time nothing that is submitted passes them any more
 */
#pragma once

#include <stdint.h>

enum {
    SIZES_STEPS = 64 * 8
};

/* Larger sizes count as this, so that sums stay in bounds. */
#define SIZE_MAX_S (INT64_C(1) << 40)

/* {0} to begin with: no size is small, and none is among the largest. */
struct sizes {
    uint64_t count[SIZES_STEPS];
    uint64_t work[SIZES_STEPS];
    uint64_t n;
    uint64_t total;
    /* Sizes below are small: together at most a sixteenth of all work. */
    int64_t small_below;
    /* Sizes from here on are the largest: at most one job in a hundred. */
    int64_t largest_from;
};

void sizes_add(struct sizes *s, int64_t size);

/* The place in the order: a smaller number goes first. */
int64_t sizes_due(const struct sizes *s, int64_t size, int64_t submit_s);

/* The expected run time of a workload that ran for `ran`: `estimate`, or, while that is outlived, a
 * quarter and at least a minute more. All times are in one unit, in which `minute` is a minute. */
int64_t sizes_estimate(int64_t estimate, int64_t ran, int64_t minute);
