/* jobs.h - a pod or a Job as people speak of it: a job with an id, a state, gpus; and how one is
 * found by the word that they type */
#pragma once

#include "base/stamp.h"
#include "cli/session.h"

enum {
    JOB_PROGRESS_SIZE = 160
};

/* Facts of a pod or Job. Texts are borrowed from it or static; "" where unknown. */
struct job {
    const char *id; /* "12" */
    const char *name;
    const char *ns;
    const char *user;
    const char *node;
    const char *state;  /* waiting, starting, running, ending, finished, failed */
    const char *reason; /* why it waits, or what went wrong; one line */
    int64_t gpus;       /* asked for */
    int64_t created_ns; /* real time; 0 where unknown, as below */
    int64_t started_ns;
    int64_t ended_ns;
    int64_t exit_code; /* of the container that failed, or of the first; -1: none yet */
    bool is_ended;
    char progress[JOB_PROGRESS_SIZE]; /* of a Job: how many of its pods are done, running ... */
};

struct job job_of(const json_t *pod);

/*
 * Finds the pod that `word` means: a job id, a name in the namespace, "pod/NAME" or "job/NAME".
 * ERR_NOT_FOUND says which was looked for; ERR_BAD_REQUEST where a Job has several. A new
 * reference.
 */
struct err *job_find(struct session *s, const char *word, json_t **ret) MUST_CHECK;
/* The same, but for a Job: that itself (batch.h). */
struct err *job_find_whole(struct session *s, const char *word, json_t **ret) MUST_CHECK;

/* "/api/v1/namespaces/NS/pods/NAME", or that of a Job. The caller frees it. */
char *job_path(const json_t *pod);

/* The indices of the gpus that a pod holds, "0-3,7", by the gpus view; NULL where it holds none.
 * The caller frees it. */
char *job_gpu_indices(const json_t *pod, const json_t *gpus);

/* "1.2 s", "4m32s": how long something took. */
void elapsed_format(int64_t ns, char ret[STAMP_TEXT_SIZE]);
