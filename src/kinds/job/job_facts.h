/* job_facts.h - a pod or a batch/v1 Job as a job of people: number, state, gpus, times */
#pragma once

#include "base/stamp.h"
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

/* Of a Job: sums over its pods; no node, no exit code. */
struct job job_of(const json_t *pod);

/* Is the object a Job, not a pod? */
bool batch_is(const json_t *object);

/* The requested gpus as a cell of a listing: a number of whole gpus, or a text as of
 * gpu_asks_format. New reference. */
json_t *job_gpus_cell(const struct job *job);
