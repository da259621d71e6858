/*
 * victims_bound.c - a lower bound of the cost of room in a domain, without a trial
 *
 * The bound takes just the missing gpus, the cheapest first, as if victims could give single gpus.
 * Domains are tried in the order of their bounds, until a bound reaches the cost of the best
 * domain.
 */

#include <stdlib.h>

#include "engine/evict/victims.h"
#include "engine/place/domain.h"

/* Gpus that a pod on the domain's nodes would give back, and a lower bound of each cost. */
struct victim_offer {
    uint64_t rate;
    uint64_t gpus;
};

static int cheaper(const void *left, const void *right)
{
    const struct victim_offer *a = left;
    const struct victim_offer *b = right;

    return (a->rate > b->rate) - (a->rate < b->rate);
}

static size_t count_pods(const struct level *l, uint32_t domain)
{
    struct node *const *nodes = domain_nodes(l, domain);
    size_t count = 0;

    for (uint32_t i = 0; i < l->domains[domain].n_nodes; i++)
        for (const struct pod *p = nodes[i]->pods; p; p = p->after)
            count++;
    return count;
}

static size_t list_offers(const struct victims *v, const struct level *l, uint32_t domain,
                          struct victim_offer *ret)
{
    struct node *const *nodes = domain_nodes(l, domain);
    size_t n = 0;

    for (uint32_t i = 0; i < l->domains[domain].n_nodes; i++)
        for (const struct pod *p = nodes[i]->pods; p; p = p->after)
            if (p->n_gpus > 0 && victims_may_take(v, p->workload) &&
                !victims_suspend(v, p->workload))
                ret[n++] =
                    (struct victim_offer){p->workload->cost / p->workload->devices, p->n_gpus};
    qsort(ret, n, sizeof(*ret), cheaper);
    return n;
}

static uint64_t victims_bound(const struct victims *v, const struct level *l, uint32_t domain,
                              uint64_t gpus)
{
    struct arena *a = v->e->scratch;
    uint64_t free = l->domains[domain].free_gpus;
    uint64_t missing = gpus > free ? gpus - free : 0;
    uint64_t cost = v->spent;
    struct victim_offer *offers;
    size_t n;

    if (missing == 0)
        return cost;
    offers = arena_alloc(a, (count_pods(l, domain) + 1) * sizeof(*offers));
    n = list_offers(v, l, domain, offers);
    for (size_t i = 0; i < n && missing > 0; i++) {
        uint64_t taken = offers[i].gpus < missing ? offers[i].gpus : missing;
        uint64_t part = 0;

        if (__builtin_mul_overflow(offers[i].rate, taken, &part) ||
            __builtin_add_overflow(cost, part, &cost))
            cost = COST_NEVER - 1;
        missing -= taken;
    }
    return missing > 0 ? COST_NEVER : cost;
}

static int compare_bounded(const void *left, const void *right)
{
    const struct victims_domain *a = left;
    const struct victims_domain *b = right;

    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return (a->domain > b->domain) - (a->domain < b->domain);
}

size_t victims_order(const struct victims *v, const struct level *l, const struct scope *outer,
                     uint64_t gpus, struct victims_domain **ret)
{
    struct victims_domain *list = arena_alloc(v->e->scratch, (l->n_domains + 1) * sizeof(*list));
    size_t n = 0;

    for (uint32_t d = 0; d < l->n_domains; d++) {
        if (!domain_is_within(l, d, outer))
            continue;
        list[n] = (struct victims_domain){victims_bound(v, l, d, gpus), d};
        n += list[n].cost != COST_NEVER;
    }
    qsort(list, n, sizeof(*list), compare_bounded);
    *ret = list;
    return n;
}
