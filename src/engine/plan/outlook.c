/*
 * outlook.c - the outlooks of groups, and lower bounds to begin them with
 *
 * In a trial plan (foresee.c) each group begins anew, so searching every node for every group is
 * the plan's cost. Two bounds make it cheaper. If another group asks for no more and runs no
 * longer, its outlook bounds this group's. Otherwise, on a node with too few free gpus, no pod
 * starts before a holder ends.
 */

#include "engine/plan/outlook.h"

#include <stdlib.h>
#include <string.h>

#include "engine/place/fit.h"
#include "engine/place/search.h"
#include "engine/plan/claim.h"

enum {
    BYTES_MAX = 64 << 20, /* of all outlooks */
};

static size_t bytes_of(const struct outlook *o)
{
    return o->room * (sizeof(*o->from) + 2 * sizeof(*o->tree));
}

void outlook_free(struct mete_engine *e, struct group *g)
{
    struct outlook *o = g->outlook;
    struct group *last;

    if (!o)
        return;
    last = e->outlooks.at[--e->outlooks.n];
    e->outlooks.at[o->index] = last;
    last->outlook->index = o->index;
    e->outlooks_bytes -= bytes_of(o);
    free(o->from);
    free(o->tree);
    free(o);
    g->outlook = NULL;
}

/* Makes an outlook. When outlooks take too much memory the others are freed; they are made anew
 * when they are needed. */
static struct outlook *outlook_make(struct mete_engine *e, struct group *g)
{
    struct outlook *o;

    while (e->outlooks_bytes > BYTES_MAX && e->outlooks.n > 0)
        outlook_free(e, e->outlooks.at[e->outlooks.n - 1]);
    o = mem_alloc(sizeof(*o));
    o->index = e->outlooks.n;
    vec_add(&e->outlooks, g);
    g->outlook = o;
    return o;
}

static void outlook_sum_up(struct outlook *o, size_t i)
{
    uint32_t left = o->tree[2 * i];
    uint32_t right = o->tree[2 * i + 1];

    o->tree[i] = o->from[right] < o->from[left] ? right : left;
}

void outlook_put(struct outlook *o, uint32_t rank, int64_t from_ns)
{
    o->from[rank] = from_ns;
    for (size_t i = (o->room + rank) / 2; i > 0; i /= 2)
        outlook_sum_up(o, i);
}

static void outlook_set_room(struct mete_engine *e, struct outlook *o)
{
    size_t room = 1;

    while (room < e->order.n)
        room *= 2;
    if (room == o->room)
        return;
    e->outlooks_bytes -= bytes_of(o);
    o->room = room;
    e->outlooks_bytes += bytes_of(o);
    o->from = mem_realloc(o->from, room * sizeof(*o->from));
    o->tree = mem_realloc(o->tree, 2 * room * sizeof(*o->tree));
}

static void outlook_build(struct mete_engine *e, struct outlook *o)
{
    for (uint32_t i = 0; i < o->room; i++)
        o->tree[o->room + i] = i;
    for (size_t i = o->room - 1; i > 0; i--)
        outlook_sum_up(o, i);
    o->seen = e->changes;
    o->epoch = e->epoch;
    o->pass = e->pass;
}

void outlook_begin(struct mete_engine *e, struct outlook *o, int64_t now_ns)
{
    outlook_set_room(e, o);
    for (uint32_t i = 0; i < o->room; i++)
        o->from[i] = i < e->order.n ? now_ns : NEVER_NS;
    outlook_build(e, o);
}

/* On nodes with too few free gpus a holder has to end first. A holder past its time limit may end
 * now; among such nodes the first by name is taken. */
static void outlook_begin_by_ends(struct mete_engine *e, struct outlook *o, const struct shape *s,
                                  int64_t now_ns)
{
    outlook_set_room(e, o);
    for (uint32_t i = 0; i < o->room; i++)
        o->from[i] = NEVER_NS;
    VEC_EACH (&e->order, at) {
        struct node *n = *at;
        bool is_short =
            s->milli == MILLI && bits(n->healthy & (~n->held | fit_gpus(n, s))) < s->gpus;
        int64_t end_ns = is_short ? timeline_first_end(e, n) : now_ns;

        o->from[n->rank] = end_ns > now_ns ? end_ns : now_ns;
    }
    outlook_build(e, o);
}

static bool has_amount(const struct shape *s, const struct request *least)
{
    for (size_t i = 0; i < s->n_requests; i++)
        if (s->requests[i].resource == least->resource)
            return s->requests[i].amount >= least->amount;
    return false;
}

static bool tolerate_the_same(const struct shape *a, const struct shape *b)
{
    if (a->n_tolerations != b->n_tolerations)
        return false;
    for (size_t i = 0; i < a->n_tolerations; i++) {
        const struct toleration *x = &a->tolerations[i];
        const struct toleration *y = &b->tolerations[i];

        if (x->key != y->key || x->value != y->value || x->effect != y->effect ||
            x->is_exists != y->is_exists)
            return false;
    }
    return true;
}

static bool takes_models_of(const struct shape *a, const struct shape *b)
{
    return a->n_models == 0 ||
           (a->n_models == b->n_models &&
            memcmp(a->models, b->models, a->n_models * sizeof(*a->models)) == 0);
}

/* Does a pod of `a` fit wherever and whenever one of `b` does? False for shapes with parts of gpus
 * or node rules. */
static bool asks_no_more(const struct shape *a, const struct shape *b)
{
    if (a->gpus > b->gpus || a->milli != MILLI || b->milli != MILLI || a->node != 0 || a->nodes ||
        a->n_selector > 0 || !takes_models_of(a, b) || !tolerate_the_same(a, b))
        return false;
    for (size_t i = 0; i < a->n_requests; i++)
        if (!has_amount(b, &a->requests[i]))
            return false;
    return true;
}

static bool is_no_longer(const struct group *a, const struct group *b)
{
    return b->time_limit_ns == 0 || (a->time_limit_ns > 0 && a->time_limit_ns <= b->time_limit_ns);
}

/* The outlook of another group, whose pods start no later on any node; NULL. */
static const struct outlook *outlook_find_like(const struct mete_engine *e, const struct group *g)
{
    const struct outlook *best = NULL;

    if (!e->is_foreseeing || e->reserved.n > 0 || g->reservation != 0)
        return NULL;
    VEC_EACH (&e->outlooks, other) {
        const struct outlook *o = (*other)->outlook;

        if (*other == g || o->pass != e->pass || o->epoch != e->epoch || o->seen != e->changes ||
            (*other)->reservation != 0 || !is_no_longer(*other, g) ||
            !asks_no_more((*other)->sets[0].shape, g->sets[0].shape))
            continue;
        if (!best || o->from[o->tree[1]] > best->from[best->tree[1]])
            best = o;
    }
    return best;
}

static void outlook_begin_like(struct mete_engine *e, struct outlook *o, const struct outlook *from)
{
    outlook_set_room(e, o);
    memcpy(o->from, from->from, o->room * sizeof(*o->from));
    memcpy(o->tree, from->tree, 2 * o->room * sizeof(*o->tree));
    o->seen = from->seen;
    o->epoch = from->epoch;
    o->pass = from->pass;
}

struct outlook *outlook_of(struct mete_engine *e, struct group *g, int64_t now_ns)
{
    struct outlook *o = g->outlook;
    const struct outlook *like;

    search_rank(e);
    if (!o)
        o = outlook_make(e, g);
    if (o->room > 0 && o->epoch == e->epoch && o->pass == e->pass) {
        for (const struct node *n = search_newest(e, o->seen); n; n = search_older(e, n, o->seen))
            outlook_put(o, n->rank, now_ns);
        o->seen = e->changes;
        return o;
    }
    like = outlook_find_like(e, g);
    if (like)
        outlook_begin_like(e, o, like);
    else if (e->is_foreseeing)
        outlook_begin_by_ends(e, o, g->sets[0].shape, now_ns);
    else
        outlook_begin(e, o, now_ns);
    return o;
}
