/*
 * slurm_conf.h - files in the form of slurm.conf: lines of KEY=VALUE
 *
 * '#' begins a comment ("\#" is the character itself), '\' before the end of a line joins the next
 * one, a value with blanks is in double quotes, and "Include FILE" reads another file, relative to
 * the directory of the first one ("%c" is the ClusterName). Keys have no case.
 * https://slurm.schedmd.com/slurm.conf.html
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    SLURM_CONF_SIZE_MAX = 8 << 20, /* bytes of all files */
    SLURM_CONF_LINES_MAX = 1 << 16,
    SLURM_CONF_PAIRS_MAX = 128, /* of a line */
    SLURM_CONF_FILES_MAX = 64,
    SLURM_CONF_DEPTH_MAX = 8 /* files that include each other */
};

/* Both owned. */
struct slurm_conf_pair {
    char *key; /* as written */
    char *value;
};

/* A line, with those that it goes on in. Never empty. */
struct slurm_conf_line {
    const char *file; /* borrowed from the list of files */
    int64_t number;   /* of its first line, from 1 */
    VEC(struct slurm_conf_pair) pairs;
};

/* {0} is empty; slurm_conf_done frees it. */
struct slurm_conf {
    VEC(struct slurm_conf_line) lines; /* of all files, in the order of reading */
    VEC(char *) files;                 /* paths; owned */
    size_t size;                       /* bytes read so far */
};

/* Reads a file; ERR_NOT_FOUND: there is none. */
typedef struct err *(*slurm_conf_read_fn)(void *arg, const char *path, struct buf *ret);

/*
 * Reads the file and those that it includes. ERR_INVALID names file and line, and says what would
 * be right. `*ret`, which must be empty, changes on success only.
 */
struct err *slurm_conf_load(const char *path, slurm_conf_read_fn read, void *arg,
                            struct slurm_conf *ret) MUST_CHECK;

/* The value of a key; the last one counts. NULL: none. Borrowed. */
const char *slurm_conf_get(const struct slurm_conf_line *line, const char *key);

/* ERR_INVALID "FILE:LINE: ...". */
struct err *slurm_conf_wrong(const struct slurm_conf_line *line, const char *fmt, ...)
    PRINTF(2, 3) MUST_CHECK;

void slurm_conf_done(struct slurm_conf *c);
