/* heap.h - jobs by a number, the smallest first, the lower job on ties */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct heap_item {
    int64_t key;
    uint32_t job;
};

/* {0} is the empty one; heap_done frees it. */
struct heap {
    VEC(struct heap_item) items;
};

void heap_add(struct heap *h, int64_t key, uint32_t job);
/* NULL where it is empty; valid until the heap changes. */
const struct heap_item *heap_first(const struct heap *h);
void heap_drop_first(struct heap *h); /* not of the empty one */
void heap_done(struct heap *h);
