/*
 * learn_polish.h - looks for better tables near a learned one, by trial; private to learn.c
 *
 * The mean of what stays idle beside a state does not say what one more such state takes from the
 * others that wait for the same pods. So shifts drawn by chance are played against the table as it
 * is, with the same arrivals, and those that do better stay.
 */
#pragma once

#include "sim/learn.h"

struct polish_way {
    int32_t *idle; /* the table */
    size_t size;
    int32_t *price_milli;
    size_t n_prices; /* 0: they stay */
};

/* Gpu in use, in milli, when 100 % was asked for, and at the end. */
struct polish_used {
    int64_t at_100;
    int64_t at_end;
};

/* Fills the cluster this way, with the arrivals of this seed. */
typedef struct polish_used polish_play(void *who, const struct polish_way *way, uint64_t seed);

/* Leaves in `way` the best that was found with so many plays. */
void polish(struct polish_way *way, uint64_t seed, int plays, polish_play *play, void *who);
