/* chance.h - random numbers that are the same for the same seed, everywhere (splitmix64) */
#pragma once

#include <stdint.h>

/* A value. */
struct chance {
    uint64_t state;
};

struct chance chance_of(uint64_t seed);
uint64_t chance_next(struct chance *c);

/* In [0, n), n > 0, each as likely. */
uint64_t chance_below(struct chance *c, uint64_t n);

/* In (0, 1). */
double chance_unit(struct chance *c);

/* The standard normal distribution (Box and Muller). */
double chance_normal(struct chance *c);
