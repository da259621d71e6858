/* slurm_share_rows.h - rows of "shares" (slurm_rows.h) */
#pragma once

#include "base/json.h"
#include "model/slurm_share.h"

/* What a row has besides numbers; texts are borrowed. */
struct slurm_share_name {
    const char *account;
    const char *user;      /* NULL: the account's own row */
    const char *partition; /* NULL: all */
    unsigned depth;
};

/* A row of the shares, with numbers as Slurm prints them. New reference. */
json_t *slurm_share_row(const struct slurm_share_name *name, const struct slurm_share *s,
                        enum slurm_share_algorithm algorithm);
