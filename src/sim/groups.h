/*
 * groups.h - what a replay came to for each user and each size of job, and how even it was
 *
 * A user's share at a time is the part of the gpus he asks for (those his jobs that were submitted
 * and have not ended want) that he holds. Jain's index of the n users who ask for any is (sum of
 * shares)^2 / (n x sum of their squares): 1 where all have the same part, 1/n where one has all. It
 * is averaged over the time at which two users or more ask.
 */
#pragma once

#include "base/vec.h"
#include "sim/summary.h"

enum {
    SIZE_CLASSES = 7
};

/* Of a number of gpus: 0 is less than one. */
size_t size_class_of(int64_t milli);
const char *size_class_name(size_t i); /* "<1", "1", "2-4", ... */

/* Begins to run, or ends or is preempted. */
struct replay_move {
    int64_t at_s;
    uint32_t job;
    bool runs;
};

/* {0}, filled by replay_note. */
struct replay_moves {
    VEC(struct replay_move) all;
};
void replay_note(void *moves, int64_t at_s, uint32_t job, bool runs);

struct share_curves {
    size_t n_users;  /* the ones with the most gpu time */
    uint32_t *users; /* which */
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
    struct share_curves *curves; /* NULL: none wanted; else n_users and n_bins say how many */
};

/* Jain's index; NAN where never two users asked. `ret_shares`, one for each user: his average over
 * the time at which he asks. */
double fairness_find(const struct fairness_options *o, double *ret_shares);

/* The jobs of which `of[i]` is `group`: their figures; without makespan and utilization. */
void summary_of_group(const struct replay_options *options, const struct replay_job *done,
                      const uint32_t *of, uint32_t group, struct summary *ret);
