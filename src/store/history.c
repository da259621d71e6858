/* history.c - a ring of durable changes */

#include "store/history.h"

#include <assert.h>

#include "base/vec.h"
#include "store/storage.h"

static struct store_change *place(const struct history *h, uint64_t number)
{
    return &h->ring[number & (h->room - 1)];
}

/* Memory of a kept change: itself, and the object that it replaced. */
static int64_t change_cost(const struct store_change *c)
{
    return (int64_t)sizeof(*c) + (c->before ? object_size(c->before) : 0);
}

static void history_drop_first(struct history *h)
{
    struct store_change *c = place(h, h->first);

    h->bytes -= change_cost(c);
    store_object_unref(c->object);
    store_object_unref(c->before);
    h->first++;
}

void history_done(struct history *h)
{
    while (h->first < h->end)
        history_drop_first(h);
    free(h->ring);
    *h = (struct history){0};
}

static void history_grow(struct history *h)
{
    struct history next = {.room = h->room};

    next.ring = vec_grow(NULL, &next.room, sizeof(*next.ring));
    for (uint64_t i = h->first; i < h->end; i++)
        *place(&next, i) = *place(h, i);
    free(h->ring);
    h->ring = next.ring;
    h->room = next.room;
}

void history_add(struct history *h, const struct store_change *c)
{
    assert(h->first == h->end || place(h, h->end - 1)->revision <= c->revision);
    if (h->end - h->first == h->room)
        history_grow(h);
    *place(h, h->end) = *c;
    (void)store_object_ref(c->object);
    if (c->before)
        (void)store_object_ref(c->before);
    h->end++;
    h->bytes += change_cost(c);
}

const struct store_change *history_at(const struct history *h, uint64_t number)
{
    assert(number >= h->first && number < h->end);
    return place(h, number);
}

uint64_t history_after(const struct history *h, int64_t revision)
{
    uint64_t low = h->first;
    uint64_t high = h->end;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (place(h, middle)->revision <= revision)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t history_whole(const struct history *h, int64_t revision)
{
    uint64_t end = history_after(h, revision);
    int64_t first;
    int64_t last;

    if (end == h->first)
        return revision;
    first = place(h, end - 1)->revision;
    last = first + storage_extra_revisions(end - history_after(h, first - 1));
    return revision > last ? revision : last;
}

void history_drop(struct history *h, int64_t revision)
{
    while (h->first < h->end && place(h, h->first)->revision <= revision)
        history_drop_first(h);
}

int64_t history_excess(const struct history *h, int64_t bytes)
{
    int64_t left = h->bytes;
    int64_t revision = 0;

    for (uint64_t i = h->first; i < h->end && left > bytes; i++) {
        left -= change_cost(place(h, i));
        revision = place(h, i)->revision;
    }
    return revision;
}
