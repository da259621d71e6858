/* admission_fields.c - the schemas of rules and match conditions, and their checks */

#include "kinds/admission/admission_fields.h"

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "model/names.h"

enum {
    CONDITIONS_MAX = 64,
    RULES_MAX = 256
};

const char *const admission_failure_policies[] = {"Ignore", "Fail", NULL};
const char *const admission_match_policies[] = {"Exact", "Equivalent", NULL};

static const char *const operations[] = {"*", "CREATE", "UPDATE", "DELETE", "CONNECT", NULL};
static const char *const scopes[] = {"Cluster", "Namespaced", "*", NULL};

static const struct field operation_item =
    F_STRING(NULL, "CREATE, UPDATE, DELETE, CONNECT or *.", .values = operations);

#define RULE_FIELDS                                                                              \
    F_LIST("operations", &operation_item, "CREATE, UPDATE, DELETE, CONNECT or *.",               \
           .is_atomic = true),                                                                   \
        F_LIST("apiGroups", &string_item, "Groups; \"\": core; \"*\": all.", .is_atomic = true), \
        F_LIST("apiVersions", &string_item, "Versions; \"*\": all.", .is_atomic = true),         \
        F_LIST("resources", &string_item, "Resources: pods, pods/*, */scale, *, */*.",           \
               .is_atomic = true),                                                               \
        F_STRING("scope", "Cluster, Namespaced or *.", .values = scopes, .fallback = "\"*\"")

static const struct field rule_fields[] = {RULE_FIELDS, F_END};
const struct field admission_rule_item = F_OBJECT(NULL, rule_fields, "Requests that match.");

static const struct field named_rule_fields[] = {
    RULE_FIELDS,
    F_LIST("resourceNames", &string_item, "Names of the objects; none: all.", .is_atomic = true),
    F_END,
};
const struct field admission_named_rule_item =
    F_OBJECT(NULL, named_rule_fields, "Requests that match.", .is_atomic = true);

static const struct field condition_fields[] = {
    F_STRING("name", "The name of the condition.", .is_required = true,
             .check = name_check_qualified, .size_max = 317),
    F_STRING("expression", "A condition in CEL.", .is_required = true),
    F_END,
};
const struct field admission_condition_item =
    F_OBJECT(NULL, condition_fields, "A condition that a request must meet.");

static const struct cel_variable variables[] = {
    [ADMISSION_OBJECT] = {.name = "object"},
    [ADMISSION_OLD_OBJECT] = {.name = "oldObject"},
    [ADMISSION_REQUEST] = {.name = "request"},
    [ADMISSION_PARAMS] = {.name = "params"},
    [ADMISSION_NAMESPACE] = {.name = "namespaceObject"},
    [ADMISSION_VARIABLES] = {.name = "variables"},
};
const struct cel_language admission_condition_language = {.variables = variables,
                                                          .n_variables = ADMISSION_PARAMS};
const struct cel_language admission_policy_language = {
    .variables = variables, .n_variables = ADMISSION_VARIABLES_END, .named = "variables"};

/* ---- checks ---- */

static void check_filled(const json_t *rule, const char *key, const struct path *at,
                         struct causes *causes)
{
    const json_t *list = json_object_get(rule, key);
    const struct path *here = PATH(at, key);

    if (json_array_size(list) == 0)
        cause_required(causes, here, "");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        bool is_groups = text_equal(key, "apiGroups");

        if (!is_groups && !*text_or_empty(text))
            cause_required(causes, PATH_INDEX(here, i), "");
    }
    if (json_array_size(list) > 1 && json_has_text(list, "*") && !text_equal(key, "resources"))
        cause_invalid_json(causes, here, list, "if '*' is present, must not specify other values");
}

void admission_check_rules(const json_t *rules, const struct path *at, struct causes *causes)
{
    static const char *const keys[] = {"operations", "apiGroups", "apiVersions", "resources"};

    if (json_array_size(rules) > RULES_MAX)
        cause_too_many(causes, at, json_array_size(rules), RULES_MAX);
    for (size_t i = 0; i < json_array_size(rules) && i < RULES_MAX; i++)
        for (size_t j = 0; j < COUNT(keys); j++)
            check_filled(json_array_get(rules, i), keys[j], PATH_INDEX(at, i), causes);
}

void admission_check_expression(const char *text, const struct path *at,
                                const struct cel_language *language, struct causes *causes)
{
    struct cel_rule *rule = NULL;
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *detail = NULL;

    if (!text || text[strspn(text, " \t\r\n")] == '\0') {
        cause_required(causes, at, "");
        return;
    }
    e = cel_rule_parse(str_of(text), language, &rule);
    cel_rule_free(rule);
    if (!e)
        return;
    detail = mem_format("compilation failed: %s", err_message(e));
    cause_invalid(causes, at, text, detail);
}

void admission_check_conditions(const json_t *conditions, const struct path *at,
                                const struct cel_language *language, struct causes *causes)
{
    if (json_array_size(conditions) > CONDITIONS_MAX) {
        cause_too_many(causes, at, json_array_size(conditions), CONDITIONS_MAX);
        return;
    }
    for (size_t i = 0; i < json_array_size(conditions); i++)
        admission_check_expression(json_text(json_array_get(conditions, i), "expression"),
                                   PATH(PATH_INDEX(at, i), "expression"), language, causes);
}
