/* domain.h - gangs in one topology domain: a rack, a block, an NVLink domain */
#pragma once

#include "engine/place/level.h"
#include "engine/place/place.h"

static inline bool scope_has(const struct scope *s, const struct node *n)
{
    return !s->level || level_domain_of(s->level, n) == s->domain;
}

/*
 * place_pods for a group with domains: tries the workload's domains in turn, the one with the
 * fewest free gpus first, and within it each set's domains in the same way.
 */
bool domains_place(struct mete_engine *e, struct attempt *a);

/* The best node of the scope without a reservation, or NULL; `*ret_key` is its key. */
struct node *domain_best(struct mete_engine *e, const struct scope *scope, struct shape *s,
                         uint64_t *ret_key);

/*
 * The level of domain ask `i`, within an outer scope (its level may be NULL): the label asked for,
 * then the wider required labels, then those of the outer scope. The caller pins the level while it
 * places.
 */
struct level *domain_level(struct mete_engine *e, const struct attempt *a,
                           const struct domain_asks *asks, size_t i, const struct scope *outer);
/* Is the domain in the outer scope? */
bool domain_is_within(const struct level *l, uint32_t domain, const struct scope *outer);

/*
 * Does no required domain of the empty, healthy cluster have room for the pods of each set? False:
 * no domain is required.
 */
bool domains_never_fit(struct mete_engine *e, const struct group *g);

/* Fills the required keys of the set followed by those of the workload, and returns their number.
 * NULL set: of the workload alone. */
size_t domain_required(const struct group *g, const struct group_set *set, uint32_t *ret_keys);

/* Is any domain required? */
static inline bool domain_requires(const struct domain_asks *asks)
{
    for (size_t i = 0; i < asks->n; i++)
        if (asks->is_required[i])
            return true;
    return false;
}

/* Is the placed workload in its required domains, by the present labels? */
bool domains_hold(const struct workload *w);
/* Are its linked gpus in one link group each? */
bool links_hold(const struct workload *w);

void domain_search_free(struct domain_search *s);
