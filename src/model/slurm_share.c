/* slurm_share.c - fair shares of associations: Fair Tree and the classic algorithm */

#include "model/slurm_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The associations below each, by index: those of `i` are below[first[i]] .. below[first[i + 1]].
 */
struct share_tree {
    struct slurm_share *at;
    size_t n;
    size_t n_users;
    size_t *first;
    size_t *below;
    int32_t *above;            /* the nearest account with shares of its own */
    long double *level_shares; /* sum of the shares beside each */
};

static bool has_usage(long double usage)
{
    return usage > 0.0L;
}

/* An account whose shares are its parent's counts for nothing: its associations are the parent's.
 */
static void tree_find_above(struct share_tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        int32_t up = t->at[i].parent;

        while (up > 0 && t->at[up].shares == SLURM_SHARES_OF_PARENT)
            up = t->at[up].parent;
        t->above[i] = up;
    }
}

static void tree_list_below(struct share_tree *t)
{
    size_t *next = mem_alloc((t->n + 1) * sizeof(*next));

    for (size_t i = 1; i < t->n; i++)
        t->first[(size_t)t->above[i] + 1]++;
    for (size_t i = 0; i < t->n; i++)
        t->first[i + 1] += t->first[i];
    memcpy(next, t->first, t->n * sizeof(*next));
    for (size_t i = 1; i < t->n; i++)
        t->below[next[t->above[i]]++] = i;
    free(next);
}

static void tree_sum(struct share_tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (!t->at[i].is_user)
            t->at[i].usage = 0;
    for (size_t i = t->n; i > 1; i--)
        t->at[t->at[i - 1].parent].usage += t->at[i - 1].usage;
    for (size_t i = 0; i < t->n; i++) {
        t->n_users += t->at[i].is_user;
        for (size_t k = t->first[i]; k < t->first[i + 1]; k++)
            if (t->at[t->below[k]].shares != SLURM_SHARES_OF_PARENT)
                t->level_shares[i] += t->at[t->below[k]].shares;
    }
}

static void tree_begin(struct share_tree *t, struct slurm_share *at, size_t n)
{
    *t = (struct share_tree){.at = at, .n = n};
    t->first = mem_alloc((n + 2) * sizeof(*t->first));
    t->below = mem_alloc((n + 1) * sizeof(*t->below));
    t->above = mem_alloc((n + 1) * sizeof(*t->above));
    t->level_shares = mem_alloc((n + 1) * sizeof(*t->level_shares));
    tree_find_above(t);
    tree_list_below(t);
    tree_sum(t);
}

static void tree_done(struct share_tree *t)
{
    free(t->first);
    free(t->below);
    free(t->above);
    free(t->level_shares);
}

/* The part of the shares beside it. */
static double share_of_level(const struct share_tree *t, size_t i)
{
    long double all = t->level_shares[t->above[i]];

    return all > 0 ? (double)((long double)t->at[i].shares / all) : 0.0;
}

static void find_norm_usage(struct share_tree *t, size_t i)
{
    struct slurm_share *s = &t->at[i];

    s->usage_norm = has_usage(t->at[0].usage) ? s->usage / t->at[0].usage : 0;
}

/* ---- Fair Tree ---- */

static void tree_find_level(struct share_tree *t, size_t i)
{
    struct slurm_share *s = &t->at[i];
    const struct slurm_share *up = t->above[i] >= 0 ? &t->at[t->above[i]] : NULL;

    s->usage_effective = !up ? 1 : has_usage(up->usage) ? s->usage / up->usage : 0;
    find_norm_usage(t, i);
    if (s->shares == SLURM_SHARES_OF_PARENT) {
        s->shares_norm = up ? up->shares_norm : 1.0;
        s->level = s->is_user ? (long double)INFINITY : 0.0L;
        return;
    }
    s->shares_norm = up ? share_of_level(t, i) : 1.0;
    if (s->shares_norm > 0)
        s->level = has_usage(s->usage_effective) ? (long double)s->shares_norm / s->usage_effective
                                                 : (long double)INFINITY;
    else
        s->level = 0;
}

static bool is_same_level(const struct slurm_share *a, const struct slurm_share *b)
{
    return !(a->level < b->level) && !(a->level > b->level);
}

/* The larger level first; users before accounts; then in the given order. */
static int compare_levels(const void *left, const void *right, void *at)
{
    size_t one = *(const size_t *)left;
    size_t other = *(const size_t *)right;
    const struct slurm_share *a = (const struct slurm_share *)at + one;
    const struct slurm_share *b = (const struct slurm_share *)at + other;

    if (!is_same_level(a, b))
        return a->level < b->level ? 1 : -1;
    if (a->is_user != b->is_user)
        return a->is_user ? -1 : 1;
    return one < other ? -1 : one > other;
}

struct share_ranks {
    size_t left; /* users without a rank */
    size_t rank; /* the last one given */
};

static void tree_walk(struct share_tree *t, size_t *level, size_t n, struct share_ranks *ranks,
                      bool is_tied);

/* Walks the accounts of one level from `first` on together. Returns the index behind them. */
static size_t tree_walk_accounts(struct share_tree *t, const size_t *level, size_t n, size_t first,
                                 struct share_ranks *ranks, bool is_tied)
{
    size_t end = first;
    size_t n_below = 0;
    size_t *below;

    while (end < n && !t->at[level[end]].is_user &&
           is_same_level(&t->at[level[end]], &t->at[level[first]])) {
        n_below += t->first[level[end] + 1] - t->first[level[end]];
        end++;
    }
    below = mem_alloc((n_below + 1) * sizeof(*below));
    n_below = 0;
    for (size_t i = first; i < end; i++)
        for (size_t k = t->first[level[i]]; k < t->first[level[i] + 1]; k++)
            below[n_below++] = t->below[k];
    tree_walk(t, below, n_below, ranks, is_tied);
    free(below);
    return end;
}

/* A user beside one of the same level, or in an account beside one, has its rank. */
static void tree_walk(struct share_tree *t, size_t *level, size_t n, struct share_ranks *ranks,
                      bool is_tied)
{
    qsort_r(level, n, sizeof(*level), compare_levels, t->at);
    for (size_t i = 0; i < n;) {
        struct slurm_share *s = &t->at[level[i]];
        bool ties = i == 0 ? is_tied : is_same_level(s, &t->at[level[i - 1]]);

        if (!s->is_user) {
            i = tree_walk_accounts(t, level, n, i, ranks, ties);
            continue;
        }
        if (!ties)
            ranks->rank = ranks->left;
        s->factor = (double)ranks->rank / (double)t->n_users;
        ranks->left--;
        i++;
    }
}

static void find_by_tree(struct share_tree *t)
{
    struct share_ranks ranks = {.left = t->n_users, .rank = t->n_users};
    size_t top = 0;

    for (size_t i = 0; i < t->n; i++)
        tree_find_level(t, i);
    (void)tree_walk_accounts(t, &top, 1, 0, &ranks, false);
}

/* ---- the classic algorithm ---- */

static void find_classic_one(struct share_tree *t, size_t i, unsigned damping)
{
    struct slurm_share *s = &t->at[i];
    const struct slurm_share *up = t->above[i] >= 0 ? &t->at[t->above[i]] : NULL;
    long double part;

    find_norm_usage(t, i);
    if (!up) {
        s->shares_norm = 1.0;
        s->usage_effective = 1;
    } else if (s->shares == SLURM_SHARES_OF_PARENT) {
        s->shares_norm = up->shares_norm;
        s->usage_effective = up->usage_effective;
    } else {
        part = t->level_shares[t->above[i]] > 0 ? s->shares / t->level_shares[t->above[i]] : 0;
        s->shares_norm = up->shares_norm * share_of_level(t, i);
        s->usage_effective = t->above[i] == 0
                                 ? s->usage_norm
                                 : s->usage_norm + (up->usage_effective - s->usage_norm) * part;
    }
    s->factor = s->shares_norm > 0
                    ? pow(2.0, -((double)(s->usage_effective / (long double)s->shares_norm) /
                                 (double)(damping > 0 ? damping : 1)))
                    : 0.0;
}

void slurm_share_find(struct slurm_share *at, size_t n, enum slurm_share_algorithm algorithm,
                      unsigned damping)
{
    struct share_tree t;

    if (n == 0)
        return;
    tree_begin(&t, at, n);
    if (algorithm == SLURM_SHARE_TREE)
        find_by_tree(&t);
    else
        for (size_t i = 0; i < n; i++)
            find_classic_one(&t, i, damping);
    tree_done(&t);
}

double slurm_share_decay(double seconds, double half_life_s)
{
    return half_life_s > 0 && seconds > 0 ? pow(0.5, seconds / half_life_s) : 1.0;
}
