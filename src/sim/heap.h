/* heap.h - a heap of jobs by a number: the smallest first, on ties the lower job */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct heap_item {
    int64_t key;
    uint32_t job;
};

/* {0} is the empty heap; heap_done frees it. */
struct heap {
    VEC(struct heap_item) items;
};

void heap_add(struct heap *h, int64_t key, uint32_t job);
/* The first item, valid until the heap changes; NULL: the heap is empty. */
const struct heap_item *heap_first(const struct heap *h);
void heap_drop_first(struct heap *h); /* the heap must not be empty */
void heap_done(struct heap *h);
