/*
 * slurm_het.h - heterogeneous jobs: SlurmJobs whose components ask for different things
 *
 * Such a job is one object, and its attempts are one gang. `spec.components` has the requests of
 * the components behind the first one, whose request is that of the spec itself. The ranks of nodes
 * count through all components. The job takes a number for each component: the first one is the
 * job's. https://slurm.schedmd.com/heterogeneous_jobs.html
 */
#pragma once

#include "kinds/slurm/slurm_ask.h"

enum {
    SLURM_HET_MAX = 128 /* components of a job */
};

/* The members of a request; all other members of a spec are those of the whole job. NULL ends. */
extern const char *const slurm_het_keys[];

/* The number of components; 1: the job is not heterogeneous. */
int64_t slurm_het_size(const json_t *spec);

/* The spec of a job with one component alone. New reference. */
json_t *slurm_het_spec(const json_t *spec, int64_t component);

/* The requests of all components. {0} is no job; slurm_het_done frees it. */
struct slurm_het {
    size_t n;
    struct slurm_ask *asks;
    int64_t nodes; /* of all components */
};

struct err *slurm_het_read(const json_t *spec, struct slurm_het *ret) MUST_CHECK;
void slurm_het_done(struct slurm_het *h);

/* The component of a node's rank; `*ret_first`: the rank of its first node. */
size_t slurm_het_of_rank(const struct slurm_het *h, int64_t rank, int64_t *ret_first);

/* The nodes of a component, cut from those of the job: `counts` has the numbers of nodes, "1,2".
 * The caller frees the text; NULL: the list is too short. */
char *slurm_het_nodes(const char *nodes, const char *counts, int64_t component);
/* The text `counts` of slurm_het_nodes. The caller frees it. */
char *slurm_het_counts(const struct slurm_het *h);
