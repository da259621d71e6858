/*
 * job_json.h - the documents of squeue --json and scontrol show job --json
 *
 * Members have the names and forms of Slurm 24.11's data parser v0.0.42: states are lists, numbers
 * that may be absent are objects {set, infinite, number}.
 */
#pragma once

#include "slurm/columns.h"

/* {"jobs": [...], "meta", "errors", "warnings"}. New reference. */
json_t *slurm_jobs_document(const json_t *rows, const struct slurm_view *v);

/* The same for sacct: each job has its state also in the member of the accounting. New reference.
 */
json_t *slurm_accounts_document(const json_t *rows, const struct slurm_view *v);

/* A document with "meta", "errors" and "warnings" around `member`, whose `value` is taken. New
 * reference. */
json_t *slurm_document_new(const char *member, json_t *value);

/* {set, infinite, number}: below 0 is infinite; `is_set` false: not set. New reference. */
json_t *slurm_number(bool is_set, int64_t n);

/* Adds the document as text. */
void slurm_document_add(const json_t *document, bool is_yaml, struct buf *out);
