/*
 * sacct.h - sacct: its options, its rows of live jobs and of accounting, and its tables
 *
 * A job's row has the members of kinds/slurm/slurm_rows.h, and of its use: cpuNs, memoryPeakBytes.
 */
#pragma once

#include "slurm/columns.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sacct_options[];
extern const char sacct_help[];

/* The options of sacct; {0} before. */
struct sacct {
    const struct slurm_words *words; /* borrowed */
    struct slurm_format format;
    char *jobs_path;     /* GET: live jobs and those that ended lately */
    char *accounts_path; /* GET: rows of accounting, in pages */
    char *states;        /* long states with commas; NULL: all */
    const char *delimiter;
    int64_t from_s;
    int64_t to_s;
    bool has_header;
    bool has_steps;   /* ID.batch, too */
    bool is_parsable; /* -p or -P */
    bool ends_with_delimiter;
    bool has_duplicates; /* -D: all attempts of a job */
    char unit;           /* of --units; 0: none */
    bool is_document;    /* --json or --yaml */
    bool is_yaml;
    bool is_expanded; /* a row for each waiting element */
};

/* Reads the options; `find` returns the value of a variable or NULL; `user` is the caller, NULL:
 * all users. ERR_INVALID has the words of sacct. */
struct err *sacct_read(const struct slurm_words *words, const char *(*find)(const char *name),
                       const char *user, const struct slurm_view *v, struct sacct *ret) MUST_CHECK;

/* Arrays of rows, borrowed: of live jobs, of their steps, of accounting. */
struct sacct_rows {
    const json_t *jobs;
    const json_t *steps;
    const json_t *accounts;
};

/* Adds the output for the rows. */
void sacct_print(const struct sacct *s, const struct sacct_rows *from, const struct slurm_view *v,
                 struct buf *out);

/* The document of --json, also of slurmdb's jobs. New reference. */
json_t *sacct_document(const struct sacct *s, const struct sacct_rows *from,
                       const struct slurm_view *v);

/* The rows of accounting with those of a job's nodes as one row for each attempt. New reference. */
json_t *sacct_fold(const json_t *accounts);

void sacct_done(struct sacct *s);

/* The names of all fields, as sacct --helpformat prints them. */
void sacct_help_format(struct buf *out);
