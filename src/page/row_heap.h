/* row_heap.h - the first rows of an order, out of many that come in any order */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct row_heap {
    size_t max; /* rows that are kept */
    bool (*is_before)(const void *arg, uint32_t a, uint32_t b);
    const void *arg;
    VEC(uint32_t) rows; /* the last of the order comes first, until row_heap_sort */
};

/* Keeps `row`, unless `max` rows come before it. */
void row_heap_add(struct row_heap *h, uint32_t row);
/* Brings the rows into their order; row_heap_add is not called afterwards. */
void row_heap_sort(struct row_heap *h);
void row_heap_done(struct row_heap *h);
