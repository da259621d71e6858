/*
 * slurm_dependency.h - the dependencies of a Slurm job, and their text form
 *
 * "afterok:12:13_4,after:15+10,singleton" (all must hold) or "afterok:12?afterany:13" (one must).
 * https://slurm.schedmd.com/sbatch.html, --dependency
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    SLURM_DEPENDENCY_MAX = 4096 /* items of a job */
};

enum slurm_dependency_type {
    SLURM_AFTER,        /* the other has started, or was cancelled, `minutes` ago */
    SLURM_AFTER_ANY,    /* the other ended */
    SLURM_AFTER_OK,     /* the other ended with code 0 */
    SLURM_AFTER_NOT_OK, /* the other ended otherwise */
    SLURM_AFTER_CORR,   /* the element with this job's index ended with code 0 */
    SLURM_AFTER_BURST_BUFFER,
    SLURM_SINGLETON /* no earlier job of this user and name waits or runs; no id */
};

/* A value. */
struct slurm_dependency_item {
    enum slurm_dependency_type type;
    int64_t id;      /* number of the job or array; 0: SLURM_SINGLETON */
    int64_t index;   /* of one element; -1: the job, or all elements ("12", "12_*") */
    int64_t minutes; /* SLURM_AFTER only */
};

/* {0}: no dependency; slurm_dependency_done frees it. */
struct slurm_dependency {
    VEC(struct slurm_dependency_item) items;
    bool is_any;
};

/*
 * Reads a text; "" and "0" are no dependency, a number alone is afterany. Words have any case.
 * ERR_INVALID names what was found. `*ret`, which must be empty, changes on success only.
 */
struct err *slurm_dependency_parse(struct str text, struct slurm_dependency *ret) MUST_CHECK;

/* The text, with ids of one type in a row joined by ':'. The caller frees it. */
char *slurm_dependency_format(const struct slurm_dependency *d);

/* Adds one item: "afterok:12_3", "after:15+10". */
void slurm_dependency_format_item(const struct slurm_dependency_item *item, struct buf *out);

void slurm_dependency_done(struct slurm_dependency *d);
