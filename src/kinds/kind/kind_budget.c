/* kind_budget.c - policy/v1 PodDisruptionBudget */

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"

static const char *const policies[] = {"IfHealthyBudget", "AlwaysAllow", NULL};

static const struct field spec_fields[] = {
    F("minAvailable", FIELD_INT_OR_STRING, "Pods that must stay: a number, or a percentage."),
    F("maxUnavailable", FIELD_INT_OR_STRING,
      "Pods that may be unavailable: a number, or a percentage."),
    F_OBJECT("selector", label_selector_fields, "The budget's pods; {}: all.", .is_atomic = true),
    F_STRING("unhealthyPodEvictionPolicy",
             "Whether unready pods may be evicted regardless of the budget.", .values = policies),
    F_END,
};

static const struct field condition_fields[] = {
    F_CONDITION("DisruptionAllowed."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the budget.");

/* Typed clients require all four numbers, even before the first count. */
static const struct field status_fields[] = {
    F_INT("observedGeneration", "The metadata.generation that was counted."),
    F_INT("disruptionsAllowed", "Pods that may be evicted now.", .fallback = "0"),
    F_INT("currentHealthy", "Ready pods.", .fallback = "0"),
    F_INT("desiredHealthy", "Pods that must be ready.", .fallback = "0"),
    F_INT("expectedPods", "Expected pods.", .fallback = "0"),
    F_ANY("disruptedPods", "Kept, not used."),
    F_LIST("conditions", &condition_item, "Conditions of the object.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The number of pods that must stay, and their selector.",
             .fallback = "{}"),
    F_OBJECT("status", status_fields, "The present state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the budget."},
    {"Min Available", "string", "", 0, "Pods that must stay."},
    {"Max Unavailable", "string", "", 0, "Pods that may be unavailable."},
    {"Allowed Disruptions", "integer", "", 0, "Pods that may be evicted now."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *cell_amount(const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);
    AUTO_FREE char *text = NULL;

    if (!json_is_integer(value))
        return cell_text(json_string_value(value), "N/A");
    text = mem_format("%" PRId64, (int64_t)json_integer_value(value));
    return json_string(text);
}

static json_t *budget_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_amount(spec, "minAvailable"));
    (void)json_array_append_new(row, cell_amount(spec, "maxUnavailable"));
    (void)json_array_append_new(
        row, json_integer(json_int(json_object_get(object, "status"), "disruptionsAllowed", 0)));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void budget_validate_amount(const json_t *spec, const char *key, struct causes *causes)
{
    const struct path *at = PATH(PATH(NULL, "spec"), key);
    const json_t *value = json_object_get(spec, key);
    const char *text = json_string_value(value);
    size_t size = text ? strlen(text) : 0;
    int64_t percent = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (json_is_integer(value) && json_integer_value(value) < 0)
        cause_invalid_int(causes, at, json_integer_value(value),
                          "must be greater than or equal to 0");
    if (!text)
        return;
    if (size > 0)
        e = num_parse_int64((struct str){text, size - 1}, 0, 100, &percent);
    if (size == 0 || text[size - 1] != '%' || e)
        cause_invalid(causes, at, text,
                      "a valid percent string must be a numeric string followed by an ending '%' "
                      "(e.g. '1%', '93%'), of at most 100%");
}

static void budget_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");

    if (json_object_get(spec, "minAvailable") && json_object_get(spec, "maxUnavailable"))
        cause_invalid(causes, at, "", "minAvailable and maxUnavailable cannot be both set");
    budget_validate_amount(spec, "minAvailable", causes);
    budget_validate_amount(spec, "maxUnavailable", causes);
    label_selector_validate(json_object_get(spec, "selector"), PATH(at, "selector"), causes);
}

const struct kind kind_budget = {
    .zero = "{\"spec\":{},\"status\":{}}",
    .group = "policy",
    .version = "v1",
    .api_version = "policy/v1",
    .kind = "PodDisruptionBudget",
    .plural = "poddisruptionbudgets",
    .singular = "poddisruptionbudget",
    .short_names = {"pdb"},
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = budget_cells,
    .validate = budget_validate,
    .doc = "The number of pods that evictions must leave.",
};
