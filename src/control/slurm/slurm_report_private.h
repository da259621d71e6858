/* slurm_report_private.h - the parts of the report */
#pragma once

#include "control/slurm/slurm_private.h"

struct slurm_wanted_id {
    int64_t id;
    int64_t index; /* -1: the whole job */
    bool is_alone; /* the number of a component means nothing else */
};

/* Texts and trees are borrowed; NULL: all. */
struct slurm_filter {
    const json_t *namespaces;
    const char *user;
    const char *partition;
    const char *account;
    const char *name;
    const char *states;
    bool is_detailed;
    bool is_of_triggers; /* the jobs of strigger that wait for their events, and no others */
    bool is_admin;
    const char *reader; /* reads details of the own jobs; an administrator: of all */
    bool has_ids;
    VEC(struct slurm_wanted_id) ids;
};

struct slurm_row_texts {
    const char *ns;
    const char *user;
    const char *account;
    const char *name;
    const char *partition; /* with commas */
};

bool slurm_filter_state(const struct slurm_filter *f, const char *state);
/* `array_id`: of the array, or of the heterogeneous job; 0 and `index` -1: not an element. */
bool slurm_filter_id(const struct slurm_filter *f, int64_t id, int64_t array_id, int64_t index);
bool slurm_filter_texts(const struct slurm_filter *f, const struct slurm_row_texts *t);

/* slurm_report_jobs.c: the rows of a job. */
void slurm_add_job_rows(struct sjob *j, const struct slurm_filter *f, json_t *rows);
/* Why the scheduler does not place a pod, in Slurm's words; `*ret_message` (NULL: none) is its
 * sentence, which the caller frees. Static. */
const char *slurm_pod_reason(const struct slurm_jobs *s, const char *key, const char *uid,
                             char **ret_message);
/* Sets a time in seconds; 0: absent. */
void slurm_put_seconds(json_t *row, const char *key, int64_t ns);
/* Sets the members that follow from a request. */
void slurm_put_ask(json_t *row, const struct slurm_ask *ask, bool is_placed);

/* slurm_report_pods.c: rows of at most `n` pods that belong to no SlurmJob, from `*next` on.
 * Returns the number of pods that were looked at. */
size_t slurm_add_pod_rows(const struct slurm_jobs *s, const struct slurm_filter *f, size_t n,
                          uint64_t *next, json_t *rows);

/* slurm_report_steps.c: the rows of steps, and what the first of the wanted jobs has; {}: there is
 * no such job. New references. */
json_t *slurm_step_rows(struct slurm_jobs *s, const struct slurm_filter *f);
/* The highest end of the steps of an element: "derivedExitCode", "derivedExitSignal". */
void slurm_put_derived(const struct sjob *j, int64_t index, json_t *row);
json_t *slurm_allocation(struct slurm_jobs *s, const struct slurm_filter *f);

/* slurm_report_topology.c: the switches of topology.conf, rows of "name", "level", "nodes",
 * "switches". New reference. */
json_t *slurm_topology_rows(const struct slurm_jobs *s);

/* slurm_report_nodes.c: new references. */
json_t *slurm_node_rows(struct slurm_jobs *s);
json_t *slurm_config_row(const struct slurm_jobs *s);
/* The nodes by name, as a new array, which the caller frees. */
const struct slurm_node **slurm_sort_nodes(const struct slurm_jobs *s, size_t *ret_n);
/* An amount of a resource that the node has in whole. */
int64_t slurm_capacity(const json_t *node, const char *resource);
/* Sets a text of trackable resources. */
void slurm_put_tres(json_t *row, const char *key, int64_t cpus, int64_t memory_bytes, int64_t gpus);

/* The gpus of a node that pods hold. {0} is nothing; the owner of the list frees it. */
struct slurm_slices_held {
    char profile[MIG_NAME_SIZE];
    int64_t count;
};
struct slurm_node_gres {
    int64_t gpus;
    int64_t shards;
    int64_t mps; /* percent of a gpu */
    VEC(struct slurm_slices_held) slices;
};

/* slurm_node_gres.c: sets the lists of the node's gpus, and adds them to "tres" and
 * "tresAllocated". */
void slurm_put_gres(const struct slurm_jobs *s, const struct slurm_node *n,
                    const struct slurm_node_gres *held, json_t *row);

/* slurm_nodes.c: sets what slurm.conf says of a node; rows of its nodes that have not joined. */
void slurm_put_facts(json_t *row, const json_t *facts);
void slurm_add_absent_rows(const struct slurm_jobs *s, json_t *rows);

/* The objects of a map as a new array in the order of qsort's `compare`, with room for one more;
 * the caller frees it. */
#define slurm_map_sorted(head, compare, ret_n)                                     \
    ({                                                                             \
        size_t sorted_n = map_count(handle, head);                                 \
        const typeof(*(head)) **sorted = mem_alloc((sorted_n + 1) * sizeof(head)); \
        typeof(&*(head)) sorted_item;                                              \
        typeof(&*(head)) sorted_tmp;                                               \
        size_t sorted_i = 0;                                                       \
                                                                                   \
        map_each (handle, head, sorted_item, sorted_tmp)                           \
            sorted[sorted_i++] = sorted_item;                                      \
        qsort(sorted, sorted_n, sizeof(head), compare);                            \
        *(ret_n) = sorted_n;                                                       \
        sorted;                                                                    \
    })

/* slurm_report_partitions.c */
json_t *slurm_partition_rows(struct slurm_jobs *s);
/* The partitions that have the node, by name, as an array of names. New reference. */
json_t *slurm_partitions_of(const struct slurm_jobs *s, const char *node);
