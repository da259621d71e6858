/*
 * slurm_ask.h - the resources that a SlurmJob asks for on a node, and the nodes that it accepts
 *
 * Errors are ERR_INVALID in the words of Slurm, which clients match on.
 */
#pragma once

#include "base/json.h"
#include "model/gpu_ask.h"

/* A feature of a node is the label SLURM_FEATURE_LABEL NAME. */
#define SLURM_FEATURE_LABEL "feature.mete.dev/"
/* A type of gpus that slurm.conf or gres.conf names is the label SLURM_GPU_TYPE_LABEL TYPE of the
 * nodes that have it. */
#define SLURM_GPU_TYPE_LABEL "gpu-type.mete.dev/"
/* The switches above a node, from topology.conf: SLURM_SWITCH_LABEL 1 is the nearest. */
#define SLURM_SWITCH_LABEL "switch.mete.dev/"
/* The weight of a node, where slurm.conf gives nodes different ones. */
#define SLURM_WEIGHT_LABEL "mete.dev/slurm-weight"

enum {
    SLURM_SWITCH_LEVELS = 3,
    SLURM_MODEL_SIZE = 64,
    SLURM_NODES_MAX = 4096 /* of a job: its pods are made in one turn, and bound at once */
};

/* A value. */
struct slurm_ask {
    int64_t nodes;                /* at least 1 */
    int64_t tasks;                /* of the whole job; nodes differ by one at most */
    int64_t cpus;                 /* of each node */
    int64_t memory_bytes;         /* of each node; 0: not limited */
    int64_t tmp_bytes;            /* local disk of each node; 0: none is asked for */
    bool is_exclusive;            /* no other job on its nodes */
    struct gpu_ask gpus;          /* of each node; count 0: none */
    char model[SLURM_MODEL_SIZE]; /* of the gpus, in lower case; "": any */
    bool has_billing;             /* else a cpu costs 1, and nothing else does */
    int64_t billing;              /* of the whole job */
};

/* Sets the billing by TRESBillingWeights of the partition; NULL or "": there are none. `is_max`:
 * PriorityFlags=MAX_TRES. */
void slurm_ask_bill(struct slurm_ask *ask, const char *weights, bool is_max);

/* Do the settings of the SlurmConfig (NULL: none) have PriorityFlags=MAX_TRES? */
bool slurm_is_max_tres(const json_t *settings);

/* A type of gpus, in lower case: "h100", "1g.10gb", and as Slurm's AutoDetect=nvml makes them
 * "a100_1g.5gb". A value. */
struct slurm_gpu_type {
    char model[SLURM_MODEL_SIZE]; /* "": any */
    char profile[MIG_NAME_SIZE];  /* "": whole gpus */
};

/* False: the text is empty or too long. */
bool slurm_gpu_type_read(struct str text, struct slurm_gpu_type *ret);

/* Reads the request of a validated `spec`. `*ret` changes on success only. */
struct err *slurm_ask_read(const json_t *spec, struct slurm_ask *ret) MUST_CHECK;

/* "cpu=4,mem=16G,node=1,gres/gpu=2,gres/gpu:h100=2"; `n` elements or nodes. The caller frees it. */
char *slurm_ask_tres(const struct slurm_ask *ask);
/* "gres/gpu:h100:2"; NULL: no gpus. The caller frees it. */
char *slurm_ask_gres(const struct slurm_ask *ask);

/*
 * The node affinity's terms for a constraint: features joined by '&' and, weaker, by '|'. A feature
 * is a label feature.mete.dev/NAME of the node, or the model of its gpus. New reference; `*ret` is
 * NULL without a constraint.
 */
struct err *slurm_constraint_terms(const char *constraint, json_t **ret) MUST_CHECK;

/*
 * The terms of the pod of rank `rank`: the constraint of `spec`, its list of nodes and the nodes
 * that it excludes. The first ranks go to the nodes of the list, the others to other nodes. New
 * reference; `*ret` is NULL if all nodes will do.
 */
struct err *slurm_node_terms(const json_t *spec, int64_t rank, json_t **ret) MUST_CHECK;

/* Adds to the terms that the node is one of the hostlist. `*terms` may be NULL, for any node. */
struct err *slurm_window_terms(const char *window, json_t **terms) MUST_CHECK;

/* "4(x2),3": the tasks on each node, the first ones have more; or its cpus. The caller frees them.
 */
char *slurm_ask_tasks_text(const struct slurm_ask *ask);
char *slurm_ask_cpus_text(const struct slurm_ask *ask);

/* Adds the features that jobs may name for the node, as keys: its labels of features, and the model
 * of its gpus. */
void slurm_node_features(const json_t *node, json_t *to);

/* Has the node the features of a constraint that was checked? NULL: yes. */
bool slurm_constraint_holds(const char *constraint, const json_t *node);
/* The cpus that the node offers. */
int64_t slurm_node_cpus(const json_t *node);

/* Could the empty node `node` hold one node's part of the request? */
bool slurm_ask_fits_node(const struct slurm_ask *ask, const json_t *node);
