/* slurm_share_rows.c - shares as rows of texts with the digits of sshare */

#include "kinds/slurm/slurm_share_rows.h"

#include <math.h>
#include <stdio.h>

enum {
    NUMBER_SIZE = 64
};

static void put_number(json_t *row, const char *key, long double value)
{
    char text[NUMBER_SIZE];

    (void)snprintf(text, sizeof(text), "%Lf", value);
    json_put_text(row, key, isinf(value) ? "inf" : text);
}

/* The level of shares that are the parent's means nothing. */
static bool has_level(const struct slurm_share *s)
{
    return s->parent >= 0 && s->shares != SLURM_SHARES_OF_PARENT;
}

json_t *slurm_share_row(const struct slurm_share_name *name, const struct slurm_share *s,
                        enum slurm_share_algorithm algorithm)
{
    bool is_tree = algorithm == SLURM_SHARE_TREE;
    bool is_root = s->parent < 0;
    json_t *row = json_object();
    char shares[NUMBER_SIZE];

    (void)snprintf(shares, sizeof(shares), "%d", (int)s->shares);
    json_put_text(row, "account", name->account);
    json_put_text(row, "user", name->user);
    json_put_text(row, "partition", name->partition);
    json_put_int(row, "depth", name->depth);
    json_put_text(row, "cluster", "mete");
    if (!is_root)
        json_put_text(row, "rawShares", s->shares == SLURM_SHARES_OF_PARENT ? "parent" : shares);
    put_number(row, "normShares", is_root && is_tree ? 0.0L : (long double)s->shares_norm);
    json_put_int(row, "rawUsage", (int64_t)s->usage);
    if (!is_root)
        put_number(row, "normUsage", s->usage_norm);
    put_number(row, "effectiveUsage", s->usage_effective);
    if (s->is_user || !is_tree)
        put_number(row, "fairShare", (long double)s->factor);
    if (is_tree && has_level(s))
        put_number(row, "levelFs", s->level);
    if (is_tree)
        json_put_bool(row, "isTree", true);
    return row;
}
