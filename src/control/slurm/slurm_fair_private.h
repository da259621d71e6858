/* slurm_fair_private.h - the parts of fair shares: pods, usage, the tree of associations */
#pragma once

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/slurm/slurm_fair.h"
#include "kinds/account/account.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_accounts.h"
#include "kinds/slurm/slurm_share_rows.h"
#include "model/slurm_priority.h"

/* An object of the accounts. */
struct fair_object {
    struct map_handle handle; /* by name */
    char *name;
    json_t *object;
};

struct fair_pod {
    struct map_handle handle; /* by key */
    char *key;                /* "ns/name" */
    char *uid;
    char *account;
    char *user;
    char *job; /* key of its SlurmJob; NULL: none */
    char *qos;
    char *partition;
    char *model; /* of the gpus; "": any */
    int64_t id;
    int64_t cpus; /* of the pod, as the following */
    int64_t memory_mib;
    int64_t gpus;
    int64_t nodes; /* of the job, a pod each */
    int64_t created_ns;
    int64_t accrues_ns; /* since when its age counts; 0: it does not */
    bool is_kept_back;  /* it waits for a place among those whose age counts */
    int64_t started_ns; /* 0: waits */
    int64_t limit_s;    /* 0: none */
    uint32_t priority;  /* of a waiting pod, as of the last step */
};

enum fair_kind {
    FAIR_BILLING, /* what shares count */
    FAIR_CPU,
    FAIR_MEMORY, /* MiB */
    FAIR_NODE,
    FAIR_GPU,
    FAIR_WALL, /* run time: the pods of a job share it */
    FAIR_KINDS
};

/* Usage of an association, or of a QOS, in seconds x each of the kinds. */
struct fair_usage {
    struct map_handle handle;
    char *key; /* account and user, or FAIR_QOS and name, joined by a newline */
    long double raw[FAIR_KINDS];
    long double pending[FAIR_KINDS]; /* of pods that ended since the last step */
};

#define FAIR_QOS "\x01" /* no account has this name */

/* The association at an index of the shares. */
struct fair_node {
    struct slurm_share_name name; /* borrowed from the objects */
    const json_t *part;           /* the association's members; NULL: none */
};

struct slurm_fair {
    struct slurm_fair_options options;
    struct cluster_watch *watches[8];
    struct loop_timer *timer;
    struct loop_timer *load_timer;
    struct loop_timer *points_timer;
    struct loop_timer *accrue_timer;
    bool is_accrue_limited; /* limits say whose age counts */
    struct fair_object *queues;
    struct fair_object *users;
    struct fair_object *qoses;
    struct fair_object *partitions;
    struct fair_object *nodes;
    struct fair_object *jobs; /* SlurmJobs with a nice value or a priority */
    struct fair_pod *pods;
    VEC(char *) due; /* keys of pods that are to get their points */
    struct fair_usage *usage;
    struct slurm_priority_policy policy;
    json_t *settings; /* of the SlurmConfig; NULL: none */
    json_t *preempts; /* slurm_preempt_rules; NULL: none */
    VEC(struct fair_node) tree;
    VEC(struct slurm_share) shares; /* by the same indexes */
    json_t *tree_index;             /* index of account and user, joined by a newline */
    int64_t cluster_cpus;
    int64_t cluster_nodes;
    struct slurm_tres cluster;
    double qos_most; /* the largest priority of a QOS */
    double assoc_most;
    int64_t partition_most; /* the largest PriorityJobFactor */
    int64_t stepped_s;      /* the last step; 0: none */
    char after[ACCOUNT_KEY_SIZE];
    size_t n_unsynced; /* watches */
    bool is_loaded;    /* the accounting was read */
    bool is_changed;   /* the tree is to be built anew */
};

/* slurm_fair_usage.c */
struct fair_usage *fair_usage_of(struct slurm_fair *f, const char *account, const char *user);
/* Charges what the pod used since the last step, up to its end. */
void fair_pod_ended(struct slurm_fair *f, const struct fair_pod *p, int64_t ended_ns);
/* Decays the usage and adds that of running pods. */
void fair_usage_step(struct slurm_fair *f, int64_t now_s);
void fair_usage_free(struct slurm_fair *f);
/* Reads the accounting in turns, then begins with the steps. */
void fair_load_begin(struct slurm_fair *f);
void fair_on_load(void *fair);

/* slurm_fair_tree.c: builds the tree of associations, and finds the shares. */
void fair_tree_find(struct slurm_fair *f);
/* The index of an association; -1: none. */
int64_t fair_tree_index(const struct slurm_fair *f, const char *account, const char *user);
void fair_tree_free(struct slurm_fair *f);

/* slurm_fair_accrue.c: finds the pods whose age counts. */
void fair_on_accrue(void *fair);

/* slurm_fair_points.c: gives waiting pods their points, all of them in turns of the loop. */
void fair_points_all(struct slurm_fair *f);
void fair_on_points(void *fair);
void fair_points_free(struct slurm_fair *f);
void fair_points_of(struct slurm_fair *f, struct fair_pod *p);
