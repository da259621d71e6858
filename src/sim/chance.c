/* chance.c - splitmix64 and distributions over it */

#include "sim/chance.h"

#include <math.h>

#include "base/num.h"

struct chance chance_of(uint64_t seed)
{
    return (struct chance){.state = seed};
}

uint64_t chance_next(struct chance *c)
{
    return num_scatter(c->state += NUM_SCATTER_STEP);
}

uint64_t chance_below(struct chance *c, uint64_t n)
{
    const uint64_t least = -n % n; /* smaller values would favour small results */

    for (;;) {
        uint64_t r = chance_next(c);

        if (r >= least)
            return r % n;
    }
}

double chance_unit(struct chance *c)
{
    return ((double)(chance_next(c) >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

double chance_normal(struct chance *c)
{
    const double radius = sqrt(-2 * log(chance_unit(c)));

    return radius * cos(2 * M_PI * chance_unit(c));
}
