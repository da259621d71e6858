/*
 * node_rules.h - node affinity: on which nodes pods must be, and where they would rather be
 *
 * These say the same of a node whatever runs there, so what must hold is part of fit_kind. Wishes
 * are weighed in affinity_fit.c.
 */
#pragma once

#include "engine/affinity/require.h"

struct mete_engine;
struct node;

/* All hold; one with nothing in it never does. */
struct node_term {
    struct requirements labels;
    struct requirements names;
};

struct node_wish {
    uint32_t weight;
    struct node_term term;
};

/* What the wishes come to, by slot of the node: a cache. */
struct wish_sums {
    VEC(uint32_t) at;  /* UINT32_MAX: not known */
    uint64_t known_at; /* e->nodes_version */
};

struct node_rules {
    const struct intern *texts;
    struct node_term *terms; /* one of these must hold, where there are any */
    size_t n_terms;
    struct node_wish *wishes;
    size_t n_wishes;
    struct wish_sums *sums; /* shared with what-ifs */
};

enum mete_result node_rules_check(struct mete_engine *e, const struct mete_pod_set *set);
/* NULL where the set has none. */
struct node_rules *node_rules_read(struct mete_engine *e, const struct mete_pod_set *set);
void node_rules_free(struct mete_engine *e, struct node_rules *r);   /* accepts NULL */
void node_rules_spell(const struct node_rules *r, struct words *to); /* accepts NULL */

/* May the pod be there? */
bool node_rules_hold(const struct node_rules *r, const struct node *n);
/* The weights of the wishes that hold there. */
uint32_t node_rules_wishes(const struct mete_engine *e, const struct node_rules *r,
                           const struct node *n);
