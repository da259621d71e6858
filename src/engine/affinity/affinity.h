/*
 * affinity.h - rules about other pods: where pods are together, apart, or spread
 *
 * A rule reads a tally: the number of matching pods in each domain of one topology (the nodes with
 * the same value of one label). The journal keeps tallies true as pods come and go. The tallies
 * that count a pod follow from its labels alone; the list of them is the pod's ties. Pods with the
 * same list share one object, which is part of their group: a rule that excludes one pod of a group
 * excludes all of them. An engine without rules has no tallies (e->affinity is NULL).
 */
#pragma once

#include "base/map.h"
#include "engine/affinity/require.h"

struct group;
struct mete_engine;
struct affinity_question;
struct node;
struct pod;
struct attempt;
struct shape;
struct workload;

enum {
    AFFINITY_RULES_MAX = 512 /* of one shape */
};

/* The pods that a rule is about. */
struct pod_filter {
    struct requirements labels;
    bool matches_none;
    bool any_namespace;
    uint32_t *namespaces;
    size_t n_namespaces;
};

/* One rule of a shape. */
struct affinity_rule {
    enum mete_rule_kind kind;
    uint32_t weight; /* 0: required */
    uint32_t topology;
    struct pod_filter pods;
    uint32_t max_skew;
    uint32_t min_domains;
    bool counts_all_nodes;
    bool counts_no_tainted_nodes;
    struct tally *tally; /* the tally that the rule reads */
    struct tally *liked; /* pods that this rule's pods attract or repel by weight; NULL: none */
};

struct affinity_rules {
    struct affinity_rule *at;
    size_t n;
    bool has_wishes; /* a rule with a weight */
};

/* The counts of one domain. */
struct cell {
    uint32_t pods;  /* matching pods */
    uint32_t apart; /* pods with a required rule against matching pods */
    int64_t liking; /* sum of the weights by which other pods attract matching pods */
    uint32_t nodes; /* of a spread rule: nodes that count */
};

struct region {
    struct map_handle handle; /* by value, in the topology */
    uint32_t value;
    uint32_t index;
    uint32_t n_nodes;
};

/* All domains of one label. Nodes without the label are in domain 0, where nothing is counted. */
struct topology {
    struct map_handle handle; /* by key */
    uint32_t key;
    unsigned refs;
    struct region *domains;
    VEC(struct region *) by_index; /* NULL where unused */
    VEC(uint32_t) unused;
    VEC(uint32_t) of_slot; /* the domain of a node */
};

struct tally {
    struct map_handle handle;
    uint32_t *words; /* identity of the tally; NULL: a spread's tally, which belongs to one shape */
    size_t n_words;
    uint64_t number; /* in order of creation */
    unsigned users;  /* rules that read it; with none, only ties keep it */
    unsigned refs;
    struct topology *topology;
    struct pod_filter *filters; /* a pod matches when it passes all */
    size_t n_filters;
    bool is_spread;                   /* belongs to one shape, and counts only some nodes */
    const struct shape *owner;        /* of a spread; NULL: the shape is gone */
    const struct affinity_rule *rule; /* of a spread */
    VEC(bool) counts;                 /* of a spread, by node slot: does the node count? */
    VEC(struct cell) cells;           /* by domain */
    uint32_t n_pods;
    uint32_t n_apart;
    uint32_t n_liking;
    uint32_t n_waited; /* rules that one more matching pod may satisfy */
};

/* Tallies that count a pod, by number. */
struct ties {
    struct map_handle handle;
    unsigned refs;
    size_t n;
    struct tally **at;
};

struct affinity {
    struct tally *shared;
    VEC(struct tally *) tallies; /* by number */
    VEC(struct tally *) fresh;   /* not yet in other pods' ties */
    struct topology *topologies;
    struct ties *ties;
    uint64_t next_number;
    size_t n_unused; /* tallies without users */
};

/* The labels of one set's pods, for the rules of these and of other pods. */
struct pod_labels {
    uint32_t ns;
    struct label *at; /* by key number */
    size_t n;
};

/* affinity_rules.c */
enum mete_result affinity_rules_check(struct mete_engine *e, const struct mete_pod_set *set);
struct affinity_rules *affinity_rules_read(struct mete_engine *e, const struct mete_pod_set *set);
void affinity_rules_free(struct mete_engine *e, struct affinity_rules *r);   /* accepts NULL */
void affinity_rules_spell(const struct affinity_rules *r, struct words *to); /* accepts NULL */
void pod_filter_spell(const struct pod_filter *f, struct words *to);
void pod_filter_copy(struct intern *texts, const struct pod_filter *from, struct pod_filter *ret);
void pod_filter_done(struct intern *texts, struct pod_filter *f);
bool pod_filter_takes(const struct intern *texts, const struct pod_filter *f,
                      const struct pod_labels *labels);

/* tally.c: gives a new shape its tallies; takes them from a shape that is about to be freed. */
void affinity_attach(struct mete_engine *e, struct shape *s);
void affinity_detach(struct mete_engine *e, struct shape *s);
void affinity_free(struct mete_engine *e);
bool tally_takes(const struct mete_engine *e, const struct tally *t,
                 const struct pod_labels *labels);
void tally_unref(struct mete_engine *e, struct tally *t);
/* Before and after a change of the node's labels or taints. */
void affinity_node_leave(struct mete_engine *e, const struct node *n);
void affinity_node_enter(struct mete_engine *e, const struct node *n);
/* The domain of the node in `slot`; 0: none. */
static inline uint32_t affinity_domain(const struct topology *t, uint32_t slot)
{
    return slot < t->of_slot.n ? t->of_slot.at[slot] : 0;
}
bool affinity_counts_node(const struct tally *t, const struct node *n);

/* ties.c */
const char *pod_labels_wrong(const struct mete_label *labels, size_t n);
/* One entry a pod set; NULL: no set has labels. */
struct pod_labels *pod_labels_read(struct mete_engine *e, const struct mete_workload *w);
void pod_labels_free(struct mete_engine *e, struct pod_labels *labels, size_t n_sets);
struct pod_labels workload_labels(const struct mete_engine *e, const struct workload *w,
                                  size_t set);
/* Enters a new workload, which does not wait yet and is not placed: other pods learn its rules, and
 * the workload gets its ties. */
void affinity_join(struct mete_engine *e, struct workload *w);
void ties_unref(struct mete_engine *e, struct ties *t); /* accepts NULL */
bool ties_have(const struct ties *t, const struct tally *tally);
const struct ties *pod_ties(const struct pod *p);

/* A pod with this shape and these ties comes to the node (`by` 1) or leaves it (-1). */
void affinity_count(struct mete_engine *e, const struct ties *ties, const struct shape *s,
                    const struct node *n, int by);
/* `w` was placed: may a waiting pod's rule hold now? */
bool affinity_helps(const struct workload *w);

/* affinity_fit.c */

/* Does any rule, of these pods or of others, concern such pods? */
bool affinity_concerns(const struct ties *ties, const struct shape *s);
/* Does any required rule? */
bool affinity_restricts(const struct ties *ties, const struct shape *s);
/* Does any required rule concern any pod of the group? */
bool affinity_restricts_group(const struct group *g);
/* Asks for a shape and ties. The engine keeps one question: the functions below answer it for each
 * node. Ask again after pods came or went. */
void affinity_ask(struct mete_engine *e, const struct ties *ties, const struct shape *s);

enum affinity_answer {
    AFFINITY_FITS,
    AFFINITY_REPELLED,    /* pods there have a required rule against such pods */
    AFFINITY_RULE,        /* the pod's own rule */
    AFFINITY_NO_TOPOLOGY, /* the node lacks the rule's topology label */
};

struct affinity_refusal {
    enum affinity_answer answer;
    const struct affinity_rule *rule; /* the pod's own rule */
    const struct tally *tally;        /* of AFFINITY_REPELLED */
    uint32_t domain;
    int64_t skew; /* of a spread: the skew with this pod */
};

/* `ret` may be NULL. */
bool affinity_allows(const struct mete_engine *e, const struct node *n,
                     struct affinity_refusal *ret);

/* As search_best, for pods with affinity rules, within the attempt's scope. Calls affinity_ask. */
struct node *affinity_best(struct mete_engine *e, struct attempt *a, const struct ties *ties,
                           struct shape *s, uint64_t *ret_key);
/* After affinity_best: the score of node `n` with its affinity; `key` is search_key's. 0: excluded.
 */
uint64_t affinity_key(struct mete_engine *e, const struct node *n, uint64_t key);

/* Do all pods of a placed workload meet their rules, each beside all other pods? */
bool affinity_holds(struct mete_engine *e, struct workload *w);

void affinity_question_free(struct affinity_question *q); /* accepts NULL */

/* affinity_check.c */
const char *affinity_check(struct mete_engine *e);
uint64_t affinity_hash(const struct mete_engine *e);
