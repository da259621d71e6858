/* sim_jobs.h - the parts of `mete sim jobs` */
#pragma once

#include "cli/sim/sim.h"
#include "sim/groups.h"
#include "sim/plot.h"
#include "sim/replay_cluster.h"

enum {
    JOBS_POLICIES_MAX = 16,
    JOBS_RUNS_MAX = 2 * JOBS_POLICIES_MAX,
    JOBS_POINTS = 200,    /* of a curve */
    JOBS_CURVES = 8,      /* users whose shares are drawn */
    JOBS_USERS_MAX = 1000 /* that are told of one by one: those with the most gpu time */
};

/* One policy on one pool or cluster. */
struct jobs_run {
    char *name;   /* of plots: "mete", "mete, 21 nodes" */
    char *policy; /* as asked for */
    size_t nodes;
    struct plot_point waits[JOBS_POINTS + 1]; /* seconds, % of jobs */
    struct plot_point jcts[JOBS_POINTS + 1];
    struct share_curves shares;
    struct plot_point *share_points; /* of these, or NULL */
};

/* What an hour of a gpu costs. */
struct jobs_price {
    bool is_known;
    char *currency; /* NULL: not said */
    double *of_ask; /* by what is asked for */
    double of_gpu;  /* where nobody has it */
};

struct jobs_question {
    struct cli *cli;
    struct job_trace *trace;
    struct replay_options options;
    struct sim_cluster *cluster;      /* NULL: a pool of equal nodes */
    struct sim_cluster *cluster_then; /* of --what-if */
    uint32_t nodes_then;              /* the same of a pool; 0: none */
    char *policies[JOBS_POLICIES_MAX];
    size_t n_policies;
    struct jobs_price price;
    uint32_t *size_of; /* of each job, its class */
    uint32_t *user_of; /* and its user, by gpu time */
    uint32_t *users;   /* their order */
    struct jobs_run runs[JOBS_RUNS_MAX];
    size_t n_runs;
    json_t *rows;   /* one a run */
    json_t *groups; /* of --by: one a run and group */
};

/* "add 8 x 8xH100", "remove 2" */
struct jobs_change {
    int64_t nodes;  /* less than 0: so many go */
    uint32_t gpus;  /* of each; 0: not said */
    char model[32]; /* in lower case; "": not said */
};
struct err *jobs_change_parse(struct str text, struct jobs_change *ret) MUST_CHECK;

/* --cluster and --from live, with --what-if; neither: `*ret` stays NULL. */
struct err *jobs_cluster_read(struct jobs_question *q) MUST_CHECK;

/* --price and --prices, when the trace is read. */
struct err *jobs_price_read(struct jobs_question *q) MUST_CHECK;

/* Once the trace is read: who is of which group. */
void jobs_groups_find(struct jobs_question *q);

/* Adds the rows and curves of a run that has ended. */
void jobs_rows_add(struct jobs_question *q, struct jobs_run *r,
                   const struct replay_options *options, const struct replay_job *done,
                   const struct replay_moves *moves, double wall_s);

/* The page of --report, then what -o says. */
struct err *jobs_tell(struct jobs_question *q) MUST_CHECK;
