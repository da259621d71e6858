/* kind_autoscaler.c - autoscaling/v2 HorizontalPodAutoscaler */

#include "kinds/apps/autoscaler.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"

static const struct field reference_fields[] = {
    F_STRING("kind", "The kind of the object.", .size_max = 253),
    F_STRING("name", "The name of the object.", .size_max = 253),
    F_STRING("apiVersion", "The group and version of the object's kind.", .size_max = 253),
    F_END,
};

/* ---- metrics ---- */

static const struct field target_fields[] = {
    F_STRING("type", "Utilization, Value or AverageValue.", .size_max = 64),
    F_QUANTITY("value", "The target of the metric."),
    F_QUANTITY("averageValue", "The target of the mean over the pods."),
    F("averageUtilization", FIELD_INT,
      "The target of the mean over the pods, in percent of what they request.", .min = INT32_MIN,
      .max = INT32_MAX),
    F_END,
};
static const struct field identifier_fields[] = {
    F_STRING("name", "The name of the metric.", .size_max = 253),
    F_OBJECT("selector", label_selector_fields, "The labels of the metric's series.",
             .is_atomic = true),
    F_END,
};
static const struct field resource_fields[] = {
    F_STRING("name", "cpu or memory.", .size_max = 253),
    F_OBJECT("target", target_fields, "The target.", .fallback = "{}"),
    F_END,
};
static const struct field container_fields[] = {
    F_STRING("name", "cpu or memory.", .size_max = 253),
    F_STRING("container", "The container, of each pod.", .size_max = 253),
    F_OBJECT("target", target_fields, "The target.", .fallback = "{}"),
    F_END,
};
static const struct field pods_fields[] = {
    F_OBJECT("metric", identifier_fields, "The metric: a name of a GPU's reading.",
             .fallback = "{}"),
    F_OBJECT("target", target_fields, "The target.", .fallback = "{}"),
    F_END,
};
static const struct field object_fields[] = {
    F_OBJECT("describedObject", reference_fields, "The object with the metric.", .fallback = "{}"),
    F_OBJECT("metric", identifier_fields, "The metric.", .fallback = "{}"),
    F_OBJECT("target", target_fields, "The target.", .fallback = "{}"),
    F_END,
};
static const struct field metric_fields[] = {
    F_STRING("type", "Resource, ContainerResource, Pods, Object or External.", .size_max = 64),
    F_OBJECT("resource", resource_fields, "cpu or memory that the pods use."),
    F_OBJECT("containerResource", container_fields, "cpu or memory that a container uses."),
    F_OBJECT("pods", pods_fields, "A reading of the pods' GPUs."),
    F_OBJECT("object", object_fields, "A metric of another object: Mete has none."),
    F_OBJECT("external", pods_fields, "A metric from outside: Mete has none."),
    F_END,
};
static const struct field metric_item = F_OBJECT(NULL, metric_fields, "A metric and its target.");

/* ---- behavior ---- */

static const struct field policy_fields[] = {
    F_STRING("type", "Pods or Percent.", .size_max = 64),
    F_INT("value", "The change that is allowed in the period.", .min = INT32_MIN, .max = INT32_MAX),
    F_INT("periodSeconds", "The period, at most 1800 s.", .min = INT32_MIN, .max = INT32_MAX),
    F_END,
};
static const struct field policy_item = F_OBJECT(NULL, policy_fields, "A limit of the change.");
static const struct field rules_fields[] = {
    F_INT("stabilizationWindowSeconds",
          "Seconds over which the most cautious recommendation counts.", .min = INT32_MIN,
          .max = INT32_MAX),
    F_STRING("selectPolicy", "Max, Min or Disabled.", .size_max = 64),
    F_LIST("policies", &policy_item, "The limits of the change.", .is_atomic = true,
           .items_max = 64),
    F_QUANTITY("tolerance", "The part of the target by which a metric may be off: 0.1."),
    F_END,
};
static const struct field behavior_fields[] = {
    F_OBJECT("scaleUp", rules_fields, "The rules for more pods."),
    F_OBJECT("scaleDown", rules_fields, "The rules for fewer pods."),
    F_END,
};

static const struct field spec_fields[] = {
    F_OBJECT("scaleTargetRef", reference_fields, "The object that is scaled.", .fallback = "{}"),
    F_INT("minReplicas", "The least number of pods. 0: the target may sleep.", .fallback = "1",
          .min = INT32_MIN, .max = INT32_MAX),
    F_INT("maxReplicas", "The largest number of pods.", .min = INT32_MIN, .max = INT32_MAX),
    F_LIST("metrics", &metric_item, "The metrics; the largest number of pods counts.",
           .is_atomic = true, .items_max = 64),
    F_OBJECT("behavior", behavior_fields, "How fast the number of pods changes."),
    F_END,
};

/* ---- status ---- */

static const struct field current_fields[] = {
    F_QUANTITY("value", "The metric."),
    F_QUANTITY("averageValue", "The mean over the pods."),
    F_INT("averageUtilization", "The mean over the pods, in percent of what they request.",
          .min = INT32_MIN, .max = INT32_MAX),
    F_END,
};
static const struct field resource_status_fields[] = {
    F_STRING("name", "cpu or memory.", .size_max = 253),
    F_STRING("container", "The container.", .size_max = 253),
    F_OBJECT("current", current_fields, "The present value."),
    F_END,
};
static const struct field pods_status_fields[] = {
    F_OBJECT("metric", identifier_fields, "The metric."),
    F_OBJECT("current", current_fields, "The present value."),
    F_OBJECT("describedObject", reference_fields, "The object with the metric."),
    F_END,
};
static const struct field metric_status_fields[] = {
    F_STRING("type", "The type of the metric.", .size_max = 64),
    F_OBJECT("resource", resource_status_fields, "cpu or memory of the pods."),
    F_OBJECT("containerResource", resource_status_fields, "cpu or memory of a container."),
    F_OBJECT("pods", pods_status_fields, "A reading of the pods' GPUs."),
    F_OBJECT("object", pods_status_fields, "A metric of another object."),
    F_OBJECT("external", pods_status_fields, "A metric from outside."),
    F_END,
};
static const struct field metric_status_item =
    F_OBJECT(NULL, metric_status_fields, "The present value of a metric.");
static const struct field condition_fields[] = {
    F_CONDITION("AbleToScale, ScalingActive, ScalingLimited or ScaledToZero."),
    F_END,
};
static const struct field condition_item = F_OBJECT(NULL, condition_fields, "A condition.");

static const struct field status_fields[] = {
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_TIME("lastScaleTime", "The last change of the number of pods by this object."),
    F_INT("currentReplicas", "The number of pods that the target asked for."),
    F_INT("desiredReplicas", "The number of pods that the metrics ask for.", .fallback = "0"),
    F_LIST("currentMetrics", &metric_status_item, "The present values.", .is_atomic = true,
           .items_max = 64),
    F_LIST("conditions", &condition_item, "The conditions.", .merge_key = "type", .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The target, its metrics, and the bounds of its pods.",
             .fallback = "{}"),
    F_OBJECT("status", status_fields, "What the autoscaler found.", .fallback = "{}"),
    F_END,
};

const struct kind kind_autoscaler = {
    .group = "autoscaling",
    .version = "v2",
    .api_version = "autoscaling/v2",
    .kind = "HorizontalPodAutoscaler",
    .plural = "horizontalpodautoscalers",
    .singular = "horizontalpodautoscaler",
    .short_names = {"hpa"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .fields = fields,
    .columns = autoscaler_columns,
    .cells = autoscaler_cells,
    .validate = autoscaler_validate,
    .set_defaults = autoscaler_set_defaults,
    .doc = "The number of pods of a target, by what its pods use.",
};
