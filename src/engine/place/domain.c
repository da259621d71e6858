/*
 * domain.c - the search for a domain that holds a gang
 *
 * A trial fills a domain as the engine fills the whole cluster: each pod goes to the best node. The
 * keys of the domain's nodes are in a separate winner tree (see search.c), which starts from the
 * shape's cache and catches up as the cache does. The search skips domains that have too little
 * room by a count, which never is too low. When a later set finds no place, an earlier set goes to
 * its next domain, up to RETURNS_MAX times.
 */

#include "engine/place/domain.h"

#include <stdlib.h>

#include "engine/place/fit.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"

enum {
    RETURNS_MAX = 64
};

/* Stands for all sets of a workload in place of an index. */
#define ALL_SETS SIZE_MAX

struct domain_search {
    const struct shape *shape; /* NULL: the tree is not valid */
    uint64_t seen;             /* e->changes at the tree's last update */
    size_t room;
    VEC(uint64_t) tree;
};

static struct domain_search *search_of(struct mete_engine *e)
{
    if (!e->domain_search)
        e->domain_search = mem_alloc(sizeof(*e->domain_search));
    return e->domain_search;
}

void domain_search_free(struct domain_search *s)
{
    if (!s)
        return;
    vec_done(&s->tree);
    free(s);
}

static uint64_t larger_below(const struct domain_search *s, size_t i)
{
    uint64_t left = s->tree.at[2 * i];
    uint64_t right = s->tree.at[2 * i + 1];

    return left > right ? left : right;
}

static void domain_tree_make(struct mete_engine *e, const struct scope *scope,
                             const struct shape *s)
{
    struct domain_search *ds = search_of(e);
    const struct domain *d = &scope->level->domains[scope->domain];
    struct node *const *nodes = domain_nodes(scope->level, scope->domain);

    for (ds->room = 1; ds->room < d->n_nodes;)
        ds->room *= 2;
    while (ds->tree.n < 2 * ds->room)
        vec_add(&ds->tree, 0);
    for (size_t i = 0; i < ds->room; i++)
        ds->tree.at[ds->room + i] = i < d->n_nodes ? search_key_there(e, nodes[i], s) : 0;
    for (size_t i = ds->room - 1; i > 0; i--)
        ds->tree.at[i] = larger_below(ds, i);
    ds->shape = s;
}

static void tree_set(struct domain_search *s, size_t leaf, uint64_t key)
{
    s->tree.at[s->room + leaf] = key;
    for (size_t i = (s->room + leaf) / 2; i > 0; i /= 2) {
        uint64_t larger = larger_below(s, i);

        if (s->tree.at[i] == larger)
            return;
        s->tree.at[i] = larger;
    }
}

struct node *domain_best(struct mete_engine *e, const struct scope *scope, struct shape *s,
                         uint64_t *ret_key)
{
    struct domain_search *ds = search_of(e);
    const struct level *l = scope->level;

    search_prepare(e, s);
    if (ds->shape != s || e->policy->is_random) {
        domain_tree_make(e, scope, s);
        ds->seen = e->changes;
    }
    for (const struct node *n = search_newest(e, ds->seen); n; n = search_older(e, n, ds->seen))
        if (level_domain_of(l, n) == scope->domain)
            tree_set(ds, l->by_slot[n->slot].index - l->domains[scope->domain].first,
                     search_key_there(e, n, s));
    ds->seen = e->changes;
    *ret_key = ds->tree.at[1];
    return search_node(e, *ret_key);
}

static void scope_enter(struct mete_engine *e, struct attempt *a, struct scope scope)
{
    a->scope = scope;
    search_of(e)->shape = NULL;
}

static bool is_required(const struct attempt *a, const struct domain_asks *asks, size_t i)
{
    return asks->is_required[i] && asks->keys[i] != a->relaxed_key;
}

struct level *domain_level(struct mete_engine *e, const struct attempt *a,
                           const struct domain_asks *asks, size_t i, const struct scope *outer)
{
    uint32_t keys[2 * METE_DOMAINS_MAX];
    size_t n = 0;

    keys[n++] = asks->keys[i];
    for (size_t k = i + 1; k < asks->n; k++)
        if (is_required(a, asks, k))
            keys[n++] = asks->keys[k];
    for (size_t k = 0; outer->level && k < outer->level->n_keys; k++)
        keys[n++] = outer->level->keys[k];
    return level_get(e, keys, n);
}

bool domain_is_within(const struct level *l, uint32_t domain, const struct scope *outer)
{
    size_t n = outer->level ? outer->level->n_keys : 0;

    return n == 0 ||
           memcmp(domain_values(l, domain) + l->n_keys - n,
                  domain_values(outer->level, outer->domain), n * sizeof(*l->values)) == 0;
}

static struct shape *shape_of(const struct attempt *a, uint32_t set)
{
    return a->shapes ? a->shapes[set] : a->w->group->sets[set].shape;
}

/* The whole gpus that set `at`, or all sets, ask for. */
static uint64_t whole_gpus(const struct attempt *a, size_t at)
{
    const struct group *g = a->w->group;
    uint64_t gpus = 0;

    for (size_t i = 0; i < g->n_sets; i++) {
        const struct shape *s = shape_of(a, g->fill_order[i]);

        if ((at == ALL_SETS || at == i) && !shape_is_share(s) && s->n_asks == 0)
            gpus += (uint64_t)s->gpus * g->sets[g->fill_order[i]].count;
    }
    return gpus;
}

static bool may_fit(const struct attempt *a, const struct level *l, uint32_t domain, size_t at)
{
    const struct group *g = a->w->group;

    for (size_t i = 0; i < g->n_sets; i++)
        if ((at == ALL_SETS || at == i) &&
            level_bound(l, domain, shape_of(a, g->fill_order[i])) < g->sets[g->fill_order[i]].count)
            return false;
    return true;
}

static bool place_from(struct mete_engine *e, struct attempt *a, size_t at);

/* Places set `at`, or all, within the scope, then the later sets. `*ret_own` is true when set `at`
 * found its place: then a later set failed. */
static bool place_here(struct mete_engine *e, struct attempt *a, size_t at, bool *ret_own)
{
    *ret_own = false;
    if (at == ALL_SETS) {
        a->wide = a->scope;
        return place_from(e, a, 0);
    }
    if (!place_set(e, a, a->w->group->fill_order[at]))
        return false;
    *ret_own = true;
    return place_from(e, a, at + 1);
}

static bool try_domain(struct mete_engine *e, struct attempt *a, struct scope scope, size_t at)
{
    size_t placed_before = a->n_placed;
    size_t mark = journal_open(&e->journal);
    bool is_own = false;

    scope_enter(e, a, scope);
    if (at == ALL_SETS)
        a->n_returns = 0;
    if (place_here(e, a, at, &is_own)) {
        journal_keep(&e->journal, mark);
        return true;
    }
    journal_undo(&e->journal, mark);
    a->n_returns += is_own;
    if (a->n_placed > a->most_placed)
        a->most_placed = a->n_placed;
    a->n_placed = placed_before;
    return false;
}

/* Tries the level's domains within the outer scope, fewest free gpus first. */
static bool try_level(struct mete_engine *e, struct attempt *a, struct level *l, struct scope outer,
                      size_t at)
{
    uint32_t i = a->is_thorough ? 0 : level_first_with(l, whole_gpus(a, at));

    while (i < l->n_domains && (at == ALL_SETS || a->n_returns < RETURNS_MAX)) {
        uint32_t domain = l->order[i];

        e->steps++;
        if (domain_is_within(l, domain, &outer) && (a->is_thorough || may_fit(a, l, domain, at))) {
            if (try_domain(e, a, (struct scope){l, domain}, at))
                return true;
            level_catch_up(e, l); /* back to the former order of domains */
        }
        i = l->domains[domain].place + 1;
    }
    return false;
}

/* Places set `at`, or all, and the later sets, at the first level of the asks that works. */
static bool place_together(struct mete_engine *e, struct attempt *a, const struct domain_asks *asks,
                           size_t at)
{
    struct scope outer = a->scope;
    bool is_own = false;

    for (size_t i = 0; i < asks->n; i++) {
        struct level *l = domain_level(e, a, asks, i, &outer);
        bool fits;

        l->pins++;
        fits = try_level(e, a, l, outer, at);
        l->pins--;
        if (fits || is_required(a, asks, i))
            return fits;
    }
    if (asks->n > 0)
        scope_enter(e, a, outer);
    return place_here(e, a, at, &is_own);
}

static bool place_from(struct mete_engine *e, struct attempt *a, size_t at)
{
    const struct group *g = a->w->group;

    if (at == g->n_sets)
        return queue_admits_placed(e, a->w, &a->block);
    if (a->scope.level != a->wide.level || a->scope.domain != a->wide.domain)
        scope_enter(e, a, a->wide);
    return place_together(e, a, &g->sets[g->fill_order[at]].asks, at);
}

bool domains_place(struct mete_engine *e, struct attempt *a)
{
    bool fits;

    a->most_placed = 0;
    a->n_returns = 0;
    fits = place_together(e, a, &a->w->group->asks, ALL_SETS);
    if (fits)
        a->block.code = METE_REASON_NONE; /* it was set in a domain that failed */
    else if (a->n_placed < a->most_placed)
        a->n_placed = a->most_placed;
    a->scope = (struct scope){0};
    return fits;
}

static void add_required(const struct domain_asks *asks, uint32_t *keys, size_t *n)
{
    for (size_t i = 0; i < asks->n; i++)
        if (asks->is_required[i])
            keys[(*n)++] = asks->keys[i];
}

size_t domain_required(const struct group *g, const struct group_set *set, uint32_t *ret_keys)
{
    size_t n = 0;

    if (set)
        add_required(&set->asks, ret_keys, &n);
    add_required(&g->asks, ret_keys, &n);
    return n;
}

static bool fits_empty(const struct level *l, uint32_t domain, const struct group_set *set)
{
    struct node *const *nodes = domain_nodes(l, domain);
    uint64_t count = 0;

    for (uint32_t i = 0; i < l->domains[domain].n_nodes && count < set->count; i++)
        count += fit_empty(nodes[i], set->shape);
    return count >= set->count;
}

/* Does one empty domain hold each set from `first` to before `end` by itself? */
static bool any_fits_empty(struct mete_engine *e, const struct group *g, size_t first, size_t end,
                           const struct group_set *with)
{
    uint32_t keys[2 * METE_DOMAINS_MAX];
    size_t n_keys = domain_required(g, with, keys);
    const struct level *l;

    if (n_keys == 0)
        return true;
    l = level_get(e, keys, n_keys);
    for (uint32_t d = 0; d < l->n_domains; d++) {
        bool fits = true;

        for (size_t i = first; i < end && fits; i++)
            fits = fits_empty(l, d, &g->sets[i]);
        if (fits)
            return true;
    }
    return false;
}

bool domains_never_fit(struct mete_engine *e, const struct group *g)
{
    if (!g->has_asks)
        return false;
    for (size_t i = 0; i < g->n_sets; i++)
        if (!any_fits_empty(e, g, i, i + 1, &g->sets[i]))
            return true;
    return !any_fits_empty(e, g, 0, g->n_sets, NULL);
}

/* The node's value of the label; 0: none. */
static uint32_t value_of(const struct node *n, uint32_t key)
{
    for (size_t i = 0; i < n->n_labels; i++)
        if (n->labels[i].key == key)
            return n->labels[i].value;
    return 0;
}

/* Are the pods of one set, or of all, in the required domains? */
static bool asks_hold(const struct workload *w, const struct domain_asks *asks, size_t set)
{
    for (size_t i = 0; i < asks->n; i++) {
        const struct pod *first = NULL;

        for (size_t k = 0; asks->is_required[i] && k < w->n_pods; k++) {
            const struct pod *p = &w->pods[k];
            uint32_t value = p->node ? value_of(p->node, asks->keys[i]) : 0;

            if (!p->node || (set != ALL_SETS && p->set != set))
                continue;
            first = first ? first : p;
            if (value == 0 || value != value_of(first->node, asks->keys[i]))
                return false;
        }
    }
    return true;
}

bool domains_hold(const struct workload *w)
{
    const struct group *g = w->group;

    for (size_t i = 0; i < g->n_sets; i++)
        if (!asks_hold(w, &g->sets[i].asks, i))
            return false;
    return asks_hold(w, &g->asks, ALL_SETS);
}

bool links_hold(const struct workload *w)
{
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct pod *p = &w->pods[i];

        for (size_t k = 0; k < p->n_gpus && pod_shape(p)->is_linked; k++)
            if (p->gpus[k]->link_group < 0 || p->gpus[k]->link_group != p->gpus[0]->link_group)
                return false;
    }
    return true;
}
