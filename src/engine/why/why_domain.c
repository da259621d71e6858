/* why_domain.c - gangs that require one domain, in words */

#include <inttypes.h>

#include "base/str.h"
#include "engine/place/domain.h"
#include "engine/place/fit.h"
#include "engine/why/why.h"

/* "rack" for "example.com/rack", "node" for a host name. */
static const char *noun_of(struct mete_engine *e, uint32_t key)
{
    const char *text = intern_text(e->texts, key);
    const char *slash = strrchr(text, '/');

    if (text_equal(text, "kubernetes.io/hostname"))
        return "node";
    return arena_strdup(e->answers, slash && slash[1] ? slash + 1 : text);
}

/* The set, or if it requires no domain the first set that does. */
static uint32_t set_that_asks(const struct group *g, uint32_t set)
{
    uint32_t keys[2 * METE_DOMAINS_MAX];

    for (uint32_t i = 0; i < g->n_sets && domain_required(g, &g->sets[set], keys) == 0; i++)
        set = i;
    return set;
}

/* The required domain that a text is about: the workload's narrowest, else the set's. */
struct why_asked {
    uint32_t keys[2 * METE_DOMAINS_MAX];
    size_t n_keys;
    const struct shape *shape; /* of the pods that the text names */
    int64_t gpus;              /* whole gpus of all these pods; 0: not all pods ask for such */
    uint32_t pods;
};

static struct why_asked asked_of(const struct group *g, uint32_t set)
{
    struct why_asked ret = {0};
    bool is_whole;
    bool is_all;

    set = set_that_asks(g, set);
    ret.shape = g->sets[set].shape;
    is_whole = ret.shape->gpus > 0;

    ret.n_keys = domain_required(g, NULL, ret.keys);
    is_all = ret.n_keys > 0;
    if (!is_all)
        ret.n_keys = domain_required(g, &g->sets[set], ret.keys);
    for (size_t i = 0; i < g->n_sets; i++) {
        const struct group_set *each = &g->sets[i];

        if (!is_all && i != set)
            continue;
        ret.pods += each->count;
        ret.gpus += (int64_t)each->count * each->shape->gpus;
        is_whole = is_whole && !shape_is_share(each->shape) && each->shape->n_asks == 0 &&
                   (each->shape->gpus == 0 || each->shape == ret.shape);
    }
    ret.gpus = is_whole ? ret.gpus : 0;
    return ret;
}

/* The gpus of a domain that such pods could have: free now, or with `is_empty` on empty, healthy
 * nodes. */
static int64_t gpus_in(const struct level *l, uint32_t domain, const struct shape *s, bool is_empty)
{
    struct node *const *nodes = domain_nodes(l, domain);
    int64_t gpus = 0;

    for (uint32_t i = 0; i < l->domains[domain].n_nodes; i++) {
        const struct node *n = nodes[i];

        if (fit_kind(n, s) && (is_empty || node_takes_pods(n)))
            gpus += bits(is_empty ? node_gpus_of(n, s) : fit_gpus(n, s));
    }
    return gpus;
}

/* The domain with the most such gpus, the first by name; DOMAIN_NONE: there is no domain. */
static uint32_t most_gpus(const struct level *l, const struct shape *s, bool is_empty,
                          int64_t *ret_gpus)
{
    uint32_t best = DOMAIN_NONE;

    for (uint32_t d = 0; d < l->n_domains; d++) {
        int64_t gpus = gpus_in(l, d, s, is_empty);

        if (best != DOMAIN_NONE && gpus <= *ret_gpus)
            continue;
        best = d;
        *ret_gpus = gpus;
    }
    return best;
}

static const char *pods_text(struct mete_engine *e, const struct why_asked *a)
{
    if (a->gpus == 0)
        return arena_format(e->answers, "%u pods", a->pods);
    return arena_format(e->answers, "%" PRId64 " x %s", a->gpus / a->shape->gpus,
                        why_gpus(e, a->shape, a->shape->gpus));
}

const char *why_domain_text(struct mete_engine *e, const struct group *g, uint32_t set,
                            bool is_empty)
{
    struct why_asked a = asked_of(g, set);
    const struct level *l = level_get(e, a.keys, a.n_keys);
    const char *noun = noun_of(e, a.keys[0]);
    int64_t gpus = 0;
    uint32_t best = a.gpus > 0 ? most_gpus(l, a.shape, is_empty, &gpus) : DOMAIN_NONE;

    if (l->n_domains == 0)
        return arena_format(e->answers, "needs %s in one %s; no node has the label %s",
                            pods_text(e, &a), noun, intern_text(e->texts, a.keys[0]));
    if (a.gpus > gpus)
        return arena_format(e->answers,
                            "needs %s in one %s; the most %s in one is %" PRId64 " (%s)",
                            why_gpus(e, a.shape, a.gpus), noun, is_empty ? "there are" : "free",
                            gpus, intern_text(e->texts, domain_values(l, best)[0]));
    return arena_format(e->answers, "needs %s in one %s; no %s has room for all of them",
                        pods_text(e, &a), noun, noun);
}

static bool fits_relaxed(struct mete_engine *e, const struct attempt *a, uint32_t key)
{
    struct attempt with = {
        .w = a->w, .now_ns = a->now_ns, .relaxed_key = key, .ignores_domains = key == 0};

    return queue_may_start(e, a->w, NULL) && place_would_fit(e, &with);
}

static void add_key(uint32_t *keys, size_t *n, uint32_t key)
{
    for (size_t i = 0; i < *n; i++)
        if (keys[i] == key)
            return;
    if (*n < (size_t)2 * METE_DOMAINS_MAX)
        keys[(*n)++] = key;
}

/* Lists the required keys of the group and its sets, each once, as far as there is room. */
static size_t list_keys(const struct group *g, uint32_t *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < g->asks.n; i++)
        if (g->asks.is_required[i])
            add_key(ret, &n, g->asks.keys[i]);
    for (size_t k = 0; k < g->n_sets; k++)
        for (size_t i = 0; i < g->sets[k].asks.n; i++)
            if (g->sets[k].asks.is_required[i])
                add_key(ret, &n, g->sets[k].asks.keys[i]);
    return n;
}

void why_if_domains(struct mete_engine *e, const struct attempt *a, struct why_lines *to)
{
    uint32_t keys[2 * METE_DOMAINS_MAX];
    size_t n = a->w->group->has_asks ? list_keys(a->w->group, keys) : 0;
    const char *nouns = "";
    bool has_line = false;

    for (size_t i = 0; i < n; i++) {
        const char *noun = noun_of(e, keys[i]);

        nouns = arena_format(e->answers, "%s%s%s", nouns, i == 0 ? "" : " and ", noun);
        if (!fits_relaxed(e, a, keys[i]))
            continue;
        why_line(to, arena_format(e->answers, "its pods may be in more than one %s", noun));
        has_line = true;
    }
    if (n > 1 && !has_line && fits_relaxed(e, a, 0))
        why_line(to, arena_format(e->answers, "its pods may be in more than one %s", nouns));
}
