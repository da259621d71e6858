/* autoscaler_validate.c - the rules of a HorizontalPodAutoscaler, in Kubernetes' words */

#include "base/mem.h"
#include "kinds/apps/autoscaler.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/value.h"
#include "model/quantity.h"

static const char *const metric_types[] = {"ContainerResource", "External", "Object", "Pods",
                                           "Resource",          NULL};
static const char *const target_types[] = {"Utilization", "Value", "AverageValue", NULL};
static const char *const policy_types[] = {"Percent", "Pods", NULL};
static const char *const select_policies[] = {"Disabled", "Max", "Min", NULL};

static bool is_listed(const char *const *list, const char *text)
{
    for (; *list; list++)
        if (text_equal(*list, text))
            return true;
    return false;
}

/* Is the quantity there and over zero? The schema has checked its form. */
static bool is_positive(const json_t *object, const char *key)
{
    const char *text = json_text(object, key);
    struct quantity q = {0};

    if (text)
        err_free(quantity_parse(str_of(text), &q));
    return q.milli > 0;
}

static void validate_reference(const json_t *reference, const struct path *at,
                               struct causes *causes)
{
    static const char *const needed[] = {"kind", "name"};

    for (size_t i = 0; i < COUNT(needed); i++) {
        const char *text = value_text(reference, needed[i]);

        if (!*text)
            cause_required(causes, PATH(at, needed[i]), "");
        else if (strchr(text, '/') || strchr(text, '%') || text_equal(text, ".") ||
                 text_equal(text, ".."))
            cause_invalid(causes, PATH(at, needed[i]), text,
                          "may not be '.' or '..', and may not contain '/' or '%'");
    }
}

static void validate_target(const json_t *target, const struct path *at, struct causes *causes)
{
    static const char *const amounts[] = {"value", "averageValue"};
    const char *type = value_text(target, "type");

    if (!*type)
        cause_required(causes, PATH(at, "type"), "must specify a metric target type");
    else if (!is_listed(target_types, type))
        cause_invalid(causes, PATH(at, "type"), type,
                      "must be either Utilization, Value, or AverageValue");
    for (size_t i = 0; i < COUNT(amounts); i++)
        if (json_object_get(target, amounts[i]) && !is_positive(target, amounts[i]))
            cause_invalid(causes, PATH(at, amounts[i]), json_text(target, amounts[i]),
                          "must be positive");
    if (json_int(target, "averageUtilization", 1) < 1)
        cause_invalid_int(causes, PATH(at, "averageUtilization"),
                          json_int(target, "averageUtilization", 1), "must be greater than 0");
}

/* A source of type Resource or ContainerResource. */
static void validate_resource(const json_t *source, const struct path *at, struct causes *causes)
{
    const json_t *target = json_object_get(source, "target");
    const struct path *here = PATH(at, "target");
    bool has_percent = json_object_get(target, "averageUtilization") != NULL;
    bool has_value = json_object_get(target, "averageValue") != NULL;

    if (!*value_text(source, "name"))
        cause_required(causes, PATH(at, "name"), "must specify a resource name");
    validate_target(target, here, causes);
    if (!has_percent && !has_value)
        cause_required(causes, PATH(here, "averageUtilization"),
                       "must set either a target raw value or a target utilization");
    if (has_percent && has_value)
        cause_forbidden(causes, PATH(here, "averageValue"),
                        "may not set both a target raw value and a target utilization");
}

static void validate_identifier(const json_t *metric, const struct path *at, struct causes *causes)
{
    const char *name = value_text(metric, "name");
    const json_t *selector = json_object_get(metric, "selector");

    if (!*name)
        cause_required(causes, PATH(at, "name"), "must specify a metric name");
    else if (strchr(name, '/') || strchr(name, '%'))
        cause_invalid(causes, PATH(at, "name"), name, "may not contain '/' or '%'");
    if (selector)
        label_selector_validate(selector, PATH(at, "selector"), causes);
}

/* A source of type Pods, Object or External. */
static void validate_named(const json_t *source, const char *type, const struct path *at,
                           struct causes *causes)
{
    const json_t *target = json_object_get(source, "target");
    const struct path *here = PATH(at, "target");
    bool has_value = json_object_get(target, "value") != NULL;
    bool has_average = json_object_get(target, "averageValue") != NULL;

    validate_identifier(json_object_get(source, "metric"), PATH(at, "metric"), causes);
    validate_target(target, here, causes);
    if (text_equal(type, "Object"))
        validate_reference(json_object_get(source, "describedObject"), PATH(at, "describedObject"),
                           causes);
    if (text_equal(type, "Pods") && !has_average)
        cause_required(causes, PATH(here, "averageValue"),
                       "must specify a positive target averageValue");
    else if (!has_value && !has_average)
        cause_required(causes, PATH(here, "averageValue"),
                       text_equal(type, "Object")
                           ? "must set either a target value or averageValue"
                           : "must set either a target value for metric or a per-pod target");
    if (text_equal(type, "External") && has_value && has_average)
        cause_forbidden(causes, PATH(here, "value"),
                        "may not set both a target value for metric and a per-pod target");
}

static void validate_metric(const json_t *metric, const struct path *at, struct causes *causes)
{
    const char *type = value_text(metric, "type");
    const char *own = NULL;

    if (!*type) {
        cause_required(causes, PATH(at, "type"), "must specify a metric source type");
        return;
    }
    if (!is_listed(metric_types, type)) {
        cause_unsupported(causes, PATH(at, "type"), type, metric_types);
        return;
    }
    for (size_t i = 0; autoscaler_types[i].type; i++) {
        const char *member = autoscaler_types[i].member;

        if (text_equal(type, autoscaler_types[i].type))
            own = member;
        else if (json_object_get(metric, member))
            cause_forbidden(causes, PATH(at, member), "must populate the given metric source only");
    }
    if (!autoscaler_source(metric))
        cause_required(causes, PATH(at, own),
                       "must populate information for the given metric source");
    else if (text_equal(type, "Resource") || text_equal(type, "ContainerResource"))
        validate_resource(autoscaler_source(metric), PATH(at, own), causes);
    else
        validate_named(autoscaler_source(metric), type, PATH(at, own), causes);
    if (text_equal(type, "ContainerResource") &&
        !json_text_filled(autoscaler_source(metric), "container"))
        cause_required(causes, PATH(PATH(at, own), "container"), "must specify a container");
}

/* ---- behavior ---- */

static void validate_policy(const json_t *policy, const struct path *at, struct causes *causes)
{
    int64_t value = json_int(policy, "value", 0);
    int64_t period = json_int(policy, "periodSeconds", 0);

    if (!is_listed(policy_types, value_text(policy, "type")))
        cause_unsupported(causes, PATH(at, "type"), value_text(policy, "type"), policy_types);
    if (value <= 0)
        cause_invalid_int(causes, PATH(at, "value"), value, "must be greater than zero");
    if (period <= 0)
        cause_invalid_int(causes, PATH(at, "periodSeconds"), period, "must be greater than zero");
    if (period > AUTOSCALER_PERIOD_MAX_S)
        cause_invalid_int(causes, PATH(at, "periodSeconds"), period,
                          "must be less than or equal to 1800");
}

static void validate_rules(const json_t *rules, const struct path *at, struct causes *causes)
{
    const json_t *policies = json_object_get(rules, "policies");
    int64_t window = json_int(rules, "stabilizationWindowSeconds", 0);
    const char *select = json_text(rules, "selectPolicy");
    const char *tolerance = json_text(rules, "tolerance");

    if (!rules)
        return;
    if (window < 0)
        cause_invalid_int(causes, PATH(at, "stabilizationWindowSeconds"), window,
                          "must be greater than or equal to zero");
    if (window > AUTOSCALER_WINDOW_MAX_S)
        cause_invalid_int(causes, PATH(at, "stabilizationWindowSeconds"), window,
                          "must be less than or equal to 3600");
    if (select && !is_listed(select_policies, select))
        cause_unsupported(causes, PATH(at, "selectPolicy"), select, select_policies);
    if (tolerance && *tolerance == '-')
        cause_invalid(causes, PATH(at, "tolerance"), tolerance,
                      "must be greater than or equal to 0");
    if (json_array_size(policies) == 0)
        cause_required(causes, PATH(at, "policies"), "must specify at least one Policy");
    for (size_t i = 0; i < json_array_size(policies); i++)
        validate_policy(json_array_get(policies, i), PATH_INDEX(PATH(at, "policies"), i), causes);
}

/* Does a metric see more than cpu and memory? Only by such a metric may a target sleep. */
static bool has_other_metric(const json_t *metrics)
{
    for (size_t i = 0; i < json_array_size(metrics); i++) {
        const char *type = value_text(json_array_get(metrics, i), "type");

        if (!text_equal(type, "Resource") && !text_equal(type, "ContainerResource"))
            return true;
    }
    return false;
}

static void validate_bounds(const json_t *spec, const struct path *at, struct causes *causes)
{
    int64_t min = json_int(spec, "minReplicas", 1);
    int64_t max = json_int(spec, "maxReplicas", 0);

    if (min < 0)
        cause_invalid_int(causes, PATH(at, "minReplicas"), min,
                          "must be greater than or equal to 0");
    if (max == 0)
        cause_required(causes, PATH(at, "maxReplicas"), "must be set and greater than 0");
    else if (max < 0)
        cause_invalid_int(causes, PATH(at, "maxReplicas"), max,
                          "must be greater than or equal to 1");
    if (min > max)
        cause_invalid_int(causes, PATH(at, "maxReplicas"), max,
                          "must be greater than or equal to `minReplicas`");
    if (min == 0 && !has_other_metric(json_object_get(spec, "metrics")))
        cause_forbidden(causes, PATH(at, "metrics"),
                        "must specify at least one Pods, Object or External metric to support "
                        "scaling to zero replicas");
}

void autoscaler_validate(const json_t *object, struct causes *causes)
{
    const struct path *at = PATH(NULL, "spec");
    const json_t *spec = json_object_get(object, "spec");
    const json_t *metrics = json_object_get(spec, "metrics");
    const json_t *behavior = json_object_get(spec, "behavior");

    validate_bounds(spec, at, causes);
    validate_reference(json_object_get(spec, "scaleTargetRef"), PATH(at, "scaleTargetRef"), causes);
    for (size_t i = 0; i < json_array_size(metrics); i++)
        validate_metric(json_array_get(metrics, i), PATH_INDEX(PATH(at, "metrics"), i), causes);
    validate_rules(json_object_get(behavior, "scaleUp"), PATH(PATH(at, "behavior"), "scaleUp"),
                   causes);
    validate_rules(json_object_get(behavior, "scaleDown"), PATH(PATH(at, "behavior"), "scaleDown"),
                   causes);
}
