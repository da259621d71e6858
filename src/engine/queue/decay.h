/*
 * decay.h - what was used lately: an average over the past that weighs less the longer ago, by half
 * each half-life; and 2^-x; all in integers, so that every compiler finds the same
 *
 * Amounts are parts of the cluster: DECAY_ONE is all of it.
 */
#pragma once

#include <stdint.h>

#define DECAY_ONE (UINT64_C(1) << 40)

/* What decay_exp2 says for 2^0. */
#define EXP2_ONE (UINT64_C(1) << 63)

struct decay {
    uint64_t lately;        /* as of the last fold */
    uint64_t then;          /* what is held since the last note */
    unsigned __int128 area; /* of the notes since the last fold: part x ns */
};

/* `then` was held for `passed_ns`; `now` is from here on. */
void decay_note(struct decay *u, uint64_t now, int64_t passed_ns);

/* Ends the stretch of `passed_ns` (over 0) that the notes since the last fold are about. */
void decay_fold(struct decay *u, int64_t passed_ns, int64_t half_life_ns);

/* 2^-(part / whole), to 2^-32 or better; 0 for less than 2^-62. `whole` is not 0. */
uint64_t decay_exp2(uint64_t part, uint64_t whole);

/* part x factor / whole, rounded down, at most UINT64_MAX; `whole` is not 0. */
uint64_t decay_scale(uint64_t part, uint64_t factor, uint64_t whole);
