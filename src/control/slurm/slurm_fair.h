/*
 * slurm_fair.h - usage, fair shares and priorities of Slurm's associations
 *
 * Every pod that runs uses cpus x seconds, charged to the association of its queue and user and to
 * the accounts above. Usage decays with a half-life, in steps of PriorityCalcPeriod as in Slurm. At
 * the start it is read back from the accounting, up to eight half-lives. At each step fair shares
 * are computed anew and the scheduler gets the priority of each waiting pod as its points.
 */
#pragma once

#include "control/cluster.h"
#include "control/scheduler/scheduler.h"
#include "kinds/slurm/slurm_accounts.h"
#include "store/store.h"

struct slurm_fair;

struct slurm_fair_options {
    struct loop *loop;
    struct cluster *cluster;
    struct store *store; /* the accounting */
    struct scheduler *scheduler;
};

struct err *slurm_fair_new(const struct slurm_fair_options *o, struct slurm_fair **ret) MUST_CHECK;
void slurm_fair_free(struct slurm_fair *f); /* accepts NULL */

/* As scheduler_expect_pod and scheduler_drop_pod, which come first. */
void slurm_fair_expect_pod(struct slurm_fair *f, const json_t *pod);
void slurm_fair_drop_pod(struct slurm_fair *f, const char *ns, const char *name, const char *uid);

/* The priority of a waiting pod "ns/name"; 0: unknown, or no weight is set. */
uint32_t slurm_fair_priority(const struct slurm_fair *f, const char *key);

/* A slurm_books.find over the queues, users, QOS that are known; `fair` is the struct slurm_fair.
 */
json_t *slurm_fair_find(void *fair, const char *plural, const char *name);

/* Resources x minutes, and minutes of run time, decayed. */
struct slurm_used {
    struct slurm_size size;
    int64_t wall;
};
/* The usage of an association; user "": the account with all below it. */
struct slurm_used slurm_fair_used(const struct slurm_fair *f, const char *account,
                                  const char *user);
/* The fair-share factor of an association, in millionths; 0: there is no such association. */
int64_t slurm_fair_factor(const struct slurm_fair *f, const char *account, const char *user);
struct slurm_used slurm_fair_used_by_qos(const struct slurm_fair *f, const char *qos);

/* Does a preemption end such a job for good? */
bool slurm_fair_preempt_cancels(const struct slurm_fair *f, const char *qos,
                                const char *partitions);

/* The rows of "shares" and "priorities" (kinds/slurm/slurm_rows.h). New references. */
json_t *slurm_fair_shares(struct slurm_fair *f);
json_t *slurm_fair_priorities(struct slurm_fair *f);
