/* batch.h - a batch/v1 Job with its pods as one job of the command line */
#pragma once

#include "cli/job/jobs.h"

/* "/apis/batch/v1/namespaces/NS/jobs/NAME". The caller frees it. */
char *batch_path(const json_t *job);

/* Finds a Job by its number; NULL: no Job has this number. A new reference. */
struct err *batch_find_id(struct session *s, const char *id, json_t **ret) MUST_CHECK;
/* Finds a Job by its name in the namespace. ERR_NOT_FOUND. */
struct err *batch_find_name(struct session *s, const char *name, json_t **ret) MUST_CHECK;

/* Lists the Job's pods as an array: a new reference. `fields` is an escaped field selector; NULL:
 * all pods. */
struct err *batch_pods(struct session *s, const json_t *job, const char *fields,
                       json_t **ret) MUST_CHECK;

/* Finds the pod that stands for the Job if a command needs one pod: the only pod that has not
 * ended, else the only pod. */
struct err *batch_pod(struct session *s, const json_t *job, json_t **ret) MUST_CHECK;
