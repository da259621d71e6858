/*
 * affinity.h - rules about other pods: where pods are together, apart, or spread
 *
 * A rule looks at a tally: how many pods of one sort there are in each domain of one topology (the
 * nodes with the same value of one label). Tallies follow each pod that comes and goes, through the
 * journal. Which tallies count a pod depends on its labels only; that list is its ties, the same
 * object for all pods with the same list, and part of their group: so what fails for one of a group
 * still fails for all of them. An engine without any such rule has none of this (e->near is NULL).
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

/* Which pods. */
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
    uint32_t weight; /* 0: it must hold */
    uint32_t topology;
    struct pod_filter pods;
    uint32_t max_skew;
    uint32_t min_domains;
    bool counts_all_nodes;
    bool counts_no_tainted_nodes;
    struct tally *tally; /* what it looks at */
    struct tally *liked; /* whom its pods draw or repel by their weights; NULL: nobody */
};

struct affinity_rules {
    struct affinity_rule *at;
    size_t n;
    bool has_wishes; /* a rule with a weight */
};

/* Of one domain. */
struct cell {
    uint32_t pods;  /* of the tally's sort */
    uint32_t apart; /* pods that must be apart from such */
    int64_t liking; /* by how much others draw such pods there */
    uint32_t nodes; /* of a spread: those that count */
};

struct region {
    struct map_handle handle; /* by value, in the topology */
    uint32_t value;
    uint32_t index;
    uint32_t n_nodes;
};

/* All domains by one label. Domain 0 is that of nodes without it: nothing is counted there. */
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
    uint32_t *words; /* what makes two the same; NULL: that of a spread, of one shape only */
    size_t n_words;
    uint64_t number; /* in the order in which they were made */
    unsigned users;  /* rules: without any it is only kept for the ties that name it */
    unsigned refs;
    struct topology *topology;
    struct pod_filter *filters; /* a pod is of the sort where it passes all */
    size_t n_filters;
    bool is_spread;                   /* of one shape only, and of nodes that count: */
    const struct shape *owner;        /* NULL where that is gone */
    const struct affinity_rule *rule; /* of a spread */
    VEC(bool) counts;                 /* of a spread, by slot: this node does */
    VEC(struct cell) cells;           /* by domain */
    uint32_t n_pods;
    uint32_t n_apart;
    uint32_t n_liking;
    uint32_t n_waited; /* rules that another pod of the sort may satisfy */
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
    VEC(struct tally *) fresh;   /* not yet in the ties of others */
    struct topology *topologies;
    struct ties *ties;
    uint64_t next_number;
    size_t n_unused; /* tallies without users */
};

/* Of the pods of one set, for the rules of others and their own. */
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

/* tally.c: for a shape that is new, and one that goes. */
void affinity_attach(struct mete_engine *e, struct shape *s);
void affinity_detach(struct mete_engine *e, struct shape *s);
void affinity_free(struct mete_engine *e);
bool tally_takes(const struct mete_engine *e, const struct tally *t,
                 const struct pod_labels *labels);
void tally_unref(struct mete_engine *e, struct tally *t);
/* The node's labels or taints are about to change, and have changed. */
void affinity_node_leave(struct mete_engine *e, const struct node *n);
void affinity_node_enter(struct mete_engine *e, const struct node *n);
/* The domain of the node there; 0: none. */
static inline uint32_t affinity_domain(const struct topology *t, uint32_t slot)
{
    return slot < t->of_slot.n ? t->of_slot.at[slot] : 0;
}
bool affinity_counts_node(const struct tally *t, const struct node *n);

/* ties.c */
const char *pod_labels_wrong(const struct mete_label *labels, size_t n);
/* NULL where no set has any. */
struct pod_labels *pod_labels_read(struct mete_engine *e, const struct mete_workload *w);
void pod_labels_free(struct mete_engine *e, struct pod_labels *labels, size_t n_sets);
struct pod_labels workload_labels(const struct mete_engine *e, const struct workload *w,
                                  size_t set);
/* A workload that was just made, waits for nothing and is placed nowhere: others learn of its
 * rules, and it gets its ties. */
void affinity_join(struct mete_engine *e, struct workload *w);
void ties_unref(struct mete_engine *e, struct ties *t); /* accepts NULL */
bool ties_have(const struct ties *t, const struct tally *tally);
const struct ties *pod_ties(const struct pod *p);

/* A pod of this shape, tied like that, is there from now on, or is not: by 1 or -1. */
void affinity_count(struct mete_engine *e, const struct ties *ties, const struct shape *s,
                    const struct node *n, int by);
/* It was placed: may that help somebody who waits for such pods? */
bool affinity_helps(const struct workload *w);

/*
 * affinity_fit.c. One question at a time: affinity_ask says for pods like which (of that shape,
 * tied like that), then each node is asked as things are at that moment; ask again when pods have
 * come or gone.
 */

/* Does any rule, of its own or of others, say anything about such pods? */
bool affinity_concerns(const struct ties *ties, const struct shape *s);
/* One that must hold? */
bool affinity_restricts(const struct ties *ties, const struct shape *s);
/* Any of a group's pods? */
bool affinity_restricts_group(const struct group *g);
void affinity_ask(struct mete_engine *e, const struct ties *ties, const struct shape *s);

enum affinity_answer {
    AFFINITY_FITS,
    AFFINITY_REPELLED,    /* pods that must be apart from such pods are there */
    AFFINITY_RULE,        /* a rule of its own */
    AFFINITY_NO_TOPOLOGY, /* the node is in no domain of it */
};

struct affinity_refusal {
    enum affinity_answer answer;
    const struct affinity_rule *rule; /* its own */
    const struct tally *tally;        /* of AFFINITY_REPELLED */
    uint32_t domain;
    int64_t skew; /* what it would be, of a spread */
};

/* `ret` may be NULL. */
bool affinity_allows(const struct mete_engine *e, const struct node *n,
                     struct affinity_refusal *ret);

/* Like search_best, for such pods, where the attempt may go. It asks by itself. */
struct node *affinity_best(struct mete_engine *e, struct attempt *a, const struct ties *ties,
                           struct shape *s, uint64_t *ret_key);
/* After affinity_best: the key of another node in place of what search_key said of it; 0: not
 * there. */
uint64_t affinity_key(struct mete_engine *e, const struct node *n, uint64_t key);

/* Do the pods of a workload that is placed all meet their rules, each beside all others? */
bool affinity_holds(struct mete_engine *e, struct workload *w);

void affinity_question_free(struct affinity_question *q); /* accepts NULL */

/* affinity_check.c */
const char *affinity_check(struct mete_engine *e);
uint64_t affinity_hash(const struct mete_engine *e);
