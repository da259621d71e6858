/*
 * state.h - what the engine knows; private to src/engine
 *
 * Texts are interned, so filters compare numbers. Whatever a trial may change is written with
 * JOURNAL_SET, so that it can be undone; what only calls from outside change (nodes, orders,
 * shapes) is not, and no trial is open then. Caches (the trees of shapes) are functions of the rest
 * and catch up with the nodes that changed.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/id_map.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/intern.h"
#include "engine/journal.h"
#include "engine/queue/order.h"
#include "mete/engine.h"

enum {
    NODE_GPUS_MAX = 64,
    NODES_MAX = 1 << 20,
    LIST_MAX = 1024,  /* labels, taints, requests, tolerations, ... of one thing */
    PODS_MAX = 16384, /* of one workload */
    TEXT_MAX = 1024,  /* bytes of any text */
    NODE_LINES_DEFAULT = 8,
    RESERVE_DEPTH_DEFAULT = 1,
};

/* A whole gpu. */
enum {
    MILLI = 1000
};

#define AMOUNT_MAX (INT64_C(1) << 60)

#define PLAN_PERIOD_NS (30 * INT64_C(1000000000))

/* The end of something that does not end as far as anybody knows. */
#define NEVER_NS INT64_MAX

/* Of gpus, in 1/1000; the fragment times the weight of the demand. */
struct node_sums {
    int64_t capacity;
    int64_t used;
    int64_t fragment;
};

struct label {
    uint32_t key;
    uint32_t value;
};

struct taint {
    uint32_t key;
    uint32_t value;
    enum mete_effect effect;
};

struct toleration {
    uint32_t key; /* 0: every */
    uint32_t value;
    uint32_t is_exists;
    uint32_t effect; /* enum mete_effect, or EFFECT_ANY */
};

enum {
    EFFECT_ANY = 1 << 8
};

/* One resource of a node. */
struct room {
    uint32_t resource;
    int64_t capacity;
    int64_t used;
};

struct request {
    uint32_t resource;
    int64_t amount;
};

struct values_rows;
struct group_cache;
struct max_tree;
struct node;
struct pod;
struct parts;
struct ask;
struct board;
struct queue;
struct counted;
struct backfill;
struct reservation;
struct reserved;
struct claim;
struct outlook;
struct timeline;
struct node_rules;
struct affinity;
struct affinity_question;
struct affinity_rules;
struct pod_labels;
struct ties;

/* Exists while it is on a node or held. */
struct gpu {
    struct map_handle handle; /* by uuid */
    char *uuid;
    uint32_t model;
    int64_t memory_bytes;
    int numa_node;
    int link_group;
    bool is_healthy;
    struct node *node;  /* NULL: on none that is known */
    unsigned bit;       /* which of its node's gpus */
    struct pod *holder; /* who has all of it */
    uint32_t n_shares;  /* who have a part of it */
    uint32_t milli_used;
    uint32_t memory_milli_used; /* by shares that asked for as much memory as compute */
    int64_t bytes_used;         /* by the others */
    struct parts *parts;        /* slices or replicas of it; NULL: none. device_parts.h */
};

/* Gpus of a node that belong together, as bits. */
struct gpu_group {
    int number; /* link group, NUMA node; of a model its interned name */
    uint64_t gpus;
};

/* Exists while it is in the cluster (is_present) or something is held on it. */
struct node {
    uint64_t healthy;   /* bit i: gpus[i] may be given */
    uint64_t held;      /* bit i: gpus[i] is held, all or a part of it, or is never given whole */
    uint64_t shared;    /* bit i: of those, a part */
    uint64_t sized;     /* bit i: of those, a part that asked for memory of its own */
    struct room *rooms; /* by resource number */
    size_t n_rooms;
    struct backfill *backfill; /* the one that keeps room here */
    uint32_t kept_at;          /* which of the backfill reservation's nodes this is */
    uint32_t first_reserved;   /* in e->reserved */
    uint32_t n_reserved;       /* there; 0: it is in the trees */
    struct timeline *timeline; /* where something is claimed here; or NULL */
    uint64_t barred;           /* bit i: gpus[i] is not for whoever is asked for now */
    bool is_barred;            /* nothing here is */
    bool is_present;
    bool is_ready;
    bool is_cordoned;
    uint32_t n_gpus;
    struct label *labels; /* by key number */
    size_t n_labels;
    struct taint *taints;
    size_t n_taints;
    struct gpu *gpus[NODE_GPUS_MAX];
    uint16_t free_milli[NODE_GPUS_MAX]; /* of a gpu that is held whole or in slices: 0 */
    uint64_t linked;                    /* gpus in a link group */
    uint64_t wholes;                    /* gpus that can be given whole or in capped shares */
    uint64_t parted;                    /* gpus that can be given in slices or replicas */
    struct gpu_group *links;
    struct gpu_group *numas;
    struct gpu_group *models;
    size_t n_links;
    size_t n_numas;
    size_t n_models;
    uint32_t rank; /* its place by name among those present, where e->ranked == e->epoch */
    uint32_t slot;
    uint32_t name_id;
    char *name;
    char *cordon_reason;
    struct pod *pods;      /* held here */
    struct node_sums sums; /* as counted last; a cache */
    struct map_handle handle;
};

/* What is free of a node's gpus. */
struct levels {
    uint32_t n;                   /* healthy gpus of which something is free */
    uint32_t whole;               /* of these, wholly free */
    int64_t idle;                 /* the sum, in 1/1000 */
    int64_t cpu;                  /* free, in 1/1000 */
    uint16_t free[NODE_GPUS_MAX]; /* of each, in 1/1000 */
    uint8_t bit[NODE_GPUS_MAX];   /* which of the node's it is */
};

/* Where nodes of which something is free stand by how much: nothing, tenths of one gpu, so many
 * whole gpus or more. Who needs more than a tier has need not look at the nodes there. */
enum {
    TIER_NONE,    /* not known yet */
    TIER_NOTHING, /* free */
    TIER_TENTHS = 10,
    TIER_WHOLES = 8,
    TIERS = 1 + TIER_NOTHING + TIER_TENTHS + TIER_WHOLES
};

/* A place in a list of nodes by their last change. */
struct change_link {
    uint32_t newer; /* slots of those before and behind it, or NO_SLOT */
    uint32_t older;
};

enum change_list {
    CHANGE_ALL,
    CHANGE_TIER, /* those of its tier */
    CHANGE_LISTS
};

/* Of a node, in a line of the processor's cache, side by side with those of the others: enough to
 * see that most do not fit, and of plain ones (see find_plain) that they do. */
struct glance {
    bool is_known;
    bool is_open;     /* takes pods, and nothing is reserved there */
    bool is_plain;    /* no taints, and no memory of shares to look at */
    uint8_t whole;    /* gpus that are free */
    uint16_t largest; /* the most that is free of one gpu, in 1/1000 */
    uint8_t tier;
    uint32_t rank; /* NO_SLOT: it is not there */
    struct change_link links[CHANGE_LISTS];
    uint64_t changed_at; /* e->changes after its last change; 0: none yet, and in no list */
    int64_t cpu;         /* free */
    int64_t memory;
    int64_t pods;
};

/* More of it, for those that fit. */
struct detail {
    bool is_simple;                 /* all that the policy goes by is here: see its score_plain */
    const struct values_rows *rows; /* of policy mete */
    int64_t price;                  /* for 1/1000 of its gpus */
    int64_t value;                  /* what it comes to as it is */
    struct levels levels;
};

#define NO_SLOT UINT32_MAX

/* What something says, as numbers: what makes two the same. */
struct words {
    uint32_t *at;
    size_t n;
    size_t room;
};

/* Pods that ask for the same thing: hash-consed. `words` is what makes two the same. */
struct shape {
    struct map_handle handle;
    uint32_t *words;
    unsigned refs;
    uint32_t gpus;
    uint32_t milli;    /* of each: MILLI, or a share */
    int64_t gpu_bytes; /* with a share; 0: as large a part as of the compute */
    uint32_t *models;  /* one of these, by number; none: any */
    size_t n_models;
    struct ask
        *asks; /* several kinds in one pod; then gpus is how many, milli the most. device_asks.h */
    size_t n_asks;
    uint32_t node;            /* interned name; 0: any */
    struct request *requests; /* by resource number */
    size_t n_requests;
    int64_t cpu; /* of these */
    int64_t memory;
    int64_t pods;
    bool is_plain;          /* asks for nothing but gpus, shares of compute, cpu, memory and pods */
    struct label *selector; /* by key number */
    size_t n_selector;
    struct toleration *tolerations;
    size_t n_tolerations;
    struct node_rules *nodes;        /* NULL: none */
    struct affinity_rules *affinity; /* NULL: none; see affinity.h */
    bool is_linked;                  /* more than one gpu, all in one link group */
    bool is_scratch;                 /* made for a what-if: no cache */

    /* The cache: the best node at once. See search.c. */
    struct max_tree *tree; /* by rank: the score of the node plus 1, 0: it does not fit */
    bool is_known;         /* the cache says something as of `seen` */
    uint64_t seen;         /* e->changes then */
    uint64_t epoch;        /* of the ranks in the tree */
    uint64_t used_at;
};

/* Label keys, the narrowest first; see struct mete_domain. */
struct domain_asks {
    uint32_t keys[METE_DOMAINS_MAX];
    bool is_required[METE_DOMAINS_MAX];
    size_t n;
};

struct group_set {
    struct shape *shape;
    struct ties *ties; /* NULL: nobody's rules look at such pods; see affinity.h */
    uint32_t name;
    uint32_t count;    /* that it needs at least */
    uint32_t n_extras; /* more that it may have: see elastic.h */
    struct domain_asks asks;
};

/* Workloads of a queue that ask for the same thing, with the same time limit, that all may preempt
 * or none, and where the queue limits users of the same user: what fails for one fails for all. */
struct group {
    struct map_handle handle;
    uint32_t *words;
    unsigned refs;
    struct group **group_cache; /* where group_cache.c has it; or NULL */
    uint32_t user;              /* 0: of any */
    uint32_t reservation;       /* the name of the one in which alone it runs; 0: none */
    struct group_set *sets;
    size_t n_sets;
    uint32_t *fill_order; /* sets, the ones with most gpus first */
    size_t n_pods;
    struct domain_asks asks;
    bool has_asks; /* it, or one of its sets */
    int64_t time_limit_ns;
    bool never_preempts;
    struct queue *queue;
    int64_t *charge; /* what each takes of what counts, as of e->counted_at == charge_at */
    uint64_t charge_at;
    struct order waiting;
    size_t waiting_index; /* in queue->groups, while any wait */

    uint64_t failed_at;  /* e->eased when its first could not be placed: skipped until that moves */
    uint64_t tried_at;   /* e->changes then */
    uint64_t kept_at;    /* e->cycles when it was tried again though it had failed */
    uint64_t stuck_at;   /* e->version when nobody could be evicted for it, ... */
    int64_t stuck_ns;    /* ... before this moment */
    uint64_t unmoved_at; /* e->eased when no move paid for it, ... */
    int64_t unmoved_ns;  /* ... before this moment */
    uint64_t never_at;   /* e->nodes_version when `never` was found; 0: not known */
    bool never;          /* could not be held by the cluster, empty and healthy */
    bool failed_kept; /* a backfill reservation was in the way: only for those behind its owner */

    uint32_t n_claims;       /* of those that wait */
    struct outlook *outlook; /* of one pod; or NULL */

    /* In a cycle. */
    bool has_failed;
    struct order_link *at; /* whose turn it is */

    uint64_t brief_at; /* e->version of the two below; 0: none */
    int64_t brief_ns;  /* and when, which backfill reservations made in advance make matter */
    char *brief;
    enum mete_reason_code brief_code;
};

struct pod {
    struct workload *workload;
    uint32_t set;
    uint32_t index;
    struct node *node; /* NULL: not placed */
    struct pod *before;
    struct pod *after; /* on the node */
    struct gpu **gpus;
    size_t n_gpus;
};

/* What its end looks at comes first: most that end were not touched for a while. Its pods and name
 * are in the same block of memory, behind it. */
struct workload {
    struct order_key key;
    struct group *group;
    struct queue *queue;
    struct pod *pods;
    size_t n_pods;
    struct workload *placed_before; /* in its queue */
    struct workload *placed_after;
    int64_t *charged;              /* what is counted of it, by counted resource; NULL: nothing */
    struct claim *claim;           /* where it waits; or NULL */
    struct workload *whole;        /* of an extra that is of a workload here; else NULL */
    VEC(struct workload *) extras; /* its pods beyond the least: see elastic.h */
    struct pod_labels *labels;     /* of each set; NULL: none */
    char *hold_text;               /* NULL: none of its own */
    int64_t end_ns;                /* by its time limit, where placed; NEVER_NS */
    int64_t started_ns;            /* where placed; 0: not known */
    uint64_t decided_at;           /* e->labels_version when placed by a decision; 0 */
    uint64_t evicted_by;           /* placed, but to go for that workload; 0 */
    uint64_t moved_for;            /* evicted to start elsewhere when that one has; 0 */
    uint64_t billed;               /* the dominant part of what it is charged */
    uint32_t n_evicting;           /* how many have to go for this one */
    uint32_t user;
    bool is_placed;
    bool is_preemptible;
    bool is_secured; /* placed within the nominal quotas: see preempt.c */
    bool is_victim;  /* in this search */
    bool is_extra;   /* beyond what something else needs at least */
    int32_t priority;
    int32_t qos;
    enum mete_hold hold; /* waits in its queue, but not in its group */
    struct order_link all;
    struct order_link in_group;
    int64_t min_run_ns;
    int64_t checkpoint_ns;
    int64_t estimate_ns;  /* of a run, raised when it was outlived; 0: not known */
    uint64_t marked_at;   /* a candidate in this search for victims */
    uint64_t cost;        /* of evicting it */
    uint64_t devices;     /* that it has gpus of, or parts of them */
    struct node **was_on; /* of each pod, where it is a victim; in the scratch arena */
    size_t *had_gpus;
    uint32_t as_set; /* of an extra: which of the pods */
    uint32_t as_pod;
    int64_t since_ns; /* the code below was the last one said, and since when */
    enum mete_reason_code code;
    char *name;
};

struct backfill_node {
    struct node *node;
    uint64_t gpus;      /* the kind it needs: bits of the node */
    int64_t extra_gpus; /* of that kind, that others may take without delaying it */
    int64_t *extra;     /* parallel to node->rooms */
};

struct backfill {
    struct workload *owner;
    struct backfill_node *nodes;
    size_t n_nodes;
    int64_t start_ns;    /* NEVER_NS: not known */
    bool is_confirmed;   /* in this cycle */
    bool is_stale;       /* somebody before its owner took of it */
    bool is_preempting;  /* its owner waits for those who were evicted for it: kept from all */
    uint64_t planned_at; /* e->freed */
    int64_t least;       /* the fewest gpus that it ever had to wait for */
};

struct policy;
struct demand;
struct values;
struct level;
struct domain_search;

/* What a holder gives back, and when. */
struct holder {
    int64_t end_ns;
    const struct pod *pod;
    uint64_t gpus; /* bits of the node: those that nobody has a part of once it is gone */
};

struct mete_engine {
    struct intern *texts;
    struct journal journal;
    const struct policy *policy;
    struct demand *demand;              /* NULL: not known */
    struct affinity *affinity;          /* NULL: no rules about other pods */
    struct affinity_question *question; /* NULL: none was asked */
    struct values *values;              /* NULL: nothing learned */
    uint64_t seed;
    uint32_t lines_max;
    uint32_t reserve_depth;

    struct node *node_map;    /* by name, those gone but held on too */
    VEC(struct node *) order; /* present, by name */
    VEC(struct node *) slots; /* NULL where unused */
    VEC(uint32_t) free_slots;
    VEC(struct glance) glances; /* by slot; a cache */
    VEC(struct detail) details;
    struct gpu *gpu_map;
    struct shape *shape_map;
    struct group *group_map;
    struct group_cache *group_cache; /* groups; a cache */
    struct id_map workloads;
    size_t n_waiting;
    uint64_t n_extras_made;
    struct queue *root;
    struct queue *queue_map;     /* by name, those gone but named by workloads too */
    VEC(struct queue *) queues;  /* present, by name */
    uint32_t queues_max;         /* QUEUES_MAX; tests set fewer */
    VEC(struct counted) counted; /* resources that count; none before the first mete_queue_set */
    uint64_t counted_at;         /* which those are */
    uint64_t capacities_at;      /* e->nodes_version of their capacities */
    struct mete_fairness fairness;
    struct sizes *sizes; /* learned; NULL where the order does not go by size */
    struct mete_moves moves;
    uint64_t cycles; /* begun, those apart that go on with one that was cut */
    bool was_cut;
    int64_t now_ns;    /* of the last cycle */
    int64_t folded_ns; /* when usage was folded last, and points found; 0: never */
    int64_t points_ns;
    uint64_t searches; /* for victims */
    VEC(struct workload *) victims;
    VEC(struct workload *) moved;      /* evicted, to start elsewhere: see move.h */
    VEC(struct workload *) preemptors; /* that wait for theirs, in the order of the decisions */
    bool may_secure;                   /* something secured has gone: others may take its place */
    bool has_helped; /* one that was placed, maybe, those who wait for such pods near them */
    bool is_quiet;   /* what changes now is undone before anybody searches */
    VEC(struct backfill *) backfills;
    VEC(struct claim *) claims;
    uint64_t unclaimed;           /* claims that were given up */
    uint64_t yields;              /* of claims to somebody before them */
    uint64_t improved_at;         /* e->freed and the above when all claims were looked at last */
    int64_t improved_ns;          /* and when */
    int64_t plan_period_ns;       /* how often, at most */
    VEC(struct group *) outlooks; /* that have one */
    size_t outlooks_bytes;
    uint64_t pass;              /* which plan: what outlooks say of another is of no use */
    bool is_foreseeing;         /* it is one that will be given up */
    uint32_t use_of_limit;      /* of FORESEE steps that count, 0: all of it */
    uint32_t uses_of_limit[64]; /* see foresee.c */
    bool is_improving;          /* in this cycle */
    bool was_improving;         /* in the one that was cut */
    uint32_t n_own_depths;      /* queues with a depth of their own */
    uint32_t n_deep_queues;     /* of these, over 1 */
    bool has_unknown;           /* in this cycle: one without a known time keeps room */
    VEC(struct reservation *) reservations; /* by name */
    VEC(struct reserved) reserved;          /* by node, then as above */
    uint64_t reserved_at;                   /* e->nodes_version of these; 0: to be made anew */
    bool is_reserved_by_user;               /* one is for users: groups are of one user each */
    const struct reservation *inside;       /* whoever the bars are for runs in it alone */

    uint64_t changes;      /* of nodes */
    uint32_t newest;       /* the slot of the node that changed last, or NO_SLOT; see search.c */
    uint32_t tiers[TIERS]; /* likewise, of those in each */
    uint64_t told;         /* e->changes up to which nodes are in their tiers */
    uint64_t epoch;        /* which nodes are present */
    uint64_t ranked;
    uint64_t nodes_version; /* what nodes are, held things apart */
    uint64_t freed;         /* something was freed, or a node got better: plans may be better now */
    uint64_t eased;         /* that, or a backfill reservation went: what failed may fit now */
    uint64_t version;       /* anything */
    uint64_t uses;          /* of caches */
    uint32_t cpu;           /* the numbers of these resources' names */
    uint32_t memory;
    uint32_t pods;
    int64_t cpu_max; /* the most that a node has: of cpu in 1/1000, of gpus */
    uint32_t gpus_max;
    VEC(struct shape *) trees;  /* that have one */
    VEC(struct level *) levels; /* in use lately; a cache, see topology.c */
    struct domain_search *domain_search;
    uint64_t labels_version;    /* of the nodes */
    VEC(struct board *) boards; /* geometries in use */
    VEC(uint64_t) keys;         /* by rank, for search_keys */
    uint64_t steps;
    struct node_sums sums; /* of all nodes, as of: */
    uint64_t sums_seen;
    uint64_t sums_epoch;

    VEC(struct workload *) placed; /* in this cycle */
    VEC(struct mete_eviction) evictions;
    VEC(struct holder) holders; /* of one node, while it is looked at */
    uint32_t n_kept;            /* in this cycle */
    struct arena *decisions;
    struct arena *answers; /* of mete_why */
    struct arena *scratch; /* dead when a call returns */
    mete_record_fn record; /* see record.h */
    void *record_arg;
    struct buf record_line;
    uint64_t turns;     /* taken in this cycle */
    uint64_t cut_after; /* so many, in place of a budget, as a recording has it; 0: as asked */
    struct words words; /* of what is being read */
    char error[512];
};

#define SET(e, place, value) JOURNAL_SET(&(e)->journal, place, value)

/* engine.c */
enum mete_result engine_refuse(struct mete_engine *e, enum mete_result result, const char *fmt, ...)
    PRINTF(3, 4);
struct node *engine_node(const struct mete_engine *e, const char *name); /* or NULL */
struct gpu *engine_gpu(const struct mete_engine *e, const char *uuid);
struct workload *engine_workload(const struct mete_engine *e, uint64_t id);
bool text_is_sane(const char *text); /* not NULL, not empty, not over TEXT_MAX */

/* A number that two engines in the same state share; for tests. check.c */
uint64_t engine_hash(const struct mete_engine *e);

static inline struct workload *workload_of_all(struct order_link *link)
{
    return (struct workload *)(void *)((char *)link - offsetof(struct workload, all));
}

static inline struct workload *workload_of_group(struct order_link *link)
{
    return (struct workload *)(void *)((char *)link - offsetof(struct workload, in_group));
}

static inline const struct shape *pod_shape(const struct pod *p)
{
    return p->workload->group->sets[p->set].shape;
}

static inline void engine_freed(struct mete_engine *e)
{
    e->freed++;
    e->eased++;
}

/* node.c */
struct node *node_make(struct mete_engine *e, const char *name); /* found, or new and not present */
void node_drop_unused(struct mete_engine *e, struct node *n);
void gpu_drop_unused(struct mete_engine *e, struct gpu *g);
struct gpu *gpu_make(struct mete_engine *e, const char *uuid);
struct room *node_room(const struct node *n, uint32_t resource); /* or NULL */
struct room *node_room_make(struct node *n, uint32_t resource);
void engine_node_free(struct mete_engine *e, struct node *n);

static inline uint64_t node_gpus(const struct node *n)
{
    return n->n_gpus == NODE_GPUS_MAX ? UINT64_MAX : (UINT64_C(1) << n->n_gpus) - 1;
}

/* Its gpus of one of these models; of any where none is named. */
static inline uint64_t node_gpus_of_models(const struct node *n, const uint32_t *models,
                                           size_t n_models)
{
    uint64_t ret = 0;

    if (n_models == 0)
        return node_gpus(n);
    for (size_t i = 0; i < n->n_models; i++)
        for (size_t k = 0; k < n_models; k++)
            if (n->models[i].number == (int)models[k])
                ret |= n->models[i].gpus;
    return ret;
}

/* device_asks.c: the gpus of which something may be given for one of the shape's asks. */
uint64_t asks_gpus_of(const struct node *n, const struct shape *s);

/* The gpus of a node that the shape takes, by model and by how they are dealt out. */
static inline uint64_t node_gpus_of(const struct node *n, const struct shape *s)
{
    if (s->n_asks > 0)
        return asks_gpus_of(n, s);
    if (s->n_models == 0)
        return n->wholes;
    return node_gpus_of_models(n, s->models, s->n_models) & n->wholes;
}

static inline bool shape_is_share(const struct shape *s)
{
    return s->milli < MILLI;
}

static inline bool node_takes_pods(const struct node *n)
{
    return n->is_present && n->is_ready && !n->is_cordoned;
}

/* shape.c */
enum mete_result shape_make(struct mete_engine *e, const struct mete_pod_set *set,
                            struct shape **ret);
void shape_unref(struct mete_engine *e, struct shape *s);
/* A copy in the scratch arena, for a what-if. */
struct shape *shape_scratch(struct mete_engine *e, const struct shape *s);
enum mete_result group_make(struct mete_engine *e, const struct mete_workload *w,
                            struct queue *queue, uint32_t user, struct group **ret);
void group_unref(struct mete_engine *e, struct group *g);
/* The same in another queue, or for another user (0: any). */
struct group *group_for(struct mete_engine *e, const struct group *g, struct queue *queue,
                        uint32_t user);
/* The same with these ties in place of its own, a list as long as its sets. */
struct group *group_tied(struct mete_engine *e, const struct group *g, struct ties *const *ties);
void group_wait(struct mete_engine *e, struct workload *w);
void group_unwait(struct mete_engine *e, struct workload *w);

/* Can be held by the cluster when that is empty and healthy. */
bool group_never_fits(struct mete_engine *e, struct group *g);

/* workload.c */
/* It is there, in no order yet. */
void workload_enter(struct mete_engine *e, struct workload *w);
/* In the places that it is said to have; nothing changed where that fails. */
enum mete_result workload_restore_pods(struct mete_engine *e, struct workload *w,
                                       const struct mete_placement *placement);
/* Restored: it counts from here on. */
void workload_placed(struct mete_engine *e, struct workload *w, int64_t started_ns);
/* What it holds is free again. */
void workload_give(struct mete_engine *e, struct workload *w);
void workload_free(struct mete_engine *e, struct workload *w);
/* A workload outside of the engine's orders, for questions. */
enum mete_result workload_make(struct mete_engine *e, const struct mete_workload *from,
                               struct workload **ret);
