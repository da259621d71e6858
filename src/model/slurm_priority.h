/*
 * slurm_priority.h - the multifactor priority of a waiting job, with Slurm's numbers
 *
 * https://slurm.schedmd.com/priority_multifactor.html. Each factor is 0 .. 1, times its weight.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/slurm_tres.h"

/* What slurm.conf says of priorities and shares. slurm_priority_policy_done frees `tres`. */
struct slurm_priority_policy {
    uint32_t age; /* PriorityWeightAge, and so on */
    uint32_t assoc;
    uint32_t fairshare;
    uint32_t jobsize;
    uint32_t partition;
    uint32_t qos;
    struct slurm_tres tres;
    int64_t max_age_s;
    int64_t half_life_s; /* 0: usage does not decay */
    int64_t calc_period_s;
    unsigned damping;
    bool is_classic; /* NO_FAIR_TREE */
    bool favors_small;
    bool is_max_tres; /* MAX_TRES: of billing */
};

/*
 * Sets a parameter by its name in slurm.conf; other names are ignored. Begin with
 * slurm_priority_policy_default. ERR_INVALID: a malformed value.
 */
struct err *slurm_priority_policy_set(struct slurm_priority_policy *p, const char *name,
                                      const char *value) MUST_CHECK;
void slurm_priority_policy_default(struct slurm_priority_policy *p);
void slurm_priority_policy_done(struct slurm_priority_policy *p);
/* Is any weight over 0? */
bool slurm_priority_is_on(const struct slurm_priority_policy *p);

/* A job and the cluster that it waits for. */
struct slurm_priority_job {
    int64_t waited_s;
    double fairshare; /* 0 .. 1, as the following */
    double assoc;
    double partition;
    double qos;
    int64_t cpus;
    int64_t nodes;
    int64_t cluster_cpus;
    int64_t cluster_nodes;
    int64_t nice;
    int64_t site;
    const struct slurm_tres *asked;   /* of resources with a weight; NULL: none */
    const struct slurm_tres *cluster; /* of the partition */
};

/* Weighted factors, and their sum. A value. */
struct slurm_priority {
    double age;
    double assoc;
    double fairshare;
    double jobsize;
    double partition;
    double qos;
    double tres;
    uint32_t priority; /* at least 1: 0 is that of held jobs */
};

/* The points of resource `i` of the policy's `tres`. */
double slurm_priority_tres(const struct slurm_priority_policy *p,
                           const struct slurm_priority_job *j, size_t i);

struct slurm_priority slurm_priority_find(const struct slurm_priority_policy *p,
                                          const struct slurm_priority_job *j);
