#include "sim/sizes.h"

/* What made small 3 % to 30 % of the work, and the largest 0.5 % to 2 % of the jobs, was tried:
 * docs/simulator.md. */
static const double small_share = 0.1;
static const uint64_t largest_one_in = 100;

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
    double work = 0;
    unsigned step = 0;

    for (; step < SIZES_STEPS - 1; step++) {
        work += s->work[step];
        if (work > small_share * s->total)
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
        if (count * largest_one_in > s->n)
            break;
        step--;
    }
    return step < SIZES_STEPS ? size_of(step) : INT64_MAX;
}

void sizes_add(struct sizes *s, int64_t size)
{
    const unsigned step = step_of(size);

    s->count[step]++;
    s->n++;
    s->work[step] += (double)size;
    s->total += (double)size;
    s->small_below = find_small(s);
    s->largest_from = find_largest(s);
}
