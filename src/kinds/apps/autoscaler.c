/* autoscaler.c - HorizontalPodAutoscaler: defaults and table */

#include "kinds/apps/autoscaler.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/value.h"

enum {
    METRICS_SHOWN = 2,
    UP_PODS = 4, /* of the policies for more pods where none are given */
    PERCENT_ALL = 100,
    PERIOD_S = 15
};

const struct autoscaler_type autoscaler_types[] = {
    {"Resource", "resource"}, {"ContainerResource", "containerResource"},
    {"Pods", "pods"},         {"Object", "object"},
    {"External", "external"}, {NULL, NULL},
};

const json_t *autoscaler_source(const json_t *metric)
{
    const char *type = value_text(metric, "type");

    for (size_t i = 0; autoscaler_types[i].type; i++)
        if (text_equal(type, autoscaler_types[i].type))
            return json_object_get(metric, autoscaler_types[i].member);
    return NULL;
}

/* ---- defaults ---- */

static json_t *default_policy(const char *type, int64_t value)
{
    json_t *policy = json_object();

    json_put_text(policy, "type", type);
    json_put_int(policy, "value", value);
    json_put_int(policy, "periodSeconds", PERIOD_S);
    return policy;
}

static void default_rules(json_t *behavior, const char *key, bool is_up)
{
    json_t *rules = json_object_at(behavior, key);
    json_t *policies;

    if (is_up && !json_object_get(rules, "stabilizationWindowSeconds"))
        json_put_int(rules, "stabilizationWindowSeconds", 0);
    if (!json_object_get(rules, "selectPolicy"))
        json_put_text(rules, "selectPolicy", "Max");
    if (json_object_get(rules, "policies"))
        return;
    policies = json_array_at(rules, "policies"); /* fresh items: appending cannot fail */
    if (is_up)
        (void)json_array_append_new(policies, default_policy("Pods", UP_PODS));
    (void)json_array_append_new(policies, default_policy("Percent", PERCENT_ALL));
}

void autoscaler_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *spec = json_object_at(object, "spec");
    json_t *behavior = json_object_get(spec, "behavior");
    json_t *metrics = json_array_at(spec, "metrics");

    (void)c;
    if (json_array_size(metrics) == 0)
        (void)json_array_append_new(
            metrics, json_pack("{s:s, s:{s:s, s:{s:s, s:i}}}", "type", "Resource", "resource",
                               "name", "cpu", "target", "type", "Utilization", "averageUtilization",
                               (int)AUTOSCALER_UTILIZATION)); /* fresh: cannot fail */
    if (!behavior)
        return;
    default_rules(behavior, "scaleUp", true);
    default_rules(behavior, "scaleDown", false);
}

/* ---- the table ---- */

const struct column autoscaler_columns[] = {
    {"Name", "string", "name", 0, "The name of the autoscaler."},
    {"Reference", "string", "", 0, "The object that is scaled."},
    {"Targets", "string", "", 0, "The present value and the target of each metric."},
    {"MinPods", "string", "", 0, "The least number of pods."},
    {"MaxPods", "string", "", 0, "The largest number of pods."},
    {"Replicas", "string", "", 0, "The number of pods."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

/* "10%" or "500m" of a target or a present value; NULL: it has none of them. The caller frees. */
static char *amount_text(const json_t *amount, bool is_utilization)
{
    const json_t *percent = json_object_get(amount, "averageUtilization");
    const char *average = json_text(amount, "averageValue");
    const char *value = average ? average : json_text(amount, "value");

    if (is_utilization)
        return percent ? mem_format("%" PRId64 "%%", (int64_t)json_integer_value(percent)) : NULL;
    return value ? mem_strdup(value) : NULL;
}

static void add_metric(struct buf *text, const json_t *metric, const json_t *status)
{
    const json_t *source = autoscaler_source(metric);
    const json_t *target = json_object_get(source, "target");
    const char *name = json_text(source, "name"); /* of a resource */
    bool is_utilization = name && !json_object_get(target, "averageValue");
    AUTO_FREE char *want = amount_text(target, is_utilization);
    AUTO_FREE char *have =
        amount_text(json_object_get(autoscaler_source(status), "current"), is_utilization);
    bool is_mean = !name && !text_equal(value_text(metric, "type"), "Pods") &&
                   json_object_get(target, "averageValue");

    buf_printf(text, "%s%s%s/%s%s", name ? name : "", name ? ": " : "", have ? have : "<unknown>",
               want ? want : "<auto>", is_mean ? " (avg)" : "");
}

static json_t *cell_targets(const json_t *object)
{
    const json_t *metrics = json_at(object, "spec", "metrics", NULL);
    const json_t *current = json_at(object, "status", "currentMetrics", NULL);
    struct buf text = {0};
    AUTO_FREE char *joined = NULL;
    size_t n = json_array_size(metrics);

    for (size_t i = 0; i < n && i < METRICS_SHOWN; i++) {
        buf_printf(&text, "%s", i > 0 ? ", " : "");
        add_metric(&text, json_array_get(metrics, i), json_array_get(current, i));
    }
    if (n > METRICS_SHOWN)
        buf_printf(&text, " + %zu more...", n - METRICS_SHOWN);
    joined = buf_steal(&text);
    return cell_text(joined, "<none>");
}

static json_t *cell_number(const json_t *object, const char *of, const char *key)
{
    AUTO_FREE char *text = mem_format("%" PRId64, json_int_at(object, of, key, NULL));

    return json_string(text);
}

json_t *autoscaler_cells(const json_t *object, int64_t now_ns)
{
    const json_t *target = json_at(object, "spec", "scaleTargetRef", NULL);
    AUTO_FREE char *reference =
        mem_format("%s/%s", value_text(target, "kind"), value_text(target, "name"));
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_string(reference));
    (void)json_array_append_new(row, cell_targets(object));
    (void)json_array_append_new(row, cell_number(object, "spec", "minReplicas"));
    (void)json_array_append_new(row, cell_number(object, "spec", "maxReplicas"));
    (void)json_array_append_new(row, cell_number(object, "status", "currentReplicas"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}
