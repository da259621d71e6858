/* kind_webhooks.c - ValidatingWebhookConfiguration and MutatingWebhookConfiguration */

#include "base/mem.h"
#include "kinds/admission/admission_fields.h"
#include "kinds/admission/hook_target.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "model/names.h"

enum {
    WEBHOOKS_MAX = 128,
    TIMEOUT_MAX = 30
};

static const char *const side_effects[] = {"None", "NoneOnDryRun", NULL};
static const char *const reinvocations[] = {"Never", "IfNeeded", NULL};

#define WEBHOOK_FIELDS                                                                             \
    F_STRING("name", "The full name of the webhook: imagepolicy.example.com.",                     \
             .is_required = true, .check = name_check_subdomain),                                  \
        F_OBJECT("clientConfig", hook_client_fields, "Where the webhook is.",                      \
                 .is_required = true),                                                             \
        F_LIST("rules", &admission_rule_item, "Requests that the webhook is asked about.",         \
               .is_atomic = true),                                                                 \
        F_STRING("failurePolicy", "What an unreachable webhook means: Fail or Ignore.",            \
                 .values = admission_failure_policies, .fallback = "\"Fail\""),                    \
        F_STRING("matchPolicy", "Whether rules also match other versions of their resources.",     \
                 .values = admission_match_policies, .fallback = "\"Equivalent\""),                \
        F_OBJECT("namespaceSelector", label_selector_fields,                                       \
                 "Namespaces whose objects the webhook is asked about.", .fallback = "{}",         \
                 .is_atomic = true),                                                               \
        F_OBJECT("objectSelector", label_selector_fields,                                          \
                 "Objects that the webhook is asked about.", .fallback = "{}", .is_atomic = true), \
        F_STRING("sideEffects", "None or NoneOnDryRun."),                                          \
        F_INT("timeoutSeconds", "Seconds that an answer may take.", .fallback = "10"),             \
        F_LIST("admissionReviewVersions", &string_item,                                            \
               "Versions of AdmissionReview that the webhook takes.", .is_atomic = true),          \
        F_LIST("matchConditions", &admission_condition_item,                                       \
               "Conditions in CEL that a request must meet.", .merge_key = "name",                 \
               .is_unique = true)

static const struct field validating_fields[] = {WEBHOOK_FIELDS, F_END};
static const struct field validating_item =
    F_OBJECT(NULL, validating_fields, "A webhook that allows or denies requests.");
static const struct field mutating_fields[] = {
    WEBHOOK_FIELDS,
    F_STRING("reinvocationPolicy",
             "Whether the webhook is asked again after later webhooks changed the object.",
             .values = reinvocations, .fallback = "\"Never\""),
    F_END,
};
static const struct field mutating_item =
    F_OBJECT(NULL, mutating_fields, "A webhook that may change objects.");

static const struct field validating_configuration_fields[] = {
    F_TYPE_AND_METADATA,
    F_LIST("webhooks", &validating_item, "The webhooks.", .merge_key = "name", .is_unique = true,
           .items_max = WEBHOOKS_MAX),
    F_END,
};
static const struct field mutating_configuration_fields[] = {
    F_TYPE_AND_METADATA,
    F_LIST("webhooks", &mutating_item, "The webhooks, in their order.", .merge_key = "name",
           .is_unique = true, .items_max = WEBHOOKS_MAX),
    F_END,
};

/* ---- checks ---- */

static size_t count_dots(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '.';
    return n;
}

static void check_versions(const json_t *webhook, const struct path *at, struct causes *causes)
{
    const json_t *versions = json_object_get(webhook, "admissionReviewVersions");
    const struct path *here = PATH(at, "admissionReviewVersions");

    if (json_array_size(versions) == 0)
        cause_required(causes, here, "must specify one of v1, v1beta1");
    else if (!json_has_text(versions, "v1"))
        cause_invalid_json(causes, here, versions, "must include v1: mete sends no other version");
}

static void check_side_effects(const json_t *webhook, const struct path *at, struct causes *causes)
{
    const char *text = json_text(webhook, "sideEffects");
    const struct path *here = PATH(at, "sideEffects");

    if (!text)
        cause_required(causes, here, "must specify one of None, NoneOnDryRun");
    else if (!text_equal(text, side_effects[0]) && !text_equal(text, side_effects[1]))
        cause_unsupported(causes, here, text, side_effects);
}

static void check_webhook(const json_t *webhook, const struct path *at, struct causes *causes)
{
    int64_t timeout = json_int(webhook, "timeoutSeconds", 0);
    const char *name = text_or_empty(json_text(webhook, "name"));

    if (count_dots(name) < 2)
        cause_invalid(causes, PATH(at, "name"), name,
                      "should be a domain with at least three segments separated by dots");
    admission_check_rules(json_object_get(webhook, "rules"), PATH(at, "rules"), causes);
    check_side_effects(webhook, at, causes);
    check_versions(webhook, at, causes);
    if (timeout < 1 || timeout > TIMEOUT_MAX)
        cause_invalid_int(causes, PATH(at, "timeoutSeconds"), timeout,
                          "the timeout value must be between 1 and 30 seconds");
    label_selector_validate(json_object_get(webhook, "namespaceSelector"),
                            PATH(at, "namespaceSelector"), causes);
    label_selector_validate(json_object_get(webhook, "objectSelector"), PATH(at, "objectSelector"),
                            causes);
    hook_client_check(json_object_get(webhook, "clientConfig"), PATH(at, "clientConfig"), causes);
    admission_check_conditions(json_object_get(webhook, "matchConditions"),
                               PATH(at, "matchConditions"), &admission_condition_language, causes);
}

static void webhooks_validate(const json_t *object, struct causes *causes)
{
    const json_t *list = json_object_get(object, "webhooks");
    const struct path *at = PATH(NULL, "webhooks");

    for (size_t i = 0; i < json_array_size(list); i++)
        check_webhook(json_array_get(list, i), PATH_INDEX(at, i), causes);
}

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the configuration."},
    {"Webhooks", "integer", "", 0, "The number of webhooks."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *webhooks_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(
        row, json_integer((json_int_t)json_array_size(json_object_get(object, "webhooks"))));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void webhooks_set_defaults(json_t *object, const struct kind_context *c)
{
    const json_t *list = json_object_get(object, "webhooks");

    (void)c;
    for (size_t i = 0; i < json_array_size(list); i++)
        hook_client_set_defaults(json_object_get(json_array_get(list, i), "clientConfig"));
}

const struct kind kind_validating_webhooks = {
    .group = ADMISSION_GROUP,
    .version = "v1",
    .api_version = ADMISSION_GROUP "/v1",
    .kind = "ValidatingWebhookConfiguration",
    .plural = VALIDATING_PLURAL,
    .singular = "validatingwebhookconfiguration",
    .categories = (const char *const[]){"api-extensions", NULL},
    .fields = validating_configuration_fields,
    .columns = columns,
    .cells = webhooks_cells,
    .validate = webhooks_validate,
    .set_defaults = webhooks_set_defaults,
    .doc = "Webhooks that allow or deny requests.",
};

const struct kind kind_mutating_webhooks = {
    .group = ADMISSION_GROUP,
    .version = "v1",
    .api_version = ADMISSION_GROUP "/v1",
    .kind = "MutatingWebhookConfiguration",
    .plural = MUTATING_PLURAL,
    .singular = "mutatingwebhookconfiguration",
    .categories = (const char *const[]){"api-extensions", NULL},
    .fields = mutating_configuration_fields,
    .columns = columns,
    .cells = webhooks_cells,
    .validate = webhooks_validate,
    .set_defaults = webhooks_set_defaults,
    .doc = "Webhooks that may change objects before they are written.",
};
