/* cronjobs_private.h - the parts of the cronjob controller */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/jobs/cronjobs.h"
#include "control/writes.h"
#include "kinds/job/job.h"
#include "model/cron.h"

struct cronjob;

/* A Job that a CronJob manages. */
struct cron_job {
    struct map_handle handle; /* by key, among all Jobs */
    struct cron_job *prev;
    struct cron_job *next;
    struct cronjob *owner;
    char *key; /* "ns/name" */
    json_t *object;
};

struct cronjob {
    struct map_handle by_uid;
    struct cronjob *prev; /* among the CronJobs to look at */
    struct cronjob *next;
    struct cronjobs *cronjobs;
    char *ns;
    char *name;
    char *uid;
    json_t *object;
    struct cron schedule;
    struct zone *zone; /* NULL: UTC */
    bool is_right;     /* the schedule is valid */
    bool is_queued;
    struct cron_job *jobs;
    struct loop_timer *timer;
    struct retry retry;
};

struct cronjobs {
    struct cronjobs_options options;
    struct cluster_watch *watch;
    struct cluster_watch *jobs_watch;
    struct cronjob *by_uid;
    struct cron_job *jobs;
    struct cronjob *queue;
    struct loop_timer *work_timer;
    struct loop_timer *load_timer;
    bool is_loading; /* until all Jobs have been read */
    struct writes *writes;
};

/* cronjobs.c */
void cronjob_event(const struct cronjob *c, bool is_warning, const char *reason,
                   const char *message);

/*
 * The answer for a write about the CronJob, then writes_end: a write that the store takes back is
 * retried.
 */
struct cluster_answer cronjob_answer(const struct cronjob *c);

/* cronjobs_sync.c */
void cronjob_sync(struct cronjob *c);
