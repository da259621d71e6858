/* id_map.c - open addressing, with removal by moving entries back */

#include "base/id_map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"

enum {
    SIZE_LEAST = 16
};

/* The slot of the id, or the free slot where it would go. */
static size_t place_of(const struct id_map *m, uint64_t id)
{
    size_t i = num_scatter(id) & (m->size - 1);

    while (m->slots[i].id != 0 && m->slots[i].id != id)
        i = (i + 1) & (m->size - 1);
    return i;
}

static void id_map_grow(struct id_map *m)
{
    struct id_map larger = {.size = m->size > 0 ? 2 * m->size : SIZE_LEAST, .n = m->n};

    larger.slots = mem_alloc(larger.size * sizeof(*larger.slots));
    for (size_t i = 0; i < m->size; i++)
        if (m->slots[i].id != 0)
            larger.slots[place_of(&larger, m->slots[i].id)] = m->slots[i];
    free(m->slots);
    *m = larger;
}

void id_map_add(struct id_map *m, uint64_t id, void *item)
{
    struct id_slot *slot;

    assert(id != 0 && item);
    if (m->n >= m->size / 8 * 5)
        id_map_grow(m);
    slot = &m->slots[place_of(m, id)];
    assert(slot->id == 0);
    *slot = (struct id_slot){.id = id, .item = item};
    m->n++;
}

void *id_map_find(const struct id_map *m, uint64_t id)
{
    return m->n > 0 && id != 0 ? m->slots[place_of(m, id)].item : NULL;
}

/* The entries behind the removed one move back to fill the gap, but none before its own place. */
void id_map_remove(struct id_map *m, uint64_t id)
{
    size_t hole = place_of(m, id);

    assert(m->slots[hole].id == id);
    for (size_t i = (hole + 1) & (m->size - 1); m->slots[i].id != 0; i = (i + 1) & (m->size - 1)) {
        size_t own = num_scatter(m->slots[i].id) & (m->size - 1);

        if (((i - own) & (m->size - 1)) < ((i - hole) & (m->size - 1)))
            continue;
        m->slots[hole] = m->slots[i];
        hole = i;
    }
    m->slots[hole] = (struct id_slot){0};
    m->n--;
}

void id_map_done(struct id_map *m)
{
    free(m->slots);
    *m = (struct id_map){0};
}

void *id_map_next(const struct id_map *m, size_t *at)
{
    while (*at < m->size) {
        const struct id_slot *slot = &m->slots[(*at)++];

        if (slot->id != 0)
            return slot->item;
    }
    return NULL;
}
