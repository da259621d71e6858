/* domain.h - gangs whose pods are to be together: in one rack, one block, one NVLink domain */
#pragma once

#include "engine/place/level.h"
#include "engine/place/place.h"

static inline bool scope_has(const struct scope *s, const struct node *n)
{
    return !s->level || level_domain_of(s->level, n) == s->domain;
}

/*
 * place_pods for a group that asks for domains: those of the workload one after the other, the one
 * with fewest free gpus first, and within it those of each set in the same way, each tried for
 * real.
 */
bool domains_place(struct mete_engine *e, struct attempt *a);

/* The best of the nodes of the scope on which nothing is reserved, or NULL; `*ret_key` its key. */
struct node *domain_best(struct mete_engine *e, const struct scope *scope, struct shape *s,
                         uint64_t *ret_key);

/*
 * The level of ask `i`, within an outer scope (or without a level): the label asked for, then the
 * wider ones that are required, then those of the outer scope. The caller pins it while it calls
 * anything that places.
 */
struct level *domain_level(struct mete_engine *e, const struct attempt *a,
                           const struct domain_asks *asks, size_t i, const struct scope *outer);
/* Is it in the outer scope? */
bool domain_is_within(const struct level *l, uint32_t domain, const struct scope *outer);

/*
 * Is there, in an empty and healthy cluster, no required domain with room for the pods of each set?
 * False where none is required.
 */
bool domains_never_fit(struct mete_engine *e, const struct group *g);

/* The required keys of the workload, or of one of its sets with those of the workload behind them:
 * how many. NULL set: of the workload. */
size_t domain_required(const struct group *g, const struct group_set *set, uint32_t *ret_keys);

/* Does it require any? */
static inline bool domain_requires(const struct domain_asks *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        if (asks->is_required[i])
            return true;
    return false;
}

/* Does the workload hold to the domains that it requires, as its nodes are labeled? */
bool domains_hold(const struct workload *w);
/* And to the link groups? */
bool links_hold(const struct workload *w);

void domain_search_free(struct domain_search *s);
