/*
 * reservation_bars.c - the reserved nodes, and their bars against the workload that asks
 *
 * Bars are set lazily: they stay while the same reservations exclude the next workload.
 */

#include <stdlib.h>

#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/reservation.h"

static void reserved_add(struct mete_engine *e, struct reservation *b, struct node *n,
                         uint64_t gpus, bool is_whole)
{
    if (n->n_reserved > 0 && e->reserved.at[e->reserved.n - 1].node == n &&
        e->reserved.at[e->reserved.n - 1].reservation == b) {
        e->reserved.at[e->reserved.n - 1].gpus |= gpus;
        return;
    }
    vec_add(&e->reserved, (struct reserved){n, b, gpus, is_whole});
    n->n_reserved++;
}

static void reserved_add_all(struct mete_engine *e, struct reservation *b)
{
    for (size_t i = 0; i < b->n_nodes; i++) {
        struct node *n = engine_node(e, intern_text(e->texts, b->nodes[i]));

        if (n && n->is_present)
            reserved_add(e, b, n, node_gpus(n), true);
    }
    for (size_t i = 0; i < b->picks.n; i++) {
        const struct gpu *g = engine_gpu(e, intern_text(e->texts, b->picks.at[i]));

        if (g && g->node)
            reserved_add(e, b, g->node, UINT64_C(1) << g->bit, false);
    }
}

static int compare_reserved(const void *left, const void *right)
{
    const struct reserved *a = left;
    const struct reserved *b = right;
    int names = strcmp(a->reservation->name, b->reservation->name);

    if (a->node != b->node)
        return a->node->rank < b->node->rank ? -1 : 1;
    return names;
}

/* Merges entries: a reservation whose picks of one node are apart in its list has several for that
 * node. */
static void reserved_merge(struct mete_engine *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->reserved.n; i++) {
        const struct reserved *here = &e->reserved.at[i];

        if (n > 0 && e->reserved.at[n - 1].node == here->node &&
            e->reserved.at[n - 1].reservation == here->reservation)
            e->reserved.at[n - 1].gpus |= here->gpus;
        else
            e->reserved.at[n++] = *here;
    }
    e->reserved.n = n;
}

static void reserved_index_nodes(struct mete_engine *e)
{
    for (uint32_t i = 0; i < e->reserved.n; i++) {
        struct node *n = e->reserved.at[i].node;

        if (i == 0 || e->reserved.at[i - 1].node != n) {
            n->first_reserved = i;
            n->n_reserved = 0;
        }
        n->n_reserved++;
    }
}

/* Tells the trees about nodes that are reserved now or may have been before. */
static void reserved_touch(struct mete_engine *e, bool was_reserved)
{
    VEC_EACH (&e->order, n) {
        if ((*n)->n_reserved > 0 || was_reserved)
            node_touch(e, *n);
    }
}

void reservations_ready(struct mete_engine *e)
{
    bool was_reserved = e->reserved.n > 0;

    if (e->reserved_at == e->nodes_version || (e->reservations.n == 0 && !was_reserved))
        return;
    search_rank(e);
    vec_clear(&e->reserved);
    VEC_EACH (&e->order, n) {
        (*n)->n_reserved = 0;
        (*n)->barred = 0;
        (*n)->is_barred = false;
    }
    e->inside = NULL;
    VEC_EACH (&e->reservations, b) {
        (*b)->is_applied = false;
        if ((*b)->gpus > 0)
            reservation_pick(e, *b);
        reserved_add_all(e, *b);
    }
    if (e->reserved.n > 0)
        qsort(e->reserved.at, e->reserved.n, sizeof(*e->reserved.at), compare_reserved);
    reserved_merge(e);
    reserved_index_nodes(e);
    reserved_touch(e, was_reserved);
    e->reserved_at = e->nodes_version;
}

void reservations_changed(struct mete_engine *e)
{
    e->reserved_at = 0;
    e->inside = NULL;
}

static bool keeps_out(const struct mete_engine *e, const struct reservation *b,
                      const struct workload *w, int64_t now_ns)
{
    int64_t limit_ns = w->group->time_limit_ns;
    int64_t end_ns = 0;

    if (now_ns >= b->end_ns || b->name_id == w->group->reservation)
        return false;
    if (limit_ns == 0 || __builtin_add_overflow(now_ns, limit_ns, &end_ns))
        end_ns = NEVER_NS;
    return end_ns > b->start_ns && !reservation_is_entitled(e, b, w);
}

static void bars_set(struct mete_engine *e)
{
    VEC_EACH (&e->reserved, b) {
        struct node *n = b->node;

        if (b == &e->reserved.at[n->first_reserved]) {
            n->barred = e->inside ? node_gpus(n) : 0;
            n->is_barred = e->inside != NULL;
        }
        if (e->inside && b->reservation == e->inside) {
            n->barred &= ~b->gpus;
            n->is_barred = false;
        }
    }
    VEC_EACH (&e->reserved, b) {
        if (!b->reservation->is_applied)
            continue;
        b->node->barred |= b->gpus;
        b->node->is_barred = b->node->is_barred || b->is_whole;
    }
}

static void bars_apply(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    const struct reservation *inside =
        w && w->group->reservation ? reservation_find(e, w->group->reservation) : NULL;
    bool is_same = inside == e->inside;

    VEC_EACH (&e->reservations, b) {
        bool applies = w && keeps_out(e, *b, w, now_ns);

        is_same = is_same && applies == (*b)->is_applied;
        (*b)->is_applied = applies;
    }
    e->inside = inside;
    if (!is_same)
        bars_set(e);
}

void reservations_bar(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    reservations_ready(e);
    if (e->reservations.n > 0)
        bars_apply(e, w, now_ns);
}

void reservations_unbar(struct mete_engine *e)
{
    reservations_ready(e);
    if (e->reservations.n > 0)
        bars_apply(e, NULL, 0);
}

static const struct reserved *first_of(const struct mete_engine *e, const struct node *n)
{
    return n->n_reserved > 0 ? &e->reserved.at[n->first_reserved] : NULL;
}

/* The gpus that reservations leave to `w` at that moment; `*ret_until`: the first end of a
 * reservation that excludes `w`. */
static uint64_t bars_left_at(const struct mete_engine *e, const struct workload *w,
                             const struct node *n, int64_t at_ns, bool *ret_whole,
                             int64_t *ret_until)
{
    const struct reserved *first = first_of(e, n);
    uint64_t left = UINT64_MAX;

    *ret_whole = false;
    *ret_until = NEVER_NS;
    for (uint32_t i = 0; i < n->n_reserved; i++) {
        const struct reservation *b = first[i].reservation;

        if (!keeps_out(e, b, w, at_ns))
            continue;
        left &= ~first[i].gpus;
        *ret_whole = *ret_whole || first[i].is_whole;
        *ret_until = b->end_ns < *ret_until ? b->end_ns : *ret_until;
    }
    return left;
}

bool reservation_start(const struct mete_engine *e, const struct workload *w, const struct node *n,
                       uint64_t kind, int64_t gpus, int64_t *at_ns)
{
    const struct reservation *inside = NULL;
    uint64_t own = UINT64_MAX;

    if (n->n_reserved == 0 && w->group->reservation == 0)
        return true;
    if (w->group->reservation != 0) {
        inside = reservation_find(e, w->group->reservation);
        own = 0;
        for (uint32_t i = 0; i < n->n_reserved; i++)
            if (first_of(e, n)[i].reservation == inside)
                own = first_of(e, n)[i].is_whole ? UINT64_MAX : first_of(e, n)[i].gpus;
        if (!inside || own == 0)
            return false;
        *at_ns = *at_ns > inside->start_ns ? *at_ns : inside->start_ns;
    }
    while (*at_ns != NEVER_NS) {
        bool is_whole = false;
        int64_t until_ns = 0;
        uint64_t left = bars_left_at(e, w, n, *at_ns, &is_whole, &until_ns) & own;

        if (!is_whole && (gpus == 0 || (int64_t)bits(n->healthy & kind & left) >= gpus))
            break;
        if (until_ns == NEVER_NS)
            return false;
        *at_ns = until_ns;
    }
    return !inside || reservation_ask(e, w, *at_ns) == RESERVATION_OPEN;
}

const char *reservations_check(struct mete_engine *e)
{
    uint32_t n_reserved = 0;

    reservations_ready(e);
    VEC_EACH (&e->order, n) {
        for (uint32_t i = 0; i < (*n)->n_reserved; i++) {
            const struct reserved *b = &e->reserved.at[(*n)->first_reserved + i];
            bool is_picked = b->is_whole;

            if (b->node != *n || (b->gpus & ~node_gpus(*n)))
                return "a node and its entries in the list of reserved nodes differ";
            for (size_t k = 0; k < b->reservation->picks.n; k++) {
                const struct gpu *g =
                    engine_gpu(e, intern_text(e->texts, b->reservation->picks.at[k]));

                is_picked = is_picked || (g && g->node == *n && (b->gpus >> g->bit & 1));
            }
            if (!is_picked)
                return "gpus are reserved that were not picked";
        }
        n_reserved += (*n)->n_reserved;
        if ((*n)->n_reserved == 0 && ((*n)->barred || (*n)->is_barred))
            return "a node without a reservation is barred";
    }
    for (size_t i = 1; i < e->reservations.n; i++)
        if (strcmp(e->reservations.at[i - 1]->name, e->reservations.at[i]->name) >= 0)
            return "the reservations are not in order";
    return n_reserved == e->reserved.n ? NULL : "the counts of reserved entries do not add up";
}

uint64_t reservations_hash(const struct mete_engine *e, uint64_t hash)
{
    VEC_EACH (&e->reservations, b) {
        hash = (hash ^ (uint64_t)(*b)->start_ns) * UINT64_C(0x100000001b3);
        hash = (hash ^ (uint64_t)(*b)->end_ns) * UINT64_C(0x100000001b3);
        hash = (hash ^ (*b)->picks.n) * UINT64_C(0x100000001b3);
    }
    VEC_EACH (&e->reserved, b) {
        hash = (hash ^ b->gpus ^ b->node->slot) * UINT64_C(0x100000001b3);
    }
    return hash;
}
