/* batch.h - a batch/v1 Job, which has several pods, as one job among the others */
#pragma once

#include "cli/job/jobs.h"

/* Whether an object is one, and not a pod. */
bool batch_is(const json_t *object);

/* "/apis/batch/v1/namespaces/NS/jobs/NAME". The caller frees it. */
char *batch_path(const json_t *job);

/* As job_of: sums in place of one pod's facts, no node, no exit code. */
struct job batch_of(const json_t *job);

/* By its number; NULL where it is a pod's, or nobody's. A new reference. */
struct err *batch_find_id(struct session *s, const char *id, json_t **ret) MUST_CHECK;
/* By its name in the namespace. ERR_NOT_FOUND. */
struct err *batch_find_name(struct session *s, const char *name, json_t **ret) MUST_CHECK;

/* Its pods, an array: a new reference. `fields` is a field selector, escaped; NULL: all. */
struct err *batch_pods(struct session *s, const json_t *job, const char *fields,
                       json_t **ret) MUST_CHECK;

/* The one of its pods that is meant where one is: the only one that goes on, or the only one. */
struct err *batch_pod(struct session *s, const json_t *job, json_t **ret) MUST_CHECK;
