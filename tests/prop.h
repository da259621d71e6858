/*
 * prop.h - property tests: a random generator, and the seeds to run
 *
 * PROP_CASES=N runs the seeds 1 to N instead of the test's own number, PROP_SEED=S only S (to
 * replay), both together N seeds from S on. PROP_SHARE=P runs P percent of the test's own number,
 * and makes large worlds of P percent of their objects: a slow build finds its kind of error in the
 * first seeds. A failing test prints its seed.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/num.h"

/* splitmix64 (Steele, Lea, Flood, 2014). {seed} to begin; the same numbers everywhere. */
struct prop {
    uint64_t state;
};

static inline uint64_t prop_next(struct prop *p)
{
    uint64_t x = p->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* In [0, n); n is not 0. */
static inline size_t prop_below(struct prop *p, size_t n)
{
    assert(n > 0);
    return (size_t)(prop_next(p) % n);
}

/* True in `pct` of a hundred calls. */
static inline bool prop_chance(struct prop *p, unsigned pct)
{
    return prop_below(p, 100) < pct;
}

struct prop_seeds {
    uint64_t first;
    uint64_t end;
};

static inline uint64_t prop_number(const char *name, uint64_t fallback)
{
    const char *value = getenv(name);
    uint64_t number = fallback;

    if (value) {
        AUTO(err_freep) struct err *e = num_parse_uint64(str_of(value), UINT64_MAX, &number);

        if (e)
            abort(); /* a typing error in the environment of a test */
    }
    return number;
}

/* PROP_SHARE percent of n, rounded up. */
static inline uint64_t prop_share(uint64_t n)
{
    return (n * prop_number("PROP_SHARE", 100) + 99) / 100;
}

/* Seeds [first, end): 1 .. cases, or PROP_SHARE percent of them, unless the environment names
 * others. */
static inline struct prop_seeds prop_seeds(uint64_t cases)
{
    uint64_t seed = prop_number("PROP_SEED", 0);

    if (seed > 0)
        return (struct prop_seeds){.first = seed, .end = seed + prop_number("PROP_CASES", 1)};
    return (struct prop_seeds){.first = 1, .end = prop_number("PROP_CASES", prop_share(cases)) + 1};
}

/* Asserts the condition, and prints the model's member `seed` if it fails; needs test.h. */
#define CHECK(model, condition)                                                               \
    do {                                                                                      \
        if (!(condition))                                                                     \
            fail_msg("seed %llu: not so: %s", (unsigned long long)(model)->seed, #condition); \
    } while (0)
