/* search.c - the searches of search.h: tiers, glances, and a tree for each shape */

#include "engine/place/search.h"

#include <stdlib.h>

#include "engine/max_tree.h"
#include "engine/place/demand.h"
#include "engine/place/fit.h"
#include "engine/place/policy.h"
#include "engine/plan/claim.h"

enum {
    TREES_MIN = 16,
    TREES_BYTES_MAX = 64 << 20,
};

/* Takes a node out of a list; `head` is the list's first slot. */
static void changes_leave(struct mete_engine *e, uint32_t *head, enum change_list list,
                          const struct glance *g)
{
    struct change_link link = g->links[list];

    if (link.newer == NO_SLOT)
        *head = link.older;
    else
        e->glances.at[link.newer].links[list].older = link.older;
    if (link.older != NO_SLOT)
        e->glances.at[link.older].links[list].newer = link.newer;
}

static void changes_enter(struct mete_engine *e, uint32_t *head, enum change_list list,
                          uint32_t slot)
{
    e->glances.at[slot].links[list] = (struct change_link){.newer = NO_SLOT, .older = *head};
    if (*head != NO_SLOT)
        e->glances.at[*head].links[list].newer = slot;
    *head = slot;
}

static void unlist(struct mete_engine *e, const struct glance *g)
{
    if (g->changed_at > 0)
        changes_leave(e, &e->newest, CHANGE_ALL, g);
    if (g->tier != TIER_NONE)
        changes_leave(e, &e->tiers[g->tier], CHANGE_TIER, g);
}

static void note_change(struct mete_engine *e, const struct node *n)
{
    struct glance *g = &e->glances.at[n->slot];

    g->is_known = false;
    if (n->timeline)
        n->timeline->is_stale = true;
    if (e->newest != n->slot) {
        if (g->changed_at > 0)
            changes_leave(e, &e->newest, CHANGE_ALL, g);
        changes_enter(e, &e->newest, CHANGE_ALL, n->slot);
    }
    g->changed_at = ++e->changes;
}

void search_drop_node(struct mete_engine *e, const struct node *n)
{
    unlist(e, &e->glances.at[n->slot]);
    e->glances.at[n->slot] = (struct glance){0};
}

/* The next slot in the list of all nodes. */
static uint32_t older(const struct mete_engine *e, uint32_t slot)
{
    return e->glances.at[slot].links[CHANGE_ALL].older;
}

static bool is_newer(const struct mete_engine *e, uint32_t slot, uint64_t seen)
{
    return slot != NO_SLOT && e->glances.at[slot].changed_at > seen;
}

static struct node *present_from(const struct mete_engine *e, uint32_t slot, uint64_t seen)
{
    for (; is_newer(e, slot, seen); slot = older(e, slot))
        if (e->slots.at[slot]->is_present)
            return e->slots.at[slot];
    return NULL;
}

struct node *search_newest(const struct mete_engine *e, uint64_t seen)
{
    return present_from(e, e->newest, seen);
}

struct node *search_older(const struct mete_engine *e, const struct node *n, uint64_t seen)
{
    return present_from(e, older(e, n->slot), seen);
}

void node_touch(struct mete_engine *e, struct node *n)
{
    if (e->is_quiet)
        return;
    journal_mark(&e->journal, n);
    note_change(e, n);
}

void search_undone(void *arg, void *at)
{
    note_change(arg, at);
}

void search_reset(struct mete_engine *e)
{
    e->epoch++;
}

void search_rank(struct mete_engine *e)
{
    if (e->ranked == e->epoch)
        return;
    for (uint32_t i = 0; i < e->order.n; i++) {
        e->order.at[i]->rank = i;
        e->glances.at[e->order.at[i]->slot].is_known = false;
    }
    e->ranked = e->epoch;
}

static uint64_t key_of(uint32_t score, uint32_t rank)
{
    return score == 0 ? 0 : (uint64_t)score << 32 | (UINT32_MAX - rank);
}

/* The score of a shape with asks: see score_of. */
static uint32_t score_of_asks(const struct mete_engine *e, const struct node *n,
                              const struct shape *s)
{
    if (!node_takes_pods(n) || n->is_barred || !fit_rooms(n, s, false) || !fit_kind(n, s))
        return 0;
    return score_asks(e, n, s);
}

/* The score plus 1; 0: the pod does not fit. */
static uint32_t score_of(struct mete_engine *e, const struct node *n, const struct shape *s)
{
    e->steps++;
    if (s->n_asks > 0)
        return score_of_asks(e, n, s);
    return fit_now(n, s) ? e->policy->score(e, n, s) + 1 : 0;
}

uint64_t search_key(struct mete_engine *e, const struct node *n, const struct shape *s)
{
    return key_of(score_of(e, n, s), n->rank);
}

static int64_t room_free(const struct node *n, uint32_t resource)
{
    const struct room *room = node_room(n, resource);

    return room && room->capacity > room->used ? room->capacity - room->used : 0;
}

static void glance_look(const struct mete_engine *e, const struct node *n, struct glance *g)
{
    struct detail *d = &e->details.at[n->slot];
    struct levels *l = &d->levels;

    levels_of(e, n, l);
    g->is_known = true;
    /* nodes with reservations are searched apart: the answer depends on the asker */
    g->is_open = node_takes_pods(n) && !n->backfill && n->n_reserved == 0;
    g->is_plain =
        n->n_taints == 0 && n->n_reserved == 0 && n->parted == 0 && n->sized == 0 && n->fenced == 0;
    g->whole = (uint8_t)l->whole;
    g->rank = n->is_present ? n->rank : NO_SLOT;
    g->cpu = l->cpu;
    g->memory = room_free(n, e->memory);
    g->pods = room_free(n, e->pods);
    g->largest = 0;
    for (unsigned i = 0; i < l->n; i++)
        g->largest = l->free[i] > g->largest ? l->free[i] : g->largest;
    if (e->policy->look)
        e->policy->look(e, n, d);
}

static struct glance *glance(const struct mete_engine *e, uint32_t slot)
{
    struct glance *g = &e->glances.at[slot];

    if (!g->is_known)
        glance_look(e, e->slots.at[slot], g);
    return g;
}

const struct detail *search_detail(const struct mete_engine *e, const struct node *n)
{
    (void)glance(e, n->slot);
    return &e->details.at[n->slot];
}

static bool has_gpus(const struct glance *g, const struct shape *s)
{
    if (s->n_asks > 0)
        return true;
    return shape_is_share(s) ? s->milli <= g->largest : s->gpus <= g->whole;
}

static uint8_t tier_of_wholes(unsigned whole)
{
    return (uint8_t)(TIER_NOTHING + TIER_TENTHS + (whole < TIER_WHOLES ? whole : TIER_WHOLES));
}

static uint8_t tier_of_share(unsigned milli)
{
    return (uint8_t)(TIER_NOTHING + (milli > 0 ? 1 + milli * TIER_TENTHS / MILLI : 0));
}

/* The lowest tier whose nodes may have the gpus. */
static unsigned tier_for(const struct shape *s)
{
    if (s->n_asks > 0 || s->gpus == 0)
        return TIER_NOTHING;
    return shape_is_share(s) ? tier_of_share(s->milli) : tier_of_wholes(s->gpus);
}

/* Moves changed nodes to their tiers, where the last change comes first, too. */
static void tiers_catch_up(struct mete_engine *e)
{
    uint32_t slot = e->newest;

    if (!is_newer(e, slot, e->told))
        return;
    while (is_newer(e, older(e, slot), e->told))
        slot = older(e, slot);
    for (; slot != NO_SLOT; slot = e->glances.at[slot].links[CHANGE_ALL].newer) {
        struct glance *g = glance(e, slot);

        if (g->tier != TIER_NONE)
            changes_leave(e, &e->tiers[g->tier], CHANGE_TIER, g);
        g->tier = g->whole > 0 ? tier_of_wholes(g->whole) : tier_of_share(g->largest);
        changes_enter(e, &e->tiers[g->tier], CHANGE_TIER, slot);
    }
    e->told = e->changes;
}

static bool fits_at_a_glance(const struct glance *g, const struct shape *s)
{
    if (!g->is_open || s->cpu > g->cpu || s->memory > g->memory || s->pods > g->pods)
        return false;
    return has_gpus(g, s);
}

static uint32_t leaf_score(struct mete_engine *e, uint32_t slot, const struct shape *s)
{
    const struct glance *g = glance(e, slot);

    if (!fits_at_a_glance(g, s))
        return 0;
    if (!g->is_plain || !s->is_plain || (shape_is_share(s) && s->gpus > 1))
        return score_of(e, e->slots.at[slot], s);
    e->steps++;
    if (s->gpus <= 1 && e->details.at[slot].is_simple)
        return e->policy->score_plain(e, &e->details.at[slot], s) + 1;
    return e->policy->score(e, e->slots.at[slot], s) + 1;
}

static void tree_free(struct mete_engine *e, struct shape *s)
{
    if (!s->tree)
        return;
    max_tree_free(s->tree);
    s->tree = NULL;
    for (size_t i = 0; i < e->trees.n; i++)
        if (e->trees.at[i] == s) {
            vec_remove(&e->trees, i);
            return;
        }
}

void search_forget(struct mete_engine *e, struct shape *s)
{
    tree_free(e, s);
    s->is_known = false;
}

static void drop_oldest_tree(struct mete_engine *e)
{
    struct shape *oldest = NULL;

    VEC_EACH (&e->trees, s) {
        if (!oldest || (*s)->used_at < oldest->used_at)
            oldest = *s;
    }
    if (oldest)
        search_forget(e, oldest);
}

static void search_tree_make(struct mete_engine *e, struct shape *s)
{
    size_t trees_max = TREES_BYTES_MAX / max_tree_bytes(e->order.n);

    if (s->tree && s->tree->n == e->order.n) {
        max_tree_clear(s->tree);
        return;
    }
    tree_free(e, s);
    if (e->trees.n >= (trees_max < TREES_MIN ? TREES_MIN : trees_max))
        drop_oldest_tree(e);
    s->tree = max_tree_new(e->order.n);
    vec_add(&e->trees, s);
}

/* The leaf of a node that has the gpus, else 0: leaves of other nodes may be stale. */
static uint32_t tree_get(const struct mete_engine *e, const struct shape *s, size_t rank)
{
    uint32_t score = s->tree ? max_tree_get(s->tree, rank) : 0;

    return score > 0 && has_gpus(glance(e, e->order.at[rank]->slot), s) ? score : 0;
}

/* The key of the best node; 0: none. */
static uint64_t tree_best(const struct mete_engine *e, const struct shape *s)
{
    size_t rank = 0;
    uint32_t score;

    if (!s->tree)
        return 0;
    while ((score = max_tree_best(s->tree, &rank)) != tree_get(e, s, rank))
        max_tree_set(s->tree, rank, 0);
    return key_of(score, (uint32_t)rank);
}

/* Scores every node. */
static void search_all(struct mete_engine *e, struct shape *s)
{
    bool fits = false;

    for (size_t i = 0; i < e->order.n; i++) {
        uint32_t score = leaf_score(e, e->order.at[i]->slot, s);

        if (score != 0 && !fits) {
            search_tree_make(e, s);
            fits = true;
        }
        if (score != 0)
            max_tree_set(s->tree, i, score);
    }
    if (!fits) {
        tree_free(e, s);
        return;
    }
    s->epoch = e->epoch;
}

/* Prefetches the memory that set_leaf of this slot reads. */
static ALWAYS_INLINE void leaf_fetch(const struct mete_engine *e, const struct shape *s,
                                     uint32_t slot)
{
    const struct glance *g = &e->glances.at[slot];

    __builtin_prefetch(&e->details.at[slot]);
    __builtin_prefetch(&e->details.at[slot].levels.free);
    if (s->tree && g->rank != NO_SLOT)
        max_tree_fetch(s->tree, g->rank);
}

static void set_leaf(struct mete_engine *e, struct shape *s, uint32_t slot)
{
    uint32_t score = leaf_score(e, slot, s);
    uint32_t rank = e->glances.at[slot].rank;

    if (score != 0 && !s->tree) {
        search_tree_make(e, s);
        s->epoch = e->epoch;
    }
    if (s->tree && rank != NO_SLOT)
        max_tree_set(s->tree, rank, score);
}

/* Scores the changed nodes of a tier. */
static void catch_up_tier(struct mete_engine *e, struct shape *s, unsigned tier)
{
    uint32_t slot = e->tiers[tier];

    while (is_newer(e, slot, s->seen)) {
        uint32_t next = e->glances.at[slot].links[CHANGE_TIER].older;

        if (next != NO_SLOT)
            leaf_fetch(e, s, next);
        set_leaf(e, s, slot);
        slot = next;
    }
}

/* Updates the leaves of nodes that may have the gpus. A shape that fitted nowhere stays without a
 * tree until a node fits. */
static void shape_catch_up(struct mete_engine *e, struct shape *s)
{
    tiers_catch_up(e);
    if (!s->is_known || (s->tree && s->epoch != e->epoch))
        search_all(e, s);
    else
        for (unsigned tier = tier_for(s); tier < TIERS; tier++)
            catch_up_tier(e, s, tier);
    s->is_known = true;
    s->seen = e->changes;
}

struct node *search_node(const struct mete_engine *e, uint64_t key)
{
    return key == 0 ? NULL : e->order.at[UINT32_MAX - (uint32_t)key];
}

static bool has_cache(const struct mete_engine *e, const struct shape *s)
{
    return !s->is_scratch && !e->policy->is_random;
}

void search_prepare(struct mete_engine *e, struct shape *s)
{
    search_rank(e);
    s->used_at = ++e->uses;
    if (has_cache(e, s))
        shape_catch_up(e, s);
}

uint64_t search_key_there(struct mete_engine *e, const struct node *n, const struct shape *s)
{
    if (!has_cache(e, s))
        return n->backfill || n->n_reserved > 0 ? 0 : search_key(e, n, s);
    e->steps++;
    return key_of(tree_get(e, s, n->rank), n->rank);
}

static uint64_t search_scan(struct mete_engine *e, const struct shape *s)
{
    uint64_t best = 0;

    for (size_t i = 0; i < e->order.n; i++) {
        const struct node *n = e->order.at[i];
        uint64_t key = n->backfill || n->n_reserved > 0 ? 0 : search_key(e, n, s);

        best = key > best ? key : best;
    }
    return best;
}

struct node *search_best(struct mete_engine *e, struct shape *s, uint64_t *ret_key)
{
    search_rank(e);
    e->steps++;
    if (!has_cache(e, s)) {
        e->uses++;
        *ret_key = search_scan(e, s);
        return search_node(e, *ret_key);
    }
    shape_catch_up(e, s);
    *ret_key = tree_best(e, s);
    s->used_at = ++e->uses;
    return search_node(e, *ret_key);
}

const uint64_t *search_keys(struct mete_engine *e, struct shape *s)
{
    search_rank(e);
    e->steps++;
    vec_clear(&e->keys);
    if (!has_cache(e, s) || e->inside) {
        e->uses++;
        VEC_EACH (&e->order, n) {
            bool is_apart = (*n)->backfill || (*n)->n_reserved > 0 || e->inside;

            vec_add(&e->keys, is_apart ? 0 : search_key(e, *n, s));
        }
        return e->keys.at;
    }
    shape_catch_up(e, s);
    s->used_at = ++e->uses;
    for (size_t i = 0; i < e->order.n; i++)
        vec_add(&e->keys, key_of(tree_get(e, s, i), (uint32_t)i));
    return e->keys.at;
}

const char *search_check(struct mete_engine *e)
{
    const char *wrong = NULL;
    struct shape *s;
    struct shape *next;

    search_rank(e);
    map_each (handle, e->shape_map, s, next) {
        uint64_t steps = e->steps;

        if (!s->is_known)
            continue;
        shape_catch_up(e, s);
        if (tree_best(e, s) != search_scan(e, s))
            wrong = "a cached search differs from a search of every node";
        e->steps = steps;
    }
    return wrong;
}
