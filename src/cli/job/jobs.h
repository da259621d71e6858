/* jobs.h - a pod or a Job as a job of the command line (number, state, gpus), and the search for
 * the job that a user named */
#pragma once

#include "base/stamp.h"
#include "cli/session.h"
#include "kinds/pod/pod_asks.h"

enum {
    JOB_PROGRESS_SIZE = 160
};

/* Facts of a pod or Job. Texts are borrowed from the object or static; "" if unknown. */
struct job {
    const char *id; /* "12" */
    const char *name;
    const char *ns;
    const char *user;
    const char *node;
    const char *state;    /* waiting, starting, running, ending, finished, failed */
    const char *reason;   /* why the job waits, or what failed; one line */
    struct gpu_asks asks; /* requested gpus, of a Job those of its active pods */
    int64_t created_ns;   /* real time; 0: unknown, also below */
    int64_t started_ns;
    int64_t ended_ns;
    int64_t exit_code; /* of the container that failed, or of the first container; -1: none yet */
    bool is_ended;
    char progress[JOB_PROGRESS_SIZE]; /* of a Job: how many pods are done, running, ... */
};

struct job job_of(const json_t *pod);

/* The requested gpus as a cell of a listing: a number of whole gpus, or a text as of
 * gpu_asks_format. New reference. */
json_t *job_gpus_cell(const struct job *job);

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
