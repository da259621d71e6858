/* protobuf_job.c - Job and CronJob: field numbers of k8s.io/api/batch/v1 */
#include <stddef.h>

#include "kinds/protobuf_tables.h"

static const struct proto_field pod_failure_policy_on_exit_codes_requirement[] = {
    {1, "containerName", PROTO_STRING, false, NULL},
    {2, "operator", PROTO_STRING, false, NULL},
    {3, "values", PROTO_INT, true, NULL},
    {0},
};

static const struct proto_field pod_failure_policy_on_pod_conditions_pattern[] = {
    {1, "type", PROTO_STRING, false, NULL},
    {2, "status", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field pod_failure_policy_rule[] = {
    {1, "action", PROTO_STRING, false, NULL},
    {2, "onExitCodes", PROTO_MESSAGE, false, pod_failure_policy_on_exit_codes_requirement},
    {3, "onPodConditions", PROTO_MESSAGE, true, pod_failure_policy_on_pod_conditions_pattern},
    {0},
};

static const struct proto_field pod_failure_policy[] = {
    {1, "rules", PROTO_MESSAGE, true, pod_failure_policy_rule},
    {0},
};

static const struct proto_field success_policy_rule[] = {
    {1, "succeededIndexes", PROTO_STRING, false, NULL},
    {2, "succeededCount", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field success_policy[] = {
    {1, "rules", PROTO_MESSAGE, true, success_policy_rule},
    {0},
};

static const struct proto_field job_spec[] = {
    {1, "parallelism", PROTO_INT, false, NULL},
    {2, "completions", PROTO_INT, false, NULL},
    {3, "activeDeadlineSeconds", PROTO_INT, false, NULL},
    {11, "podFailurePolicy", PROTO_MESSAGE, false, pod_failure_policy},
    {16, "successPolicy", PROTO_MESSAGE, false, success_policy},
    {7, "backoffLimit", PROTO_INT, false, NULL},
    {12, "backoffLimitPerIndex", PROTO_INT, false, NULL},
    {13, "maxFailedIndexes", PROTO_INT, false, NULL},
    {4, "selector", PROTO_MESSAGE, false, proto_label_selector},
    {5, "manualSelector", PROTO_BOOL, false, NULL},
    {6, "template", PROTO_MESSAGE, false, proto_pod_template},
    {8, "ttlSecondsAfterFinished", PROTO_INT, false, NULL},
    {9, "completionMode", PROTO_STRING, false, NULL},
    {10, "suspend", PROTO_BOOL, false, NULL},
    {14, "podReplacementPolicy", PROTO_STRING, false, NULL},
    {15, "managedBy", PROTO_STRING, false, NULL},
    {17, "scheduling", PROTO_OPAQUE, false, NULL},
    {0},
};

static const struct proto_field job_condition[] = {
    {1, "type", PROTO_STRING, false, NULL},
    {2, "status", PROTO_STRING, false, NULL},
    {3, "lastProbeTime", PROTO_TIME, false, NULL},
    {4, "lastTransitionTime", PROTO_TIME, false, NULL},
    {5, "reason", PROTO_STRING, false, NULL},
    {6, "message", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field uncounted_terminated_pods[] = {
    {1, "succeeded", PROTO_STRING, true, NULL},
    {2, "failed", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field job_status[] = {
    {1, "conditions", PROTO_MESSAGE, true, job_condition},
    {2, "startTime", PROTO_TIME, false, NULL},
    {3, "completionTime", PROTO_TIME, false, NULL},
    {4, "active", PROTO_INT, false, NULL},
    {5, "succeeded", PROTO_INT, false, NULL},
    {6, "failed", PROTO_INT, false, NULL},
    {11, "terminating", PROTO_INT, false, NULL},
    {7, "completedIndexes", PROTO_STRING, false, NULL},
    {10, "failedIndexes", PROTO_STRING, false, NULL},
    {8, "uncountedTerminatedPods", PROTO_MESSAGE, false, uncounted_terminated_pods},
    {9, "ready", PROTO_INT, false, NULL},
    {0},
};

const struct proto_field proto_job[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, job_spec},
    {3, "status", PROTO_MESSAGE, false, job_status},
    {0},
};

static const struct proto_field job_template_spec[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, job_spec},
    {0},
};

static const struct proto_field cron_job_spec[] = {
    {1, "schedule", PROTO_STRING, false, NULL},
    {8, "timeZone", PROTO_STRING, false, NULL},
    {2, "startingDeadlineSeconds", PROTO_INT, false, NULL},
    {3, "concurrencyPolicy", PROTO_STRING, false, NULL},
    {4, "suspend", PROTO_BOOL, false, NULL},
    {5, "jobTemplate", PROTO_MESSAGE, false, job_template_spec},
    {6, "successfulJobsHistoryLimit", PROTO_INT, false, NULL},
    {7, "failedJobsHistoryLimit", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field object_reference[] = {
    {1, "kind", PROTO_STRING, false, NULL},       {2, "namespace", PROTO_STRING, false, NULL},
    {3, "name", PROTO_STRING, false, NULL},       {4, "uid", PROTO_STRING, false, NULL},
    {5, "apiVersion", PROTO_STRING, false, NULL}, {6, "resourceVersion", PROTO_STRING, false, NULL},
    {7, "fieldPath", PROTO_STRING, false, NULL},  {0},
};

static const struct proto_field cron_job_status[] = {
    {1, "active", PROTO_MESSAGE, true, object_reference},
    {4, "lastScheduleTime", PROTO_TIME, false, NULL},
    {5, "lastSuccessfulTime", PROTO_TIME, false, NULL},
    {0},
};

const struct proto_field proto_cron_job[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, cron_job_spec},
    {3, "status", PROTO_MESSAGE, false, cron_job_status},
    {0},
};
