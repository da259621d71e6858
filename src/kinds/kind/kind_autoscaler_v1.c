/*
 * kind_autoscaler_v1.c - autoscaling/v1 HorizontalPodAutoscaler, converted from and to v2
 *
 * A percentage of the requested cpu is a field here. Kubernetes shows all else that v1 has no
 * fields for in annotations, and so does Mete: metrics and behavior can be written there, too.
 */

#include "base/mem.h"
#include "kinds/apps/autoscaler.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"

#define PREFIX "autoscaling.alpha.kubernetes.io/"

static const char metrics_key[] = PREFIX "metrics";
static const char behavior_key[] = PREFIX "behavior";
static const char current_key[] = PREFIX "current-metrics";
static const char conditions_key[] = PREFIX "conditions";

static const struct field reference_fields[] = {
    F_STRING("kind", "The kind of the object.", .size_max = 253),
    F_STRING("name", "The name of the object.", .size_max = 253),
    F_STRING("apiVersion", "The group and version of the object's kind.", .size_max = 253),
    F_END,
};
static const struct field spec_fields[] = {
    F_OBJECT("scaleTargetRef", reference_fields, "The object that is scaled.", .fallback = "{}"),
    F_INT("minReplicas", "The least number of pods.", .fallback = "1", .min = INT32_MIN,
          .max = INT32_MAX),
    F_INT("maxReplicas", "The largest number of pods.", .min = INT32_MIN, .max = INT32_MAX),
    F_INT("targetCPUUtilizationPercentage",
          "The cpu that the pods should use, in percent of what they request.", .min = INT32_MIN,
          .max = INT32_MAX),
    F_END,
};
static const struct field status_fields[] = {
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_TIME("lastScaleTime", "The last change of the number of pods by this object."),
    F_INT("currentReplicas", "The number of pods that the target asked for.", .fallback = "0"),
    F_INT("desiredReplicas", "The number of pods that the metrics ask for.", .fallback = "0"),
    F_INT("currentCPUUtilizationPercentage",
          "The cpu that the pods use, in percent of what they request.", .min = INT32_MIN,
          .max = INT32_MAX),
    F_END,
};
static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The target, and the bounds of its pods.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "What the autoscaler found.", .fallback = "{}"),
    F_END,
};

/* Members of a metric's source, in v1 ("targetValue") and in v2 ("target.value"). */
static const struct {
    const char *member; /* of the metric */
    const char *old;
    const char *parent; /* in v2 */
    const char *name;
} moved[] = {
    {"resource", "targetAverageUtilization", "target", "averageUtilization"},
    {"resource", "targetAverageValue", "target", "averageValue"},
    {"containerResource", "targetAverageUtilization", "target", "averageUtilization"},
    {"containerResource", "targetAverageValue", "target", "averageValue"},
    {"pods", "metricName", "metric", "name"},
    {"pods", "selector", "metric", "selector"},
    {"pods", "targetAverageValue", "target", "averageValue"},
    {"object", "metricName", "metric", "name"},
    {"object", "selector", "metric", "selector"},
    {"object", "targetValue", "target", "value"},
    {"object", "averageValue", "target", "averageValue"},
    {"external", "metricName", "metric", "name"},
    {"external", "metricSelector", "metric", "selector"},
    {"external", "targetValue", "target", "value"},
    {"external", "targetAverageValue", "target", "averageValue"},
};

static const char *target_type(const json_t *target)
{
    if (json_object_get(target, "averageUtilization"))
        return "Utilization";
    return json_object_get(target, "averageValue") ? "AverageValue" : "Value";
}

/* A metric of the annotation, in the form of v2. New reference. */
static json_t *metric_to_kept(const json_t *old)
{
    json_t *metric = json_deep_copy(old);
    json_t *object = json_object_get(metric, "object");
    json_t *described = json_object_get(object, "target");

    if (described) {
        json_put(object, "describedObject", json_incref(described));
        (void)json_object_del(object, "target"); /* present */
    }
    for (size_t i = 0; i < COUNT(moved); i++) {
        json_t *source = json_object_get(metric, moved[i].member);
        json_t *value = json_object_get(source, moved[i].old);

        if (!value)
            continue;
        json_put(json_object_at(source, moved[i].parent), moved[i].name, json_incref(value));
        (void)json_object_del(source, moved[i].old); /* present */
    }
    for (size_t i = 0; autoscaler_types[i].type; i++) {
        json_t *source = json_object_get(metric, autoscaler_types[i].member);
        json_t *target = json_is_object(source) ? json_object_at(source, "target") : NULL;

        if (target)
            json_put_text(target, "type", target_type(target));
    }
    return metric;
}

/* A metric of v2, in the form of the annotation. New reference. */
static json_t *metric_from_kept(const json_t *metric)
{
    json_t *old = json_object();

    json_put_text(old, "type", value_text(metric, "type"));
    for (size_t i = 0; autoscaler_types[i].type; i++) {
        const char *member = autoscaler_types[i].member;
        json_t *source = json_object_get(metric, member);
        json_t *to = source ? json_object_at(old, member) : NULL;

        for (size_t k = 0; to && k < COUNT(moved); k++) {
            json_t *value =
                json_object_get(json_object_get(source, moved[k].parent), moved[k].name);

            if (value && text_equal(moved[k].member, member))
                json_put(to, moved[k].old, json_deep_copy(value));
        }
        if (json_text(source, "name"))
            json_put_text(to, "name", json_text(source, "name"));
        if (json_text(source, "container"))
            json_put_text(to, "container", json_text(source, "container"));
        if (json_object_get(source, "describedObject"))
            json_put(to, "target", json_deep_copy(json_object_get(source, "describedObject")));
    }
    return old;
}

static void share(json_t *to, const char *key, json_t *value)
{
    if (value)
        json_put(to, key, json_incref(value));
}

/* A present value of v2, in the form of the annotation. New reference. */
static json_t *current_from_kept(const json_t *status)
{
    json_t *old = json_object();

    json_put_text(old, "type", value_text(status, "type"));
    for (size_t i = 0; autoscaler_types[i].type; i++) {
        const json_t *source = json_object_get(status, autoscaler_types[i].member);
        const json_t *current = json_object_get(source, "current");
        json_t *to = source ? json_object_at(old, autoscaler_types[i].member) : NULL;

        share(to, "name", json_object_get(source, "name"));
        share(to, "container", json_object_get(source, "container"));
        share(to, "metricName", json_at(source, "metric", "name", NULL));
        share(to, "currentAverageUtilization", json_object_get(current, "averageUtilization"));
        share(to, "currentAverageValue", json_object_get(current, "averageValue"));
    }
    return old;
}

/* Is the metric what v1 has a field for? */
static bool is_cpu(const json_t *metric)
{
    const json_t *source = json_object_get(metric, "resource");

    return text_equal(value_text(metric, "type"), "Resource") &&
           text_equal(value_text(source, "name"), "cpu") &&
           json_object_get(json_object_get(source, "target"), "averageUtilization");
}

/* Takes the JSON out of an annotation; NULL: none, or not JSON of this kind. New reference. */
static json_t *annotation_take(json_t *object, const char *key, bool is_list)
{
    json_t *annotations = json_at(object, "metadata", "annotations", NULL);
    const char *text = json_text(annotations, key);
    json_t *value = NULL;

    if (text)
        err_free(json_parse(str_of(text), &value));
    if (json_object_get(annotations, key))
        (void)json_object_del(annotations, key); /* present */
    if (json_object_size(annotations) == 0 && annotations)
        (void)json_object_del(json_object_get(object, "metadata"), "annotations"); /* present */
    if (is_list ? json_is_array(value) : json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

static void annotation_put(json_t *object, const char *key, const json_t *value)
{
    json_t *metadata = json_object_at(object, "metadata");
    AUTO_FREE char *text = json_format(value);

    json_put_text(json_object_at(metadata, "annotations"), key, text);
}

static void to_kept(json_t *object)
{
    json_t *spec = json_object_at(object, "spec");
    json_t *status = json_object_get(object, "status");
    AUTO(json_freep) json_t *others = annotation_take(object, metrics_key, true);
    AUTO(json_freep) json_t *behavior = annotation_take(object, behavior_key, false);
    json_t *percent = json_object_get(spec, "targetCPUUtilizationPercentage");
    json_t *metrics = json_array();

    json_decref(annotation_take(object, current_key, true)); /* the autoscaler writes both */
    json_decref(annotation_take(object, conditions_key, true));
    json_put_text(object, "apiVersion", "autoscaling/v2");
    if (percent)
        (void)json_array_append_new(
            metrics, json_pack("{s:s, s:{s:s, s:{s:s, s:O}}}", "type", "Resource", "resource",
                               "name", "cpu", "target", "type", "Utilization", "averageUtilization",
                               percent)); /* fresh: cannot fail */
    for (size_t i = 0; i < json_array_size(others); i++)
        (void)json_array_append_new(metrics, metric_to_kept(json_array_get(others, i))); /* fresh */
    if (json_array_size(metrics) > 0)
        json_put(spec, "metrics", json_incref(metrics));
    json_decref(metrics);
    if (behavior)
        json_put(spec, "behavior", json_incref(behavior));
    (void)json_object_del(spec, "targetCPUUtilizationPercentage");    /* may be absent */
    (void)json_object_del(status, "currentCPUUtilizationPercentage"); /* likewise */
}

/* The first metric of cpu becomes a field, the others an annotation. */
static void metrics_from_kept(json_t *object, json_t *spec)
{
    const json_t *metrics = json_object_get(spec, "metrics");
    AUTO(json_freep) json_t *others = json_array();
    json_t *percent = NULL;

    for (size_t i = 0; i < json_array_size(metrics); i++) {
        const json_t *metric = json_array_get(metrics, i);

        if (!percent && is_cpu(metric))
            percent = json_at(metric, "resource", "target", "averageUtilization", NULL);
        else
            (void)json_array_append_new(others, metric_from_kept(metric)); /* fresh */
    }
    if (percent)
        json_put(spec, "targetCPUUtilizationPercentage", json_incref(percent));
    if (json_array_size(others) > 0)
        annotation_put(object, metrics_key, others);
}

static void status_from_kept(json_t *object, json_t *status)
{
    const json_t *current = json_object_get(status, "currentMetrics");
    AUTO(json_freep) json_t *old = json_array();

    for (size_t i = 0; i < json_array_size(current); i++) {
        const json_t *source = json_object_get(json_array_get(current, i), "resource");
        json_t *percent = json_at(source, "current", "averageUtilization", NULL);

        (void)json_array_append_new(old, current_from_kept(json_array_get(current, i))); /* fresh */
        if (percent && text_equal(value_text(source, "name"), "cpu"))
            json_put(status, "currentCPUUtilizationPercentage", json_incref(percent));
    }
    if (json_array_size(current) > 0)
        annotation_put(object, current_key, old);
    if (json_array_size(json_object_get(status, "conditions")) > 0)
        annotation_put(object, conditions_key, json_object_get(status, "conditions"));
    (void)json_object_del(status, "currentMetrics"); /* may be absent, as conditions */
    (void)json_object_del(status, "conditions");
}

static void from_kept(json_t *object)
{
    json_t *spec = json_object_at(object, "spec");
    json_t *status = json_object_at(object, "status");

    metrics_from_kept(object, spec);
    if (json_object_get(spec, "behavior"))
        annotation_put(object, behavior_key, json_object_get(spec, "behavior"));
    status_from_kept(object, status);
    (void)json_object_del(spec, "metrics");  /* may be absent */
    (void)json_object_del(spec, "behavior"); /* likewise */
    json_put_text(object, "apiVersion", "autoscaling/v1");
}

static json_t *autoscaler_v1_cells(const json_t *object, int64_t now_ns)
{
    AUTO(json_freep) json_t *kept = json_deep_copy(object);

    to_kept(kept);
    json_put(json_object_at(kept, "status"), "currentMetrics", json_array());
    return autoscaler_cells(kept, now_ns);
}

const struct kind kind_autoscaler_v1 = {
    .group = "autoscaling",
    .version = "v1",
    .api_version = "autoscaling/v1",
    .kind = "HorizontalPodAutoscaler",
    .plural = "horizontalpodautoscalers",
    .singular = "horizontalpodautoscaler",
    .short_names = {"hpa"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .fields = fields,
    .columns = autoscaler_columns,
    .cells = autoscaler_v1_cells,
    .doc = "The number of pods of a target, by the cpu that its pods use.",
    .kept_as = &kind_autoscaler,
    .to_kept = to_kept,
    .from_kept = from_kept,
};
