/*
 * sreport.h - sreport: its words, and its tables of what accounts and users used
 *
 * The usage is the answer of the report of hourly sums (meter/rollup.h), the tree of accounts the
 * rows "shares" (kinds/slurm/slurm_rows.h).
 */
#pragma once

#include "slurm/columns.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sreport_options[];
extern const char sreport_help[];

enum sreport_kind {
    SREPORT_UTILIZATION,
    SREPORT_ACCOUNTS, /* with their users */
    SREPORT_USERS,    /* with their accounts */
    SREPORT_TOP
};

/* {0} before; texts are borrowed from the words. */
struct sreport {
    const struct slurm_words *words;
    enum sreport_kind kind;
    int64_t from_s; /* full hours */
    int64_t to_s;
    const char *accounts; /* lists with commas; NULL: all */
    const char *users;
    const char *fields; /* NULL: the report's own */
    int64_t top;        /* users at most */
    bool is_tree;
    bool is_grouped;
    unsigned time; /* of sreport.c */
    unsigned tres; /* bits of sreport.c */
    bool has_tres; /* -T */
};

/* ERR_INVALID has the words of sreport. */
struct err *sreport_read(const struct slurm_words *words, const struct slurm_view *v,
                         struct sreport *ret) MUST_CHECK;

/* Answers of the server; `name_of` gives the full name of a user, which the caller frees, or NULL.
 */
struct sreport_data {
    const json_t *rollup;
    const json_t *shares;
    char *(*name_of)(const char *user);
};

/* ERR_INVALID: an unknown field. */
struct err *sreport_print(const struct sreport *s, const struct sreport_data *data,
                          const struct slurm_view *v, struct buf *out) MUST_CHECK;
