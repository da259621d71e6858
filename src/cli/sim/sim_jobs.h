/* sim_jobs.h - the parts of `mete sim jobs` */
#pragma once

#include "cli/sim/sim.h"
#include "sim/groups.h"
#include "sim/plot.h"
#include "sim/replay_cluster.h"

enum {
    JOBS_POLICIES_MAX = 16,
    JOBS_RUNS_MAX = 2 * JOBS_POLICIES_MAX,
    JOBS_POINTS = 200,    /* points of a curve */
    JOBS_CURVES = 8,      /* users with a drawn share */
    JOBS_USERS_MAX = 1000 /* users that are listed one by one: those with the most gpu time */
};

/* One policy on one pool or cluster. */
struct jobs_run {
    char *name;   /* label in plots: "mete", "mete, 21 nodes" */
    char *policy; /* as given by the user */
    size_t nodes;
    struct plot_point waits[JOBS_POINTS + 1]; /* seconds, % of jobs */
    struct plot_point jcts[JOBS_POINTS + 1];
    struct share_curves shares;
    struct plot_point *share_points; /* of `shares`, or NULL */
};

/* The price of a gpu hour. */
struct jobs_price {
    bool is_known;
    char *currency; /* NULL: not given */
    double *of_ask; /* by the job's ask */
    double of_gpu;  /* default price */
};

struct jobs_question {
    struct cli *cli;
    struct job_trace *trace;
    struct replay_options options;
    struct sim_cluster *cluster;      /* NULL: a pool of equal nodes */
    struct sim_cluster *cluster_then; /* of --what-if */
    uint32_t nodes_then;              /* nodes of the pool after --what-if; 0: none */
    char *policies[JOBS_POLICIES_MAX];
    size_t n_policies;
    struct jobs_price price;
    uint32_t *size_of; /* size class of each job */
    uint32_t *user_of; /* user of each job, numbered by gpu time */
    uint32_t *users;   /* users in the order of gpu time */
    struct jobs_run runs[JOBS_RUNS_MAX];
    size_t n_runs;
    json_t *rows;   /* one for each run */
    json_t *groups; /* of --by: one for each run and group */
};

/* "add 8 x 8xH100", "remove 2" */
struct jobs_change {
    int64_t nodes;  /* below 0: nodes to remove */
    uint32_t gpus;  /* of each node; 0: not given */
    char model[32]; /* lower case; "": not given */
};
struct err *jobs_change_parse(struct str text, struct jobs_change *ret) MUST_CHECK;

/* Reads --cluster or --from live, and --what-if; without them `q->cluster` stays NULL. */
struct err *jobs_cluster_read(struct jobs_question *q) MUST_CHECK;

/* Reads --price and --prices; call after the trace was read. */
struct err *jobs_price_read(struct jobs_question *q) MUST_CHECK;

/* Groups the jobs of the trace by size and user; call after the trace was read. */
void jobs_groups_find(struct jobs_question *q);

/* Adds the rows and curves of a finished run. */
void jobs_rows_add(struct jobs_question *q, struct jobs_run *r,
                   const struct replay_options *options, const struct replay_job *done,
                   const struct replay_moves *moves, double wall_s);

/* Writes the page of --report, then prints in the format of -o. */
struct err *jobs_tell(struct jobs_question *q) MUST_CHECK;
