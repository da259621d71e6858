/* kind_priority.c - scheduling.k8s.io/v1 PriorityClass */
#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

enum {
    USER_VALUE_MAX = 1000000000
};

static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_INT("value", "The priority of the class's pods; higher starts first.", .min = INT32_MIN,
          .max = INT32_MAX, .fallback = "0"),
    F_BOOL("globalDefault", "Whether pods without a class get this one; at most one class."),
    F_STRING("description", "The purpose of the class.", .size_max = 4096),
    F_STRING("preemptionPolicy", "Whether the class's pods may preempt others.",
             .fallback = "\"PreemptLowerPriority\"", .values = policies),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the class."},
    {"Value", "integer", "", 0, "The priority of the class's pods."},
    {"Global-Default", "boolean", "", 0, "Whether pods without a class get this one."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"PreemptionPolicy", "string", "", 0, "Whether the class's pods may preempt others."},
    {0},
};

static json_t *priority_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_integer(json_int(object, "value", 0)));
    (void)json_array_append_new(row, json_boolean(json_bool(object, "globalDefault", false)));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row, cell_text(json_text(object, "preemptionPolicy"), ""));
    return row;
}

/* The fault of a class with a reserved name, or NULL. The caller frees the text. */
static char *system_fault(const char *name, int64_t value, bool is_default)
{
    static const struct {
        const char *name;
        int64_t value;
    } known[] = {{"system-node-critical", 2000001000}, {"system-cluster-critical", 2000000000}};

    for (size_t i = 0; i < COUNT(known); i++) {
        if (!text_equal(name, known[i].name))
            continue;
        if (value != known[i].value)
            return mem_format("value of %s PriorityClass must be %" PRId64, name, known[i].value);
        return is_default ? mem_format("globalDefault of %s PriorityClass must be false", name)
                          : NULL;
    }
    return mem_format("%s is not a known system priority class", name);
}

static void priority_validate(const json_t *object, struct causes *causes)
{
    const char *name = json_text_at(object, "metadata", "name", NULL);
    int64_t value = json_int(object, "value", 0);
    AUTO_FREE char *fault = NULL;
    AUTO_FREE char *detail = NULL;

    if (!name || !text_starts_with(name, "system-")) {
        if (value > USER_VALUE_MAX)
            cause_forbidden(causes, PATH(NULL, "value"),
                            "maximum allowed value of a user defined priority is 1000000000");
        return;
    }
    fault = system_fault(name, value, json_bool(object, "globalDefault", false));
    if (!fault)
        return;
    detail = mem_format("priority class names with 'system-' prefix are reserved for system use "
                        "only. error: %s",
                        fault);
    cause_forbidden(causes, PATH(PATH(NULL, "metadata"), "name"), detail);
}

static struct err *priority_validate_update(const json_t *before, const json_t *after,
                                            const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);
    const char *policy = json_text(after, "preemptionPolicy");

    (void)c;
    if (json_int(before, "value", 0) != json_int(after, "value", 0))
        cause_forbidden(&causes, PATH(NULL, "value"), "may not be changed in an update.");
    if (!text_equal(json_text(before, "preemptionPolicy"), policy))
        cause_invalid(&causes, PATH(NULL, "preemptionPolicy"), policy ? policy : "",
                      "field is immutable");
    return causes_err(&causes, "PriorityClass.scheduling.k8s.io", name ? name : "");
}

const struct kind kind_priority = {
    .zero = "{\"value\":0}",
    .group = "scheduling.k8s.io",
    .version = "v1",
    .api_version = "scheduling.k8s.io/v1",
    .kind = "PriorityClass",
    .plural = "priorityclasses",
    .singular = "priorityclass",
    .short_names = {"pc"},
    .fields = fields,
    .columns = columns,
    .cells = priority_cells,
    .validate = priority_validate,
    .validate_update = priority_validate_update,
    .doc = "A named priority for pods.",
};
