/*
 * scheduler.h - pods to the engine, its decisions to the ledger, its reasons to people
 *
 * Each pod that has not ended is a workload of the engine, or with the others of its gang a part of
 * one; what is bound is restored, what waits is placed by cycles that run when something changed. A
 * decision is bound in one transaction, without waiting for the ones before it; what cannot be
 * bound waits again as a whole, in its old place. A gpu that the ledger says is held by what the
 * engine does not know counts as held.
 *
 * A waiting pod gets the condition PodScheduled False with the one line of `why` and an Event
 * FailedScheduling, the first time at once, later when these change, at a bounded rate.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"
#include "mete/engine.h"

struct scheduler;

struct scheduler_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
    const char *policy;          /* of the engine; NULL: its default */
    const char *scheduler_names; /* kinds/scheduler_names.h; NULL: SCHEDULER_NAMES */
    mete_record_fn record;       /* of the engine; NULL: nobody listens */
    void *record_arg;
};

struct err *scheduler_new(const struct scheduler_options *o, struct scheduler **ret) MUST_CHECK;
void scheduler_free(struct scheduler *s); /* accepts NULL */

/* While there is a cause nothing is placed; what is placed stays. NULL: go on. */
void scheduler_hold(struct scheduler *s, const char *why);

/*
 * From the start until all pods have been read, in turns of the loop: nothing is placed, no pod has
 * a reason but NotYetEvaluated, and the engine does not know yet what all pods hold.
 */
bool scheduler_is_loading(const struct scheduler *s);
/* ERR_UNAVAILABLE meanwhile: for questions whose answer rests on what all pods hold. */
struct err *scheduler_check_loaded(const struct scheduler *s) MUST_CHECK;

struct mete_engine *scheduler_engine(struct scheduler *s);

/* Why that pod waits; brief: as mete_why_brief. False: it does not, or is not known. */
bool scheduler_why(struct scheduler *s, const char *key, const char *uid, bool is_brief,
                   struct mete_reason *ret);

/*
 * What if: `changes` are texts, "end:NS/POD", "add:N:NODE" (so many more like it), "drain:NODE",
 * "resume:NODE". `*ret` is new: who would start then, and who would have to go (names of
 * `namespaces` only, NULL: of all; the others are counted).
 */
struct err *scheduler_what_if(struct scheduler *s, const json_t *changes, const json_t *namespaces,
                              json_t **ret) MUST_CHECK;

/* Who holds a gpu, by the ledger. Borrowed texts. False: nobody. */
struct scheduler_holder {
    const char *key;  /* "ns/name" of the pod */
    const char *pod;  /* its name */
    int64_t job_id;   /* 0: not known */
    const char *user; /* "" where not known */
};
bool scheduler_gpu_holder(const struct scheduler *s, const char *uuid,
                          struct scheduler_holder *ret);
