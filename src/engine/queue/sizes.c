/* sizes.c - the steps of sizes, and the bounds learned from them */

#include "engine/queue/sizes.h"

/* docs/simulator.md describes the alternatives that were tried. */
enum {
    SMALL_ONE_IN = 16,    /* small jobs make up 1/16 of the work */
    LARGEST_ONE_IN = 100, /* 1/100 of the jobs are largest */
    SIZE_DELAY = 32,      /* gpu seconds for each second of delay */
    LARGEST_DELAY = 30    /* days */
};

#define DAY_S     INT64_C(86400)
#define SMALL_DUE (-(INT64_C(1) << 60)) /* due of size 0: before all others */

/* Sizes up to 15 have a step each, larger ones eight steps an octave. */
static unsigned step_of(int64_t size)
{
    unsigned octave;

    if (size < 16)
        return size < 0 ? 0 : (unsigned)size;
    octave = 63 - (unsigned)__builtin_clzll((unsigned long long)size);
    return (octave - 2) * 8 + (unsigned)(size >> (octave - 3) & 7);
}

/* The smallest size of a step. */
static int64_t size_of(unsigned step)
{
    if (step < 16)
        return step;
    if (step / 8 + 2 >= 62)
        return INT64_MAX;
    return (INT64_C(8) + step % 8) << (step / 8 - 1);
}

static int64_t find_small(const struct sizes *s)
{
    uint64_t work = 0;
    unsigned step = 0;

    for (; step < SIZES_STEPS - 1; step++) {
        work += s->work[step];
        if (work > s->total / SMALL_ONE_IN)
            break;
    }
    return size_of(step);
}

static int64_t find_largest(const struct sizes *s)
{
    uint64_t count = 0;
    unsigned step = SIZES_STEPS;

    while (step > 0) {
        count += s->count[step - 1];
        if (count * LARGEST_ONE_IN > s->n)
            break;
        step--;
    }
    return step < SIZES_STEPS ? size_of(step) : INT64_MAX;
}

void sizes_add(struct sizes *s, int64_t size)
{
    const uint64_t counted = size < 0 ? 0 : (uint64_t)(size < SIZE_MAX_S ? size : SIZE_MAX_S);
    const unsigned step = step_of(size);

    if (s->total > UINT64_MAX - counted)
        return; /* the sum is full: the bounds stay */
    s->count[step]++;
    s->n++;
    s->work[step] += counted;
    s->total += counted;
    s->small_below = find_small(s);
    s->largest_from = find_largest(s);
}

int64_t sizes_due(const struct sizes *s, int64_t size, int64_t submit_s)
{
    const int64_t due = submit_s + size / SIZE_DELAY;

    if (size < s->small_below)
        return SMALL_DUE + size;
    return size < s->largest_from ? due : due + LARGEST_DELAY * DAY_S;
}

int64_t sizes_estimate(int64_t estimate, int64_t ran, int64_t minute)
{
    while (estimate <= ran && estimate < INT64_MAX / 2)
        estimate += estimate / 4 > minute ? estimate / 4 : minute;
    return estimate;
}
