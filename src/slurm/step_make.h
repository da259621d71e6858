/*
 * step_make.h - a step by the options of srun: its SlurmStep, and the plan of each node
 *
 * Made in two parts: the request that the server decides on, then, with what it gave, the plans.
 */
#pragma once

#include "base/json.h"
#include "model/slurm_pattern.h"
#include "slurm/step_layout.h"
#include "slurm/submit.h"

/* What srun knows of itself; texts are borrowed. */
struct step_caller {
    const char *cwd;
    const char *host;
    int64_t umask;
    int64_t pid;
    const char *const *argv; /* of the program; not of --multi-prog */
    size_t n_argv;
    json_t *programs;   /* of --multi-prog, by rank; NULL: argv */
    const char *secret; /* a part of the step's name in PMIx: no other user can guess it */
};

/* The part of a step that one component of a heterogeneous job runs. */
struct step_part {
    const struct slurm_submit *submit; /* borrowed */
    size_t first_node;
    int64_t first_rank;
    int64_t cpus_per_task;
};

struct step_make {
    const struct slurm_submit *submit; /* borrowed, as is the report; of the first part */
    const json_t *allocation;          /* SLURM_REPORT_PATH, "allocation" */
    struct step_caller caller;
    int64_t tasks;
    int64_t cpus_per_task;
    struct step_layout layout;
    VEC(size_t) nodes; /* places in the allocation's nodes, one for each node of the layout */
    VEC(struct step_part) parts; /* in the order of ranks; none: the step is not joined */
    json_t *object;              /* the SlurmStep; replaced by the server's answer */
};

/* Fills `tasks`, `layout`, `nodes` and `object`. ERR_INVALID in the words of srun. `*ret_warning`
 * (NULL: none) is freed by the caller. */
struct err *step_make_request(struct step_make *m, char **ret_warning) MUST_CHECK;

/*
 * Adds the part of a component, after its step_make_request, to the step `m`, whose allocation has
 * the nodes of all components. Its tasks have the ranks behind those before.
 */
void step_make_join(struct step_make *m, const struct step_make *part);

/* The options of the `i`-th node's part, and of a rank's. */
const struct slurm_submit *step_make_submit(const struct step_make *m, size_t i);
size_t step_make_part(const struct step_make *m, int64_t rank); /* 0: of a step without parts */

/* The plan of the `i`-th node of the step (step_plan.h), with `object` as the server answered. */
struct err *step_make_plan(const struct step_make *m, size_t i, json_t **ret) MUST_CHECK;

/* Values of patterns of output files for a task; `node` is a place in `nodes`. `ret_step` keeps the
 * text of the number. */
struct slurm_pattern_values step_make_values(const struct step_make *m, size_t node, int64_t rank,
                                             char ret_step[24]);

/* Does the pattern name another file for each task or node? */
bool step_pattern_is_local(const char *pattern);

const char *step_make_node(const struct step_make *m, size_t i); /* name */
const char *step_make_pod(const struct step_make *m, size_t i);
int64_t step_make_number(const struct step_make *m);
int64_t step_make_job(const struct step_make *m);
bool step_make_has_pmi(const struct step_make *m);  /* --mpi=pmi2 */
bool step_make_has_pmix(const struct step_make *m); /* --mpi=pmix */

void step_make_done(struct step_make *m);
