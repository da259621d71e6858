/*
 * slurm_partition.h - partitions: their nodes, who may submit to them, and what jobs they take
 *
 * A partition is a SlurmPartition (kind/kind_slurmpartition.c). While there is none, the partition
 * SLURM_PARTITION has all nodes and no rules. Errors have the words of Slurm, which clients match
 * on. Functions take the object's `spec`; NULL is the spec of SLURM_PARTITION.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

struct causes;
struct path;
struct slurm_ask;

/* A node of a partition that lists its nodes has the label SLURM_PARTITION_LABEL NAME. */
#define SLURM_PARTITION_LABEL "partition.mete.dev/"

enum {
    SLURM_PARTITION_NAME_MAX = 63
};

/* Letters, digits, '-', '_' and '.'; the first and the last one are letters or digits. */
struct err *slurm_partition_check_name(const char *name) MUST_CHECK;
/* Adds a cause for each rule beyond the schema that `spec` breaks. */
void slurm_partition_validate(const json_t *spec, const struct path *at, struct causes *causes);

/* Does the partition have all nodes? */
bool slurm_partition_has_all(const json_t *spec);
/* The names of its nodes, as the keys of an object; NULL: all nodes. New reference. */
json_t *slurm_partition_nodes(const json_t *spec);

/* Who submits a job. Texts are borrowed; NULL: none. */
struct slurm_submitter {
    const char *user;
    int64_t uid;
    bool is_admin;
    const char *account;
    const char *qos;
    bool has_reservation;
    /* Is the user a member of the group? */
    bool (*is_member)(const void *arg, const char *group);
    const void *arg;
};

/* May the job be submitted to the partition? */
struct err *slurm_partition_admit(const json_t *spec, const struct slurm_submitter *by) MUST_CHECK;

/*
 * Why a job of these amounts does not start here, in Slurm's words: "PartitionTimeLimit",
 * "PartitionNodeLimit", "PartitionDown", "PartitionInactive", "PartitionConfig"; NULL: it may.
 * Static. `minutes` is its time limit, 0: none.
 */
const char *slurm_partition_limit(const json_t *spec, int64_t nodes, int64_t minutes);
const char *slurm_partition_wait(const json_t *spec, int64_t nodes, int64_t minutes);

/* The time limit of jobs that give none; 0: none. */
int64_t slurm_partition_minutes(const json_t *spec);

/*
 * Sets what the job's spec leaves to the partition but for the time limit: memory, cpus of gpus,
 * exclusive nodes. Values that the partition leaves open are those of `settings` (of the
 * SlurmConfig; NULL: none).
 */
void slurm_partition_fill(const json_t *partition, const json_t *settings, json_t *job_spec);

/* Does a job keep the greatest memory of the partition, or else of `settings`? */
bool slurm_partition_has_room(const json_t *partition, const json_t *settings,
                              const struct slurm_ask *ask);

/* The affinity's terms for the nodes of a partition that does not have all: `terms` (NULL: none)
 * with the label of `name`, as new elements of `to`. */
void slurm_partition_add_terms(const char *name, const json_t *terms, json_t *to);
