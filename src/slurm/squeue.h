/* squeue.h - squeue: its options, its question to the server, and its tables */
#pragma once

#include "slurm/columns.h"
#include "slurm/words.h"

enum slurm_output {
    SLURM_TABLE,
    SLURM_JSON,
    SLURM_YAML
};

/* The options of squeue; {0} before. */
struct squeue {
    const struct slurm_words *words; /* borrowed */
    struct slurm_format format;
    char *path; /* what to GET */
    const char *sort;
    const char *steps; /* --steps; "": all; NULL: jobs are listed */
    bool is_steps;
    bool has_header;
    bool is_expanded; /* a row for each element */
    bool is_start;    /* --start */
    bool keeps_unit;
    bool asks_ids; /* particular jobs, of which at least one must exist */
    bool asks_version;
    bool asks_help;
    enum slurm_output output;
    int64_t every_s; /* --iterate; 0: once */
};

/* Ends with a NULL name. */
extern const struct slurm_option squeue_options[];

/* Reads the options; `words` outlives `ret`. `find` returns the value of a variable or NULL; `user`
 * is the caller. ERR_INVALID has the words of squeue. */
struct err *squeue_read(const struct slurm_words *words, const char *(*find)(const char *name),
                        const char *user, struct squeue *ret) MUST_CHECK;

/* Adds the output for the rows of the server's answer. */
struct err *squeue_print(const struct squeue *q, const json_t *rows, const struct slurm_view *v,
                         struct buf *out) MUST_CHECK;
void squeue_done(struct squeue *q);

extern const char squeue_help[];
