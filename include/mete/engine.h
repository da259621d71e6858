/*
 * mete/engine.h - the scheduling engine of Mete: cluster state and time in, placements and reasons
 * out
 *
 * The engine is a pure library: no I/O, no clock, no threads, no globals. The same calls give the
 * same decisions to the byte. An engine is not thread-safe: one caller owns it. The engine copies
 * all texts that a caller passes in. Results are borrowed: they are valid until the next call that
 * changes the engine, unless a function says otherwise.
 *
 * Units: cpu and gpu compute in 1/1000 (`_milli`), memory in bytes, times in nanoseconds (`_ns`).
 *
 * Version 0: functions and members may still be added. The purity is final.
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
    METE_INVALID,   /* an argument is malformed or out of range: see mete_last_error */
    METE_NOT_FOUND, /* no such node, workload, queue or reservation */
    METE_EXISTS,    /* a workload with this id is present */
    METE_CONFLICT,  /* the call contradicts what is there, e.g. a restored placement does not fit */
};

/* An amount of one resource: cpu in 1/1000, memory in bytes, all others as counts. */
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

/* The ways to divide a gpu. */
enum mete_gpu_mode {
    METE_GPU_WHOLE,    /* whole, or in capped shares */
    METE_GPU_REPLICAS, /* equal parts (time-slicing, MPS): counted, not isolated */
    METE_GPU_SLICES,   /* MIG instances */
};

/* A MIG instance that the driver has. */
struct mete_slice {
    const char *profile; /* "1g.10gb" */
    uint32_t start;      /* its first memory slice */
    const char *uuid;    /* "MIG-..."; NULL: not known */
};

/*
 * A gpu with is_flexible may have its MIG instances created and destroyed, by the geometry of its
 * model and memory: free instances give way to others, and a gpu without held instances can be
 * given whole or in shares. A flexible gpu in mode METE_GPU_WHOLE can be given in slices.
 * METE_INVALID: no MIG geometry is known for the model and memory.
 */
struct mete_gpu {
    const char *uuid;
    const char *model;               /* "h100" */
    int64_t memory_bytes;            /* usable memory: without what the driver reserves */
    int numa_node;                   /* -1: unknown */
    int link_group;                  /* -1: none */
    bool is_healthy;                 /* false: new pods do not get it, its holders keep it */
    enum mete_gpu_mode mode;         /* the present mode */
    uint32_t replicas;               /* METE_GPU_REPLICAS: 1 .. 256; else 0 */
    const struct mete_slice *slices; /* METE_GPU_SLICES: the driver's instances */
    size_t n_slices;
    bool is_flexible;
    bool is_renamed;      /* METE_GPU_REPLICAS: only asks with is_replica get these replicas */
    bool is_single;       /* METE_GPU_REPLICAS: not for asks with is_several */
    bool is_fenced;       /* shares and replicas at one time are for pods of one namespace */
    bool keeps_mig;       /* is_flexible in mode METE_GPU_SLICES: never given whole or in shares */
    const char *out_text; /* why it is not healthy, for people; NULL: unknown */
};

struct mete_node {
    const char *name;
    const struct mete_amount *capacity; /* allocatable amounts, gpus not included */
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
 * A topology level: pods of a workload go to one domain, the nodes with the same value of the label
 * `key`. A list of levels goes from the narrowest to the widest, at most METE_DOMAINS_MAX. The
 * engine takes the first level with a domain that holds all pods; it never goes past the first
 * required level. A domain of a narrower level lies within one domain of each required wider level.
 * Among domains that fit, the engine takes the one with the fewest free gpus, then the first by
 * name.
 */
struct mete_domain {
    const char *key;  /* "rack", "nvidia.com/gpu.clique", "kubernetes.io/hostname", ... */
    bool is_required; /* false: preferred; pods go wider, or anywhere, when no domain has room */
};

enum {
    METE_DOMAINS_MAX = 8
};

/*
 * Devices of one kind, for each pod of a set. Slices: `profile` is set ("1g.10gb", also
 * "mig-1g.10gb.me"), with at least memory_bytes each unless that is 0. Replicas: is_replica.
 * Shares: gpu_milli is 1 .. 999, memory_bytes as in gpu_memory_bytes of a pod set; or is_by_memory,
 * then the share's compute is memory_bytes by the memory of its gpu, at most 999. Else whole gpus;
 * with or_replica, replicas of gpus without is_renamed serve, too, where whole gpus are missing.
 * Shares and replicas of one pod lie on different gpus; its slices may share a gpu. With `uuids`
 * the devices are of these gpus only.
 */
struct mete_gpu_ask {
    uint32_t count; /* 1 .. 64; the sum over all asks of a pod is at most 64, too */
    uint32_t gpu_milli;
    int64_t memory_bytes;
    const char *profile;
    bool is_replica;
    bool or_replica;
    bool is_by_memory;
    bool is_several;           /* one container gets more than one of these */
    const char *const *models; /* accepted models; none: any */
    size_t n_models;
    const char *const *uuids; /* accepted gpus, at most 1024; none: any */
    size_t n_uuids;
    uint32_t starts; /* of slices: bits of the accepted starts; 0: any */
};

enum mete_operator {
    METE_OP_IN,             /* the label's value is in the list */
    METE_OP_NOT_IN,         /* the label is missing, or its value is not in the list */
    METE_OP_EXISTS,         /* the label is present */
    METE_OP_DOES_NOT_EXIST, /* the label is missing */
    METE_OP_GREATER,        /* the label's value and the only list entry are whole numbers, and the
                             * value is greater */
    METE_OP_LESS,           /* the same, and the value is less */
};

/* A condition on labels, as in Kubernetes. */
struct mete_requirement {
    const char *key;
    enum mete_operator op;
    const char *const *values;
    size_t n_values;
};

/* A node matches a term when it meets all requirements. A term without requirements matches no
 * node. */
struct mete_node_term {
    const struct mete_requirement *labels;
    size_t n_labels;
    const struct mete_requirement
        *names; /* METE_OP_IN and METE_OP_NOT_IN on the node's name; keys are ignored */
    size_t n_names;
};

/* A preference: a node that matches the term scores `weight` higher. */
struct mete_node_wish {
    uint32_t weight; /* 1 .. 100 */
    struct mete_node_term term;
};

enum mete_rule_kind {
    METE_RULE_TOGETHER, /* pod affinity: where matching pods are */
    METE_RULE_APART,    /* pod anti-affinity: where no matching pods are, in both directions */
    METE_RULE_SPREAD,   /* topology spread constraint: evenly with matching pods */
};

/*
 * A rule about other pods, as in Kubernetes. Nodes with the same value of the label `topology` form
 * one domain. Pods of the same workload count for each other.
 */
struct mete_pod_rule {
    enum mete_rule_kind kind;
    uint32_t weight; /* 0: required; 1 .. 100: preferred, with this score */
    const char *topology;
    /* A pod matches when its labels meet all requirements (none: any labels) and its namespace is
     * listed. */
    const struct mete_requirement *labels;
    size_t n_labels;
    bool matches_none; /* no pod matches */
    const char *const *namespaces;
    size_t n_namespaces;
    bool any_namespace;
    /* METE_RULE_SPREAD only. */
    uint32_t max_skew;     /* most matching pods beyond the emptiest domain; not 0 */
    uint32_t min_domains;  /* with fewer domains, the emptiest counts as 0; 0 means 1 */
    bool counts_all_nodes; /* nodes that the selector and node terms exclude count, too */
    bool
        counts_no_tainted_nodes; /* nodes with taints that the pod does not tolerate do not count */
};

/* Pods with the same requests. A container's gpus are the first `gpus` of the pod's gpus that no
 * earlier container has. */
struct mete_pod_set {
    const char *name;
    uint32_t count;
    const struct mete_amount *requests; /* of one pod, gpus not included */
    size_t n_requests;
    uint32_t gpus;            /* of one pod */
    uint32_t gpu_milli;       /* of each gpu: 1 .. 999: a share of its compute; 0 or 1000: all */
    int64_t gpu_memory_bytes; /* of each gpu, with a share; 0: in proportion to the compute */
    const char *const *gpu_models; /* accepted models; none: any */
    size_t n_gpu_models;
    const struct mete_label *selector; /* nodeSelector: a node must have all of these labels */
    size_t n_selector;
    const struct mete_toleration *tolerations;
    size_t n_tolerations;
    const char *node;                  /* the only node allowed; NULL: any */
    const struct mete_domain *domains; /* for the pods of this set, within those of the workload */
    size_t n_domains;
    const struct mete_gpu_ask *asks; /* instead of `gpus`: several kinds in one pod; at most 16 */
    size_t n_asks;
    const struct mete_node_term *node_terms; /* a node must match one of these; none: any node */
    size_t n_node_terms;
    const struct mete_node_wish *node_wishes;
    size_t n_node_wishes;
    const char *ns;                  /* the pods' namespace; NULL: "" */
    const struct mete_label *labels; /* of the pods, for rules of these and of other pods */
    size_t n_labels;
    const struct mete_pod_rule *rules;
    size_t n_rules;
    /* The pod's whole gpus must be of one model and in one link group of the node. Without this
     * flag the engine only prefers that. A backfill reservation for such a pod counts all gpus of
     * the node. */
    bool is_linked;
    bool are_models_fixed; /* mete_why does not suggest gpus of other models */
};

/* Ids from here on mean nothing to people: messages show the workload's name instead of "job 12".
 */
#define METE_ID_UNNAMED (UINT64_C(1) << 62)

struct mete_workload {
    uint64_t id;      /* chosen by the caller, not 0, unique among the workloads present */
    const char *name; /* "namespace/name", for messages */
    const char *queue;
    const char *user;
    int32_t priority; /* a larger number goes first */
    int64_t submit_ns;
    int64_t time_limit_ns; /* 0: none */
    bool is_preemptible;   /* the engine may evict this workload */
    bool never_preempts;   /* the engine evicts nothing for this workload */
    /*
     * An extra: pods beyond the minimum of another workload, as a workload of their own. Extras
     * wait behind all other workloads of the queue, do not count as running workloads, are evicted
     * first wherever the queues allow eviction, and evict nothing. The engine ignores priority,
     * never_preempts and min_run_ns of an extra, and does not know to which workload it belongs.
     */
    bool is_extra;
    uint32_t evict_class;  /* see mete_evict_rules_set; 0: none */
    int64_t min_run_ns;    /* the engine does not evict the workload before it ran this long */
    int64_t checkpoint_ns; /* when the workload last saved its work: an eviction costs only the work
                            * since then; 0: never */
    int64_t estimate_ns;   /* expected run time; 0: the time limit */
    const struct mete_pod_set *pod_sets;
    size_t n_pod_sets;
    const char *reservation;           /* the advance reservation to run in; NULL or "": none */
    const struct mete_domain *domains; /* for the pods of all sets */
    size_t n_domains;
};

enum mete_device_kind {
    METE_DEVICE_WHOLE,
    METE_DEVICE_SHARE,
    METE_DEVICE_REPLICA,
    METE_DEVICE_SLICE,
};

/* One device of a pod with asks or shares. */
struct mete_device {
    uint32_t ask;        /* index into the pod set's asks */
    const char *gpu;     /* uuid */
    const char *profile; /* of a slice; else NULL */
    uint32_t start;      /* of a slice */
    const char *slice;   /* the instance's uuid; NULL: the driver does not have the instance yet */
    bool must_create;    /* the caller creates the instance. Existing instances that overlap it are
                          * free: the caller destroys them first */
    enum mete_device_kind kind;
    /* In decisions only; 0 for other kinds. */
    uint32_t gpu_milli;   /* of a share */
    int64_t memory_bytes; /* of a share: rounded down from its part of the gpu's memory; 0: the
                           * gpu's memory is not known */
    uint32_t replicas;    /* of a replica: the number of its gpu's */
};

/* The place of one pod. A whole gpu or a share may lie on a gpu with MIG instances: these are free,
 * and the caller destroys them first. */
struct mete_pod_placement {
    uint32_t pod_set;
    uint32_t pod; /* 0 .. count-1 within the set */
    const char *node;
    const char *const *gpus; /* uuids; of a pod with asks: the gpu of each device */
    size_t n_gpus;
    const struct mete_device *devices; /* of a pod with asks or shares, in their order: n_gpus */
    size_t n_devices;
};

struct mete_placement {
    uint64_t workload;
    const struct mete_pod_placement *pods;
    size_t n_pods;
    int64_t started_ns; /* of a restored workload, for its time limit; 0: not known */
};

enum mete_eviction_reason {
    METE_EVICTED_RECLAIM,  /* the victim's queue is above its nominal quota, that of `by` below */
    METE_EVICTED_PRIORITY, /* `by` has a higher priority in the same queue */
    METE_EVICTED_MOVE,     /* the victim can start elsewhere at once: see mete_moves_set */
    METE_EVICTED_CLASS,    /* the class of `by` may evict the victim's: see mete_evict_rules_set */
    METE_EVICTED_SUSPEND,  /* the same, and the victim's class is one that is suspended */
};

/*
 * The caller ends `workload` so that `by` can start. The victim keeps its resources until the
 * caller reports the end by mete_workload_unplace (the victim waits again) or mete_workload_remove.
 * Until then only `by` can get these resources. A workload with the reason METE_EVICTED_SUSPEND is
 * not ended: the caller stops its processes, and reports that by mete_workload_suspended.
 */
struct mete_eviction {
    uint64_t workload;
    uint64_t by;
    enum mete_eviction_reason reason;
};

/* The caller lets the processes of the suspended `workload` go on, which has all of its cpus again.
 */
struct mete_resume {
    uint64_t workload;
};

struct mete_decisions {
    const struct mete_placement *placements; /* the engine counts these as held from now on */
    size_t n_placements;
    const struct mete_eviction *evictions;
    size_t n_evictions;
    const struct mete_resume *resumes;
    size_t n_resumes;
    bool is_cut; /* the budget ended first: call again */
};

/* Why a workload waits, in the order of precedence of docs/reasons.md. */
enum mete_reason_code {
    METE_REASON_NONE,
    METE_REASON_NEVER_FITS,    /* no node could hold the workload, even empty and healthy */
    METE_REASON_NO_SUCH_QUEUE, /* the queue is missing, or only contains other queues */
    METE_REASON_NOT_ALLOWED,   /* on hold, METE_HOLD_NOT_ALLOWED; likewise the next five */
    METE_REASON_OVER_MAX,      /* the request exceeds what the queue ever allows */
    METE_REASON_HELD_BY_YOU,
    METE_REASON_HELD_BY_ADMIN,
    METE_REASON_SCHEDULING_GATED,
    METE_REASON_NOT_BEFORE,
    METE_REASON_QUEUE_STOPPED,
    METE_REASON_QUOTA,          /* the queue, or a queue above it, is at its limit */
    METE_REASON_USER_LIMIT,     /* the user is at the queue's limit for users */
    METE_REASON_NO_NODE_FITS,   /* enough resources in all, but not on one node */
    METE_REASON_TOPOLOGY_SPLIT, /* enough resources, but not in one required domain */
    METE_REASON_FRAGMENTED,     /* enough of a gpu is free, but no place where a slice may start */
    METE_REASON_GPUS_UNHEALTHY,
    METE_REASON_NODES_DRAINING, /* a cordoned or unready node would have room */
    METE_REASON_PREEMPTING,     /* evicted workloads have not ended yet */
    METE_REASON_RESERVED,       /* the room is kept for an earlier workload */
    METE_REASON_HIGHER_PRIORITY,
    METE_REASON_NOT_YET_EVALUATED,
};

/* One node's part of a reason. */
struct mete_node_reason {
    const char *node;
    const char *resource; /* the scarce resource: "nvidia.com/gpu", "cpu", ...; NULL: none */
    int64_t asked;
    int64_t free;
    int64_t capacity;
    const char *
        text; /* "3 short; job 12 holds 3", "taint dedicated=ml:NoSchedule is not tolerated", ... */
    int64_t until_ns; /* the node has room by then, by time limits; 0: not known */
};

struct mete_reason {
    enum mete_reason_code code;
    const char *code_text;  /* "NoNodeFits" */
    const char *class_text; /* "yours", "held", "quota", "place", "turn" */
    const char *queue;
    const char *message; /* "needs 8 H100 on one node; the most free on one node is 5 (gpu-01)" */
    int64_t since_ns;
    int64_t evaluated_ns;
    uint32_t position;                    /* in the queue; 1 is next */
    uint32_t waiting;                     /* workloads that wait in the queue */
    const struct mete_node_reason *nodes; /* at most nodes_max of mete_options, best first */
    size_t n_nodes;
    size_t nodes_left_out;
    const char *const *would_start_if; /* the engine ran the placement for each of these */
    size_t n_would_start_if;
    /* Likely start, between these times; 0: not known. Not a promise: a later workload may go
     * first. mete_why_brief leaves these 0. */
    int64_t estimate_from_ns;
    int64_t estimate_to_ns;
    const char *estimate_basis; /* "time limits of running jobs", "reservation"; NULL: not known */
};

/* For reserve_depth: no workload gets a backfill reservation; every workload gets one. */
#define METE_RESERVE_NONE UINT32_MAX
#define METE_RESERVE_ALL  (UINT32_MAX - 1)

/*
 * Receives a line of text for each call that changes the engine and for each cycle with decisions.
 * The newline is part of the line. `text` is valid during the call only. Another engine that is fed
 * the same lines in order makes the same decisions (`mete sim replay`).
 */
typedef void (*mete_record_fn)(void *arg, const char *text, size_t size);

struct mete_options {
    const char *policy; /* NULL: "binpack"; docs/placement.md names the others */
    uint32_t nodes_max; /* node lines in a reason; 0: 8 */
    /*
     * The number of waiting workloads, in queue order, that get a backfill reservation; 0: 1. Depth
     * 1 is EASY backfill: the reservation covers the nodes on which the workload will fit soonest.
     * A larger depth is conservative backfill: each workload gets a start time and nodes beside
     * those of earlier workloads, from time limits. A workload whose start time is unknown, because
     * a workload without a time limit is in the way, gets a reservation as with depth 1; only the
     * first such workload does. A start time only moves forward, except when a time limit is
     * exceeded, a node is lost, or a workload with more points arrives.
     */
    uint32_t reserve_depth;
    uint64_t seed;         /* of the policy "random" */
    mete_record_fn record; /* NULL: no recording */
    void *record_arg;
};

METE_API struct mete_engine *mete_engine_new(
    const struct mete_options *options); /* NULL: defaults */
METE_API void mete_engine_free(struct mete_engine *e);

/* The message of the last call that did not return METE_OK. */
METE_API const char *mete_last_error(const struct mete_engine *e);

/* Adds a node, or replaces the one of that name. Workloads keep what they hold on the node, even
 * beyond a smaller capacity. */
METE_API enum mete_result mete_node_set(struct mete_engine *e, const struct mete_node *node);
/* Removes a node. Workloads keep what they hold on it until they end. */
METE_API enum mete_result mete_node_remove(struct mete_engine *e, const char *name);

/* One kind of pod in the usual demand, with its weight in any unit. */
struct mete_demand {
    const struct mete_pod_set *set; /* count, name, node and rules are ignored */
    uint64_t weight;
};

/*
 * Sets the usual demand: kinds of pods with weights, out of `total` pods (0: the kinds are the
 * whole demand). Idle gpu that such pods could not use is fragmented. Policies "fgd" and "mete"
 * place by the demand; without one they place as "bestfit". Weights and the total are at most 2^32.
 */
METE_API enum mete_result mete_demand_set(struct mete_engine *e, const struct mete_demand *demand,
                                          size_t n, uint64_t total);

/* Sums over all nodes, in 1/1000 of a gpu. */
struct mete_gpu_sums {
    int64_t capacity;
    int64_t used;
    int64_t fragmented; /* idle gpu that an average pod of the demand could not use */
};
METE_API void mete_gpu_sums(struct mete_engine *e, struct mete_gpu_sums *ret);

/*
 * The learned table of policy "mete" (`mete sim learn`, docs/placement.md): how much of a gpu's
 * free compute will stay idle in the end. Entry [cpu][whole][level]: `level` is the free compute in
 * steps of METE_VALUES_LEVEL_MILLI; `whole` is the number of wholly free gpus on the node; `cpu` is
 * the number of `cpu_steps` (ascending) that are at most the free cpu for each wholly free gpu, in
 * 1/1000.
 */
enum {
    METE_VALUES_LEVEL_MILLI = 10,
    METE_VALUES_LEVELS = 101,
    METE_VALUES_WHOLE = 9, /* the last entry means 8 and more */
    METE_VALUES_CPU_MAX = 64
};

#define METE_VALUES_SIZE(n_cpu_steps) \
    (((size_t)(n_cpu_steps) + 1) * METE_VALUES_WHOLE * METE_VALUES_LEVELS)

/* The extra cost of a gpu whose model pods ask for by name. */
struct mete_price {
    const char *model;
    int32_t price_milli; /* 0 .. 1000, in 1/1000 of the compute that a pod takes */
};

struct mete_values {
    const char *id;          /* of this version of the table */
    uint64_t pods;           /* arrivals that the table was learned from */
    uint32_t fragment_milli; /* weight of the fragment in the score, in 1/1000 */
    const int64_t *cpu_steps;
    size_t n_cpu_steps;
    const int32_t *idle; /* METE_VALUES_SIZE entries, each in 1/1000 of 1/1000 gpu */
    const struct mete_price *prices;
    size_t n_prices;
};

/* Sets the learned table. NULL removes it: policy "mete" then places as "fgd". */
METE_API enum mete_result mete_values_set(struct mete_engine *e, const struct mete_values *values);
/* The id of the table in use, or NULL. */
METE_API const char *mete_values_id(const struct mete_engine *e);

/* No limit, for limits that can be 0. */
#define METE_UNLIMITED INT64_MAX

/* A quota of a queue, which the queues below it share. */
struct mete_quota {
    /*
     * A resource as in requests, or "gpu" in 1/1000 of a gpu, or "gpu:MODEL" in 1/1000 of a gpu of
     * that model. A slice counts by its compute slices (1g of seven: 142; where profiles of that
     * name differ, the most). A replica counts as one gpu divided by the gpu's replicas.
     */
    const char *resource;
    int64_t nominal;      /* the queue's own amount: it reclaims this from borrowers */
    int64_t borrow_limit; /* most that the queue borrows from others on top of that */
    int64_t lend_limit;   /* most of the nominal amount that others may borrow */
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
    METE_PREEMPT_LATER, /* victims of at most the same priority, later in the queue's order */
};

/*
 * A queue. Workloads wait in queues that have no queues below them. Before the first mete_queue_set
 * there is only the queue "default", without limits; workloads without a queue go there. It stays.
 */
struct mete_queue {
    const char *name;
    const char *parent; /* a queue that is present; NULL or "": none */
    uint32_t weight;    /* of its share, among the queues of the same parent; 0: 1 */
    const struct mete_quota *quotas;
    size_t n_quotas;
    struct mete_limits limits;
    struct mete_limits user_limits; /* of each user in the queue */
    int64_t time_limit_ns;     /* longest time limit of a workload, which must have one; 0: none */
    enum mete_preempt reclaim; /* victims in queues above their nominal quota */
    enum mete_preempt within;  /* victims in the same queue: never, lower priority, or later */
    int64_t min_run_ns;        /* the engine evicts no workload of the queue before this run time */
    bool is_stopped;           /* no workload of the queue starts */
    uint32_t reserve_depth;    /* as in mete_options, for this queue alone; 0: with all others */
};

/* Adds a queue, or replaces the one of that name. Running workloads keep what they hold, even
 * beyond a lower limit. */
METE_API enum mete_result mete_queue_set(struct mete_engine *e, const struct mete_queue *queue);
/* METE_CONFLICT: the queue has queues below it. Workloads that wait in a removed queue wait for its
 * return. */
METE_API enum mete_result mete_queue_remove(struct mete_engine *e, const char *name);

struct mete_quota_view {
    const char *resource;
    int64_t nominal;
    int64_t borrow_limit;
    int64_t held;
    int64_t capacity; /* of the cluster */
};

struct mete_queue_view {
    const char *name;
    const char *parent;
    uint32_t weight;
    uint32_t waiting; /* workloads, including those of the queues below */
    uint32_t running;
    uint32_t held;      /* waiting workloads that are on hold */
    int64_t oldest_ns;  /* submit time of the next workload; 0: none, or not known */
    int64_t gpu_milli;  /* held, in 1/1000 of a gpu; 0 before the first mete_queue_set */
    uint64_t share_ppm; /* dominant share of the cluster: held now and used lately */
    const struct mete_quota_view *quotas;
    size_t n_quotas;
};

METE_API size_t mete_queue_count(const struct mete_engine *e);
/* Queue `i` in the order of names. */
METE_API enum mete_result mete_queue_view(struct mete_engine *e, size_t i,
                                          struct mete_queue_view *ret);

/* Lists the workloads that wait in a queue, without those of the queues below it: the ids of at
 * most `max` from place `first` on (0 is next). Returns their number; 0: no such queue. */
METE_API size_t mete_queue_waiting(const struct mete_engine *e, const char *queue, size_t first,
                                   uint64_t *ret_ids, size_t max);

/*
 * An advance reservation: room for some queues (with those below them) and users, from start_ns to
 * end_ns; a maintenance window is for nobody. Before its start, a workload of others gets the room
 * only when its time limit ends in time. Running workloads stay, so a late reservation may begin
 * with less: see the view. After its end the reservation is gone with the next cycle. Entitled
 * workloads may use the room at any time. A workload that names the reservation (mete_workload)
 * runs only there, only within its time, and only when its time limit ends in time.
 *
 * Either `nodes`: all of these, present or not yet. Or `gpus`: that many whole gpus, picked at
 * once: first gpus that are free by the start, by time limits; then others; on as few nodes as
 * possible; never a gpu that another reservation has at that time. Cpu and memory are not reserved
 * with gpus. When gpus are missing or lost, the engine picks more as nodes change.
 */
struct mete_reservation {
    const char *name; /* unique */
    int64_t start_ns;
    int64_t end_ns;
    const char *const *nodes;
    size_t n_nodes;
    uint32_t gpus;
    const char *const *gpu_models; /* accepted models; none: any */
    size_t n_gpu_models;
    const char *const *gpu_uuids; /* an earlier pick, from the view: kept while it still serves */
    size_t n_gpu_uuids;
    const char *const *queues;
    size_t n_queues;
    const char *const *users;
    size_t n_users;
    bool is_maintenance; /* for nobody: no queues, no users; may overlap reservations */
};

/* Adds a reservation, or replaces the one of that name. METE_CONFLICT: a named node is in another
 * reservation at that time, and neither is a maintenance window. */
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
    uint32_t gpus_kept; /* healthy gpus that the reservation has */
    uint32_t gpus_late; /* of these, gpus whose holders may keep them past the start */
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
/* Reservation `i` in the order of names. */
METE_API enum mete_result mete_reservation_view(struct mete_engine *e, size_t i,
                                                struct mete_reservation_view *ret);

enum mete_order {
    METE_ORDER_SHARES,   /* down the tree: queues below nominal quota first, then the least share */
    METE_ORDER_PRIORITY, /* all queues as one, by points */
};

enum mete_fair_share {
    METE_FAIR_CLASSIC, /* 2^(-usage/share), as Slurm's without Fair Tree */
    METE_FAIR_TREE,    /* the rank among all users, as Slurm's Fair Tree */
};

/*
 * The points of a waiting workload: class_points x its priority, plus for each other factor its
 * value of 0 .. 1 times the number here. Workloads with more points go first, then earlier ones.
 */
struct mete_factors {
    int32_t class_points; /* 1 when all numbers are 0 */
    int32_t age_points;   /* waiting time / age_max_ns */
    int32_t fair_share_points;
    int32_t size_points; /* gpus asked / gpus of the cluster; favors_small: 1 minus that */
    bool favors_small;
    int64_t age_max_ns; /* 0: 7 days */
};

struct mete_fairness {
    enum mete_order order;
    enum mete_fair_share formula;
    struct mete_factors factors;
    int64_t half_life_ns; /* of past usage; 0: past usage does not count */
    int64_t period_ns;    /* time between computations of all points; 0: 5 minutes */
    /*
     * Among workloads with equal points, order by expected gpu time. The smallest workloads that
     * together make a sixteenth of all work go first, smallest first. The largest workload in a
     * hundred counts as submitted 30 days later. All others go by submission, where a gpu second
     * counts as 1/32 s. A workload that runs longer than expected is expected to run a quarter
     * longer, at least a minute.
     */
    bool by_size;
};

/* Sets the order of workloads and what it counts, for all queues. */
METE_API enum mete_result mete_fairness_set(struct mete_engine *e,
                                            const struct mete_fairness *fairness);

/*
 * Moves against fragmentation. When a workload with a backfill reservation does not fit because the
 * free gpus lie apart, the engine evicts others for it, if all of these can start elsewhere at once
 * after its placement, and if the move pays: its gain (its gpus x the time that it would wait, as
 * far as known, at most horizon_ns) exceeds their loss (their gpus x the work since the last
 * checkpoint, plus restart_ns). Only preemptible workloads of at most the same priority move. No
 * move happens before the first mete_queue_set.
 */
struct mete_moves {
    int64_t horizon_ns; /* 0: no moves */
    int64_t restart_ns; /* cost of one restart */
    uint32_t moves_max; /* for one waiting workload; 0: 8; at most 64 */
};

/* Allows moves, or ends them (a horizon of 0). */
METE_API enum mete_result mete_moves_set(struct mete_engine *e, const struct mete_moves *moves);

#define METE_EVICT_CLASSES 64u /* classes are 1 .. METE_EVICT_CLASSES-1 */

/* Workloads of the class `by` may evict workloads of the class `victim`. */
struct mete_evict_pair {
    uint32_t by;
    uint32_t victim;
};

/*
 * The rules by which classes of workloads evict other classes, in all queues and whatever the
 * priorities are. A workload with a class evicts in its own queue by these rules only, and never by
 * `within` of the queue. Workloads within the nominal quotas of their queues are evicted only for
 * workloads that will be so, too. The pairs replace those of the call before; none: no evictions by
 * class.
 *
 * Victims of the classes in `suspended` are suspended where others are ended: they stay placed, and
 * keep all that they hold but their cpus, which only workloads that may suspend them get. The
 * engine decides when they go on.
 */
struct mete_evict_rules {
    const struct mete_evict_pair *pairs;
    size_t n_pairs;
    uint64_t suspended; /* bit c: class c */
};

/* METE_INVALID: a class is out of range, or may in the end evict itself. */
METE_API enum mete_result mete_evict_rules_set(struct mete_engine *e,
                                               const struct mete_evict_rules *rules);

/* Past usage: what a user's workloads in a queue held together, from `from_ns` to `to_ns`. */
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
 * Adds past usage that the engine has not seen: before its first cycle, as read back after a
 * restart. The engine weighs it by the present nodes and half-life; a half-life of 0 ignores it.
 * METE_NOT_FOUND: no such queue.
 */
METE_API enum mete_result mete_usage_add(struct mete_engine *e, const struct mete_used *used);

/* Adds a waiting workload. */
METE_API enum mete_result mete_workload_add(struct mete_engine *e, const struct mete_workload *w);
/* Adds a placed workload, as read back after a restart. Its nodes may still be unknown. */
METE_API enum mete_result mete_workload_restore(struct mete_engine *e,
                                                const struct mete_workload *w,
                                                const struct mete_placement *placement);
/* Takes a placement back that could not be carried out: the workload waits again, in its old place
 * in the queue. */
METE_API enum mete_result mete_workload_unplace(struct mete_engine *e, uint64_t id);
/* The processes of a placed workload are stopped: its cpus are lent until a cycle lets it go on.
 * METE_NOT_FOUND: it is not placed. */
METE_API enum mete_result mete_workload_suspended(struct mete_engine *e, uint64_t id);
/* Removes a workload that ended or was cancelled: its resources are free. */
METE_API enum mete_result mete_workload_remove(struct mete_engine *e, uint64_t id);

enum mete_hold {
    METE_HOLD_NONE,
    METE_HOLD_NOT_ALLOWED, /* the queue does not admit the workload */
    METE_HOLD_USER,
    METE_HOLD_ADMIN,
    METE_HOLD_GATED,      /* another controller must release the workload */
    METE_HOLD_NOT_BEFORE, /* a start time in the future */
};

/*
 * Puts a workload on hold, or releases it (METE_HOLD_NONE). A held workload does not start, keeps
 * its place and age in the queue, and gives up its backfill reservation. A hold on a placed
 * workload takes effect when the workload waits again. `text` is the message of mete_why; NULL: the
 * name of the hold.
 */
METE_API enum mete_result mete_workload_hold(struct mete_engine *e, uint64_t id,
                                             enum mete_hold hold, const char *text);

/*
 * Sets points that the caller computed, which count on top of those of mete_factors; 0: none. A
 * waiting workload takes its new place at once. Evictions go by priority, not by points.
 */
METE_API enum mete_result mete_workload_points(struct mete_engine *e, uint64_t id, int64_t points);

/*
 * Says whether the engine keeps no room for the workload while it waits (`is_unreserved`): others
 * may start before it, wherever it would start later. New workloads may have room kept.
 */
METE_API enum mete_result mete_workload_unreserved(struct mete_engine *e, uint64_t id,
                                                   bool is_unreserved);

struct mete_pod_labels {
    const struct mete_label *labels;
    size_t n_labels;
};

/* Replaces the labels of the workload's pods, one entry for each pod set. Placed pods stay where
 * they are. */
METE_API enum mete_result mete_workload_label(struct mete_engine *e, uint64_t id,
                                              const struct mete_pod_labels *sets, size_t n_sets);

/* Sets the expected run time of a workload; 0: its time limit. */
METE_API enum mete_result mete_workload_estimate(struct mete_engine *e, uint64_t id,
                                                 int64_t estimate_ns);

/* Runs one scheduling cycle: places what can be placed, and evicts where the queues say so.
 * `budget` counts elementary steps (a node looked at); 0: no limit. */
METE_API void mete_cycle(struct mete_engine *e, int64_t now_ns, uint64_t budget,
                         struct mete_decisions *ret);

/*
 * Why a workload waits, with the nodes and with changes that would help. METE_REASON_NONE: it is
 * placed. The engine finds the reason by trial placements, at the cost of many searches. The texts
 * are valid until the next call that asks or changes anything.
 */
METE_API enum mete_result mete_why(struct mete_engine *e, uint64_t id, int64_t now_ns,
                                   struct mete_reason *ret);

/* The same for lists: without nodes and would_start_if, and found once for all workloads with the
 * same requests. */
METE_API enum mete_result mete_why_brief(struct mete_engine *e, uint64_t id, int64_t now_ns,
                                         struct mete_reason *ret);

enum mete_change_kind {
    METE_CHANGE_END,    /* `workload` ends, or is cancelled */
    METE_CHANGE_ADD,    /* `count` nodes like `like` are added (at most 4096 in all) */
    METE_CHANGE_DRAIN,  /* `node` is cordoned, and its workloads have to leave */
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
    const uint64_t *started; /* waiting workloads that would start, in queue order */
    size_t n_started;
    const uint64_t *displaced; /* from drained nodes; first those that restart elsewhere at once */
    size_t n_displaced;
    size_t n_restarted;
};

/*
 * Which workloads would start in the next cycle if all of these changes (at most 256) happened at
 * once? The list is true, and ends with the first workload that needs kept or evicted room:
 * later ones are not foreseen. With a reserve_depth over 1 every listed workload has room, but may
 * still wait where its start would delay another. The engine's state stays the same. The result is
 * valid until the next call that asks or changes anything.
 */
METE_API enum mete_result mete_what_if(struct mete_engine *e, const struct mete_change *changes,
                                       size_t n, int64_t now_ns, struct mete_what_if *ret);

/*
 * The number of workloads like `w` that could start now, side by side; at most `max`. The engine
 * finds the number by trial placements, within the quotas of the queue and around the room that is
 * kept for others. The engine's state stays the same. The id of `w` is ignored, but not 0.
 */
METE_API enum mete_result mete_count_starts(struct mete_engine *e, const struct mete_workload *w,
                                            uint32_t max, int64_t now_ns, uint32_t *ret);

/* A node's gpus, and whether it takes new pods. */
struct mete_node_view {
    const char *name;
    uint32_t gpus;
    bool takes_pods;
};
METE_API size_t mete_node_count(const struct mete_engine *e);
/* Node `i` in the order of names. */
METE_API enum mete_result mete_node_view(struct mete_engine *e, size_t i,
                                         struct mete_node_view *ret);

/* A MIG instance of a gpu, held or free. */
struct mete_slice_view {
    const char *profile;
    uint32_t start;
    const char *slice; /* the instance's uuid; NULL: the driver is not known to have it */
    uint64_t holder;   /* the workload; 0: none */
};
/* Fills at most `max` instances in the order of their starts; returns how many there are. */
METE_API size_t mete_gpu_slices(const struct mete_engine *e, const char *uuid,
                                struct mete_slice_view *ret, size_t max);

/* The workload that holds a gpu; 0: none. */
METE_API uint64_t mete_gpu_holder(const struct mete_engine *e, const char *uuid);

/* Computes everything anew and compares: NULL, or a description of the first difference. For tests.
 */
METE_API const char *mete_engine_check(struct mete_engine *e);

#ifdef __cplusplus
}
#endif
#endif
