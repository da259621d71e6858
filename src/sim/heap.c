/* heap.c - a binary heap of jobs */

#include "sim/heap.h"

#include <assert.h>

static bool is_before(const struct heap_item *a, const struct heap_item *b)
{
    return a->key != b->key ? a->key < b->key : a->job < b->job;
}

void heap_add(struct heap *h, int64_t key, uint32_t job)
{
    const struct heap_item item = {.key = key, .job = job};
    size_t i = h->items.n;

    vec_add(&h->items, item);
    while (i > 0 && is_before(&item, &h->items.at[(i - 1) / 2])) {
        h->items.at[i] = h->items.at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->items.at[i] = item;
}

const struct heap_item *heap_first(const struct heap *h)
{
    return h->items.n > 0 ? h->items.at : NULL;
}

void heap_drop_first(struct heap *h)
{
    struct heap_item last;
    size_t i = 0;

    assert(h->items.n > 0);
    last = h->items.at[--h->items.n];
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= h->items.n)
            break;
        if (child + 1 < h->items.n && is_before(&h->items.at[child + 1], &h->items.at[child]))
            child++;
        if (!is_before(&h->items.at[child], &last))
            break;
        h->items.at[i] = h->items.at[child];
        i = child;
    }
    if (h->items.n > 0)
        h->items.at[i] = last;
}

void heap_done(struct heap *h)
{
    vec_done(&h->items);
}
