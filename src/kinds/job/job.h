/* job.h - batch/v1 Job and CronJob: schema, and the rules beyond it */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"

/* Labels and annotations of Kubernetes. */
#define JOB_UID_LABEL         "batch.kubernetes.io/controller-uid"
#define JOB_UID_LABEL_OLD     "controller-uid"
#define JOB_NAME_LABEL        "batch.kubernetes.io/job-name"
#define JOB_NAME_LABEL_OLD    "job-name"
#define JOB_INDEX             "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES    "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED     "batch.kubernetes.io/job-index-ignored-failure-count"
#define JOB_TRACKING          "batch.kubernetes.io/job-tracking" /* finalizer of a Job's pods */
#define CRONJOB_SCHEDULED_FOR "batch.kubernetes.io/cronjob-scheduled-timestamp"

enum {
    JOB_PARALLELISM_MAX = 100000,
    JOB_INDEXES_MAX = 100000,
    CRONJOB_NAME_MAX = 52
};

extern const struct field job_spec_fields[];   /* job_fields.c */
extern const struct field job_status_fields[]; /* job_fields.c */

void job_spec_set_defaults(json_t *spec);
/* `is_template`: the spec belongs to a CronJob, whose Jobs get generated selectors. */
void job_spec_validate(const json_t *spec, bool is_template, const struct path *at,
                       struct causes *causes); /* job_validate.c */
void job_policies_validate(const json_t *spec, const struct path *at,
                           struct causes *causes); /* job_policies.c */

bool job_is_indexed(const json_t *spec);
/* Is the Job Complete or Failed? Such a Job no longer changes. */
bool job_is_finished(const json_t *job);
bool job_has_condition(const json_t *job, const char *type);
