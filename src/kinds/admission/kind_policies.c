/* kind_policies.c - ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding */

#include "base/mem.h"
#include "kinds/admission/admission_fields.h"
#include "kinds/admission/policy.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"

enum {
    LIST_MAX = 256
};

static const char *const reasons[] = {"Unauthorized", "Forbidden", "Invalid",
                                      "RequestEntityTooLarge", NULL};
static const char *const actions[] = {"Deny", "Warn", "Audit", NULL};
static const char *const not_found_actions[] = {"Allow", "Deny", NULL};

static const struct field match_fields[] = {
    F_OBJECT("namespaceSelector", label_selector_fields, "Namespaces of the objects.",
             .fallback = "{}", .is_atomic = true),
    F_OBJECT("objectSelector", label_selector_fields, "Labels of the objects.", .fallback = "{}",
             .is_atomic = true),
    F_LIST("resourceRules", &admission_named_rule_item, "Requests that match.", .is_atomic = true,
           .items_max = LIST_MAX),
    F_LIST("excludeResourceRules", &admission_named_rule_item, "Requests that do not match.",
           .is_atomic = true, .items_max = LIST_MAX),
    F_STRING("matchPolicy", "Whether rules also match other versions of their resources.",
             .values = admission_match_policies, .fallback = "\"Equivalent\""),
    F_END,
};

/* ---- ValidatingAdmissionPolicy ---- */

static const struct field param_kind_fields[] = {
    F_STRING("apiVersion", "The group and version of the parameters.", .size_max = 320),
    F_STRING("kind", "The kind of the parameters.", .size_max = 63),
    F_END,
};
static const struct field validation_fields[] = {
    F_STRING("expression", "A condition in CEL that must hold.", .is_required = true),
    F_STRING("message", "The text of a denial."),
    F_STRING("reason", "The reason of a denial.", .values = reasons),
    F_STRING("messageExpression", "An expression in CEL that makes the text of a denial."),
    F_END,
};
static const struct field validation_item =
    F_OBJECT(NULL, validation_fields, "A condition.", .is_atomic = true);
static const struct field annotation_fields[] = {
    F_STRING("key", "The key of the annotation.", .is_required = true, .size_max = 63),
    F_STRING("valueExpression", "An expression in CEL that makes its text.", .is_required = true),
    F_END,
};
static const struct field annotation_item =
    F_OBJECT(NULL, annotation_fields, "An annotation of the audit.", .is_atomic = true);
static const struct field variable_fields[] = {
    F_STRING("name", "The name: variables.NAME.", .is_required = true, .size_max = 63),
    F_STRING("expression", "Its value in CEL.", .is_required = true),
    F_END,
};
static const struct field variable_item = F_OBJECT(NULL, variable_fields, "A variable.");

static const struct field spec_fields[] = {
    F_OBJECT("paramKind", param_kind_fields, "The kind of the parameters.", .is_atomic = true),
    F_OBJECT("matchConstraints", match_fields, "Requests that the policy is about."),
    F_LIST("validations", &validation_item, "Conditions that must hold.", .is_atomic = true,
           .items_max = LIST_MAX),
    F_STRING("failurePolicy", "What an error of an expression means: Fail or Ignore.",
             .values = admission_failure_policies, .fallback = "\"Fail\""),
    F_LIST("auditAnnotations", &annotation_item, "Annotations of the audit.", .is_atomic = true,
           .items_max = 20),
    F_LIST("matchConditions", &admission_condition_item, "Conditions that a request must meet.",
           .merge_key = "name", .is_unique = true),
    F_LIST("variables", &variable_item, "Named expressions, each of which may use earlier ones.",
           .merge_key = "name", .is_unique = true, .items_max = LIST_MAX),
    F_END,
};
static const struct field status_fields[] = {
    F_INT("observedGeneration", "The generation that was looked at."),
    F_ANY("typeChecking", "Warnings about types."),
    F_ANY("conditions", "Conditions."),
    F_END,
};
static const struct field policy_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The conditions, and the requests that must meet them."),
    F_OBJECT("status", status_fields, "What is known of the policy."),
    F_END,
};

static void policy_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");
    const json_t *constraints = json_object_get(spec, "matchConstraints");
    const struct path *here = PATH(at, "matchConstraints");
    const json_t *kind = json_object_get(spec, "paramKind");
    struct policy *p;

    if (!constraints)
        cause_required(causes, here, "");
    else if (json_array_size(json_object_get(constraints, "resourceRules")) == 0)
        cause_required(causes, PATH(here, "resourceRules"), "");
    admission_check_rules(json_object_get(constraints, "resourceRules"),
                          PATH(here, "resourceRules"), causes);
    admission_check_rules(json_object_get(constraints, "excludeResourceRules"),
                          PATH(here, "excludeResourceRules"), causes);
    if (json_array_size(json_object_get(spec, "validations")) == 0 &&
        json_array_size(json_object_get(spec, "auditAnnotations")) == 0)
        cause_required(causes, PATH(at, "validations"),
                       "validations or auditAnnotations must contain at least one item");
    if (kind && !json_text_filled(kind, "apiVersion"))
        cause_required(causes, PATH(PATH(at, "paramKind"), "apiVersion"), "");
    if (kind && !json_text_filled(kind, "kind"))
        cause_required(causes, PATH(PATH(at, "paramKind"), "kind"), "");
    admission_check_conditions(json_object_get(spec, "matchConditions"),
                               PATH(at, "matchConditions"), &admission_policy_language, causes);
    p = policy_new((json_t *)(uintptr_t)object, causes);
    policy_free(p);
}

static const struct column policy_columns[] = {
    {"Name", "string", "name", 0, "The name of the policy."},
    {"Validations", "integer", "", 0, "The number of conditions."},
    {"ParamKind", "string", "", 0, "The kind of the parameters."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *policy_cells(const json_t *object, int64_t now_ns)
{
    const json_t *kind = json_at(object, "spec", "paramKind", NULL);
    AUTO_FREE char *text = kind ? mem_format("%s/%s", text_or_empty(json_text(kind, "apiVersion")),
                                             text_or_empty(json_text(kind, "kind")))
                                : NULL;
    json_t *row = json_array();
    size_t n = json_array_size(json_at(object, "spec", "validations", NULL));

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_integer((json_int_t)n));
    (void)json_array_append_new(row, cell_text(text, "<unset>"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_admission_policy = {
    .group = ADMISSION_GROUP,
    .version = "v1",
    .api_version = ADMISSION_GROUP "/v1",
    .kind = "ValidatingAdmissionPolicy",
    .plural = POLICY_PLURAL,
    .singular = "validatingadmissionpolicy",
    .categories = (const char *const[]){"api-extensions", NULL},
    .has_status = true,
    .zero = "{\"spec\":{},\"status\":{}}",
    .fields = policy_fields,
    .columns = policy_columns,
    .cells = policy_cells,
    .validate = policy_validate,
    .doc = "Conditions in CEL that requests must meet.",
};

/* ---- ValidatingAdmissionPolicyBinding ---- */

static const struct field param_ref_fields[] = {
    F_STRING("name", "The name of the parameters.", .size_max = 253),
    F_STRING("namespace", "Their namespace; none: that of the request.", .size_max = 63),
    F_OBJECT("selector", label_selector_fields, "Labels of the parameters.", .is_atomic = true),
    F_STRING("parameterNotFoundAction", "What a request without parameters gets.",
             .values = not_found_actions),
    F_END,
};
static const struct field action_item = F_STRING(NULL, "Deny, Warn or Audit.", .values = actions);
static const struct field binding_spec_fields[] = {
    F_STRING("policyName", "The policy.", .size_max = 253),
    F_OBJECT("paramRef", param_ref_fields, "The parameters.", .is_atomic = true),
    F_OBJECT("matchResources", match_fields, "Requests that the binding is about."),
    F_LIST("validationActions", &action_item, "What a failed validation does.",
           .is_set_list = true),
    F_END,
};
static const struct field binding_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", binding_spec_fields, "The policy, its parameters, and what a failure does."),
    F_END,
};

static void check_param_ref(const json_t *ref, const struct path *at, struct causes *causes)
{
    bool has_name = json_text_filled(ref, "name") != NULL;
    bool has_selector = json_object_get(ref, "selector") != NULL;

    if (has_name == has_selector)
        cause_required(causes, at, "one of name or selector must be specified");
    if (!json_text_filled(ref, "parameterNotFoundAction"))
        cause_required(causes, PATH(at, "parameterNotFoundAction"), "");
}

static void binding_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");
    const json_t *list = json_object_get(spec, "validationActions");
    const json_t *ref = json_object_get(spec, "paramRef");

    if (!json_text_filled(spec, "policyName"))
        cause_required(causes, PATH(at, "policyName"), "");
    if (ref)
        check_param_ref(ref, PATH(at, "paramRef"), causes);
    if (json_array_size(list) == 0)
        cause_required(causes, PATH(at, "validationActions"),
                       "at least one validation action is required");
    if (json_has_text(list, "Deny") && json_has_text(list, "Warn"))
        cause_invalid_json(causes, PATH(at, "validationActions"), list,
                           "must not contain both Deny and Warn (repeating the same validation "
                           "failure information in the API response and headers serves no "
                           "purpose)");
    admission_check_rules(json_at(spec, "matchResources", "resourceRules", NULL),
                          PATH(PATH(at, "matchResources"), "resourceRules"), causes);
}

static const struct column binding_columns[] = {
    {"Name", "string", "name", 0, "The name of the binding."},
    {"PolicyName", "string", "", 0, "The policy."},
    {"ParamRef", "string", "", 0, "The parameters."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *binding_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *ref = json_object_get(spec, "paramRef");
    const char *ns = json_text_filled(ref, "namespace");
    AUTO_FREE char *text = ref ? mem_format("%s%s%s", text_or_empty(ns), ns ? "/" : "",
                                            text_or_empty(json_text(ref, "name")))
                               : NULL;
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "policyName"), ""));
    (void)json_array_append_new(row, cell_text(text, "<unset>"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_admission_policy_binding = {
    .group = ADMISSION_GROUP,
    .version = "v1",
    .api_version = ADMISSION_GROUP "/v1",
    .kind = "ValidatingAdmissionPolicyBinding",
    .plural = POLICY_BINDING_PLURAL,
    .singular = "validatingadmissionpolicybinding",
    .categories = (const char *const[]){"api-extensions", NULL},
    .zero = "{\"spec\":{}}",
    .fields = binding_fields,
    .columns = binding_columns,
    .cells = binding_cells,
    .validate = binding_validate,
    .doc = "Puts a policy into effect, with parameters.",
};
