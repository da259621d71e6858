/*
 * mete/engine.h - the scheduling engine of Mete: state and time in, placements and reasons out
 *
 * A pure library: no I/O, no clock, no threads, no globals; the same calls give the same decisions
 * to the byte. Not thread-safe: one engine, one caller. All texts passed in are copied. Results are
 * borrowed and valid until the next call on the engine that changes it, unless said otherwise.
 *
 * Version 0: things may still be added; that it is pure is final.
 */
#ifndef METE_ENGINE_H
#define METE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define METE_API __attribute__((visibility("default")))

struct mete_engine;

enum mete_result {
    METE_OK = 0,
    METE_INVALID,   /* a number or name that cannot be; see mete_last_error */
    METE_NOT_FOUND, /* no such node or workload */
    METE_EXISTS,    /* the workload id is taken */
    METE_CONFLICT,  /* a restored placement does not fit what is there */
};

/* cpu in 1/1000, memory in bytes, pods and everything else as counts. */
struct mete_amount {
    const char *resource;
    int64_t amount;
};

struct mete_label {
    const char *key;
    const char *value;
};

enum mete_effect {
    METE_NO_SCHEDULE,
    METE_PREFER_NO_SCHEDULE,
    METE_NO_EXECUTE
};

struct mete_taint {
    const char *key;
    const char *value;
    enum mete_effect effect;
};

struct mete_toleration {
    const char *key; /* NULL or "": every key (with is_exists) */
    const char *value;
    bool is_exists; /* operator Exists; otherwise Equal */
    bool any_effect;
    enum mete_effect effect;
};

/* How a gpu is dealt out. */
enum mete_gpu_mode {
    METE_GPU_WHOLE,    /* whole, or in capped shares */
    METE_GPU_REPLICAS, /* in so many equal parts (time-slicing, MPS) that promise nothing but count
                        */
    METE_GPU_SLICES,   /* in MIG instances */
};

/* A MIG instance that the driver has. */
struct mete_slice {
    const char *profile; /* "1g.10gb" */
    uint32_t start;      /* its first memory slice */
    const char *uuid;    /* "MIG-..."; NULL: not known */
};

/*
 * With is_flexible its MIG instances may be created and destroyed, by the geometry of its model and
 * memory: those that nobody holds make room for others, and where nobody holds any it can be given
 * whole or in shares, as one in mode METE_GPU_WHOLE can be given in slices. METE_INVALID where no
 * geometry is known for it.
 */
struct mete_gpu {
    const char *uuid;
    const char *model;               /* "h100" */
    int64_t memory_bytes;            /* that can be used: what the driver leaves */
    int numa_node;                   /* -1: unknown */
    int link_group;                  /* -1: none */
    bool is_healthy;                 /* false: not given to new pods, held ones stay held */
    enum mete_gpu_mode mode;         /* as it is now */
    uint32_t replicas;               /* in that mode: 1 .. 256; else 0 */
    const struct mete_slice *slices; /* in that mode: what the driver has */
    size_t n_slices;
    bool is_flexible;
};

struct mete_node {
    const char *name;
    const struct mete_amount *capacity; /* allocatable, gpus not included */
    size_t n_capacity;
    const struct mete_label *labels;
    size_t n_labels;
    const struct mete_taint *taints;
    size_t n_taints;
    const struct mete_gpu *gpus;
    size_t n_gpus;
    bool is_ready;
    bool is_cordoned;
    const char *cordon_reason; /* NULL: unknown */
};

/*
 * Pods together: in one domain, which is the nodes with the same value of this label. A list of
 * these goes from the narrowest to the widest, at most METE_DOMAINS_MAX: the first one in which all
 * pods fit is taken, but none behind the first that is required. A domain of a narrower key lies
 * within one of each required wider key. Of several domains that fit, the one with the fewest free
 * gpus, then the first by name.
 */
struct mete_domain {
    const char *key;  /* "rack", "nvidia.com/gpu.clique", "kubernetes.io/hostname", ... */
    bool is_required; /* else preferred: wider, or anywhere, where no domain has room */
};

enum {
    METE_DOMAINS_MAX = 8
};

/*
 * Devices of one kind. Slices where `profile` is set ("1g.10gb", also "mig-1g.10gb.me"), with at
 * least memory_bytes where that is not 0; replicas with is_replica; shares with gpu_milli 1 .. 999
 * (memory_bytes as gpu_memory_bytes of a pod set), else whole gpus. Shares and replicas of one pod
 * are on gpus that differ; slices may be on the same.
 */
struct mete_gpu_ask {
    uint32_t count; /* 1 .. 64, as of all asks of a pod */
    uint32_t gpu_milli;
    int64_t memory_bytes;
    const char *profile;
    bool is_replica;
    const char *const *models; /* one of these; none: any */
    size_t n_models;
};

enum mete_operator {
    METE_OP_IN,             /* has the key, with one of the values */
    METE_OP_NOT_IN,         /* with none of the values, or has no such key */
    METE_OP_EXISTS,         /* has the key */
    METE_OP_DOES_NOT_EXIST, /* has it not */
    METE_OP_GREATER, /* both its value and the only one are whole numbers, and it is over that */
    METE_OP_LESS,    /* under it */
};

/* A condition on labels, as in Kubernetes. */
struct mete_requirement {
    const char *key;
    enum mete_operator op;
    const char *const *values;
    size_t n_values;
};

/* All of these hold for a node. One without any requirement holds for none. */
struct mete_node_term {
    const struct mete_requirement *labels;
    size_t n_labels;
    const struct mete_requirement
        *names; /* METE_OP_IN and METE_OP_NOT_IN of its name; keys not read */
    size_t n_names;
};

/* A node for which the term holds is the better by so much. */
struct mete_node_wish {
    uint32_t weight; /* 1 .. 100 */
    struct mete_node_term term;
};

enum mete_rule_kind {
    METE_RULE_TOGETHER, /* where such pods are (pod affinity) */
    METE_RULE_APART,    /* where none are; and none comes where it is (pod anti-affinity) */
    METE_RULE_SPREAD,   /* evenly with such pods (topology spread constraint) */
};

/*
 * Where a pod may be by where other pods are, as in Kubernetes. Nodes with the same value of the
 * label `topology` are one domain. Pods of one workload count for each other.
 */
struct mete_pod_rule {
    enum mete_rule_kind kind;
    uint32_t weight; /* 0: it must hold; else it is better by so much: 1 .. 100 */
    const char *topology;
    /* Such pods: all of these hold for their labels (none: any), and they are in one of these
     * namespaces. */
    const struct mete_requirement *labels;
    size_t n_labels;
    bool matches_none; /* no pod is such a pod */
    const char *const *namespaces;
    size_t n_namespaces;
    bool any_namespace;
    /* Of METE_RULE_SPREAD. */
    uint32_t max_skew;     /* so many more than in the domain with the fewest; not 0 */
    uint32_t min_domains;  /* with fewer domains, the fewest is 0; 0: 1 */
    bool counts_all_nodes; /* also those that its selector and node terms keep it away from */
    bool counts_no_tainted_nodes; /* not those whose taints keep it away */
};

/* Pods that ask for the same thing. A container's gpus are the first `gpus` of the pod's not yet
 * dealt. */
struct mete_pod_set {
    const char *name;
    uint32_t count;
    uint32_t min_count;                 /* it starts with so many; 0 means count */
    const struct mete_amount *requests; /* of one pod, gpus not included */
    size_t n_requests;
    uint32_t gpus;            /* of one pod */
    uint32_t gpu_milli;       /* of each: 1 .. 999 a share of its compute; 0 or 1000: all of it */
    int64_t gpu_memory_bytes; /* of each, with a share; 0: as large a part as of the compute */
    const char *const *gpu_models; /* one of these; none: any */
    size_t n_gpu_models;
    const struct mete_label *selector; /* nodeSelector: all must be equal */
    size_t n_selector;
    const struct mete_toleration *tolerations;
    size_t n_tolerations;
    const char *node;                  /* NULL: any; else this one only */
    const struct mete_domain *domains; /* for the pods of this set, within those of the workload */
    size_t n_domains;
    const struct mete_gpu_ask *asks; /* instead of `gpus`: several kinds in one pod; at most 16 */
    size_t n_asks;
    const struct mete_node_term *node_terms; /* one of these must hold; none: no matter */
    size_t n_node_terms;
    const struct mete_node_wish *node_wishes;
    size_t n_node_wishes;
    const char *ns;                  /* NULL: "" */
    const struct mete_label *labels; /* of the pods, for the rules of others and their own */
    size_t n_labels;
    const struct mete_pod_rule *rules;
    size_t n_rules;
    /* Whole gpus of one kind that all reach each other: in one link group of the node, which is
     * rather so without this. Room that is kept for such a pod counts all gpus of a node. */
    bool is_linked;
};

/* Ids from here on mean nothing to people: texts say the workload's name in place of "job 12". */
#define METE_ID_UNNAMED (UINT64_C(1) << 62)

struct mete_workload {
    uint64_t id;      /* not 0; the caller's, unique among those present */
    const char *name; /* "namespace/name", for messages */
    const char *queue;
    const char *user;
    int32_t priority; /* larger first */
    int32_t qos;      /* its quality of service, as a number; see mete_factors */
    int64_t submit_ns;
    int64_t time_limit_ns; /* 0: none */
    bool is_preemptible;   /* it may be evicted */
    bool never_preempts;   /* others are not evicted for it */
    /*
     * Its pods are beyond what another workload needs at least, as those of a pod set beyond its
     * min_count are (mete_workload_shrink): behind all others in its queue, not counted among the
     * workloads that run, evicted before anybody else wherever evicting is allowed, evicting
     * nobody. Its priority, never_preempts and min_run_ns are not looked at, and it has no pods
     * beyond a min_count of its own.
     */
    bool is_extra;
    int64_t min_run_ns;    /* not before it has run that long */
    int64_t checkpoint_ns; /* when it last saved its work; 0: never */
    int64_t estimate_ns;   /* how long it is expected to run; 0: as its time limit */
    const struct mete_pod_set *pod_sets;
    size_t n_pod_sets;
    const char *reservation; /* it runs in that one alone, within its time; NULL or "": anywhere */
    const struct mete_domain *domains; /* for the pods of all sets */
    size_t n_domains;
};

/* One of the devices of a pod that has asks. */
struct mete_device {
    uint32_t ask;        /* which of the pod set's */
    const char *gpu;     /* uuid */
    const char *profile; /* of a slice; else NULL */
    uint32_t start;
    const char *slice; /* uuid, where the driver has it */
    bool must_create;  /* of a slice: the driver does not have it; those that it has and that this
                        * one cannot be beside are nobody's, and to be destroyed first */
};

/*
 * A whole gpu or a share may be on a gpu that is in slices so far: its instances, all nobody's, are
 * to be destroyed first.
 */
struct mete_pod_placement {
    uint32_t pod_set;
    uint32_t pod; /* 0 .. count-1 within its set */
    const char *node;
    const char *const *gpus; /* uuids; with devices: of each */
    size_t n_gpus;
    const struct mete_device *devices; /* of a pod with asks, in their order: as many as gpus */
    size_t n_devices;
};

struct mete_placement {
    uint64_t workload;
    const struct mete_pod_placement *pods;
    size_t n_pods;
    int64_t started_ns; /* of a restored one, for its time limit; 0: not known */
};

enum mete_eviction_reason {
    METE_EVICTED_RECLAIM,  /* its queue is above its nominal quota, that of `by` below */
    METE_EVICTED_PRIORITY, /* `by` has a higher priority in the same queue */
    METE_EVICTED_MOVE,     /* it can start elsewhere at once: see mete_moves_set */
};

/*
 * To be ended, so that `by` can start. It stays held until mete_workload_unplace (it waits again)
 * or mete_workload_remove; until then nobody but `by` gets what it holds.
 */
struct mete_eviction {
    uint64_t workload;
    uint64_t by;
    enum mete_eviction_reason reason;
    bool is_of_pod; /* only this one of its pods; see mete_workload_shrink */
    uint32_t pod_set;
    uint32_t pod;
};

struct mete_decisions {
    const struct mete_placement *placements; /* assumed held from here on */
    size_t n_placements;
    const struct mete_eviction *evictions;
    size_t n_evictions;
    bool is_cut; /* the budget ended first: call again */
};

/* Why a workload waits, in the order of precedence of docs/reasons.md. */
enum mete_reason_code {
    METE_REASON_NONE,
    METE_REASON_NEVER_FITS,    /* no node, empty and healthy, could hold it */
    METE_REASON_NO_SUCH_QUEUE, /* its queue is not there, or only holds other queues */
    METE_REASON_NOT_ALLOWED,   /* held as METE_HOLD_NOT_ALLOWED, and so on for the others */
    METE_REASON_OVER_MAX,      /* more than its queue ever allows */
    METE_REASON_HELD_BY_YOU,
    METE_REASON_HELD_BY_ADMIN,
    METE_REASON_SCHEDULING_GATED,
    METE_REASON_NOT_BEFORE,
    METE_REASON_QUEUE_STOPPED,
    METE_REASON_QUOTA,          /* its queue, or one above it, holds what it may */
    METE_REASON_USER_LIMIT,     /* its user does */
    METE_REASON_NO_NODE_FITS,   /* enough in all, but not on one node */
    METE_REASON_TOPOLOGY_SPLIT, /* fits, but not in one required domain */
    METE_REASON_FRAGMENTED,     /* enough of a gpu is free, but not where a slice may start */
    METE_REASON_GPUS_UNHEALTHY,
    METE_REASON_NODES_DRAINING, /* would fit on a cordoned or unready node */
    METE_REASON_PREEMPTING,     /* others were evicted for it and have not ended yet */
    METE_REASON_RESERVED,       /* fits, but the room is kept for one before it */
    METE_REASON_HIGHER_PRIORITY,
    METE_REASON_NOT_YET_EVALUATED,
};

/* One node's answer. */
struct mete_node_reason {
    const char *node;
    const char *resource; /* what is short: "nvidia.com/gpu", "cpu", ... or NULL */
    int64_t asked;
    int64_t free;
    int64_t capacity;
    const char *
        text; /* "3 short; job 12 holds 3", "taint dedicated=ml:NoSchedule is not tolerated", ... */
    int64_t until_ns; /* room by then, from the time limits of what runs there; 0: not known */
};

struct mete_reason {
    enum mete_reason_code code;
    const char *code_text;  /* "NoNodeFits" */
    const char *class_text; /* "yours", "held", "quota", "place", "turn" */
    const char *queue;
    const char *message; /* "needs 8 H100 on one node; the most free on one node is 5 (gpu-01)" */
    int64_t since_ns;
    int64_t evaluated_ns;
    uint32_t position;                    /* in its queue; 1 is next */
    uint32_t waiting;                     /* how many wait there */
    const struct mete_node_reason *nodes; /* at most nodes_max of the options, best first */
    size_t n_nodes;
    size_t nodes_left_out;
    const char *const *would_start_if; /* each found by re-running the placement */
    size_t n_would_start_if;
    /* When it is likely to start: between these, as far as is known now; 0: not known. Not a
     * promise: who comes later may stand before it. Not in lists (mete_why_brief). */
    int64_t estimate_from_ns;
    int64_t estimate_to_ns;
    const char *estimate_basis; /* "time limits of running jobs", "reservation"; NULL: not known */
};

/* Nobody keeps room: what fits starts. All do. */
#define METE_RESERVE_NONE UINT32_MAX
#define METE_RESERVE_ALL  (UINT32_MAX - 1)

/*
 * Told what an engine is told and decides, a line of text for each call that changes it and for
 * each cycle with decisions; the newline is part of it, and `text` is valid during the call only.
 * The lines, in order, into another engine give the same decisions (`mete sim replay`).
 */
typedef void (*mete_record_fn)(void *arg, const char *text, size_t size);

struct mete_options {
    const char *policy; /* NULL: "binpack"; docs/placement.md names the others */
    uint32_t nodes_max; /* node lines in a reason; 0: 8 */
    /*
     * How many waiting workloads, in their order, keep room; 0: 1. One (EASY backfill): the nodes
     * on which it will fit soonest. More (conservative backfill): each has a time and nodes of its
     * own beside those before it, by time limits; those whose time is not known, because somebody
     * without a limit is in the way, keep room as with 1, the first of them. A time once found
     * moves only forward, except where limits are exceeded, nodes are lost or somebody with more
     * points comes.
     */
    uint32_t reserve_depth;
    int64_t plan_period_ns; /* how often, at most, earlier times are looked for; 0: 30 s */
    uint64_t seed;          /* of the policy "random" */
    mete_record_fn record;  /* NULL: nobody listens */
    void *record_arg;
};

METE_API struct mete_engine *mete_engine_new(
    const struct mete_options *options); /* NULL: defaults */
METE_API void mete_engine_free(struct mete_engine *e);

/* What was wrong with the last call that did not return METE_OK. */
METE_API const char *mete_last_error(const struct mete_engine *e);

/* Adds a node or makes it as given. What is held on it stays held, also where it is over the new
 * capacity. */
METE_API enum mete_result mete_node_set(struct mete_engine *e, const struct mete_node *node);
/* What was held on it stays with its workloads until they finish. */
METE_API enum mete_result mete_node_remove(struct mete_engine *e, const char *name);

/* Pods of one kind and how many of them are asked for, in any unit. */
struct mete_demand {
    const struct mete_pod_set *set; /* its count, name, node and rules are not looked at */
    uint64_t weight;
};

/*
 * What is usually asked for, out of `total` pods (0: these are all). Idle gpu that such pods could
 * not use is fragmented. Policies "fgd" and "mete" place by it; without one they place as "bestfit"
 * does. Weights and the total are at most 2^32.
 */
METE_API enum mete_result mete_demand_set(struct mete_engine *e, const struct mete_demand *demand,
                                          size_t n, uint64_t total);

/* In 1/1000 of a gpu, over all nodes. */
struct mete_gpu_sums {
    int64_t capacity;
    int64_t used;
    int64_t fragmented; /* idle gpu that a pod of the demand could not use, on average */
};
METE_API void mete_gpu_sums(struct mete_engine *e, struct mete_gpu_sums *ret);

/*
 * What policy "mete" has learned (`mete sim learn`, docs/placement.md): of a gpu with so much free,
 * how much will stay idle in the end. Entry [cpu][whole][level]: `level` is the free compute in
 * steps of METE_VALUES_LEVEL_MILLI, `whole` how many gpus of the node are wholly free, `cpu` how
 * many of `cpu_steps` (ascending) are at most the free cpu for each whole idle gpu, in 1/1000.
 */
enum {
    METE_VALUES_LEVEL_MILLI = 10,
    METE_VALUES_LEVELS = 101,
    METE_VALUES_WHOLE = 9, /* the last: 8 and more */
    METE_VALUES_CPU_MAX = 64
};

#define METE_VALUES_SIZE(n_cpu_steps) \
    (((size_t)(n_cpu_steps) + 1) * METE_VALUES_WHOLE * METE_VALUES_LEVELS)

/* What taking 1/1000 of a gpu of this model costs beside, in 1/1000 of that: pods name it. */
struct mete_price {
    const char *model;
    int32_t price_milli; /* 0 .. 1000 */
};

struct mete_values {
    const char *id;          /* of this version of the table */
    uint64_t pods;           /* it was learned from so many arrivals */
    uint32_t fragment_milli; /* how much of the fragment is added, in 1/1000 */
    const int64_t *cpu_steps;
    size_t n_cpu_steps;
    const int32_t *idle; /* METE_VALUES_SIZE entries, each in 1/1000 of 1/1000 gpu */
    const struct mete_price *prices;
    size_t n_prices;
};

/* NULL: forget what was learned; "mete" then places as "fgd" does. */
METE_API enum mete_result mete_values_set(struct mete_engine *e, const struct mete_values *values);
/* The id of the table in use, or NULL. */
METE_API const char *mete_values_id(const struct mete_engine *e);

/* No limit, for what counts from 0. */
#define METE_UNLIMITED INT64_MAX

/* What a queue may hold, with all queues below it. */
struct mete_quota {
    /*
     * As in requests, or "gpu" in 1/1000 of a gpu, or "gpu:MODEL" of those. A slice counts by its
     * compute slices (1g of seven: 142; where profiles of that name differ, the most), a replica by
     * the replicas of its gpu.
     */
    const char *resource;
    int64_t nominal;      /* its own: what it gets back from those who borrowed it */
    int64_t borrow_limit; /* on top of that, of what others do not use */
    int64_t lend_limit;   /* of its own, what others may borrow */
};

/* 0: no limit. */
struct mete_limits {
    int64_t gpu_milli;
    uint32_t running; /* workloads */
};

enum mete_preempt {
    METE_PREEMPT_NEVER,
    METE_PREEMPT_LOWER_PRIORITY,
    METE_PREEMPT_ANY,
    METE_PREEMPT_LATER, /* of at most its priority, and behind it in the order of the queue */
};

/*
 * Workloads are in queues without queues below them. Until the first mete_queue_set there is only
 * "default" (which is also the queue of those that name none), without any limit; it stays.
 */
struct mete_queue {
    const char *name;
    const char *parent; /* NULL or "": none; one that is there */
    uint32_t weight;    /* of its share, beside the other queues of its parent; 0: 1 */
    const struct mete_quota *quotas;
    size_t n_quotas;
    struct mete_limits limits;
    struct mete_limits user_limits; /* of each user in it */
    int64_t time_limit_ns;          /* of a workload, which must have one then; 0: none */
    enum mete_preempt reclaim; /* whom its workloads evict in queues above their nominal quota */
    enum mete_preempt within;  /* and in the queue itself: never, lower priority, or later */
    int64_t min_run_ns;        /* its workloads are not evicted before they have run that long */
    bool is_stopped;           /* nothing of it starts */
    uint32_t reserve_depth;    /* as in mete_options, of its own workloads; 0: with all others */
};

/* Adds a queue or makes it as given. What is held in it stays held, also where it is over a limit.
 */
METE_API enum mete_result mete_queue_set(struct mete_engine *e, const struct mete_queue *queue);
/* METE_CONFLICT while there are queues below it. What waits in it waits for its return. */
METE_API enum mete_result mete_queue_remove(struct mete_engine *e, const char *name);

struct mete_quota_view {
    const char *resource;
    int64_t nominal;
    int64_t borrow_limit;
    int64_t lend_limit;
    int64_t held;
    int64_t capacity; /* of the cluster */
};

struct mete_queue_view {
    const char *name;
    const char *parent;
    uint32_t weight;
    uint32_t waiting; /* workloads, with those of the queues below it */
    uint32_t running;
    uint32_t held;      /* of those that wait: put on hold */
    int64_t oldest_ns;  /* when the one that is next was submitted; 0: none, or not known */
    int64_t gpu_milli;  /* held, in 1/1000 of a gpu; 0 before the first mete_queue_set */
    uint64_t share_ppm; /* dominant share: held now, and used lately, of the cluster */
    const struct mete_quota_view *quotas;
    size_t n_quotas;
};

METE_API size_t mete_queue_count(const struct mete_engine *e);
METE_API enum mete_result mete_queue_view(struct mete_engine *e, size_t i,
                                          struct mete_queue_view *ret); /* by name order */

/*
 * Room set aside in advance. From its start to its end only workloads of the queues (with those
 * below them) and users listed may be placed there, for maintenance none; before, no others that
 * might still run at its start: one without a time limit might. What runs there already stays, so
 * one that is set late may begin short; see the view. At its end it is gone by itself, in the next
 * cycle. Those entitled may use its room at any time, and one that names it (mete_workload) starts
 * between its start and end only, on nothing else, and not where its time limit ends later.
 *
 * Either `nodes`: all of these, whether they are there yet or not; or `gpus`: so many whole ones,
 * picked at once: of those that are free by the start by time limits, then of the others, on as few
 * nodes as possible, never such as another reservation has at that time. Cpu and memory beside
 * these are not kept. Where too few are there, or one gets lost, more are picked as nodes change.
 */
struct mete_reservation {
    const char *name; /* unique */
    int64_t start_ns;
    int64_t end_ns;
    const char *const *nodes;
    size_t n_nodes;
    uint32_t gpus;
    const char *const *gpu_models; /* one of these; none: any */
    size_t n_gpu_models;
    const char *const *gpu_uuids; /* picked before, as the view says: kept if they still serve */
    size_t n_gpu_uuids;
    const char *const *queues;
    size_t n_queues;
    const char *const *users;
    size_t n_users;
    bool is_maintenance; /* for nobody: no queues, no users; may overlap others */
};

/* Adds a reservation or makes it as given. METE_CONFLICT where a node named is in another one (not
 * for maintenance) at that time. */
METE_API enum mete_result mete_reservation_set(struct mete_engine *e,
                                               const struct mete_reservation *r);
METE_API enum mete_result mete_reservation_remove(struct mete_engine *e, const char *name);

struct mete_reservation_view {
    const char *name;
    int64_t start_ns;
    int64_t end_ns;
    bool is_maintenance;
    bool has_begun;     /* as of the last cycle */
    uint32_t gpus;      /* asked for; 0: whole nodes */
    uint32_t gpus_kept; /* healthy ones that it has */
    uint32_t gpus_late; /* of these, held by others who may hold them past its start */
    const char *const *nodes;
    size_t n_nodes;
    const char *const *gpu_uuids; /* picked */
    size_t n_gpu_uuids;
    const char *const *queues;
    size_t n_queues;
    const char *const *users;
    size_t n_users;
};

METE_API size_t mete_reservation_count(const struct mete_engine *e);
METE_API enum mete_result mete_reservation_view(struct mete_engine *e, size_t i,
                                                struct mete_reservation_view *ret); /* by name */

enum mete_order {
    METE_ORDER_SHARES,   /* down the tree: below nominal quota first, then the least share */
    METE_ORDER_PRIORITY, /* all queues as one, by points */
};

enum mete_fair_share {
    METE_FAIR_CLASSIC, /* 2^(-usage/share), as Slurm's without Fair Tree */
    METE_FAIR_TREE,    /* the rank among all users, as Slurm's Fair Tree */
};

/*
 * Points of a workload that waits: class x its priority, qos x its qos, and for each of the others
 * its factor of 0 .. 1 times the number here. Larger points first, then who came first.
 */
struct mete_factors {
    int32_t class_points; /* 0 where all are 0: 1 */
    int32_t qos_points;
    int32_t age_points; /* waiting time by age_max_ns */
    int32_t fair_share_points;
    int32_t size_points; /* gpus by all there are; with favors_small what is missing to 1 */
    bool favors_small;
    int64_t age_max_ns; /* 0: 7 days */
};

struct mete_fairness {
    enum mete_order order;
    enum mete_fair_share formula;
    struct mete_factors factors;
    int64_t half_life_ns; /* of what was used; 0: it does not count */
    int64_t period_ns;    /* how often points are found anew; 0: 5 minutes */
    /*
     * Of those with the same points, by the gpu time that they are expected to take: those that
     * together are a sixteenth of all work first, the smallest first; one in a hundred, the
     * largest, as if submitted 30 days later; the others by submission, a gpu second counting as
     * 1/32 s. What runs longer than expected is expected to run a quarter longer, a minute at
     * least.
     */
    bool by_size;
};

METE_API enum mete_result mete_fairness_set(struct mete_engine *e,
                                            const struct mete_fairness *fairness);

/*
 * Moves against fragmentation. Where a workload that keeps room does not fit, because what is free
 * lies apart, others are evicted for it if, when it is placed, all of them can start elsewhere at
 * once, and if that pays: what it gains (its gpus x the time that it would wait, as far as known,
 * at most horizon_ns) is more than what they lose (their gpus x the work since their last
 * checkpoint and restart_ns). Only preemptible ones of at most its priority are moved. Nothing is
 * before the first mete_queue_set.
 */
struct mete_moves {
    int64_t horizon_ns; /* 0: nothing is moved */
    int64_t restart_ns; /* of each */
    uint32_t moves_max; /* for one that waits; 0: 8; at most 64 */
};

METE_API enum mete_result mete_moves_set(struct mete_engine *e, const struct mete_moves *moves);

/* What a user's workloads in a queue held together, from `from_ns` to `to_ns`. */
struct mete_used {
    const char *queue;
    const char *user;
    const struct mete_amount *amounts; /* as in struct mete_quota: "gpu" in 1/1000 */
    size_t n_amounts;
    int64_t from_ns;
    int64_t to_ns;
    int64_t now_ns; /* realtime, as of cycles; not before to_ns */
};

/*
 * Counts towards what was used lately what the engine did not see: before its first cycle, as read
 * back after a restart. By the nodes and the half-life as they are then; nothing where that is 0.
 * METE_NOT_FOUND: no such queue.
 */
METE_API enum mete_result mete_usage_add(struct mete_engine *e, const struct mete_used *used);

METE_API enum mete_result mete_workload_add(struct mete_engine *e, const struct mete_workload *w);
/* A workload that is placed already, as read back after a restart. Nodes that are not known yet are
 * fine. */
METE_API enum mete_result mete_workload_restore(struct mete_engine *e,
                                                const struct mete_workload *w,
                                                const struct mete_placement *placement);
/* A decision could not be carried out: the workload waits again, in its old place. */
METE_API enum mete_result mete_workload_unplace(struct mete_engine *e, uint64_t id);
/* Ended or cancelled: what it held is free. */
METE_API enum mete_result mete_workload_remove(struct mete_engine *e, uint64_t id);

enum mete_hold {
    METE_HOLD_NONE,
    METE_HOLD_NOT_ALLOWED, /* it may not be in its queue */
    METE_HOLD_USER,
    METE_HOLD_ADMIN,
    METE_HOLD_GATED,      /* somebody else has to say that it may start */
    METE_HOLD_NOT_BEFORE, /* a time has to come */
};

/*
 * It does not start while it is held; it keeps its place and its age, and gives up the room that is
 * kept for it. Of one that is placed it counts once it waits again. `text` is what mete_why says,
 * NULL: what the hold is called.
 */
METE_API enum mete_result mete_workload_hold(struct mete_engine *e, uint64_t id,
                                             enum mete_hold hold, const char *text);

struct mete_pod_labels {
    const struct mete_label *labels;
    size_t n_labels;
};

/* The labels of its pods are these from here on, of each of its sets. What is placed stays where it
 * is. */
METE_API enum mete_result mete_workload_label(struct mete_engine *e, uint64_t id,
                                              const struct mete_pod_labels *sets, size_t n_sets);

/*
 * One of its pods has ended, or was evicted alone: what it held is free, and it waits again. Only
 * of pods beyond the min_count, which are those with the larger numbers: they come behind all
 * others in the queue, may be evicted at any time where the queue's `within` or another's `reclaim`
 * lets anybody be, and before anybody else, and evict nobody. Each comes in a placement of its own,
 * which names only what is added.
 */
METE_API enum mete_result mete_workload_shrink(struct mete_engine *e, uint64_t id, uint32_t pod_set,
                                               uint32_t pod);

/* It has saved its work: evicting it costs what it does from here on. */
METE_API enum mete_result mete_workload_estimate(struct mete_engine *e, uint64_t id,
                                                 int64_t estimate_ns);

METE_API enum mete_result mete_workload_checkpoint(struct mete_engine *e, uint64_t id,
                                                   int64_t at_ns);

/* Places what can be placed. `budget` counts elementary steps (a node looked at); 0: no limit. */
METE_API void mete_cycle(struct mete_engine *e, int64_t now_ns, uint64_t budget,
                         struct mete_decisions *ret);

/*
 * Why it waits, with the nodes and what would help; code METE_REASON_NONE where it is placed. Found
 * by trying, at the cost of many searches. The texts are valid until the next call that asks or
 * changes anything.
 */
METE_API enum mete_result mete_why(struct mete_engine *e, uint64_t id, int64_t now_ns,
                                   struct mete_reason *ret);

/* The same without nodes and would_start_if; found once for all workloads that ask for the same
 * thing. For lists. */
METE_API enum mete_result mete_why_brief(struct mete_engine *e, uint64_t id, int64_t now_ns,
                                         struct mete_reason *ret);

enum mete_change_kind {
    METE_CHANGE_END,    /* `workload` ends, or is cancelled */
    METE_CHANGE_ADD,    /* there are `count` more nodes like `like` (at most 4096 in all) */
    METE_CHANGE_DRAIN,  /* `node` is cordoned, and what runs there has to go */
    METE_CHANGE_RESUME, /* `node` takes pods again */
};

struct mete_change {
    enum mete_change_kind kind;
    uint64_t workload;
    const char *node;
    const struct mete_node *like;
    uint32_t count;
};

struct mete_what_if {
    const uint64_t *started; /* of those that wait, in their order */
    size_t n_started;
    const uint64_t *displaced; /* from drained nodes; those who can start elsewhere at once first */
    size_t n_displaced;
    size_t n_restarted;
};

/*
 * What if all of that changed at once (at most 256 changes): who would start in the next cycle?
 * Those listed do; the list ends with the first whose room would be kept or made, as what may pass
 * it is not foreseen. With a reserve_depth over 1 they have room, but one may still wait where it
 * would delay another. Nothing changes. Valid until the next call that asks or changes anything.
 */
METE_API enum mete_result mete_what_if(struct mete_engine *e, const struct mete_change *changes,
                                       size_t n, int64_t now_ns, struct mete_what_if *ret);

/* Would a workload like this ever fit? METE_REASON_NONE or METE_REASON_NEVER_FITS; nothing changes.
 */
METE_API enum mete_result mete_would_fit(struct mete_engine *e, const struct mete_workload *w,
                                         struct mete_reason *ret);

/*
 * How many workloads like this one could start now, one beside the other, at most `max`: found by
 * placing them, within the quotas of its queue and around the room that is kept for others. Nothing
 * changes; its id is not looked at, but is not 0.
 */
METE_API enum mete_result mete_count_starts(struct mete_engine *e, const struct mete_workload *w,
                                            uint32_t max, int64_t now_ns, uint32_t *ret);

/* Free whole gpus of a node, and whether it takes new pods; for `mete free` and views. */
struct mete_node_view {
    const char *name;
    uint32_t gpus;
    uint32_t gpus_free;
    bool takes_pods;
};
METE_API size_t mete_node_count(const struct mete_engine *e);
METE_API enum mete_result mete_node_view(struct mete_engine *e, size_t i,
                                         struct mete_node_view *ret); /* by name order */

/* A MIG instance of a gpu, held or not. */
struct mete_slice_view {
    const char *profile;
    uint32_t start;
    const char *slice; /* uuid; NULL: the driver does not have it as far as is known */
    uint64_t holder;   /* the workload; 0: none */
};
/* Fills at most `max` in the order of their starts; returns how many there are. */
METE_API size_t mete_gpu_slices(const struct mete_engine *e, const char *uuid,
                                struct mete_slice_view *ret, size_t max);

/* The workload that holds a gpu; 0: none. */
METE_API uint64_t mete_gpu_holder(const struct mete_engine *e, const char *uuid);

/* Recomputes everything from scratch and compares: NULL, or what is wrong. For tests and the 30 s
 * check. */
METE_API const char *mete_engine_check(struct mete_engine *e);

#ifdef __cplusplus
}
#endif
#endif
