/*
 * array_jobs.h - the SlurmJobs of arrays whose elements came to this node lately: each element
 * needs the same script and variables
 */
#pragma once

#include "base/json.h"

struct array_jobs;

struct array_jobs *array_jobs_new(void);
void array_jobs_free(struct array_jobs *a); /* accepts NULL */

/* The job with this uid; NULL: unknown. Borrowed until the next put. */
json_t *array_jobs_find(const struct array_jobs *a, const char *uid);

/* Returns what a node needs of the fetched SlurmJob: uid, script and variables; and keeps it if it
 * is of an array. The caller owns it. */
json_t *array_jobs_put(struct array_jobs *a, const json_t *job);
