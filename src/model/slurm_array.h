/*
 * slurm_array.h - the indexes of Slurm's job arrays: "0-15%4", "1,3,5-7", "1-7:2"
 *
 * https://slurm.schedmd.com/job_array.html
 */
#pragma once

#include <stdint.h>

#include "model/index_set.h"

/* {0} is no array; slurm_array_done frees it. */
struct slurm_array {
    struct index_set indexes;
    int64_t limit; /* elements that may run at once; 0: all */
    int64_t step;  /* the largest of the text, which Slurm bounds, too */
};

/*
 * Reads indexes below `end` (at most INDEX_SET_MAX) in any order, ranges with a step, and a limit.
 * ERR_INVALID: the text is malformed or names no index. `*ret`, which must be empty, changes on
 * success only.
 */
struct err *slurm_array_parse(struct str text, size_t end, struct slurm_array *ret) MUST_CHECK;

/*
 * The text for listings, as Slurm writes it: "0-5,7"; more than five indexes of an even step above
 * one as "1-13:2". A longer list is cut with "..." to `size_max` bytes, the 0 behind it included;
 * `size_max` 0: never. The caller frees it.
 */
char *slurm_array_format_indexes(const struct index_set *indexes, size_t size_max);
/* The whole list of indexes as ranges, "0-5,7". The caller frees it. */
char *slurm_array_format_ranges(const struct index_set *indexes);

void slurm_array_done(struct slurm_array *a);

/* A job as clients name it: "12", "12_3", "12_[1-3,8]", "12.0", "12_3.batch", "12+1". */
struct slurm_job_name {
    int64_t id;
    int64_t component;        /* of a heterogeneous job, from 0; -1: none */
    struct index_set indexes; /* of an array; empty: the whole job */
    char *step;               /* owned; NULL: none */
};

/* Reads one name. ERR_INVALID: the text is malformed. `*ret`, which must be empty, changes on
 * success only. */
struct err *slurm_job_name_parse(struct str text, struct slurm_job_name *ret) MUST_CHECK;
void slurm_job_name_done(struct slurm_job_name *n);
