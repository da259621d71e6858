/*
 * slurm_pattern.h - names of the output files of Slurm jobs: "slurm-%A_%a.out"
 *
 * https://slurm.schedmd.com/sbatch.html, "filename pattern". A number between '%' and the letter
 * pads numbers with zeros: "%4j". A backslash anywhere stops all expansion and is removed. Unknown
 * letters stay.
 */
#pragma once

#include <stdint.h>

/* Texts are borrowed; NULL reads as "". */
struct slurm_pattern_values {
    int64_t job_id;      /* %j, %J */
    int64_t array_id;    /* %A; 0: not an array: the job's id */
    int64_t array_index; /* %a, %b; -1: not an array */
    const char *step;    /* %s, and %J as ID.STEP; NULL: the batch script, whose %J is ID */
    const char *host;    /* %N: short host name */
    int64_t node;        /* %n */
    int64_t task;        /* %t */
    int64_t restarts;    /* %r */
    const char *user;    /* %u */
    const char *name;    /* %x */
};

/* Replaces all patterns; a name of the job that has a '/' counts as its last part. The caller frees
 * the text. */
char *slurm_pattern_expand(const char *pattern, const struct slurm_pattern_values *v);
