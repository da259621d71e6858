/*
 * Bars are set lazily: they stay as they are while the bookings that keep the next asker out are
 * the same.
 */
#include <stdlib.h>

#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/reservation.h"

static void book(struct mete_engine *e, struct booking *b, struct node *n, uint64_t gpus,
                 bool is_whole)
{
    if (n->n_booked > 0 && e->booked.at[e->booked.n - 1].node == n &&
        e->booked.at[e->booked.n - 1].booking == b) {
        e->booked.at[e->booked.n - 1].gpus |= gpus;
        return;
    }
    vec_add(&e->booked, (struct booked){n, b, gpus, is_whole});
    n->n_booked++;
}

static void book_all(struct mete_engine *e, struct booking *b)
{
    for (size_t i = 0; i < b->n_nodes; i++) {
        struct node *n = engine_node(e, intern_text(e->texts, b->nodes[i]));

        if (n && n->is_present)
            book(e, b, n, node_gpus(n), true);
    }
    for (size_t i = 0; i < b->picks.n; i++) {
        const struct gpu *g = engine_gpu(e, intern_text(e->texts, b->picks.at[i]));

        if (g && g->node)
            book(e, b, g->node, UINT64_C(1) << g->bit, false);
    }
}

static int compare_booked(const void *left, const void *right)
{
    const struct booked *a = left;
    const struct booked *b = right;
    int names = strcmp(a->booking->name, b->booking->name);

    if (a->node != b->node)
        return a->node->rank < b->node->rank ? -1 : 1;
    return names;
}

/* A booking with gpus picked on a node at several places in its list has several entries there. */
static void merge(struct mete_engine *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->booked.n; i++) {
        const struct booked *here = &e->booked.at[i];

        if (n > 0 && e->booked.at[n - 1].node == here->node &&
            e->booked.at[n - 1].booking == here->booking)
            e->booked.at[n - 1].gpus |= here->gpus;
        else
            e->booked.at[n++] = *here;
    }
    e->booked.n = n;
}

static void index_nodes(struct mete_engine *e)
{
    for (uint32_t i = 0; i < e->booked.n; i++) {
        struct node *n = e->booked.at[i].node;

        if (i == 0 || e->booked.at[i - 1].node != n) {
            n->first_booked = i;
            n->n_booked = 0;
        }
        n->n_booked++;
    }
}

/* Nodes that are booked now or were before, which the trees have to look at. */
static void touch(struct mete_engine *e, bool was_booked)
{
    VEC_EACH (&e->order, n) {
        if ((*n)->n_booked > 0 || was_booked)
            node_touch(e, *n);
    }
}

void bookings_ready(struct mete_engine *e)
{
    bool was_booked = e->booked.n > 0;

    if (e->booked_at == e->nodes_version || (e->bookings.n == 0 && !was_booked))
        return;
    search_rank(e);
    vec_clear(&e->booked);
    VEC_EACH (&e->order, n) {
        (*n)->n_booked = 0;
        (*n)->barred = 0;
        (*n)->is_barred = false;
    }
    e->inside = NULL;
    VEC_EACH (&e->bookings, b) {
        (*b)->is_applied = false;
        if ((*b)->gpus > 0)
            booking_pick(e, *b);
        book_all(e, *b);
    }
    if (e->booked.n > 0)
        qsort(e->booked.at, e->booked.n, sizeof(*e->booked.at), compare_booked);
    merge(e);
    index_nodes(e);
    touch(e, was_booked);
    e->booked_at = e->nodes_version;
}

void bookings_changed(struct mete_engine *e)
{
    e->booked_at = 0;
    e->inside = NULL;
}

static bool keeps_out(const struct mete_engine *e, const struct booking *b,
                      const struct workload *w, int64_t now_ns)
{
    int64_t limit_ns = w->group->time_limit_ns;
    int64_t end_ns = 0;

    if (now_ns >= b->end_ns || b->name_id == w->group->booking)
        return false;
    if (limit_ns == 0 || __builtin_add_overflow(now_ns, limit_ns, &end_ns))
        end_ns = NEVER_NS;
    return end_ns > b->start_ns && !booking_is_entitled(e, b, w);
}

static void set_bars(struct mete_engine *e)
{
    VEC_EACH (&e->booked, b) {
        struct node *n = b->node;

        if (b == &e->booked.at[n->first_booked]) {
            n->barred = e->inside ? node_gpus(n) : 0;
            n->is_barred = e->inside != NULL;
        }
        if (e->inside && b->booking == e->inside) {
            n->barred &= ~b->gpus;
            n->is_barred = false;
        }
    }
    VEC_EACH (&e->booked, b) {
        if (!b->booking->is_applied)
            continue;
        b->node->barred |= b->gpus;
        b->node->is_barred = b->node->is_barred || b->is_whole;
    }
}

static void apply(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    const struct booking *inside =
        w && w->group->booking ? booking_find(e, w->group->booking) : NULL;
    bool is_same = inside == e->inside;

    VEC_EACH (&e->bookings, b) {
        bool applies = w && keeps_out(e, *b, w, now_ns);

        is_same = is_same && applies == (*b)->is_applied;
        (*b)->is_applied = applies;
    }
    e->inside = inside;
    if (!is_same)
        set_bars(e);
}

void bookings_bar(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    bookings_ready(e);
    if (e->bookings.n > 0)
        apply(e, w, now_ns);
}

void bookings_unbar(struct mete_engine *e)
{
    bookings_ready(e);
    if (e->bookings.n > 0)
        apply(e, NULL, 0);
}

static const struct booked *first_of(const struct mete_engine *e, const struct node *n)
{
    return n->n_booked > 0 ? &e->booked.at[n->first_booked] : NULL;
}

/* The gpus that bookings leave at that moment; *ret_until: when the next of those in the way ends.
 */
static uint64_t left_at(const struct mete_engine *e, const struct workload *w, const struct node *n,
                        int64_t at_ns, bool *ret_whole, int64_t *ret_until)
{
    const struct booked *first = first_of(e, n);
    uint64_t left = UINT64_MAX;

    *ret_whole = false;
    *ret_until = NEVER_NS;
    for (uint32_t i = 0; i < n->n_booked; i++) {
        const struct booking *b = first[i].booking;

        if (!keeps_out(e, b, w, at_ns))
            continue;
        left &= ~first[i].gpus;
        *ret_whole = *ret_whole || first[i].is_whole;
        *ret_until = b->end_ns < *ret_until ? b->end_ns : *ret_until;
    }
    return left;
}

bool booking_start(const struct mete_engine *e, const struct workload *w, const struct node *n,
                   uint64_t kind, int64_t gpus, int64_t *at_ns)
{
    const struct booking *inside = NULL;
    uint64_t own = UINT64_MAX;

    if (n->n_booked == 0 && w->group->booking == 0)
        return true;
    if (w->group->booking != 0) {
        inside = booking_find(e, w->group->booking);
        own = 0;
        for (uint32_t i = 0; i < n->n_booked; i++)
            if (first_of(e, n)[i].booking == inside)
                own = first_of(e, n)[i].is_whole ? UINT64_MAX : first_of(e, n)[i].gpus;
        if (!inside || own == 0)
            return false;
        *at_ns = *at_ns > inside->start_ns ? *at_ns : inside->start_ns;
    }
    while (*at_ns != NEVER_NS) {
        bool is_whole = false;
        int64_t until_ns = 0;
        uint64_t left = left_at(e, w, n, *at_ns, &is_whole, &until_ns) & own;

        if (!is_whole && (gpus == 0 || (int64_t)bits(n->healthy & kind & left) >= gpus))
            break;
        if (until_ns == NEVER_NS)
            return false;
        *at_ns = until_ns;
    }
    return !inside || booking_ask(e, w, *at_ns) == BOOKING_OPEN;
}

const char *bookings_check(struct mete_engine *e)
{
    uint32_t n_booked = 0;

    bookings_ready(e);
    VEC_EACH (&e->order, n) {
        for (uint32_t i = 0; i < (*n)->n_booked; i++) {
            const struct booked *b = &e->booked.at[(*n)->first_booked + i];
            bool is_picked = b->is_whole;

            if (b->node != *n || (b->gpus & ~node_gpus(*n)))
                return "a node and what is booked of it differ";
            for (size_t k = 0; k < b->booking->picks.n; k++) {
                const struct gpu *g = engine_gpu(e, intern_text(e->texts, b->booking->picks.at[k]));

                is_picked = is_picked || (g && g->node == *n && (b->gpus >> g->bit & 1));
            }
            if (!is_picked)
                return "gpus are booked that were not picked";
        }
        n_booked += (*n)->n_booked;
        if ((*n)->n_booked == 0 && ((*n)->barred || (*n)->is_barred))
            return "a node is barred that is not booked";
    }
    for (size_t i = 1; i < e->bookings.n; i++)
        if (strcmp(e->bookings.at[i - 1]->name, e->bookings.at[i]->name) >= 0)
            return "the reservations are not in order";
    return n_booked == e->booked.n ? NULL : "what is booked does not add up";
}

uint64_t bookings_hash(const struct mete_engine *e, uint64_t hash)
{
    VEC_EACH (&e->bookings, b) {
        hash = (hash ^ (uint64_t)(*b)->start_ns) * UINT64_C(0x100000001b3);
        hash = (hash ^ (uint64_t)(*b)->end_ns) * UINT64_C(0x100000001b3);
        hash = (hash ^ (*b)->picks.n) * UINT64_C(0x100000001b3);
    }
    VEC_EACH (&e->booked, b) {
        hash = (hash ^ b->gpus ^ b->node->slot) * UINT64_C(0x100000001b3);
    }
    return hash;
}
