/* ladder.c - the table of a ladder */

#include "engine/ladder.h"

#include <assert.h>

void ladder_init(struct ladder *l, const int64_t *steps, size_t n)
{
    size_t at = 0;

    assert(n <= LADDER_STEPS_MAX);
    l->steps = steps;
    l->n = n;
    for (unsigned part = 0; part < LADDER_PARTS; part++) {
        while (at < n && ladder_part((uint64_t)steps[at]) < part)
            at++;
        l->below[part] = (uint8_t)at;
    }
}
