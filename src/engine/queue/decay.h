/*
 * decay.h - decayed usage: an average over the past whose weights halve each half-life; and 2^-x.
 * Integers only, so that every compiler computes the same
 *
 * Amounts are parts of the cluster: DECAY_ONE is the whole cluster.
 */
#pragma once

#include <stdint.h>

#define DECAY_ONE (UINT64_C(1) << 40)

/* decay_exp2's 1.0. */
#define EXP2_ONE (UINT64_C(1) << 63)

struct decay {
    uint64_t lately;        /* the average as of the last fold */
    uint64_t then;          /* amount held since the last note */
    unsigned __int128 area; /* sum of amount x ns since the last fold */
};

/* The amount held was `then` for `passed_ns`, and is `now` from here on. */
void decay_note(struct decay *u, uint64_t now, int64_t passed_ns);

/* Folds the notes of the last `passed_ns` (over 0) into the average. */
void decay_fold(struct decay *u, int64_t passed_ns, int64_t half_life_ns);

/* 2^-(part / whole), to 2^-32 or better; 0 for less than 2^-62. `whole` is not 0. */
uint64_t decay_exp2(uint64_t part, uint64_t whole);

/* part x factor / whole, rounded down, at most UINT64_MAX; `whole` is not 0. */
uint64_t decay_scale(uint64_t part, uint64_t factor, uint64_t whole);
