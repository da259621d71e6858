/*
 * node_rules.h - node affinity: required and preferred nodes
 *
 * Node affinity does not depend on what runs on a node, so required terms are part of fit_kind.
 * affinity_fit.c weighs the preferred terms (wishes).
 */
#pragma once

#include "engine/affinity/require.h"

struct mete_engine;
struct node;

/* A node matches when it meets all requirements. An empty term matches no node. */
struct node_term {
    struct requirements labels;
    struct requirements names;
};

struct node_wish {
    uint32_t weight;
    struct node_term term;
};

/* A cache of the wishes' sums, by node slot. */
struct wish_sums {
    VEC(uint32_t) at;  /* UINT32_MAX: not known */
    uint64_t known_at; /* e->nodes_version */
};

struct node_rules {
    const struct intern *texts;
    struct node_term *terms; /* a node must match one of these; none: any node */
    size_t n_terms;
    struct node_wish *wishes;
    size_t n_wishes;
    struct wish_sums *sums; /* shared with the shapes of what-if questions */
};

enum mete_result node_rules_check(struct mete_engine *e, const struct mete_pod_set *set);
/* NULL: the set has no node affinity. */
struct node_rules *node_rules_read(struct mete_engine *e, const struct mete_pod_set *set);
void node_rules_free(struct mete_engine *e, struct node_rules *r);   /* accepts NULL */
void node_rules_spell(const struct node_rules *r, struct words *to); /* accepts NULL */

/* Does the node match the required terms? */
bool node_rules_hold(const struct node_rules *r, const struct node *n);
/* The sum of the weights of the wishes that the node matches. */
uint32_t node_rules_wishes(const struct mete_engine *e, const struct node_rules *r,
                           const struct node *n);
