/* jobs.h - jobs on the command line, and the search for the job that a user named */
#pragma once

#include "base/stamp.h"
#include "cli/session.h"
#include "kinds/job/job_facts.h"

/* Finds the pod of a job number, a name in the namespace, "pod/NAME" or "job/NAME". ERR_NOT_FOUND
 * names the search; ERR_BAD_REQUEST: a Job with several pods. A new reference. */
struct err *job_find(struct session *s, const char *word, json_t **ret) MUST_CHECK;
/* As job_find, but a Job is returned itself (batch.h). */
struct err *job_find_whole(struct session *s, const char *word, json_t **ret) MUST_CHECK;

/* "/api/v1/namespaces/NS/pods/NAME", or the path of a Job. The caller frees it. */
char *job_path(const json_t *pod);

/* Returns the indices of the pod's gpus, "0-3,7", from the gpus view; NULL: no gpus. The caller
 * frees it. */
char *job_gpu_indices(const json_t *pod, const json_t *gpus);

/* Formats an elapsed time: "1.2 s", "4m32s". */
void elapsed_format(int64_t ns, char ret[STAMP_TEXT_SIZE]);
