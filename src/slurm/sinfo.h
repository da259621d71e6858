/* sinfo.h - sinfo: its options, and tables of nodes and partitions */
#pragma once

#include "slurm/columns.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sinfo_options[];
extern const char sinfo_help[];

/* The options of sinfo; {0} before. */
struct sinfo {
    const struct slurm_words *words; /* borrowed */
    struct slurm_format format;
    bool is_by_node; /* -N: a line for each node */
    bool is_long;    /* -l: the time before the table */
    bool has_header;
};

/* Reads the options; `find` returns the value of a variable or NULL. ERR_INVALID has the words of
 * sinfo. */
struct err *sinfo_read(const struct slurm_words *words, const char *(*find)(const char *name),
                       struct sinfo *ret) MUST_CHECK;

/* Adds the table for the server's rows of nodes and partitions. */
struct err *sinfo_print(const struct sinfo *s, const json_t *nodes, const json_t *partitions,
                        const struct slurm_view *v, struct buf *out) MUST_CHECK;
void sinfo_done(struct sinfo *s);
