/* job_policies.c - the rules of podFailurePolicy and successPolicy */
#include <inttypes.h>

#include "base/mem.h"
#include "kinds/job/job.h"
#include "kinds/kind/value.h"
#include "model/index_set.h"
#include "model/names.h"

enum {
    RULES_MAX = 20,
    CONDITIONS_MAX = 20,
    EXIT_CODES_MAX = 255
};

/* Checks that `text` is one of `values`. As in Kubernetes "" is Required, another word
 * NotSupported. */
static void one_of(const char *text, const char *const *values, const struct path *at,
                   struct causes *causes)
{
    AUTO(buf_done) struct buf all = {0};

    for (size_t i = 0; values[i]; i++) {
        if (text_equal(values[i], text))
            return;
        buf_printf(&all, "%s\"%s\"", i > 0 ? " " : "", values[i]);
    }
    if (*text) {
        cause_unsupported(causes, at, text, values);
    } else {
        AUTO_FREE char *detail = mem_format("valid values: [%s]", all.at);

        cause_required(causes, at, detail);
    }
}

static bool is_container(const json_t *spec, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_at(spec, "template", "spec", lists[l], NULL);

        for (size_t i = 0; i < json_array_size(list); i++)
            if (text_equal(json_text(json_array_get(list, i), "name"), name))
                return true;
    }
    return false;
}

static void validate_values(const json_t *on, const struct path *at, struct causes *causes)
{
    const json_t *values = json_object_get(on, "values");
    bool is_in = text_equal(json_text(on, "operator"), "In");
    bool is_ordered = true;

    if (json_array_size(values) == 0)
        cause_invalid(causes, at, "[]", "at least one value is required");
    else if (json_array_size(values) > EXIT_CODES_MAX)
        cause_too_many(causes, at, json_array_size(values), EXIT_CODES_MAX);
    for (size_t i = 0; i < json_array_size(values); i++) {
        json_int_t value = json_integer_value(json_array_get(values, i));
        json_int_t last = i > 0 ? json_integer_value(json_array_get(values, i - 1)) : INT64_MIN;
        AUTO_FREE char *shown = mem_format("%" PRId64, (int64_t)value);

        if (is_in && value == 0)
            cause_invalid_int(causes, PATH_INDEX(at, i), 0, "must not be 0 for the In operator");
        if (value == last)
            cause_duplicate(causes, PATH_INDEX(at, i), shown);
        is_ordered = is_ordered && value >= last;
    }
    if (!is_ordered)
        cause_invalid(causes, at, "", "must be ordered");
}

static void validate_exit_codes(const json_t *on, const json_t *spec, const struct path *at,
                                struct causes *causes)
{
    static const char *const operators[] = {"In", "NotIn", NULL};
    const char *name = json_text(on, "containerName");

    one_of(value_text(on, "operator"), operators, PATH(at, "operator"), causes);
    if (name && !is_container(spec, name))
        cause_invalid(causes, PATH(at, "containerName"), name,
                      "must be one of the container or initContainer names in the pod template");
    validate_values(on, PATH(at, "values"), causes);
}

static void validate_conditions(const json_t *list, const struct path *at, struct causes *causes)
{
    static const char *const statuses[] = {"False", "True", "Unknown", NULL};

    if (json_array_size(list) > CONDITIONS_MAX)
        cause_too_many(causes, at, json_array_size(list), CONDITIONS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *condition = json_array_get(list, i);
        const char *type = value_text(condition, "type");
        const struct path *here = PATH_INDEX(at, i);

        cause_take(causes, PATH(here, "type"), type, name_check_qualified(type));
        one_of(value_text(condition, "status"), statuses, PATH(here, "status"), causes);
    }
}

static void validate_failure_rule(const json_t *rule, const json_t *spec, const struct path *at,
                                  struct causes *causes)
{
    static const char *const actions[] = {"Count", "FailIndex", "FailJob", "Ignore", NULL};
    const char *action = value_text(rule, "action");
    const json_t *codes = json_object_get(rule, "onExitCodes");
    const json_t *conditions = json_object_get(rule, "onPodConditions");

    one_of(action, actions, PATH(at, "action"), causes);
    if (text_equal(action, "FailIndex") && !json_object_get(spec, "backoffLimitPerIndex"))
        cause_invalid(causes, PATH(at, "action"), action,
                      "requires the backoffLimitPerIndex to be set");
    if (codes)
        validate_exit_codes(codes, spec, PATH(at, "onExitCodes"), causes);
    validate_conditions(conditions, PATH(at, "onPodConditions"), causes);
    if (codes && json_array_size(conditions) > 0)
        cause_invalid(causes, at, "",
                      "specifying both OnExitCodes and OnPodConditions is not supported");
    if (!codes && json_array_size(conditions) == 0)
        cause_invalid(causes, at, "",
                      "specifying one of OnExitCodes and OnPodConditions is required");
}

static void validate_success_count(const json_t *rule, int64_t n_listed, int64_t completions,
                                   const struct path *at, struct causes *causes)
{
    int64_t count = json_int(rule, "succeededCount", 0);
    AUTO_FREE char *of_all = mem_format("must be less than or equal to %" PRId64
                                        " (the number of specified completions)",
                                        completions);
    AUTO_FREE char *of_listed =
        mem_format("must be less than or equal to %" PRId64
                   " (the number of indexes in the specified succeededIndexes field)",
                   n_listed);

    if (!json_object_get(rule, "succeededCount"))
        return;
    if (count < 0)
        cause_invalid_int(causes, at, count, "must be greater than or equal to 0");
    else if (count > completions)
        cause_invalid_int(causes, at, count, of_all);
    else if (n_listed >= 0 && count > n_listed)
        cause_invalid_int(causes, at, count, of_listed);
}

static void validate_success_rule(const json_t *rule, int64_t completions, const struct path *at,
                                  struct causes *causes)
{
    const char *indexes = json_text(rule, "succeededIndexes");
    struct index_set set = {0};
    int64_t n_listed = -1;

    if (!indexes && !json_object_get(rule, "succeededCount"))
        cause_required(causes, at,
                       "at least one of succeededCount or succeededIndexes must be specified");
    if (indexes) {
        struct err *e =
            index_set_parse(str_of(indexes), completions > 0 ? (size_t)completions : 1, &set);

        n_listed = e ? -1 : (int64_t)set.count;
        cause_take(causes, PATH(at, "succeededIndexes"), indexes, e);
    }
    validate_success_count(rule, n_listed, completions, PATH(at, "succeededCount"), causes);
    index_set_done(&set);
}

static void validate_success(const json_t *policy, const json_t *spec, const struct path *at,
                             struct causes *causes)
{
    const json_t *rules = json_object_get(policy, "rules");
    int64_t completions = json_int(spec, "completions", 0);
    const struct path *here = PATH(at, "rules");

    if (!job_is_indexed(spec)) {
        cause_invalid(causes, at, "", "requires indexed completion mode");
        return;
    }
    if (json_array_size(rules) == 0)
        cause_required(causes, here,
                       "at least one rules must be specified when the successPolicy is specified");
    if (json_array_size(rules) > RULES_MAX)
        cause_too_many(causes, here, json_array_size(rules), RULES_MAX);
    for (size_t i = 0; i < json_array_size(rules) && i < RULES_MAX; i++)
        validate_success_rule(json_array_get(rules, i), completions, PATH_INDEX(here, i), causes);
}

void job_policies_validate(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *failure = json_object_get(spec, "podFailurePolicy");
    const json_t *success = json_object_get(spec, "successPolicy");
    const json_t *rules = json_object_get(failure, "rules");
    const struct path *here = PATH(PATH(at, "podFailurePolicy"), "rules");

    if (json_array_size(rules) > RULES_MAX)
        cause_too_many(causes, here, json_array_size(rules), RULES_MAX);
    for (size_t i = 0; i < json_array_size(rules) && i < RULES_MAX; i++)
        validate_failure_rule(json_array_get(rules, i), spec, PATH_INDEX(here, i), causes);
    if (success)
        validate_success(success, spec, PATH(at, "successPolicy"), causes);
}
