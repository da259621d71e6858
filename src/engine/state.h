/*
 * state.h - the engine's state: nodes, gpus, shapes, groups, workloads; private to src/engine
 *
 * Texts are interned, so filters compare numbers. JOURNAL_SET writes whatever a trial may change,
 * so that the trial can be undone. Plain writes are for calls from outside (nodes, orders, shapes),
 * when no trial is open. Caches, such as the shapes' trees, follow from the rest and catch up with
 * the nodes that changed.
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
    LIST_MAX = 1024,  /* longest list of one object: labels, taints, requests, tolerations, ... */
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

/* The end of a pod without a time limit: not known. */
#define NEVER_NS INT64_MAX

/* Holders of several namespaces, from before the fence: nobody joins them. */
#define FENCE_MIXED UINT32_MAX

/* Sums over gpus, in 1/1000; the fragment is multiplied by the weight of the demand. */
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
    uint32_t key; /* 0: every key */
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

/* A gpu, kept while a present node has it or a pod holds it. */
struct gpu {
    struct map_handle handle; /* by uuid */
    char *uuid;
    int64_t memory_bytes; /* 0: not known */
    uint32_t name;        /* the uuid, interned */
    int numa_node;
    int link_group;
    struct node *node; /* NULL: no known node has it */
    unsigned bit;      /* its index among the node's gpus */
    bool is_healthy;
    uint32_t out;       /* why it is not healthy, interned; 0: unknown */
    bool is_fenced;     /* shares and replicas are for pods of one namespace: */
    uint32_t fence;     /* that of the holders, interned; FENCE_MIXED: of several */
    struct pod *holder; /* the pod that holds the whole gpu; NULL: none */
    uint32_t model;
    uint32_t n_shares; /* pods that hold a share */
    uint32_t milli_used;
    uint32_t memory_milli_used; /* by shares that asked for as much memory as compute */
    int64_t bytes_used;         /* by shares that asked for bytes */
    int64_t memory_at_share;    /* memory_bytes, once known, when a share was first taken */
    struct parts *parts;        /* slices or replicas of it; NULL: none. device_parts.h */
};

/* A group of a node's gpus, as bits: a link group, a NUMA node, a model. */
struct gpu_group {
    int number; /* of the link group or NUMA node; the model's interned name */
    uint64_t gpus;
};

/* A node, kept while the caller has it (is_present) or a pod holds something on it. */
struct node {
    uint64_t healthy;   /* bit i: gpus[i] may be given */
    uint64_t held;      /* bit i: gpus[i] is held, whole or in part, or is never given whole */
    uint64_t shared;    /* bit i: gpus[i] is held in shares */
    uint64_t sized;     /* bit i: gpus[i] has a share with bytes of memory */
    uint64_t fenced;    /* bit i: gpus[i] has shares, and is for pods of one namespace */
    struct room *rooms; /* by resource number */
    size_t n_rooms;
    struct backfill *backfill; /* the backfill reservation on this node; NULL: none */
    uint32_t kept_at;          /* index of this node in the backfill reservation */
    uint32_t first_reserved;   /* index of its first entry in e->reserved */
    uint32_t n_reserved;       /* entries there; 0: the node is in the shapes' trees */
    struct timeline *timeline; /* of the claims on this node; NULL: none */
    uint64_t barred;           /* bit i: gpus[i] is reserved for others than the present asker */
    bool is_barred;            /* the whole node is */
    bool is_present;
    bool is_ready;
    bool is_cordoned;
    uint32_t n_lent; /* pods whose cpus are lent: see lend.h */
    int64_t filler;  /* cpus in `used` that no pod uses */
    uint32_t n_gpus;
    struct label *labels; /* by key number */
    size_t n_labels;
    struct taint *taints;
    size_t n_taints;
    struct gpu *gpus[NODE_GPUS_MAX];
    uint16_t free_milli[NODE_GPUS_MAX]; /* 0: the gpu is held whole or in slices */
    uint64_t linked;                    /* gpus in a link group */
    uint64_t wholes;                    /* gpus that can be given whole or in capped shares */
    uint64_t parted;                    /* gpus that can be given in slices or replicas */
    struct gpu_group *links;
    struct gpu_group *numas;
    struct gpu_group *models;
    size_t n_links;
    size_t n_numas;
    size_t n_models;
    uint32_t rank; /* place by name among present nodes; valid when e->ranked == e->epoch */
    uint32_t slot;
    uint32_t name_id;
    char *name;
    char *cordon_reason;
    struct pod *pods;      /* pods placed on this node */
    struct node_sums sums; /* the last count; a cache */
    struct map_handle handle;
};

/* The free amounts of a node's gpus. */
struct levels {
    uint32_t n;                   /* healthy gpus with free compute */
    uint32_t whole;               /* wholly free ones */
    int64_t idle;                 /* the sum, in 1/1000 */
    int64_t cpu;                  /* free, in 1/1000 */
    uint16_t free[NODE_GPUS_MAX]; /* of each, in 1/1000 */
    uint8_t bit[NODE_GPUS_MAX];   /* its index among the node's gpus */
};

/* Tiers of nodes by free gpu: nothing, tenths of one gpu, a number of whole gpus. A search skips
 * the tiers that have less than a pod needs. */
enum {
    TIER_NONE,    /* the node's tier is not known yet */
    TIER_NOTHING, /* no gpu is free */
    TIER_TENTHS = 10,
    TIER_WHOLES = 8,
    TIERS = 1 + TIER_NOTHING + TIER_TENTHS + TIER_WHOLES
};

/* A place in a list of nodes by their last change. */
struct change_link {
    uint32_t newer; /* slots of the neighbours in the list, or NO_SLOT */
    uint32_t older;
};

enum change_list {
    CHANGE_ALL,
    CHANGE_TIER, /* nodes of the same tier */
    CHANGE_LISTS
};

/* A node's summary in one cache line, side by side with those of other nodes. A search excludes
 * most nodes by it, and for plain nodes (see find_plain) it decides the fit alone. */
struct glance {
    bool is_known;
    bool is_open;     /* takes pods, and has no reservation */
    bool is_plain;    /* no taints, no shares with bytes of memory or behind a fence */
    uint8_t whole;    /* wholly free gpus */
    uint16_t largest; /* most free compute of one gpu, in 1/1000 */
    uint8_t tier;
    uint32_t rank; /* NO_SLOT: not present */
    struct change_link links[CHANGE_LISTS];
    uint64_t changed_at; /* e->changes after its last change; 0: no change yet, in no list */
    int64_t cpu;         /* free */
    int64_t memory;
    int64_t pods;
};

/* The rest of a node's summary, read for nodes that fit. */
struct detail {
    bool is_simple;                 /* the policy needs nothing else: see its score_plain */
    const struct values_rows *rows; /* of policy mete */
    int64_t price;                  /* of 1/1000 of its gpus */
    int64_t value;                  /* the node's value in its present state */
    struct levels levels;
};

#define NO_SLOT UINT32_MAX

enum {
    QUEUE_DEPTH_MAX = 16 /* of queues above each other; the root's depth is 0 */
};

/* The identity of an object as a list of numbers: objects with equal lists are the same. */
struct words {
    uint32_t *at;
    size_t n;
    size_t room;
};

/* The requests of a pod; hash-consed by `words`. */
struct shape {
    struct map_handle handle;
    uint32_t *words;
    unsigned refs;
    uint32_t gpus;
    uint32_t milli;    /* of each gpu: MILLI, or a share */
    int64_t gpu_bytes; /* of a share; 0: in proportion to the compute */
    uint32_t *models;  /* accepted models, by number; none: any */
    size_t n_models;
    struct ask *asks; /* several kinds of device; then gpus is their number, milli the largest:
                         device_asks.h */
    size_t n_asks;
    uint32_t node;            /* interned name; 0: any */
    uint32_t ns;              /* of shares and of asks: the pods' namespace, interned; else 0 */
    struct request *requests; /* by resource number */
    size_t n_requests;
    int64_t cpu; /* of the requests */
    int64_t memory;
    int64_t pods;
    bool is_plain;          /* only gpus, shares of compute, cpu, memory and pods */
    struct label *selector; /* by key number */
    size_t n_selector;
    struct toleration *tolerations;
    size_t n_tolerations;
    struct node_rules *nodes;        /* NULL: none */
    struct affinity_rules *affinity; /* NULL: none; see affinity.h */
    bool is_linked;                  /* more than one gpu, all in one link group */
    bool are_models_fixed;
    bool is_scratch; /* made for a question: has no cache */

    /* The cache that gives the best node: see search.c. */
    struct max_tree *tree; /* by rank: the node's score plus 1; 0: no fit */
    bool is_known;         /* the cache is true as of `seen` */
    uint64_t seen;         /* e->changes at that time */
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
    struct ties *ties; /* NULL: no rule concerns such pods; see affinity.h */
    uint32_t name;
    uint32_t count;
    struct domain_asks asks;
};

/*
 * Workloads of one queue with the same requests, time limit, right to preempt and class of
 * evictions, and the same user where the queue limits users. A placement that fails for one
 * workload of a group fails for all.
 */
struct group {
    struct map_handle handle;
    uint32_t *words;
    unsigned refs;
    struct group **group_cache; /* its place in group_cache.c; NULL: none */
    uint32_t user;              /* 0: any user */
    uint32_t reservation;       /* name of the reservation that its workloads run in; 0: none */
    struct group_set *sets;
    size_t n_sets;
    uint32_t *fill_order; /* indices of the sets, most gpus first */
    size_t n_pods;
    struct domain_asks asks;
    bool has_asks; /* the group or one of its sets has some */
    int64_t time_limit_ns;
    bool never_preempts;
    uint32_t evict_class; /* 0: none */
    struct queue *queue;
    int64_t *charge; /* of each workload; valid when e->counted_at == charge_at */
    uint64_t charge_at;
    struct order waiting;
    size_t waiting_index; /* in queue->groups, while a workload waits */

    uint64_t
        failed_at; /* e->eased when its first workload did not fit: skipped until e->eased moves */
    uint64_t tried_at;   /* e->changes then */
    uint64_t kept_at;    /* e->cycles of the last repeated try */
    uint64_t stuck_at;   /* e->version when no eviction helped, ... */
    int64_t stuck_ns;    /* ... valid before this time */
    uint64_t unmoved_at; /* e->eased when no move paid for it, ... */
    int64_t unmoved_ns;  /* ... before this moment */
    uint64_t never_at;   /* e->nodes_version when `never` was computed; 0: not known */
    bool never;          /* the cluster could not hold it, even empty and healthy */
    bool failed_kept;    /* a backfill reservation was in the way: later workloads only */

    uint32_t n_claims;       /* of its waiting workloads */
    struct outlook *outlook; /* of a group with one pod; NULL: none */

    /* In a cycle. */
    bool has_failed;
    struct order_link *at; /* the workload whose turn it is */

    uint64_t brief_at; /* e->version of `brief`; 0: none */
    int64_t brief_ns;  /* time of `brief`: advance reservations depend on it */
    char *brief;
    enum mete_reason_code brief_code;
};

struct pod {
    struct workload *workload;
    uint32_t set;
    uint32_t index;
    struct node *node; /* NULL: not placed */
    struct pod *before;
    struct pod *after; /* neighbours in the node's list */
    struct gpu **gpus;
    size_t n_gpus;
    bool is_lent; /* its cpus: see lend.h */
};

/* A workload. The members that its end reads come first: most ending workloads have left the
 * processor's cache. The pods and the name follow in the same block of memory. */
struct workload {
    struct order_key key;
    struct group *group;
    struct queue *queue;
    struct pod *pods;
    size_t n_pods;
    struct workload *placed_before; /* neighbours in the queue's list */
    struct workload *placed_after;
    int64_t *charged;          /* its charge, by counted resource; NULL: not counted */
    struct claim *claim;       /* of a waiting workload; NULL: none */
    struct pod_labels *labels; /* of each set; NULL: none */
    char *hold_text;           /* NULL: the hold's own name */
    int64_t end_ns;            /* end by the time limit, when placed; NEVER_NS: none */
    int64_t started_ns;        /* when placed; 0: not known */
    uint64_t decided_at;       /* e->labels_version when placed by a decision; 0 */
    uint64_t evicted_by;       /* the workload that it is evicted for; 0: not evicted */
    uint64_t moved_for;        /* the workload that it is moved for; 0: not moved */
    uint64_t billed;           /* the dominant part of its charge */
    uint32_t n_evicting;       /* workloads that are being evicted for this one */
    uint32_t user;
    bool is_placed;
    bool is_preemptible;
    bool is_secured;    /* placed within the nominal quotas: see preempt.c */
    bool is_victim;     /* in this search */
    bool is_extra;      /* see struct mete_workload */
    bool is_unreserved; /* see mete_workload_unreserved */
    bool is_lending;    /* suspended: see lend.h */
    int64_t lent_ns;    /* since when; of the last cycle then */
    int32_t priority;
    int64_t points_given; /* see mete_workload_points */
    enum mete_hold hold;  /* a held workload is in its queue, but not in its group */
    struct order_link all;
    struct order_link in_group;
    int64_t min_run_ns;
    int64_t checkpoint_ns;
    int64_t estimate_ns;  /* of the run time, raised when outlived; 0: not known */
    uint64_t marked_at;   /* the search for victims that has it as a candidate */
    uint64_t cost;        /* of evicting it */
    uint64_t devices;     /* gpus that it holds, whole or in part */
    struct node **was_on; /* of a victim: each pod's node; in the scratch arena */
    size_t *had_gpus;
    int64_t since_ns; /* since when `code` is the last reason told */
    enum mete_reason_code code;
    char *name;
};

struct backfill_node {
    struct node *node;
    uint64_t gpus;      /* gpus of the kind that the owner needs: bits of the node */
    int64_t extra_gpus; /* of these, gpus that others may take without delaying the owner */
    int64_t *extra;     /* the same, parallel to node->rooms */
};

struct backfill {
    struct workload *owner;
    struct backfill_node *nodes;
    size_t n_nodes;
    int64_t start_ns;    /* NEVER_NS: not known */
    bool is_confirmed;   /* in this cycle */
    bool is_stale;       /* an earlier workload took some of its room */
    bool is_preempting;  /* its owner waits for victims: the room is kept from all others */
    uint64_t planned_at; /* e->freed */
    int64_t least;       /* the fewest gpus that it ever waited for */
};

struct policy;
struct demand;
struct values;
struct level;
struct domain_search;

/* A holder on a node, and when it gives its devices back. */
struct holder {
    int64_t end_ns;
    const struct pod *pod;
    uint64_t gpus; /* bits of the node: gpus that are free of all holders once it is gone */
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

    struct node *node_map;    /* by name, including removed nodes that pods still hold */
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
    struct queue *root;
    struct queue *queue_map;            /* by name, including removed queues that workloads name */
    VEC(struct queue *) queues;         /* present, by name */
    VEC(struct queue *) queues_waiting; /* with groups that wait, in no order */
    uint64_t turns_pass;                /* number of the last turns_begin */
    VEC(struct queue *) turns_at[QUEUE_DEPTH_MAX + 1]; /* its queues with turns, by depth */
    uint32_t queues_max;                               /* QUEUES_MAX; tests set fewer */
    uint32_t nodes_max;                                /* NODES_MAX; likewise */
    VEC(struct counted) counted;                       /* none before the first mete_queue_set */
    uint64_t counted_at;                               /* version of the list */
    uint64_t capacities_at;                            /* e->nodes_version of their capacities */
    struct mete_fairness fairness;
    struct sizes *sizes; /* learned; NULL: no order by size */
    struct mete_moves moves;
    uint64_t class_victims[METE_EVICT_CLASSES]; /* of each class: bits of those that it may evict */
    uint64_t class_suspended;        /* bits of the classes whose workloads are suspended */
    VEC(struct workload *) lenders;  /* suspended workloads, those that were so first come first */
    const struct workload *borrower; /* in a trial: the fillers of its lenders are open */
    uint64_t cycles;                 /* begun, not counting continuations of a cut one */
    bool was_cut;
    int64_t now_ns;    /* of the last cycle */
    int64_t folded_ns; /* when usage was folded, and points computed, last; 0: never */
    int64_t points_ns;
    uint64_t searches; /* for victims */
    VEC(struct workload *) victims;
    VEC(struct workload *) moved; /* being moved: see move.h */
    VEC(struct workload *)
    preemptors;      /* workloads that wait for their victims, in order of decision */
    bool may_secure; /* a secured workload is gone: others may be secured */
    bool has_helped; /* a placed pod may satisfy the affinity of waiting ones */
    bool is_quiet;   /* present changes are undone before the next search */
    VEC(struct backfill *) backfills;
    VEC(struct claim *) claims;
    uint64_t unclaimed;           /* claims given up */
    uint64_t yields;              /* claims that gave way to an earlier workload */
    uint64_t improved_at;         /* e->freed + the above at the last look at all claims */
    int64_t improved_ns;          /* time of that look */
    int64_t plan_period_ns;       /* shortest time between looks: PLAN_PERIOD_NS; tests set less */
    VEC(struct group *) outlooks; /* groups with an outlook */
    size_t outlooks_bytes;
    uint64_t pass;              /* number of the plan: outlooks of another plan are stale */
    bool is_foreseeing;         /* the plan will be given up */
    uint32_t use_of_limit;      /* FORESEE steps that count; 0: all */
    uint32_t uses_of_limit[64]; /* see foresee.c */
    bool is_improving;          /* in this cycle */
    bool was_improving;         /* in the cut cycle */
    uint32_t n_own_depths;      /* queues with a depth of their own */
    uint32_t n_deep_queues;     /* of these, with a depth over 1 */
    bool has_unknown; /* in this cycle: a workload without a known start has a backfill reservation
                       */
    VEC(struct reservation *) reservations; /* by name */
    VEC(struct reserved) reserved;          /* by node, then by name */
    uint64_t reserved_at;                   /* e->nodes_version of e->reserved; 0: stale */
    bool is_reserved_by_user;               /* a reservation is for users: a group has one user */
    const struct reservation
        *inside; /* the reservation that the present asker runs in; NULL: none */

    uint64_t changes;      /* changes of nodes so far */
    uint32_t newest;       /* the slot of the node that changed last, or NO_SLOT; see search.c */
    uint32_t tiers[TIERS]; /* the same, of each tier */
    uint64_t told;         /* e->changes up to which nodes are in the right tier */
    uint64_t epoch;        /* version of the set of present nodes */
    uint64_t ranked;
    uint64_t nodes_version; /* version of the nodes, without what is held on them */
    uint64_t
        freed; /* counts events that may make plans better: something was freed, a node improved */
    uint64_t eased;   /* the same and dropped backfill reservations: what failed may fit now */
    uint64_t version; /* counts all changes */
    uint64_t uses;    /* uses of caches */
    uint32_t cpu;     /* interned names of the resources */
    uint32_t memory;
    uint32_t pods;
    int64_t cpu_max; /* the largest cpu capacity (1/1000) and gpu count of a node */
    uint32_t gpus_max;
    VEC(struct shape *) trees;  /* shapes with a tree */
    VEC(struct level *) levels; /* used lately; a cache: see level.c */
    struct domain_search *domain_search;
    uint64_t labels_version;    /* of the nodes' labels */
    VEC(struct board *) boards; /* MIG geometries in use */
    VEC(uint64_t) keys;         /* by rank, for search_keys */
    uint64_t steps;
    struct node_sums sums; /* of all nodes, as of sums_seen and sums_epoch */
    uint64_t sums_seen;
    uint64_t sums_epoch;

    VEC(struct workload *) placed; /* placed in this cycle */
    VEC(struct mete_eviction) evictions;
    VEC(struct mete_resume) resumes;
    VEC(struct holder) holders; /* of the node that is being looked at */
    uint32_t n_kept;            /* in this cycle */
    struct arena *decisions;
    struct arena *answers; /* of mete_why */
    struct arena *scratch; /* reset when a call returns */
    mete_record_fn record; /* see record.h */
    void *record_arg;
    struct buf record_line;
    uint64_t turns;     /* taken in this cycle */
    uint64_t cut_after; /* turns before a cut that a recording prescribes; 0: by the budget */
    struct words words; /* of the object being read */
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

/* check.c: a hash of the whole state: equal for engines in the same state. For tests. */
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

/* The node's gpus of these models; of any model when the list is empty. */
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

/* device_asks.c: the gpus that can serve one of the shape's asks. */
uint64_t asks_gpus_of(const struct node *n, const struct shape *s);

/* The gpus of a node that the shape accepts, by model and mode. */
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
/* A copy in the scratch arena, for a question. */
struct shape *shape_scratch(struct mete_engine *e, const struct shape *s);
enum mete_result group_make(struct mete_engine *e, const struct mete_workload *w,
                            struct queue *queue, uint32_t user, struct group **ret);
void group_unref(struct mete_engine *e, struct group *g);
/* The same group in another queue, or for another user (0: any). */
struct group *group_for(struct mete_engine *e, const struct group *g, struct queue *queue,
                        uint32_t user);
/* The same group with these ties, one a set. */
struct group *group_tied(struct mete_engine *e, const struct group *g, struct ties *const *ties);
void group_wait(struct mete_engine *e, struct workload *w);
void group_unwait(struct mete_engine *e, struct workload *w);

/* Is the group too large even for the empty, healthy cluster? */
bool group_never_fits(struct mete_engine *e, struct group *g);

/* workload.c */
void workload_free(struct mete_engine *e, struct workload *w);
/* Makes a workload outside of the engine's orders, for questions. */
enum mete_result workload_make(struct mete_engine *e, const struct mete_workload *from,
                               struct workload **ret);
