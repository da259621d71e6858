/*
 * scheduler.h - pods to the engine, the engine's decisions to the ledger, its reasons to people
 *
 * Each pod that has not ended is a workload of the engine, or part of one with the other pods of
 * its gang. Bound pods are restored; waiting pods are placed by cycles, which run when something
 * changed. A decision is bound in one transaction, without waiting for earlier ones; a workload
 * that cannot be bound waits again as a whole, in its old place. So does one whose binding neither
 * the answer nor the watch has confirmed by a deadline: the binding may still come, and the ledger
 * then refuses what contradicts it. A gpu that the ledger says is held
 * counts as held even if the engine does not know the holder.
 *
 * A waiting pod gets the condition PodScheduled False with the line of `why`, and an Event
 * FailedScheduling: the first time at once, later on changes, at a bounded rate.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"
#include "kinds/metrics.h"
#include "mete/engine.h"

struct scheduler;

struct scheduler_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
    const char *policy;          /* of the engine; NULL: the default policy */
    const char *scheduler_names; /* kinds/scheduler_names.h; NULL: SCHEDULER_NAMES */
    bool has_names_alone;  /* without the built-in names: pods of other schedulers stay theirs */
    bool binds_one_by_one; /* the cluster has no transactions: an earlier leader may have left gangs
                              that are bound in part (scheduler_partial.c) */
    int64_t answer_ns;     /* deadline of bindings and evictions (scheduler_deadline.c); 0: 60 s */
    struct observer observer;
    mete_record_fn record; /* the engine's record lines; NULL: dropped */
    void *record_arg;
};

struct err *scheduler_new(const struct scheduler_options *o, struct scheduler **ret) MUST_CHECK;
void scheduler_free(struct scheduler *s); /* accepts NULL */

/* With a cause, nothing is placed; placed workloads stay. NULL: go on. */
void scheduler_hold(struct scheduler *s, const char *why);

/*
 * True from the start until all pods have been read, in turns of the loop. Meanwhile nothing is
 * placed, each waiting pod has the reason NotYetEvaluated, and the engine does not know all holders
 * yet.
 */
bool scheduler_is_loading(const struct scheduler *s);
/* ERR_UNAVAILABLE while loading: for answers that need all holders. */
struct err *scheduler_check_loaded(const struct scheduler *s) MUST_CHECK;

struct mete_engine *scheduler_engine(struct scheduler *s);

/* The Queues with their status: queue_tree_list. A new array. */
json_t *scheduler_queues(const struct scheduler *s);

/* The cycles since the start. A value. */
struct scheduler_cycles {
    int64_t n;
    int64_t last_ns;
    int64_t most_ns;
    int64_t sum_ns;
};
struct scheduler_cycles scheduler_cycles(const struct scheduler *s);

/* Why the pod waits; brief: as mete_why_brief. False: the pod does not wait, or is unknown. */
bool scheduler_why(struct scheduler *s, const char *key, const char *uid, bool is_brief,
                   struct mete_reason *ret);

/*
 * Tells of a pod that the caller has created and that is not durable yet: its binding follows its
 * creation without a turn of the disk between them. If the store takes the pod back, the caller
 * drops it. The call does nothing while the scheduler loads.
 */
void scheduler_expect_pod(struct scheduler *s, const json_t *pod);
void scheduler_drop_pod(struct scheduler *s, const char *ns, const char *name, const char *uid);

/* Points that order a pod beside its priority (mete_workload_points), and whether no room is kept
 * for it (mete_workload_unreserved). A value. */
struct sched_points {
    int64_t points;
    bool is_unreserved;
};

/* A workload of several pods has the least of their points, and room if all have. Another uid, or a
 * pod that is not known yet: nothing. */
void scheduler_set_points(struct scheduler *s, const char *key, const char *uid,
                          const struct sched_points *points);

/* Sets which jobs of the Slurm commands may evict which (kinds/slurm/slurm_preempt.h); NULL: none.
 * Rules with a loop are logged, and none hold. */
void scheduler_set_evict_rules(struct scheduler *s, const json_t *rules);

enum scheduler_start {
    SCHEDULER_CANNOT_START,
    SCHEDULER_CAN_START,
    SCHEDULER_HAS_PLACED, /* the pod is placed already, or the pods are not read yet */
};
/* Could the pod start now, alone, if its object were `pod`? */
enum scheduler_start scheduler_could_start(struct scheduler *s, const json_t *pod);

/*
 * What if: `changes` are texts, "end:NS/POD", "add:N:NODE" (N nodes like NODE), "drain:NODE",
 * "resume:NODE". `*ret` is new: the workloads that would start, move and end. Only workloads in
 * `namespaces` (NULL: all) are named; the others are counted.
 */
struct err *scheduler_what_if(struct scheduler *s, const json_t *changes, const json_t *namespaces,
                              json_t **ret) MUST_CHECK;

/* A waiting pod. Borrowed texts. */
struct scheduler_waiting {
    const char *queue;
    const char *class_text; /* of the reason that the pod was told last */
    const char *code_text;
    int64_t submit_ns; /* realtime */
    int64_t gpus;      /* gpus and parts of gpus that the pod asks for */
};
/* Calls `fn` for each waiting pod. */
void scheduler_each_waiting(const struct scheduler *s,
                            void (*fn)(void *arg, const struct scheduler_waiting *w), void *arg);

/* Holder `i` of a gpu, by the ledger. Borrowed texts. False: there are fewer. */
struct scheduler_holder {
    const char *ns;
    const char *pod;       /* the pod's name */
    const char *container; /* "": unknown, as the following */
    const char *user;
    const char *queue;
    int64_t job_id;              /* 0: unknown */
    const struct device *device; /* the part that it holds; borrowed */
};
bool scheduler_gpu_holder(const struct scheduler *s, const char *uuid, size_t i,
                          struct scheduler_holder *ret);
/* Calls `fn` for each device of each placed pod, in no order: clusters over a kube-apiserver have
 * no ledger. */
void scheduler_each_device(const struct scheduler *s,
                           void (*fn)(void *arg, const struct scheduler_holder *h), void *arg);
