/* jobs_private.h - the parts of the job controller */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/jobs/jobs.h"
#include "control/retry.h"
#include "control/writes.h"
#include "kinds/job/job.h"
#include "model/index_set.h"

enum {
    JOB_WRITES_MAX = 256,   /* pods made, counted or deleted in one turn of a job */
    JOB_FAILURES_KEPT = 16, /* of the newest failures: the back-off needs no more */
    JOB_EVENTS_BURST = 25   /* of one job about its pods, as Kubernetes' recorder has it */
};

enum job_pod_state {
    JOB_POD_ACTIVE,
    JOB_POD_LEAVING, /* being deleted, its containers may still run */
    JOB_POD_SUCCEEDED,
    JOB_POD_FAILED
};

/* What the job's podFailurePolicy says of a failed pod. */
enum job_verdict {
    VERDICT_COUNT,
    VERDICT_IGNORE,
    VERDICT_FAIL_INDEX,
    VERDICT_FAIL_JOB
};

struct job;

struct job_pod {
    struct map_handle handle;   /* by key, of all jobs */
    struct map_handle by_index; /* among the delayed of its job */
    struct job_pod *prev;       /* among its job's */
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
    bool is_tracked;  /* has the finalizer, as far as we left it there */
    bool is_deleting; /* the object says so */
    bool is_killed;   /* by us: never active again, whatever older events tell */
    bool is_ended;    /* in the job's list of those to be counted */
    bool is_delayed;  /* failed, and kept until its index has its next try */
    bool is_replaced; /* its index had its next try */
    bool is_summed;   /* in the sums of its job, and as what: */
    bool has_index;   /* its index is busy by it */
    bool is_noted;    /* its end is in the back-off */
    int64_t created_ns;
    int64_t ended_ns; /* realtime; of those that are over */
    int64_t restarts;
    int64_t failures; /* of its index before it, with backoffLimitPerIndex */
    int64_t ignored;
};

/* Independent of the order in which it is told. */
struct job_backoff {
    int64_t success_ns; /* the last one; 0: none */
    int64_t failures_ns[JOB_FAILURES_KEPT];
    size_t n_failures;
};

struct job {
    struct map_handle handle; /* by key */
    struct map_handle by_uid;
    struct job *prev; /* among those to be looked at */
    struct job *next;
    struct jobs *jobs;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    json_t *object;  /* as last told; NULL once it has finished */
    json_t *status;  /* as last told or written, whichever is newer; NULL like `object` */
    int64_t version; /* of `status`: what is told of older ones is old */
    bool is_queued;
    bool is_finished;
    bool is_deleting;
    int64_t expires_ns; /* realtime; of a finished one, 0: never */

    struct index_set done;     /* completedIndexes */
    struct index_set given_up; /* failedIndexes */

    /* over its pods */
    struct job_pod *pods;
    size_t n_active;
    size_t n_ready;
    size_t n_leaving;
    size_t n_extra;  /* active, with an index that is another's or none */
    size_t n_strays; /* active, but not tracked: to be deleted */
    int64_t restarts;
    VEC(struct job_pod *) ended; /* tracked and over: to be counted */
    struct job_pod *delayed;     /* by index */
    struct index_set busy;       /* indexes with a pod that is active or has just succeeded */
    size_t next_index;           /* all indexes below it are busy, done or given up */
    struct job_backoff backoff;
    char *failure; /* what made the podFailurePolicy fail it; NULL: nothing */

    struct loop_timer *timer;
    int64_t timer_at_ns; /* monotonic; 0: not set */
    int64_t written_ns;  /* monotonic */
    struct retry create_retry;
    struct retry write_retry;
    size_t writes_max; /* less than JOB_WRITES_MAX after a refused transaction */
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
    VEC(char *) orphans; /* "ns/name" of tracked pods whose job is gone */
    struct loop_timer *work_timer;
    struct loop_timer *reload_timer;
    bool is_stopped; /* until the reload */
    bool is_loading; /* until all pods have been read */
    struct writes *writes;
};

/* jobs.c */
void job_poke(struct job *j); /* looks at it in one of the next turns */
void job_poke_in(struct job *j, int64_t in_ns);
/* For writes: where the disk refuses one that was accepted, all is read anew. */
struct cluster_answer jobs_answer(struct jobs *s); /* then writes_end */
void jobs_reload_later(struct jobs *s);
void job_event(struct job *j, bool is_warning, const char *reason, const char *message);
void job_pod_event(struct job *j, const char *reason, const char *verb, const char *pod);

/* jobs_state.c */
void jobs_put_job(void *arg, const char *ns, const char *name, const json_t *job);
void jobs_remove_job(void *arg, const char *ns, const char *name, const json_t *last);
/* By the uid of its owner, where that is a Job that is there. */
struct job *jobs_find_owner(const struct jobs *s, const char *uid);
void job_free(struct job *j);
bool job_replaces_failed_only(const struct job *j); /* podReplacementPolicy */
bool job_limits_index(const struct job *j);         /* backoffLimitPerIndex */

/* jobs_pods.c */
void jobs_put_pod(void *arg, const char *ns, const char *name, const json_t *pod);
void jobs_remove_pod(void *arg, const char *ns, const char *name, const json_t *last);
/* A pod that we have just made: counts at once. */
void job_add_made(struct job *j, const json_t *pod);
/* Takes a pod out of the sums of its job before a change, and puts it in after it. */
void job_pod_unsum(struct job_pod *p);
void job_pod_sum(struct job_pod *p);
void job_pod_free(struct job_pod *p);
void job_pod_delay(struct job_pod *p, bool is_delayed);

/* jobs_policy.c */
void job_judge(struct job_pod *p, const json_t *pod);
/* Which rule of the successPolicy holds; -1: none. */
int job_success_rule(const struct job *j, const struct index_set *done);
void backoff_note(struct job_backoff *b, bool is_failure, int64_t at_ns);
/* How long no pod may be made, counted from `now_ns` (realtime). */
int64_t backoff_left_ns(const struct job_backoff *b, int64_t now_ns);
/* The same after `n` failures in a row, the last one at `last_ns`. */
int64_t backoff_after_ns(int64_t n, int64_t last_ns, int64_t now_ns);
/* Whether its failure is the last one that its index may have. */
bool job_pod_ends_index(const struct job_pod *p);

/* What a turn finds and decides before it is written. */
struct job_turn {
    struct job *job;
    int64_t now_ns; /* realtime */
    json_t *status; /* as it will be */
    int64_t succeeded;
    int64_t failed;
    struct index_set done;
    struct index_set given_up;
    VEC(struct job_pod *) released; /* their finalizers go in the same transaction */
    VEC(struct job_pod *) killed;   /* deleted after it; those that are tracked are released, too */
    size_t n_left;                  /* to be counted, in a later turn */
    bool has_deleting;              /* one of `released` is being deleted: no second one */
    int64_t again_ns;               /* when to look again at the latest; -1: no need */
    bool is_urgent;
};

/* jobs_make.c: makes up to `n` pods. */
void turn_make_pods(struct job_turn *t, size_t n);

/* jobs_sync.c */
void job_sync(struct job *j);

/* jobs_status.c */
void turn_init(struct job_turn *t, struct job *j);
void turn_done(struct job_turn *t);
bool turn_has(const struct job_turn *t, const char *type);
/* Adds or changes; False is not added where there is none. Whether it changed. */
bool turn_condition(struct job_turn *t, const char *type, bool is_true, const char *reason,
                    const char *message);
void turn_again(struct job_turn *t, int64_t in_ns);
/* Writes the status and what goes with it; then deletes what is killed. */
void turn_write(struct job_turn *t);
