/*
 * affinity_naive.h - a naive model of Kubernetes' node affinity, pod affinity and anti-affinity and
 * topology spread, written straight from its documentation
 *
 * Nodes have the labels host (their name), zone, disk and cores, 4 cpus and maybe one taint; pods
 * have the labels app and tier and ask for one cpu.
 */
#pragma once

#include "mete/engine.h"

enum {
    NODES = 7,
    PODS = 26,
    GANG = 3,
    RULES = 3,
    CPUS = 4,
};

struct model_node {
    bool is_there;
    bool is_cordoned;
    bool is_tainted;
    const char *zone; /* NULL: no such label */
    const char *disk;
    const char *cores;
};

struct model_rule {
    struct mete_pod_rule rule;
    struct mete_requirement requirements[2];
    const char *namespaces[2];
};

struct model_pod {
    bool is_there;
    bool tolerates;
    uint32_t count;
    bool is_extra;
    const char *ns;
    const char *app; /* NULL: no such label */
    const char *tier;
    size_t n_rules;
    struct model_rule rules[RULES];
    size_t n_terms;
    struct mete_node_term terms[2];
    struct mete_requirement term_requirements[2][2];
    size_t n_wishes;
    struct mete_node_wish wishes[2];
    struct mete_requirement wish_requirements[2];
    int node[GANG]; /* -1: none */
};

struct affinity_model {
    /* A score is too near to a half to say how it is rounded. */
    bool is_close;
    struct model_node nodes[NODES];
    struct model_pod pods[PODS + 1]; /* by id */
};

extern const char *const affinity_names[NODES];

/* May one more pod like `p` be on the node now? */
bool affinity_may_be(const struct affinity_model *m, const struct model_pod *p, int node);

/* Scores the nodes where the pod `fits` by its preferences and those of other pods, 0 to 600. */
void affinity_scores(struct affinity_model *m, const struct model_pod *p, const bool *fits,
                     int64_t *ret);
