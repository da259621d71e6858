/*
 * id_map.h - from numbers that we give out ourselves to objects
 *
 * One table, without a list through the objects: to find one looks at one or two lines of memory
 * beside it. The numbers are scattered without a key, so they must not be the choice of somebody
 * who gains from collisions; map.h is for those.
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

/* `id` is not 0 and not there. */
void id_map_add(struct id_map *m, uint64_t id, void *item);

/* NULL: it is not there. */
void *id_map_find(const struct id_map *m, uint64_t id);

/* `id` is there. */
void id_map_remove(struct id_map *m, uint64_t id);

/* Frees the table, not the objects. */
void id_map_done(struct id_map *m);

/* For loops over all, in an order that hangs on the numbers and how they came; nothing is added or
 * removed meanwhile. `item` is NULL first, and after the last. */
void *id_map_next(const struct id_map *m, size_t *at);

/* `item` is a pointer, `at` a size_t, both of the caller's. */
#define id_map_each(m, at, item) \
    for ((at) = 0, (item) = id_map_next(m, &(at)); (item); (item) = id_map_next(m, &(at)))
