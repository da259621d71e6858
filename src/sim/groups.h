/*
 * groups.h - a replay's figures for each user and each size of job, and the fairness between users
 *
 * A user's share at a time is gpus held / gpus asked for, over the user's submitted jobs that have
 * not ended. Jain's index of the n users that ask for gpus is (sum of shares)^2 / (n x sum of
 * squared shares): 1 when all shares are equal, 1/n when one user has all. The index is averaged
 * over the time at which two or more users ask.
 */
#pragma once

#include "base/vec.h"
#include "sim/summary.h"

enum {
    SIZE_CLASSES = 7
};

/* The size class of a number of gpus. Class 0: less than one gpu. */
size_t size_class_of(int64_t milli);
const char *size_class_name(size_t i); /* "<1", "1", "2-4", ... */

/* A job begins to run (`runs`), or ends or is preempted. */
struct replay_move {
    int64_t at_s;
    uint32_t job;
    bool runs;
};

/* {0} at first; replay_note fills it. */
struct replay_moves {
    VEC(struct replay_move) all;
};
void replay_note(void *moves, int64_t at_s, uint32_t job, bool runs);

struct share_curves {
    size_t n_users;  /* users with the most gpu time */
    uint32_t *users; /* their indices */
    double *held;    /* [user][bin], gpus on average */
    size_t n_bins;
    int64_t first_s;
    int64_t bin_s;
};
void share_curves_done(struct share_curves *c);

struct fairness_options {
    const struct sim_job *jobs;
    size_t n;
    size_t n_users;
    const struct replay_moves *moves;
    struct share_curves *curves; /* NULL: no curves; else n_users and n_bins are set */
};

/* Jain's index; NAN: two users never asked at once. `ret_shares`: each user's mean share over the
 * time at which the user asks. */
double fairness_find(const struct fairness_options *o, double *ret_shares);

/* The figures of the jobs with `of[i]` == `group`, without makespan and utilization. */
void summary_of_group(const struct replay_options *options, const struct replay_job *done,
                      const uint32_t *of, uint32_t group, struct summary *ret);
