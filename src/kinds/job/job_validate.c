/* job_validate.c - rules of a JobSpec, in the words of Kubernetes' ValidateJobSpec */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/job/job.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/template.h"
#include "kinds/kind/value.h"

static bool has(const json_t *spec, const char *key)
{
    return json_object_get(spec, key) != NULL;
}

static void at_most(const json_t *spec, const char *key, int64_t max, const char *when,
                    const struct path *at, struct causes *causes)
{
    int64_t value = json_int(spec, key, 0);
    AUTO_FREE char *detail = NULL;

    if (value <= max)
        return;
    detail = mem_format("must be less than or equal to %" PRId64 "%s", max, when);
    cause_invalid_int(causes, PATH(at, key), value, detail);
}

static void validate_indexed(const json_t *spec, const struct path *at, struct causes *causes)
{
    int64_t completions = json_int(spec, "completions", 0);

    if (!has(spec, "completions"))
        cause_required(causes, PATH(at, "completions"), "when completion mode is Indexed");
    at_most(spec, "parallelism", JOB_PARALLELISM_MAX, " when completion mode is Indexed", at,
            causes);
    at_most(spec, "completions", JOB_INDEXES_MAX, " when completion mode is Indexed", at, causes);
    if (has(spec, "maxFailedIndexes") && has(spec, "completions") &&
        json_int(spec, "maxFailedIndexes", 0) > completions)
        cause_invalid_int(causes, PATH(at, "maxFailedIndexes"),
                          json_int(spec, "maxFailedIndexes", 0),
                          "must be less than or equal to completions");
}

static void validate_counts(const json_t *spec, const struct path *at, struct causes *causes)
{
    bool is_indexed = job_is_indexed(spec);

    if (has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex"))
        cause_required(causes, PATH(at, "backoffLimitPerIndex"),
                       "when maxFailedIndexes is specified");
    if (has(spec, "backoffLimitPerIndex") && !is_indexed)
        cause_invalid_int(causes, PATH(at, "backoffLimitPerIndex"),
                          json_int(spec, "backoffLimitPerIndex", 0),
                          "requires indexed completion mode");
    if (is_indexed)
        validate_indexed(spec, at, causes);
    else
        at_most(spec, "parallelism", JOB_PARALLELISM_MAX, "", at, causes);
    if (text_equal(json_text(spec, "podReplacementPolicy"), "TerminatingOrFailed") &&
        has(spec, "podFailurePolicy")) {
        static const char *const supported[] = {"Failed", NULL};

        cause_unsupported(causes, PATH(at, "podReplacementPolicy"), "TerminatingOrFailed",
                          supported);
    }
}

static void validate_restart_policy(const json_t *spec, const struct path *at,
                                    struct causes *causes)
{
    static const char *const supported[] = {"OnFailure", "Never", NULL};
    const char *policy = value_text(json_at(spec, "template", "spec", NULL), "restartPolicy");
    const struct path *here = PATH(PATH(PATH(at, "template"), "spec"), "restartPolicy");

    if (text_equal(policy, "Always"))
        cause_required(causes, here, "valid values: \"OnFailure\", \"Never\"");
    else if (!text_equal(policy, "OnFailure") && !text_equal(policy, "Never"))
        cause_unsupported(causes, here, policy, supported);
    else if (has(spec, "podFailurePolicy") && !text_equal(policy, "Never"))
        cause_invalid(causes, here, policy,
                      "only \"Never\" is supported when podFailurePolicy is specified");
}

static void job_validate_selector(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *selector = json_object_get(spec, "selector");
    const struct path *labels = PATH(PATH(PATH(at, "template"), "metadata"), "labels");
    struct selector *parsed = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!selector) {
        cause_required(causes, PATH(at, "selector"), "");
        return;
    }
    label_selector_validate(selector, PATH(at, "selector"), causes);
    e = label_selector_parse(selector, &parsed);
    if (e)
        return; /* the schema reports it */
    if (!label_selector_matches(parsed, json_object_get(spec, "template"))) {
        AUTO_FREE char *shown = json_format(json_at(spec, "template", "metadata", "labels", NULL));

        cause_invalid(causes, labels, shown ? shown : "",
                      "`selector` does not match template `labels`");
    }
    selector_free(parsed);
}

/* A CronJob's template has no selector: its Jobs get generated ones. */
static void validate_no_selector(const json_t *spec, const struct path *at, struct causes *causes)
{
    static const char *const supported[] = {"nil", "false", NULL};

    if (json_bool(spec, "manualSelector", false))
        cause_unsupported(causes, PATH(at, "manualSelector"), "true", supported);
    if (has(spec, "selector"))
        cause_invalid(causes, PATH(at, "selector"), "", "`selector` will be auto-generated");
}

void job_spec_validate(const json_t *spec, bool is_template, const struct path *at,
                       struct causes *causes)
{
    validate_counts(spec, at, causes);
    job_policies_validate(spec, at, causes);
    if (is_template)
        validate_no_selector(spec, at, causes);
    else
        job_validate_selector(spec, at, causes);
    template_validate(json_object_get(spec, "template"), PATH(at, "template"), causes);
    validate_restart_policy(spec, at, causes);
}
