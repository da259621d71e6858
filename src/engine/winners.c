#include "engine/winners.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    FAN = 16,
    LINE_BYTES = 64 /* FAN numbers */
};

static size_t blocks_of(size_t n)
{
    return n > 0 ? (n + FAN - 1) / FAN : 1;
}

/* How many numbers there are in all. */
static size_t size_of(size_t n)
{
    size_t size = 0;

    for (;;) {
        n = blocks_of(n);
        size += n * FAN;
        if (n == 1)
            return size;
    }
}

size_t winners_bytes(size_t n)
{
    return sizeof(struct winners) + size_of(n) * sizeof(uint32_t) + LINE_BYTES;
}

struct winners *winners_new(size_t n)
{
    struct winners *w = mem_alloc(winners_bytes(n));
    uintptr_t misfit = (uintptr_t)w->block % LINE_BYTES;

    w->n = n;
    w->at = (uint32_t *)(void *)(w->block + (LINE_BYTES - misfit) % LINE_BYTES);
    for (size_t left = blocks_of(n); left > 1; left = blocks_of(left)) {
        assert(w->steps + 1 < WINNERS_STEPS_MAX);
        w->first[w->steps + 1] = w->first[w->steps] + left * FAN;
        w->steps++;
    }
    return w;
}

void winners_free(struct winners *w)
{
    free(w);
}

void winners_clear(struct winners *w)
{
    memset(w->at, 0, size_of(w->n) * sizeof(*w->at));
}

static uint32_t largest_of(const uint32_t *block)
{
    uint32_t ret = block[0];

    for (int i = 1; i < FAN; i++)
        ret = block[i] > ret ? block[i] : ret;
    return ret;
}

void winners_change(struct winners *w, size_t i, uint32_t number)
{
    for (unsigned step = 0;; step++, i /= FAN) {
        uint32_t *at = &w->at[w->first[step] + i];
        uint32_t old = *at;
        uint32_t above;

        *at = number;
        if (step == w->steps || old == number)
            return;
        above = w->at[w->first[step + 1] + i / FAN];
        if (number < above && old < above)
            return;
        if (number < above)
            number = largest_of(&w->at[w->first[step] + i / FAN * FAN]);
    }
}

uint32_t winners_best(const struct winners *w, size_t *ret)
{
    uint32_t best = largest_of(&w->at[w->first[w->steps]]);
    size_t i = 0;

    for (unsigned step = w->steps + 1; best > 0 && step-- > 0;) {
        const uint32_t *block = &w->at[w->first[step] + i * FAN];

        for (i *= FAN; *block != best; block++)
            i++;
    }
    *ret = i;
    return best;
}
