/* chance.h - random numbers, equal for equal seeds on all machines (splitmix64) */
#pragma once

#include <stdint.h>

/* A value. */
struct chance {
    uint64_t state;
};

struct chance chance_of(uint64_t seed);
uint64_t chance_next(struct chance *c);

/* Uniform in [0, n), n > 0. */
uint64_t chance_below(struct chance *c, uint64_t n);

/* Uniform in (0, 1). */
double chance_unit(struct chance *c);

/* The standard normal distribution (Box and Muller). */
double chance_normal(struct chance *c);
