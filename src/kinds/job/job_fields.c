/* job_fields.c - the schema of JobSpec and JobStatus, and the defaults of JobSpec */

#include "kinds/job/job.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/template.h"

static const char *const modes[] = {"NonIndexed", "Indexed", NULL};
static const char *const replacements[] = {"TerminatingOrFailed", "Failed", NULL};

/* job_policies.c checks actions, operators and statuses, which depend on each other. */
static const struct field exit_code_item = F_INT(NULL, "An exit code.");

static const struct field on_exit_codes_fields[] = {
    F_STRING("containerName", "The container; absent: any.", .size_max = 63),
    F_STRING("operator", "In, or NotIn, the values.", .size_max = 64),
    F_LIST("values", &exit_code_item, "Exit codes, in ascending order.", .items_max = 1024),
    F_END,
};

static const struct field pod_condition_fields[] = {
    F_STRING("type", "The condition of the pod.", .size_max = 317),
    F_STRING("status", "The required status.", .fallback = "\"True\"", .size_max = 64),
    F_END,
};
static const struct field pod_condition_item =
    F_OBJECT(NULL, pod_condition_fields, "A condition of the failed pod.");

static const struct field failure_rule_fields[] = {
    F_STRING("action", "FailJob, FailIndex, Ignore or Count.", .size_max = 64),
    F_OBJECT("onExitCodes", on_exit_codes_fields,
             "Matches failed pods by a container's exit code."),
    F_LIST("onPodConditions", &pod_condition_item,
           "Matches failed pods with one of these conditions.", .items_max = 1024),
    F_END,
};
static const struct field failure_rule_item =
    F_OBJECT(NULL, failure_rule_fields, "A rule for some failures.");

static const struct field failure_policy_fields[] = {
    F_LIST("rules", &failure_rule_item, "Rules; the first that matches a failed pod applies."),
    F_END,
};

static const struct field success_rule_fields[] = {
    F_STRING("succeededIndexes", "Indexes that must succeed, as 0-3,7.", .size_max = 64 << 10),
    F_INT("succeededCount", "The number of indexes, of these or of all, that must succeed."),
    F_END,
};
static const struct field success_rule_item =
    F_OBJECT(NULL, success_rule_fields, "A rule for success before all indexes succeed.");

static const struct field success_policy_fields[] = {
    F_LIST("rules", &success_rule_item, "Rules, one of which is enough."),
    F_END,
};

const struct field job_spec_fields[] = {
    F_INT("parallelism", "The number of concurrent pods.", .min = 0, .max = INT32_MAX),
    F_INT("completions",
          "The number of pods that must succeed; absent: one, and no new pods after the first "
          "success.",
          .min = 0, .max = INT32_MAX),
    F_INT("activeDeadlineSeconds", "Seconds that the job may be active.", .min = 0,
          .max = INT64_MAX),
    F_OBJECT("podFailurePolicy", failure_policy_fields, "Rules for failures."),
    F_OBJECT("successPolicy", success_policy_fields,
             "Rules for the early success of an indexed job."),
    F_INT("backoffLimit", "The number of pods that may fail.", .min = 0, .max = INT32_MAX),
    F_INT("backoffLimitPerIndex", "The number of pods of one index that may fail.", .min = 0,
          .max = INT32_MAX),
    F_INT("maxFailedIndexes", "The number of indexes that may fail.", .min = 0, .max = INT32_MAX),
    F_OBJECT("selector", label_selector_fields,
             "The selector of the job's pods; set by the server.", .is_atomic = true),
    F_BOOL("manualSelector", "Whether the selector was written by hand.", .fallback = "false"),
    F_OBJECT("template", pod_template_fields, "The template of the job's pods.",
             .is_required = true),
    F_INT("ttlSecondsAfterFinished", "Seconds to keep the ended job; absent: for ever.", .min = 0,
          .max = INT32_MAX),
    F_STRING("completionMode", "NonIndexed, or Indexed: one success for each index.",
             .fallback = "\"NonIndexed\"", .values = modes),
    F_BOOL("suspend", "Whether the job is suspended.", .fallback = "false"),
    F_STRING("podReplacementPolicy",
             "TerminatingOrFailed: a pod is replaced when its deletion begins; Failed: once it is "
             "over.",
             .values = replacements),
    F_STRING("managedBy", "Another controller of the job.", .support = FIELD_REFUSED,
             .harmless = "\"kubernetes.io/job-controller\""),
    F_END,
};

static const struct field condition_fields[] = {
    F_STRING("type", "Suspended, SuccessCriteriaMet, Complete, FailureTarget or Failed.",
             .is_required = true, .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_TIME("lastProbeTime", "The last probe of the condition."),
    F_TIME("lastTransitionTime", "The last change of the status."),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "A condition of the job.");

static const struct field uncounted_fields[] = {
    F_LIST("succeeded", &string_item, "Uids of pods.", .is_set_list = true),
    F_LIST("failed", &string_item, "Uids of pods.", .is_set_list = true),
    F_END,
};

const struct field job_status_fields[] = {
    F_LIST("conditions", &condition_item, "The state.", .merge_key = "type", .items_max = 64,
           .is_atomic = true),
    F_TIME("startTime", "The time when the job controller started or resumed the job."),
    F_TIME("completionTime", "The time of completion; absent if the job failed."),
    F_INT("active", "Waiting and running pods.", .min = 0, .max = INT32_MAX),
    F_INT("succeeded", "Pods that succeeded.", .min = 0, .max = INT32_MAX),
    F_INT("failed", "Pods that failed.", .min = 0, .max = INT32_MAX),
    F_INT("terminating", "Pods that are being deleted.", .min = 0, .max = INT32_MAX),
    F_STRING("completedIndexes", "Indexes that succeeded, as 0-3,7.", .size_max = 1 << 20),
    F_STRING("failedIndexes", "Indexes that failed for good, as 0-3,7.", .size_max = 1 << 20),
    F_OBJECT("uncountedTerminatedPods", uncounted_fields,
             "Always empty: pods are counted in the transaction that releases them."),
    F_INT("ready", "Active pods that are ready.", .min = 0, .max = INT32_MAX),
    F_END,
};
