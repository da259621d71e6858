/* query.h - questions to the report of rows (kinds/slurm/slurm_rows.h), and lists in options */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* A path with parameters in the making; {0} before slurm_query_begin. */
struct slurm_query {
    struct buf path;
};

/* Begins a question for `what`: "jobs", "nodes". */
void slurm_query_begin(struct slurm_query *q, const char *what);
void slurm_query_add(struct slurm_query *q, const char *parameter, const char *value);
/* The path; the query is {0} again. The caller frees it. */
char *slurm_query_end(struct slurm_query *q);

/* Reads numbers of jobs with commas ("12,13_4,14_[1-3]") and adds them as the report reads them,
 * elements one by one. ERR_INVALID: a malformed number, in the words of squeue. */
struct err *slurm_ids_parse(const char *text, struct buf *out) MUST_CHECK;

/* Is the word in the list with commas? */
bool slurm_list_has(const char *list, const char *word);
