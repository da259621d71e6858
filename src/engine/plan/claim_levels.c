/*
 * claim_levels.c - the free room of a node over time, all claims counted
 *
 * A row of levels for each moment at which something changes, so that a search can begin at the
 * earliest moment that is possible.
 */

#include <stdlib.h>

#include "engine/place/fit.h"
#include "engine/plan/claim.h"

enum {
    ROW_AT,
    ROW_GPUS,
    ROW_ROOMS,
    ROOMS_MAX = 64
};

static int64_t *row(const struct timeline *t, size_t i)
{
    return t->rows + i * t->row_size;
}

/* Makes a row for that moment, a copy of the row before it; returns its index. */
static size_t levels_split(struct timeline *t, int64_t at_ns)
{
    size_t i = levels_find(t, at_ns);

    if (row(t, i)[ROW_AT] == at_ns)
        return i;
    if (t->n_rows == t->rows_room) {
        t->rows_room = 2 * t->rows_room + 8;
        t->rows = mem_realloc(t->rows, t->rows_room * t->row_size * sizeof(*t->rows));
    }
    memmove(row(t, i + 1), row(t, i), (t->n_rows - i) * t->row_size * sizeof(*t->rows));
    t->n_rows++;
    row(t, i + 1)[ROW_AT] = at_ns;
    return i + 1;
}

size_t levels_find(const struct timeline *t, int64_t at_ns)
{
    size_t low = 0;
    size_t high = t->n_rows;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (row(t, middle)[ROW_AT] <= at_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A number of gpus, and `count` times the other requests of a shape. */
struct claim_change {
    int64_t gpus;
    const struct shape *shape;
    int64_t count;
};

static void levels_add(struct timeline *t, const struct node *n, size_t from, size_t to,
                       const struct claim_change *c)
{
    const struct shape *s = c->shape;
    size_t rooms[ROOMS_MAX];

    for (size_t k = 0; k < s->n_requests; k++) {
        const struct room *room = node_room(n, s->requests[k].resource);

        rooms[k] = room ? (size_t)(room - n->rooms) : n->n_rooms;
    }
    for (size_t i = from; i < to; i++) {
        row(t, i)[ROW_GPUS] += c->gpus;
        for (size_t k = 0; k < s->n_requests; k++)
            if (rooms[k] < n->n_rooms)
                row(t, i)[ROW_ROOMS + rooms[k]] += c->count * s->requests[k].amount;
    }
}

void levels_claim(struct timeline *t, const struct node *n, const struct claim *c,
                  const struct claimed *part)
{
    struct claim_change taken = {.gpus = -(int64_t)part->count * part->shape->gpus,
                                 .shape = part->shape,
                                 .count = -(int64_t)part->count};
    size_t from;
    size_t to;

    if (!t->rows)
        return;
    from = levels_split(t, c->start_ns);
    to = c->end_ns == NEVER_NS ? t->n_rows : levels_split(t, c->end_ns);
    levels_add(t, n, from, to, &taken);
}

void levels_forget(struct timeline *t)
{
    free(t->rows);
    t->rows = NULL;
    t->n_rows = 0;
    t->rows_room = 0;
}

/* Are the gpus alike, and does the shape stay within the limits of a row? */
bool levels_serve(const struct node *n, const struct shape *s)
{
    return n->n_models <= 1 && (s->gpus == 0 || node_gpus_of(n, s) != 0) && s->milli == MILLI &&
           s->n_asks == 0 && s->n_requests <= ROOMS_MAX && n->barred == 0 && n->n_lent == 0;
}

static void levels_make(struct timeline *t, const struct node *n)
{
    t->row_size = ROW_ROOMS + n->n_rooms;
    t->rows_room = 2 * (t->edges.n + t->endings.n) + 8;
    t->rows = mem_alloc(t->rows_room * t->row_size * sizeof(*t->rows));
    t->n_rows = 1;
    row(t, 0)[ROW_AT] = INT64_MIN;
    row(t, 0)[ROW_GPUS] = (int64_t)bits(n->healthy & ~n->held);
    for (size_t i = 0; i < n->n_rooms; i++)
        row(t, 0)[ROW_ROOMS + i] = n->rooms[i].capacity - n->rooms[i].used;
    for (size_t i = 0; i < t->endings.n && t->endings.at[i].at_ns != NEVER_NS; i++) {
        const struct claim_ending *h = &t->endings.at[i];
        struct claim_change back = {(int64_t)bits(h->gpus & n->healthy), pod_shape(h->pod), 1};
        size_t from = levels_split(t, h->at_ns);

        levels_add(t, n, from, t->n_rows, &back);
    }
    for (size_t i = 0; i < t->edges.n; i++) {
        const struct edge *edge = &t->edges.at[i];
        const struct claimed part = {NULL, edge->shape, edge->count};

        if (!edge->is_end)
            levels_claim(t, n, edge->claim, &part);
    }
}

int64_t levels_search(struct timeline *t, const struct node *n, const struct shape *s,
                      int64_t length_ns, int64_t from_ns)
{
    int64_t needs[ROOMS_MAX];
    size_t rooms[ROOMS_MAX];
    int64_t start_ns = NEVER_NS;

    if (!t->rows)
        levels_make(t, n);
    for (size_t k = 0; k < s->n_requests; k++) {
        const struct room *room = node_room(n, s->requests[k].resource);

        if (!room)
            return NEVER_NS;
        rooms[k] = (size_t)(room - n->rooms);
        needs[k] = s->requests[k].amount;
    }
    for (size_t i = levels_find(t, from_ns); i < t->n_rows; i++) {
        const int64_t *here = row(t, i);
        int64_t next_ns = i + 1 < t->n_rows ? row(t, i + 1)[ROW_AT] : NEVER_NS;
        bool has_room = here[ROW_GPUS] >= s->gpus;
        int64_t end_ns = 0;

        for (size_t k = 0; has_room && k < s->n_requests; k++)
            has_room = here[ROW_ROOMS + rooms[k]] >= needs[k];
        if (!has_room) {
            start_ns = NEVER_NS;
            continue;
        }
        if (start_ns == NEVER_NS)
            start_ns = here[ROW_AT] > from_ns ? here[ROW_AT] : from_ns;
        if (next_ns == NEVER_NS)
            return start_ns;
        if (length_ns != NEVER_NS && !__builtin_add_overflow(start_ns, length_ns, &end_ns) &&
            next_ns >= end_ns)
            return start_ns;
    }
    return NEVER_NS;
}
