/*
 * slurm_share.h - fair shares of associations, with the numbers of Slurm's two algorithms
 *
 * Fair Tree (https://slurm.schedmd.com/fair_tree.html) ranks users in a walk of the tree; the
 * classic algorithm (https://slurm.schedmd.com/classic_fair_share.html) is 2^-(usage / share).
 * Usage is in seconds x billing. Numbers are long doubles as in Slurm: its commands print them with
 * all digits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLURM_SHARES_OF_PARENT = INT32_MAX /* "parent": counts with the shares of the account above */
};

enum slurm_share_algorithm {
    SLURM_SHARE_TREE,
    SLURM_SHARE_CLASSIC
};

/* An association. */
struct slurm_share {
    int32_t parent; /* index of an earlier association; -1: the root account, which is the first */
    bool is_user;
    int32_t shares;
    long double usage; /* users: own; accounts: found, with the associations below */

    /* Found. */
    double shares_norm;
    long double usage_norm;
    long double usage_effective;
    long double level; /* Fair Tree: share / usage; INFINITY: no usage */
    double factor;     /* 0 .. 1; Fair Tree: of users only */
};

/* Computes what is marked as found. `damping` is FairShareDampeningFactor of the classic algorithm.
 */
void slurm_share_find(struct slurm_share *at, size_t n, enum slurm_share_algorithm algorithm,
                      unsigned damping);

/* The usage that is left of 1 after `seconds`, with this half-life; a half-life of 0: all. */
double slurm_share_decay(double seconds, double half_life_s);
