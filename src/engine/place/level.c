/* level.c - levels: made from the nodes' labels, kept up to date, dropped when unused */

#include "engine/place/level.h"

#include <stdlib.h>

#include "engine/place/fit.h"
#include "engine/place/policy.h"
#include "engine/place/search.h"

enum {
    LEVELS_MAX = 32 /* most unpinned levels kept */
};

/* The most cpu that a node counts for, so that sums over all nodes do not overflow. */
#define CPU_MAX (INT64_C(1) << 40)

/* A node and the values of its labels, while the level is made. */
struct labeled {
    struct node *node;
    const struct level *level;
    uint32_t values[2 * METE_DOMAINS_MAX];
};

static const struct label *label_of(const struct node *n, uint32_t key)
{
    size_t low = 0;
    size_t high = n->n_labels;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (n->labels[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n->n_labels && n->labels[low].key == key ? &n->labels[low] : NULL;
}

static bool read_values(const struct level *l, const struct node *n, uint32_t *ret)
{
    for (size_t i = 0; i < l->n_keys; i++) {
        const struct label *label = label_of(n, l->keys[i]);

        if (!label)
            return false;
        ret[i] = label->value;
    }
    return true;
}

/* Orders by values, so that a domain's nodes are adjacent, then by rank. */
static int compare_labeled(const void *a, const void *b)
{
    const struct labeled *x = a;
    const struct labeled *y = b;

    for (size_t i = 0; i < x->level->n_keys; i++)
        if (x->values[i] != y->values[i])
            return x->values[i] < y->values[i] ? -1 : 1;
    return (x->node->rank > y->node->rank) - (x->node->rank < y->node->rank);
}

/* A domain, while domains are sorted. */
struct level_named {
    const struct intern *texts;
    const struct labeled *first;
    uint32_t n_nodes;
};

static int compare_named(const void *a, const void *b)
{
    const struct level_named *x = a;
    const struct level_named *y = b;

    for (size_t i = 0; i < x->first->level->n_keys; i++) {
        int order = strcmp(intern_text(x->texts, x->first->values[i]),
                           intern_text(y->texts, y->first->values[i]));

        if (order != 0)
            return order;
    }
    return 0; /* not reached: domains differ in a value */
}

static struct level_node count_node(const struct mete_engine *e, const struct node *n)
{
    struct level_node ret = {0};
    int64_t cpu = node_cpu_free(e, n);

    if (!node_takes_pods(n))
        return ret;
    ret.free_gpus = bits(n->healthy & ~n->held);
    for (uint64_t left = n->healthy; left; left &= left - 1)
        ret.free_milli += n->free_milli[__builtin_ctzll(left)];
    ret.is_vast = cpu > CPU_MAX;
    ret.free_cpu = ret.is_vast ? CPU_MAX : cpu > 0 ? cpu : 0;
    return ret;
}

static uint32_t *by_free(const struct level *l, uint32_t domain)
{
    return &l->by_free[(size_t)domain * (l->gpus_max + 1)];
}

static bool is_before(const struct level *l, uint32_t a, uint32_t b)
{
    if (l->domains[a].free_gpus != l->domains[b].free_gpus)
        return l->domains[a].free_gpus < l->domains[b].free_gpus;
    return a < b;
}

static void put_at(struct level *l, uint32_t place, uint32_t domain)
{
    l->order[place] = domain;
    l->domains[domain].place = place;
}

/* Moves a domain with changed free gpus to its place in the order. */
static void level_move(struct level *l, uint32_t domain)
{
    uint32_t at = l->domains[domain].place;

    for (; at > 0 && is_before(l, domain, l->order[at - 1]); at--)
        put_at(l, at, l->order[at - 1]);
    for (; at + 1 < l->n_domains && is_before(l, l->order[at + 1], domain); at++)
        put_at(l, at, l->order[at + 1]);
    put_at(l, at, domain);
}

static void count_again(const struct mete_engine *e, struct level *l, const struct node *n)
{
    struct level_node *here = &l->by_slot[n->slot];
    struct level_node now = count_node(e, n);
    uint32_t free_before = here->free_gpus;
    struct domain *d;

    if (here->domain == DOMAIN_NONE)
        return;
    d = &l->domains[here->domain];
    by_free(l, here->domain)[free_before]--;
    by_free(l, here->domain)[now.free_gpus]++;
    d->free_gpus += (uint64_t)now.free_gpus - free_before;
    d->free_milli += (uint64_t)now.free_milli - here->free_milli;
    d->free_cpu += now.free_cpu - here->free_cpu;
    l->n_vast += (uint32_t)now.is_vast - here->is_vast;
    now.domain = here->domain;
    now.index = here->index;
    *here = now;
    if (now.free_gpus != free_before)
        level_move(l, now.domain);
}

static void level_clear(struct level *l)
{
    free(l->domains);
    free(l->values);
    free(l->nodes);
    free(l->by_slot);
    free(l->order);
    free(l->by_free);
}

/* Lists the nodes that have all of the labels, domain by domain. Returns their number. */
static size_t list_labeled(const struct mete_engine *e, const struct level *l, struct labeled *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < e->order.n; i++) {
        ret[n] = (struct labeled){.node = e->order.at[i], .level = l};
        n += read_values(l, ret[n].node, ret[n].values);
    }
    qsort(ret, n, sizeof(*ret), compare_labeled);
    return n;
}

static bool is_same_domain(const struct labeled *a, const struct labeled *b)
{
    return memcmp(a->values, b->values, a->level->n_keys * sizeof(*a->values)) == 0;
}

static uint32_t list_domains(const struct mete_engine *e, const struct labeled *nodes, size_t n,
                             struct level_named *ret)
{
    uint32_t n_domains = 0;

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !is_same_domain(&nodes[i - 1], &nodes[i]))
            ret[n_domains++] = (struct level_named){.texts = e->texts, .first = &nodes[i]};
        ret[n_domains - 1].n_nodes++;
    }
    qsort(ret, n_domains, sizeof(*ret), compare_named);
    return n_domains;
}

static void fill_domain(struct level *l, uint32_t domain, const struct level_named *from)
{
    struct domain *d = &l->domains[domain];

    *d = (struct domain){.first = (uint32_t)l->n_nodes, .place = domain};
    l->order[domain] = domain;
    memcpy(&l->values[domain * l->n_keys], from->first->values, l->n_keys * sizeof(*l->values));
    for (d->n_nodes = 0; d->n_nodes < from->n_nodes; d->n_nodes++) {
        struct node *n = from->first[d->n_nodes].node;

        l->by_slot[n->slot].domain = domain;
        l->by_slot[n->slot].index = (uint32_t)l->n_nodes;
        l->nodes[l->n_nodes++] = n;
    }
    by_free(l, domain)[0] = d->n_nodes; /* until the count: all nodes with 0 free gpus */
}

static void level_fill(struct mete_engine *e, struct level *l)
{
    size_t room = e->order.n + 1;
    struct labeled *nodes = mem_alloc(room * sizeof(*nodes));
    struct level_named *named = mem_alloc(room * sizeof(*named));
    size_t n = list_labeled(e, l, nodes);

    level_clear(l);
    l->n_domains = list_domains(e, nodes, n, named);
    l->n_nodes = 0;
    l->n_vast = 0;
    l->gpus_max = e->gpus_max;
    l->n_slots = e->slots.n;
    l->domains = mem_alloc((l->n_domains + 1) * sizeof(*l->domains));
    l->values = mem_alloc((l->n_domains + 1) * l->n_keys * sizeof(*l->values));
    l->order = mem_alloc((l->n_domains + 1) * sizeof(*l->order));
    l->by_free = mem_alloc(((size_t)l->n_domains + 1) * (l->gpus_max + 1) * sizeof(*l->by_free));
    l->nodes = mem_alloc(room * sizeof(struct node *));
    l->by_slot = mem_alloc((l->n_slots + 1) * sizeof(*l->by_slot));
    for (size_t i = 0; i < l->n_slots; i++)
        l->by_slot[i].domain = DOMAIN_NONE;
    for (uint32_t i = 0; i < l->n_domains; i++)
        fill_domain(l, i, &named[i]);
    for (size_t i = 0; i < l->n_nodes; i++)
        count_again(e, l, l->nodes[i]);
    l->labels_at = e->labels_version;
    l->seen = e->changes;
    free(named);
    free(nodes);
}

void level_catch_up(struct mete_engine *e, struct level *l)
{
    for (const struct node *n = search_newest(e, l->seen); n; n = search_older(e, n, l->seen))
        count_again(e, l, n);
    l->seen = e->changes;
}

static void level_free(struct mete_engine *e, struct level *l)
{
    for (size_t i = 0; i < l->n_keys; i++)
        intern_unref(e->texts, l->keys[i]);
    level_clear(l);
    free(l);
}

static void drop_oldest(struct mete_engine *e)
{
    size_t oldest = e->levels.n;

    for (size_t i = 0; i < e->levels.n; i++)
        if (e->levels.at[i]->pins == 0 &&
            (oldest == e->levels.n || e->levels.at[i]->used_at < e->levels.at[oldest]->used_at))
            oldest = i;
    if (oldest == e->levels.n)
        return;
    level_free(e, e->levels.at[oldest]);
    vec_remove(&e->levels, oldest);
}

static struct level *level_new(struct mete_engine *e, const uint32_t *keys, size_t n_keys)
{
    struct level *l = mem_alloc(sizeof(*l));

    if (e->levels.n >= LEVELS_MAX)
        drop_oldest(e);
    l->n_keys = n_keys;
    for (size_t i = 0; i < n_keys; i++)
        l->keys[i] = intern_ref(e->texts, intern_text(e->texts, keys[i]));
    vec_add(&e->levels, l);
    return l;
}

static bool is_current(const struct mete_engine *e, const struct level *l)
{
    return l->domains && l->labels_at == e->labels_version && l->gpus_max >= e->gpus_max;
}

struct level *level_get(struct mete_engine *e, const uint32_t *keys, size_t n_keys)
{
    struct level *l = NULL;

    for (size_t i = 0; i < e->levels.n && !l; i++)
        if (e->levels.at[i]->n_keys == n_keys &&
            memcmp(e->levels.at[i]->keys, keys, n_keys * sizeof(*keys)) == 0)
            l = e->levels.at[i];
    if (!l)
        l = level_new(e, keys, n_keys);
    l->used_at = ++e->uses;
    search_rank(e);
    if (is_current(e, l))
        level_catch_up(e, l);
    else
        level_fill(e, l);
    return l;
}

void levels_free(struct mete_engine *e)
{
    VEC_EACH (&e->levels, l) {
        level_free(e, *l);
    }
    vec_done(&e->levels);
}

uint32_t level_first_with(const struct level *l, uint64_t free_gpus)
{
    uint32_t low = 0;
    uint32_t high = l->n_domains;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->domains[l->order[middle]].free_gpus < free_gpus)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t bound_by_gpus(const struct level *l, uint32_t domain, const struct shape *s)
{
    const uint32_t *nodes = by_free(l, domain);
    uint64_t count = 0;

    if (shape_is_share(s))
        return l->domains[domain].free_milli / ((uint64_t)s->milli * s->gpus);
    for (uint32_t free = s->gpus; free <= l->gpus_max; free++)
        count += (uint64_t)nodes[free] * (free / s->gpus);
    return count;
}

uint64_t level_bound(const struct level *l, uint32_t domain, const struct shape *s)
{
    /* slices and replicas are not counted */
    bool is_counted = s->gpus > 0 && s->n_asks == 0;
    uint64_t count = is_counted ? bound_by_gpus(l, domain, s) : UINT64_MAX;

    if (s->cpu > 0 && l->n_vast == 0) {
        uint64_t by_cpu = (uint64_t)(l->domains[domain].free_cpu / s->cpu);

        count = by_cpu < count ? by_cpu : count;
    }
    return count;
}

static const char *check_level(struct mete_engine *e, struct level *l)
{
    struct level anew = {.n_keys = l->n_keys};
    const char *wrong = NULL;

    memcpy(anew.keys, l->keys, sizeof(l->keys));
    level_catch_up(e, l);
    level_fill(e, &anew);
    if (anew.n_domains != l->n_domains || anew.n_nodes != l->n_nodes)
        wrong = "a level has other domains than its labels say";
    for (uint32_t i = 0; i < anew.n_domains && !wrong; i++) {
        const struct domain *a = &anew.domains[i];
        const struct domain *b = &l->domains[i];

        if (a->free_gpus != b->free_gpus || a->free_milli != b->free_milli ||
            a->free_cpu != b->free_cpu || anew.order[i] != l->order[i])
            wrong = "a domain's free amounts differ from the sums over its nodes";
    }
    level_clear(&anew);
    return wrong;
}

const char *levels_check(struct mete_engine *e)
{
    search_rank(e);
    VEC_EACH (&e->levels, l) {
        const char *wrong = is_current(e, *l) ? check_level(e, *l) : NULL;

        if (wrong)
            return wrong;
    }
    return NULL;
}
