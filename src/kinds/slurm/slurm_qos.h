/*
 * slurm_qos.h - the qualities of service whose limits hold for a job
 *
 * These are the QOS of its partition and its own. Where both have a limit, the partition's holds,
 * or the job's if that QOS has the flag OverPartQOS; in lists, resource by resource.
 */
#pragma once

#include "kinds/slurm/slurm_accounts.h"

enum {
    SLURM_QOS_OF_JOB = 2
};

struct slurm_qos_limits {
    char *names[SLURM_QOS_OF_JOB];
    json_t *specs[SLURM_QOS_OF_JOB]; /* the limits that hold; NULL: none */
    size_t n;
};

/* `qos`: of the job, NULL: normal. `partitions`: the list of the job, of which the first counts.
 * slurm_qos_done frees. */
void slurm_qos_find(const struct slurm_books *b, const char *qos, const char *partitions,
                    struct slurm_qos_limits *ret);
void slurm_qos_done(struct slurm_qos_limits *q);

/* The name of the QOS of the first partition of the list; NULL: none. The caller frees it. */
char *slurm_qos_of_partition(const struct slurm_books *b, const char *partitions);

/* As slurm_limits_find, for all of the QOS. */
char *slurm_qos_exceeds(const struct slurm_qos_limits *q, const struct slurm_chain *c,
                        const struct slurm_size *s, bool *ret_denies);
