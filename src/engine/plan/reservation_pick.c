/*
 * reservation_pick.c - the gpus that a reservation gets
 *
 * Gpus that are free by the reservation's start come first, on as few nodes as possible: the node
 * with the most gpus, until a node holds all of the rest; then, of the nodes that do, the one with
 * the fewest. This order needs the fewest nodes and leaves large ones whole.
 */

#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/reservation.h"

struct pick {
    struct mete_engine *e;
    struct reservation *b;
    uint64_t *taken; /* by node rank: gpus that a reservation has at that time */
    size_t missing;
};

static void pick_take(struct pick *p, const struct node *n, uint64_t gpus)
{
    if (n && n->is_present)
        p->taken[n->rank] |= gpus;
}

static void pick_take_others(struct pick *p)
{
    const struct mete_engine *e = p->e;

    VEC_EACH (&e->reservations, each) {
        const struct reservation *other = *each;

        if (!reservations_overlap(p->b, other))
            continue;
        for (size_t i = 0; i < other->n_nodes; i++)
            pick_take(p, engine_node(e, intern_text(e->texts, other->nodes[i])), UINT64_MAX);
        for (size_t i = 0; i < other->picks.n; i++) {
            const struct gpu *g = engine_gpu(e, intern_text(e->texts, other->picks.at[i]));

            if (g && g->node)
                pick_take(p, g->node, UINT64_C(1) << g->bit);
        }
    }
}

/* The gpus of the node that could serve, taken or not. */
static uint64_t pick_able(const struct reservation *b, const struct node *n)
{
    const struct shape kind = {.models = b->models, .n_models = b->n_models};

    return node_takes_pods(n) ? n->healthy & node_gpus_of(n, &kind) : 0;
}

static bool is_good(const struct pick *p, const struct gpu *g)
{
    uint64_t bit;

    if (!g || !g->node || !g->node->is_present)
        return false;
    bit = UINT64_C(1) << g->bit;
    return (pick_able(p->b, g->node) & bit) && !(p->taken[g->node->rank] & bit);
}

/* Drops picks that do not serve any more or exceed the number. */
static void pick_sift(struct pick *p)
{
    struct reservation *b = p->b;
    size_t n = 0;

    for (size_t i = 0; i < b->picks.n; i++) {
        uint32_t id = b->picks.at[i];
        const struct gpu *g = engine_gpu(p->e, intern_text(p->e->texts, id));

        if (n < b->gpus && is_good(p, g)) {
            pick_take(p, g->node, UINT64_C(1) << g->bit);
            b->picks.at[n++] = id;
        } else {
            intern_unref(p->e->texts, id);
        }
    }
    b->picks.n = n;
}

uint64_t reservation_late(const struct mete_engine *e, const struct reservation *b,
                          const struct node *n)
{
    uint64_t late = 0;

    for (const struct pod *at = n->pods; at; at = at->after) {
        if (at->workload->end_ns <= b->start_ns || reservation_is_entitled(e, b, at->workload))
            continue;
        for (size_t k = 0; k < at->n_gpus; k++)
            if (at->gpus[k]->node == n)
                late |= UINT64_C(1) << at->gpus[k]->bit;
    }
    return late;
}

static uint64_t pick_choice(const struct pick *p, const struct node *n, bool takes_late)
{
    uint64_t gpus = pick_able(p->b, n) & ~p->taken[n->rank];

    return takes_late || gpus == 0 ? gpus : gpus & ~reservation_late(p->e, p->b, n);
}

static bool pick_is_better(size_t count, size_t best, size_t missing)
{
    if (count >= missing && best >= missing)
        return count < best;
    return count > best;
}

static void pick_add(struct pick *p, const struct node *n, uint64_t gpus)
{
    pick_take(p, n, gpus);
    p->missing -= bits(gpus);
    for (; gpus; gpus &= gpus - 1)
        vec_add(&p->b->picks, intern_ref(p->e->texts, n->gpus[__builtin_ctzll(gpus)]->uuid));
}

static void pick_from(struct pick *p, bool takes_late)
{
    while (p->missing > 0) {
        const struct node *best = NULL;
        uint64_t gpus = 0;

        VEC_EACH (&p->e->order, n) {
            uint64_t here = pick_choice(p, *n, takes_late);

            if (here != 0 && pick_is_better(bits(here), bits(gpus), p->missing)) {
                best = *n;
                gpus = here;
            }
        }
        if (!best)
            return;
        pick_add(p, best,
                 bits(gpus) > p->missing ? devices_choose(best, gpus, (unsigned)p->missing) : gpus);
    }
}

void reservation_pick(struct mete_engine *e, struct reservation *b)
{
    struct pick p = {.e = e, .b = b};

    search_rank(e);
    p.taken = arena_alloc(e->scratch, (e->order.n + 1) * sizeof(*p.taken));
    pick_take_others(&p);
    pick_sift(&p);
    p.missing = b->gpus - b->picks.n;
    pick_from(&p, false);
    pick_from(&p, true);
}
