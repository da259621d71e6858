/* jobs_private.h - the parts of the job controller */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/jobs/jobs.h"
#include "control/writes.h"
#include "kinds/job/job.h"
#include "model/index_set.h"

enum {
    JOB_WRITES_MAX = 256,   /* pods created, counted or deleted in one turn of a Job */
    JOB_FAILURES_KEPT = 16, /* of the newest failures: the back-off needs no more */
    JOB_EVENTS_BURST = 25   /* of one Job about its pods, as Kubernetes' recorder has it */
};

enum job_pod_state {
    JOB_POD_ACTIVE,
    JOB_POD_LEAVING, /* being deleted; its containers may still run */
    JOB_POD_SUCCEEDED,
    JOB_POD_FAILED
};

/* The verdict of the Job's podFailurePolicy on a failed pod. */
enum job_verdict {
    VERDICT_COUNT,
    VERDICT_IGNORE,
    VERDICT_FAIL_INDEX,
    VERDICT_FAIL_JOB
};

struct job;

struct job_pod {
    struct map_handle handle;   /* by key, over all Jobs */
    struct map_handle by_index; /* in `delayed` of its Job */
    struct job_pod *prev;       /* among the pods of its Job */
    struct job_pod *next;
    struct job *job;
    char *key; /* "ns/name" */
    char *name;
    char *uid;
    int64_t index; /* -1: none */
    enum job_pod_state state;
    enum job_verdict verdict;
    bool is_ready;
    bool is_bound;
    bool is_tracked;  /* has the finalizer, and we have not removed it */
    bool is_deleting; /* the object has a deletionTimestamp */
    bool is_killed;   /* deleted by us: never active again, whatever older events say */
    bool is_ended;    /* in `ended` of its Job */
    bool is_delayed;  /* failed, and kept until its index is retried */
    bool is_replaced; /* its index was retried */
    bool is_summed;   /* in the sums of its Job */
    bool has_index;   /* summed with an index, which is busy */
    bool is_noted;    /* its end is in the back-off */
    int64_t created_ns;
    int64_t ended_ns; /* realtime; 0: not ended */
    int64_t restarts;
    int64_t failures; /* of its index before this pod, with backoffLimitPerIndex */
    int64_t ignored;
};

/* The back-off of a Job; the result does not depend on the order of notes. */
struct job_backoff {
    int64_t success_ns; /* the last success; 0: none */
    int64_t failures_ns[JOB_FAILURES_KEPT];
    size_t n_failures;
};

struct job {
    struct map_handle handle; /* by key */
    struct map_handle by_uid;
    struct job *prev; /* among the Jobs to look at */
    struct job *next;
    struct jobs *jobs;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    json_t *object;  /* as last put; NULL once the Job has finished */
    json_t *status;  /* as last put or written, whichever is newer; NULL like `object` */
    int64_t version; /* of `status`: puts of older versions are stale */
    bool is_queued;
    bool is_finished;
    bool is_deleting;
    int64_t expires_ns; /* realtime; of a finished Job; 0: never */

    struct index_set done;     /* completedIndexes */
    struct index_set given_up; /* failedIndexes */

    /* sums over its pods */
    struct job_pod *pods;
    size_t n_active;
    size_t n_ready;
    size_t n_leaving;
    size_t n_extra;  /* active, with an index that another pod has, or without one */
    size_t n_strays; /* active, but not tracked: to be deleted */
    int64_t restarts;
    VEC(struct job_pod *) ended; /* tracked and over: to be counted */
    struct job_pod *delayed;     /* by index */
    struct index_set busy;       /* indexes with a pod that is active or has just succeeded */
    size_t next_index;           /* all indexes below are busy, done or given up */
    struct job_backoff backoff;
    char *failure; /* why the podFailurePolicy failed the Job; NULL: it did not */

    struct loop_timer *timer;
    int64_t timer_at_ns; /* monotonic; 0: not set */
    int64_t written_ns;  /* monotonic */
    struct retry create_retry;
    struct retry write_retry;
    size_t writes_max; /* below JOB_WRITES_MAX after a refused transaction */
    size_t n_events;
};

struct jobs {
    struct jobs_options options;
    struct cluster_watch *jobs_watch;
    struct cluster_watch *pods_watch;
    struct job *jobs;
    struct job *jobs_by_uid;
    struct job_pod *pods;
    struct job *queue;
    VEC(char *) orphans; /* "ns/name" of tracked pods without a Job */
    struct loop_timer *work_timer;
    struct loop_timer *reload_timer;
    bool is_stopped; /* until the reload */
    bool is_loading; /* until all pods have been read */
    struct writes *writes;
};

/* jobs.c */
void job_poke(struct job *j); /* looks at the Job in one of the next turns */
void job_poke_in(struct job *j, int64_t in_ns);
/* The answer for a write: if the store takes the write back, all Jobs and pods are read anew. */
struct cluster_answer jobs_answer(struct jobs *s); /* then writes_end */
void jobs_reload_later(struct jobs *s);
void job_event(struct job *j, bool is_warning, const char *reason, const char *message);
void job_pod_event(struct job *j, const char *reason, const char *verb, const char *pod);

/* jobs_state.c */
void jobs_put_job(void *arg, const char *ns, const char *name, const json_t *job);
void jobs_remove_job(void *arg, const char *ns, const char *name, const json_t *last);
/* The Job with this uid, or NULL. */
struct job *jobs_find_owner(const struct jobs *s, const char *uid);
void job_free(struct job *j);
bool job_replaces_failed_only(const struct job *j); /* podReplacementPolicy */
bool job_limits_index(const struct job *j);         /* backoffLimitPerIndex */

/* jobs_pods.c */
void jobs_put_pod(void *arg, const char *ns, const char *name, const json_t *pod);
void jobs_remove_pod(void *arg, const char *ns, const char *name, const json_t *last);
/* Adds a pod that we have just created, before its watch event. */
void job_add_made(struct job *j, const json_t *pod);
/* Removes a pod from the sums of its Job before a change, and adds it after the change. */
void job_pod_unsum(struct job_pod *p);
void job_pod_sum(struct job_pod *p);
void job_pod_free(struct job_pod *p);
void job_pod_delay(struct job_pod *p, bool is_delayed);

/* jobs_policy.c */
void job_judge(struct job_pod *p, const json_t *pod);
/* The first successPolicy rule that holds; -1: none. */
int job_success_rule(const struct job *j, const struct index_set *done);
void backoff_note(struct job_backoff *b, bool is_failure, int64_t at_ns);
/* The time from `now_ns` (realtime) until the next pod may be created. */
int64_t backoff_left_ns(const struct job_backoff *b, int64_t now_ns);
/* The same after `n` failures in a row, the last at `last_ns`. */
int64_t backoff_after_ns(int64_t n, int64_t last_ns, int64_t now_ns);
/* Is the pod's failure the last that its index may have? */
bool job_pod_ends_index(const struct job_pod *p);

/* The findings and decisions of one turn, before they are written. */
struct job_turn {
    struct job *job;
    int64_t now_ns; /* realtime */
    json_t *status; /* the new status */
    int64_t succeeded;
    int64_t failed;
    struct index_set done;
    struct index_set given_up;
    VEC(struct job_pod *) released; /* their finalizers go in the same transaction */
    VEC(struct job_pod *)
    killed;            /* deleted after the transaction; tracked pods are released, too */
    size_t n_left;     /* pods to count in a later turn */
    bool has_deleting; /* a pod in `released` is being deleted: at most one a transaction */
    int64_t again_ns;  /* the latest time of the next look; -1: none */
    bool is_urgent;
};

/* jobs_make.c: creates up to `n` pods. */
void turn_make_pods(struct job_turn *t, size_t n);

/* jobs_sync.c */
void job_sync(struct job *j);

/* jobs_status.c */
void turn_init(struct job_turn *t, struct job *j);
void turn_done(struct job_turn *t);
bool turn_has(const struct job_turn *t, const char *type);
/* Adds or changes a condition; a new condition is not added as False. Returns if it changed. */
bool turn_condition(struct job_turn *t, const char *type, bool is_true, const char *reason,
                    const char *message);
void turn_again(struct job_turn *t, int64_t in_ns);
/* Writes the status with the finalizers; then deletes the killed pods. */
void turn_write(struct job_turn *t);
