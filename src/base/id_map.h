/*
 * id_map.h - maps from numbers that Mete itself assigns to objects
 *
 * One table, without a list through the objects: a lookup touches one or two cache lines besides
 * the object. The hash has no secret key, so clients must not choose the numbers; for keys that
 * clients choose there is map.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct id_slot {
    uint64_t id; /* 0: empty */
    void *item;
};

/* A value; {0} is empty. */
struct id_map {
    struct id_slot *slots;
    size_t size; /* a power of two, or 0 */
    size_t n;
};

/* Adds an item. `id` is not 0 and not in the map. */
void id_map_add(struct id_map *m, uint64_t id, void *item);

/* NULL: not in the map. */
void *id_map_find(const struct id_map *m, uint64_t id);

/* Removes an item. `id` is in the map. */
void id_map_remove(struct id_map *m, uint64_t id);

/* Frees the table, not the objects. */
void id_map_done(struct id_map *m);

/* Iterates over all items, in an order that depends on the numbers and on their insertion. The map
 * must not change meanwhile. `*at` is 0 first. Returns NULL after the last item. */
void *id_map_next(const struct id_map *m, size_t *at);

/* `item` is a pointer, `at` a size_t, both declared by the caller. */
#define id_map_each(m, at, item) \
    for ((at) = 0, (item) = id_map_next(m, &(at)); (item); (item) = id_map_next(m, &(at)))
