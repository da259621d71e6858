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
    F_STRING("containerName", "The container that is meant; none: any.", .size_max = 63),
    F_STRING("operator", "In, or NotIn, the values.", .size_max = 64),
    F_LIST("values", &exit_code_item, "Exit codes, in ascending order.", .items_max = 1024),
    F_END,
};

static const struct field pod_condition_fields[] = {
    F_STRING("type", "The condition of the pod.", .size_max = 317),
    F_STRING("status", "What it is to be.", .fallback = "\"True\"", .size_max = 64),
    F_END,
};
static const struct field pod_condition_item =
    F_OBJECT(NULL, pod_condition_fields, "A condition of the failed pod.");

static const struct field failure_rule_fields[] = {
    F_STRING("action", "FailJob, FailIndex, Ignore or Count.", .size_max = 64),
    F_OBJECT("onExitCodes", on_exit_codes_fields, "Holds where a container ended so."),
    F_LIST("onPodConditions", &pod_condition_item, "Holds where the pod has one of these.",
           .items_max = 1024),
    F_END,
};
static const struct field failure_rule_item =
    F_OBJECT(NULL, failure_rule_fields, "What to do about some failures.");

static const struct field failure_policy_fields[] = {
    F_LIST("rules", &failure_rule_item, "The first that fits a failed pod counts."),
    F_END,
};

static const struct field success_rule_fields[] = {
    F_STRING("succeededIndexes", "Indexes that must succeed, as 0-3,7.", .size_max = 64 << 10),
    F_INT("succeededCount", "How many of them, or of all, must."),
    F_END,
};
static const struct field success_rule_item =
    F_OBJECT(NULL, success_rule_fields, "When the job has succeeded before all indexes have.");

static const struct field success_policy_fields[] = {
    F_LIST("rules", &success_rule_item, "One of them is enough."),
    F_END,
};

const struct field job_spec_fields[] = {
    F_INT("parallelism", "How many pods run at a time.", .min = 0, .max = INT32_MAX),
    F_INT("completions", "How many pods must succeed; none: one, and no new ones after it.",
          .min = 0, .max = INT32_MAX),
    F_INT("activeDeadlineSeconds", "How long the job may be active.", .min = 0, .max = INT64_MAX),
    F_OBJECT("podFailurePolicy", failure_policy_fields, "What to make of failures by their kind."),
    F_OBJECT("successPolicy", success_policy_fields, "When an indexed job has succeeded early."),
    F_INT("backoffLimit", "How many pods may fail.", .min = 0, .max = INT32_MAX),
    F_INT("backoffLimitPerIndex", "How many pods of one index may fail.", .min = 0,
          .max = INT32_MAX),
    F_INT("maxFailedIndexes", "How many indexes may fail.", .min = 0, .max = INT32_MAX),
    F_OBJECT("selector", label_selector_fields, "The pods that belong to it; made by the server."),
    F_BOOL("manualSelector", "Whether the selector was written by hand.", .fallback = "false"),
    F_OBJECT("template", pod_template_fields, "What its pods are made from.", .is_required = true),
    F_INT("ttlSecondsAfterFinished", "How long it is kept once it has ended; none: for ever.",
          .min = 0, .max = INT32_MAX),
    F_STRING("completionMode", "NonIndexed, or Indexed: one success for each index.",
             .fallback = "\"NonIndexed\"", .values = modes),
    F_BOOL("suspend", "Whether no pods run for now.", .fallback = "false"),
    F_STRING("podReplacementPolicy",
             "TerminatingOrFailed: a pod is replaced when its deletion begins; Failed: once it is "
             "over.",
             .values = replacements),
    F_STRING("managedBy", "Another controller that takes care of it.", .support = FIELD_REFUSED,
             .harmless = "\"kubernetes.io/job-controller\""),
    F_END,
};

static const struct field condition_fields[] = {
    F_STRING("type", "Suspended, SuccessCriteriaMet, Complete, FailureTarget or Failed.",
             .is_required = true, .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_TIME("lastProbeTime", "When it was looked at last."),
    F_TIME("lastTransitionTime", "When the status changed last."),
    F_STRING("reason", "A word for programs.", .size_max = 1024),
    F_STRING("message", "A sentence for people."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "Something that holds of the job.");

static const struct field uncounted_fields[] = {
    F_LIST("succeeded", &string_item, "Uids of pods.", .is_set_list = true),
    F_LIST("failed", &string_item, "Uids of pods.", .is_set_list = true),
    F_END,
};

const struct field job_status_fields[] = {
    F_LIST("conditions", &condition_item, "How it is.", .merge_key = "type", .items_max = 64),
    F_TIME("startTime", "When it was first, or again, looked after."),
    F_TIME("completionTime", "When it completed; not set where it failed."),
    F_INT("active", "Pods that wait or run.", .min = 0, .max = INT32_MAX),
    F_INT("succeeded", "Pods that succeeded.", .min = 0, .max = INT32_MAX),
    F_INT("failed", "Pods that failed.", .min = 0, .max = INT32_MAX),
    F_INT("terminating", "Pods that are being deleted.", .min = 0, .max = INT32_MAX),
    F_STRING("completedIndexes", "Indexes that succeeded, as 0-3,7.", .size_max = 1 << 20),
    F_STRING("failedIndexes", "Indexes that failed for good, as 0-3,7.", .size_max = 1 << 20),
    F_OBJECT("uncountedTerminatedPods", uncounted_fields,
             "Always empty: a pod is counted in the transaction that lets it go."),
    F_INT("ready", "Active pods that are ready.", .min = 0, .max = INT32_MAX),
    F_END,
};
