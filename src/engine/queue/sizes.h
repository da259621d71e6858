/*
 * sizes.h - the order by size: what is small first, what is among the largest last
 *
 * A size is gpu time, in gpu seconds. What is small and what is among the largest is learned from
 * all sizes so far, which are counted in steps of an eighth of an octave; a question costs nothing,
 * a new size a walk over the steps.
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

/* More than that is counted as that, so that sums stay in bounds. */
#define SIZE_MAX_S (INT64_C(1) << 40)

/* {0} to begin with: nothing is small then, and nothing among the largest. */
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

/* The place in the order: smaller first. */
int64_t sizes_due(const struct sizes *s, int64_t size, int64_t submit_s);

/* What to expect of one that has run for `ran`: `estimate`, or if that was outlived, a quarter more
 * and at least a minute, however often that takes. In any unit, in which `minute` is one. */
int64_t sizes_estimate(int64_t estimate, int64_t ran, int64_t minute);
