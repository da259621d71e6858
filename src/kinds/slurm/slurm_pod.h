/*
 * slurm_pod.h - the pods of a Slurm job, or of one element of an array: one on each node
 *
 * The pod's name is a function of the job, the element, the number of restarts and the rank of the
 * node: no attempt can get a second pod of a rank. Environment:
 * https://slurm.schedmd.com/sbatch.html, "output environment variables"; values that are known only
 * after placement come through the downward API and from the node (node/spec/env.h).
 */
#pragma once

#include "base/json.h"
#include "kinds/slurm/slurm_job.h"
#include "model/index_set.h"

/* The indexes of an array. A value. */
struct slurm_indexes {
    int64_t count;
    int64_t first;
    int64_t last;
    int64_t step;
};

/* The facts of a set that is not empty. */
struct slurm_indexes slurm_indexes_of(const struct index_set *indexes);

/* Texts and trees are borrowed. */
struct slurm_element {
    const json_t *job;                 /* a validated SlurmJob */
    const struct slurm_indexes *array; /* NULL: not an array */
    int64_t index;                     /* -1: not an array */
    int64_t raw_id;                    /* number of the element; without an array of the job */
    int64_t restarts;
    int64_t rank;             /* of the node in the job, from 0 */
    const json_t *whole;      /* the job of which `job` is a component; NULL: no component */
    int64_t component;        /* from 0 */
    int64_t first_rank;       /* of the component */
    const char *queue;        /* NULL: the queue of the namespace */
    int64_t eligible_ns;      /* realtime */
    const json_t *partitions; /* names, array: the pod has one's nodes; NULL: any nodes */
    const json_t *gpu_types;  /* that Slurm's files name, as keys; NULL: none */
    const json_t *weights;    /* of nodes, ascending: lower ones first; NULL: no order */
    int64_t switch_level;     /* whose switches hold no more nearest ones than the job accepts: 1 ..
                               * SLURM_SWITCH_LEVELS; 0: all nodes do; -1: nodes have no switches */
    const char *window;       /* that the attempt has, a hostlist; NULL: any nodes */
    const char *trigger;      /* what set off its trigger, a job or node; NULL: it has none */
    const char *license;      /* that it holds of alternatives, NAME:COUNT; NULL: as the job asks */
    const char *billing;      /* TRESBillingWeights of the partition; NULL: none */
    const char *partition_cpus; /* SLURM_PARTITION_CPUS_ANNOTATION; NULL: none */
    int64_t whole_cpus;         /* of each node, of a job that has its nodes alone; 0: as it asks */
    int64_t over_minutes;       /* OverTimeLimit; SLURM_OVER_ENDLESS: any time */
    const json_t *settings;     /* of the SlurmConfig; NULL: none */
    int64_t kill_wait_s;        /* between SIGTERM and SIGKILL */
    const char *host; /* that runs the script, for names of files; NULL: not known, "%N" */
};

/* The name of the element's pod. The caller frees it. */
char *slurm_pod_name(const struct slurm_element *e);

/* Do the job's new pods insist on few switches, for a while? */
bool slurm_pod_waits(const json_t *job);

/* The pod, for cluster_create. New reference. */
json_t *slurm_pod_make(const struct slurm_element *e);

/* What accounting keeps of the element: account.h, "slurm". New reference. */
struct slurm_ask;
json_t *slurm_account_facts(const struct slurm_element *e, const struct slurm_ask *ask);

/* Paths of an element, for listings; the caller frees them. */
char *slurm_stdout_path(const struct slurm_element *e);
char *slurm_stderr_path(const struct slurm_element *e);
char *slurm_stdin_path(const struct slurm_element *e);
