/*
 * A key is the score (plus 1, so that 0 says "does not fit") above the rank from behind, so that
 * the largest key is the best node and the first by name among equals. Leaf i of a tree with `room`
 * leaves is tree[room + i]; an inner node is the larger of its two; tree[1] is the winner.
 */
#include "engine/search.h"

#include <stdlib.h>

#include "engine/fit.h"
#include "engine/policy.h"

enum {
    LOG_ROOM = 1 << 13, /* changes; whoever is further behind looks at every node */
    TREES_MIN = 16,
    TREES_BYTES_MAX = 64 << 20,
};

static void log_change(struct mete_engine *e, const struct node *n)
{
    e->glances.at[n->slot].is_known = false;
    if (e->log.n < LOG_ROOM)
        vec_add(&e->log, n->slot);
    else
        e->log.at[e->log_end % LOG_ROOM] = n->slot;
    e->log_end++;
}

void node_touch(struct mete_engine *e, struct node *n)
{
    if (e->is_quiet)
        return;
    journal_mark(&e->journal, n);
    log_change(e, n);
}

void search_undone(void *arg, void *at)
{
    log_change(arg, at);
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

/* As search_key. */
static uint64_t asks_key(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint32_t score;

    if (!node_takes_pods(n) || n->is_barred || !fit_rooms(n, s, false) || !fit_kind(n, s))
        return 0;
    score = score_asks(e, n, s);
    return score == 0 ? 0 : (uint64_t)score << 32 | (UINT32_MAX - n->rank);
}

uint64_t search_key(struct mete_engine *e, const struct node *n, const struct shape *s)
{
    e->steps++;
    if (s->n_asks > 0)
        return asks_key(e, n, s);
    if (!fit_now(n, s))
        return 0;
    return ((uint64_t)e->policy->score(e, n, s) + 1) << 32 | (UINT32_MAX - n->rank);
}

static const struct glance *glance(struct mete_engine *e, uint32_t slot)
{
    struct glance *g = &e->glances.at[slot];
    const struct node *n = e->slots.at[slot];

    if (g->is_known)
        return g;
    *g = (struct glance){.is_known = true};
    if (!n || !n->is_present)
        return g;
    /* reserved and booked nodes are searched apart, because who asks matters there */
    g->is_open = node_takes_pods(n) && !n->reservation && n->n_booked == 0;
    g->whole = (uint16_t)bits(n->healthy & ~n->held);
    g->rank = n->rank;
    g->cpu = node_cpu_free(e, n);
    for (uint64_t left = n->healthy; left; left &= left - 1) {
        uint16_t free = n->free_milli[__builtin_ctzll(left)];

        g->largest = free > g->largest ? free : g->largest;
    }
    return g;
}

static bool fits_at_a_glance(const struct glance *g, const struct shape *s)
{
    if (!g->is_open || s->cpu > g->cpu)
        return false;
    if (s->n_asks > 0)
        return true;
    return shape_is_share(s) ? s->milli <= g->largest : s->gpus <= g->whole;
}

static uint64_t leaf_key(struct mete_engine *e, uint32_t slot, const struct shape *s)
{
    if (!fits_at_a_glance(glance(e, slot), s))
        return 0;
    return search_key(e, e->slots.at[slot], s);
}

struct node *search_node(const struct mete_engine *e, uint64_t key)
{
    return key == 0 ? NULL : e->order.at[UINT32_MAX - (uint32_t)key];
}

static void tree_free(struct mete_engine *e, struct shape *s)
{
    if (!s->tree)
        return;
    free(s->tree);
    s->tree = NULL;
    s->tree_room = 0;
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

static void tree_make(struct mete_engine *e, struct shape *s)
{
    size_t room = 1;
    size_t trees_max;

    while (room < e->order.n)
        room *= 2;
    if (s->tree && s->tree_room == room) {
        memset(s->tree, 0, 2 * room * sizeof(*s->tree));
        return;
    }
    tree_free(e, s);
    trees_max = TREES_BYTES_MAX / (2 * room * sizeof(*s->tree));
    if (trees_max < TREES_MIN)
        trees_max = TREES_MIN;
    if (e->trees.n >= trees_max)
        drop_oldest_tree(e);
    s->tree = mem_alloc(2 * room * sizeof(*s->tree));
    s->tree_room = room;
    vec_add(&e->trees, s);
}

static void tree_set(struct shape *s, uint32_t rank, uint64_t key)
{
    size_t i = s->tree_room + rank;

    if (s->tree[i] == key)
        return;
    s->tree[i] = key;
    for (i /= 2; i > 0; i /= 2) {
        uint64_t left = s->tree[2 * i];
        uint64_t right = s->tree[2 * i + 1];
        uint64_t larger = left > right ? left : right;

        if (s->tree[i] == larger)
            break;
        s->tree[i] = larger;
    }
}

/* Looks at every node. */
static void search_all(struct mete_engine *e, struct shape *s)
{
    bool fits = false;

    for (size_t i = 0; i < e->order.n; i++) {
        uint64_t key = leaf_key(e, e->order.at[i]->slot, s);

        if (key != 0 && !fits) {
            tree_make(e, s);
            fits = true;
        }
        if (key != 0)
            s->tree[s->tree_room + i] = key;
    }
    if (!fits) {
        tree_free(e, s);
        return;
    }
    for (size_t i = s->tree_room - 1; i > 0; i--)
        s->tree[i] = s->tree[2 * i] > s->tree[2 * i + 1] ? s->tree[2 * i] : s->tree[2 * i + 1];
    s->epoch = e->epoch;
}

bool search_is_behind(const struct mete_engine *e, uint64_t seen)
{
    return e->log_end - seen > LOG_ROOM;
}

static bool is_present(const struct mete_engine *e, uint32_t slot)
{
    return e->slots.at[slot] && e->slots.at[slot]->is_present;
}

struct node *search_changed(const struct mete_engine *e, uint64_t at)
{
    uint32_t slot = e->log.at[at % LOG_ROOM];

    return is_present(e, slot) ? e->slots.at[slot] : NULL;
}

/* Brings a cache up to date. A shape that fitted nowhere stays without a tree until a node fits. */
static void catch_up(struct mete_engine *e, struct shape *s)
{
    if (!s->is_known || search_is_behind(e, s->seen) || (s->tree && s->epoch != e->epoch)) {
        search_all(e, s);
        s->is_known = true;
        s->seen = e->log_end;
        return;
    }
    for (; s->seen < e->log_end; s->seen++) {
        uint32_t slot = e->log.at[s->seen % LOG_ROOM];
        uint64_t key = leaf_key(e, slot, s);

        if (key != 0 && !s->tree) {
            tree_make(e, s);
            s->epoch = e->epoch;
        }
        if (s->tree && (key != 0 || is_present(e, slot)))
            tree_set(s, glance(e, slot)->rank, key);
    }
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
        catch_up(e, s);
}

uint64_t search_key_there(struct mete_engine *e, const struct node *n, const struct shape *s)
{
    if (!has_cache(e, s))
        return n->reservation || n->n_booked > 0 ? 0 : search_key(e, n, s);
    e->steps++;
    return s->tree ? s->tree[s->tree_room + n->rank] : 0;
}

static uint64_t scan(struct mete_engine *e, const struct shape *s)
{
    uint64_t best = 0;

    for (size_t i = 0; i < e->order.n; i++) {
        const struct node *n = e->order.at[i];
        uint64_t key = n->reservation || n->n_booked > 0 ? 0 : search_key(e, n, s);

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
        *ret_key = scan(e, s);
        return search_node(e, *ret_key);
    }
    catch_up(e, s);
    s->used_at = ++e->uses;
    *ret_key = s->tree ? s->tree[1] : 0;
    return search_node(e, *ret_key);
}

const char *search_check(struct mete_engine *e)
{
    struct shape *s;
    struct shape *next;

    search_rank(e);
    map_each (handle, e->shape_map, s, next) {
        uint64_t steps = e->steps;
        uint64_t best;

        if (!s->is_known)
            continue;
        catch_up(e, s);
        best = scan(e, s);
        e->steps = steps;
        if ((s->tree ? s->tree[1] : 0) != best)
            return "a cached search differs from a search of every node";
    }
    return NULL;
}
