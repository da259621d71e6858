/*
 * kind_claims.c - resource.k8s.io/v1 ResourceClaim, ResourceClaimTemplate and DeviceClass: devices
 * that pods claim
 */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/claim_fields.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "model/cel/cel.h"
#include "model/names.h"

enum {
    ALTERNATIVES_MAX = 8,
    USERS_MAX = 256
};

static const char *const allocation_modes[] = {"ExactCount", "All", NULL};

static const struct field cel_fields[] = {
    F_STRING("expression", "The condition on a device, in CEL.", .is_required = true,
             .size_max = CEL_TEXT_MAX),
    F_END,
};

static const struct field selector_fields[] = {
    F_OBJECT("cel", cel_fields, "A condition in CEL.", .is_required = true),
    F_END,
};
static const struct field selector_item = F_OBJECT(NULL, selector_fields, "A condition.");

static const struct field opaque_fields[] = {
    F_STRING("driver", "The driver that reads the parameters.", .is_required = true,
             .size_max = 63),
    F_ANY("parameters", "The driver's parameters.", .is_required = true),
    F_END,
};

static const struct field claim_config_fields[] = {
    F_LIST("requests", &string_item, "The requests that the parameters are for; none: all.",
           .items_max = CLAIM_DEVICES_MAX),
    F_OBJECT("opaque", opaque_fields, "Parameters of a driver.", .is_required = true),
    F_END,
};
static const struct field claim_config_item =
    F_OBJECT(NULL, claim_config_fields, "Parameters of devices.");

/* Of an exact request and of an alternative. */
#define ASK_FIELDS                                                                                 \
    F_STRING("deviceClassName", "The class of the devices.", .is_required = true,                  \
             .check = name_check_subdomain),                                                       \
        F_LIST("selectors", &selector_item, "Conditions that each device meets.",                  \
               .items_max = CLAIM_DEVICES_MAX),                                                    \
        F_STRING("allocationMode", "ExactCount: as many as `count`; All: all devices that match.", \
                 .fallback = "\"ExactCount\"", .values = allocation_modes),                        \
        F_INT("count", "The number of devices; default 1.", .min = 1, .max = CLAIM_DEVICES_MAX),   \
        F_REFUSED("tolerations", "Tolerated taints of devices."),                                  \
        F_REFUSED("capacity", "Parts of a device's capacity.")

static const struct field exact_fields[] = {
    ASK_FIELDS,
    F_BOOL("adminAccess", "The devices are seen for monitoring, whoever holds them."),
    F_END,
};

static const struct field sub_request_fields[] = {
    F_STRING("name", "The alternative's name, unique in the request.", .is_required = true,
             .check = name_check_label),
    ASK_FIELDS,
    F_END,
};
static const struct field sub_request_item =
    F_OBJECT(NULL, sub_request_fields, "Devices of one kind.");

static const struct field constraint_fields[] = {
    F_LIST("requests", &string_item, "The requests that the constraint is for; none: all.",
           .items_max = CLAIM_DEVICES_MAX),
    F_STRING("matchAttribute", "The attribute that has one value on all devices.",
             .check = name_check_qualified),
    F_REFUSED("distinctAttribute", "The attribute that has another value on each device."),
    F_END,
};
static const struct field constraint_item =
    F_OBJECT(NULL, constraint_fields, "A condition on devices together.");

static const struct field request_fields[] = {
    F_STRING("name", "The request's name, unique in the claim.", .is_required = true,
             .check = name_check_label),
    F_OBJECT("exactly", exact_fields, "The devices."),
    F_LIST("firstAvailable", &sub_request_item, "Kinds of devices in the order of preference.",
           .items_max = ALTERNATIVES_MAX),
    F_END,
};
static const struct field request_item = F_OBJECT(NULL, request_fields, "Devices of one kind.");

static const struct field devices_fields[] = {
    F_LIST("requests", &request_item, "The requested devices.", .is_unique = true,
           .items_max = CLAIM_DEVICES_MAX),
    F_LIST("constraints", &constraint_item, "Conditions on several devices together.",
           .items_max = CLAIM_DEVICES_MAX),
    F_LIST("config", &claim_config_item, "Parameters of the devices.",
           .items_max = CLAIM_DEVICES_MAX),
    F_END,
};

static const struct field spec_fields[] = {
    F_OBJECT("devices", devices_fields, "The requested devices.", .is_required = true),
    F_END,
};

static const struct field result_fields[] = {
    F_STRING("request", "The request that the device is for.", .is_required = true),
    F_STRING("driver", "The device's driver.", .is_required = true),
    F_STRING("pool", "The device's pool.", .is_required = true),
    F_STRING("device", "The device's name in the pool.", .is_required = true),
    F_BOOL("adminAccess", "The device is seen only."),
    F_END,
};
static const struct field result_item = F_OBJECT(NULL, result_fields, "An allocated device.");

static const struct field results_fields[] = {
    F_LIST("results", &result_item, "The allocated devices.", .items_max = CLAIM_DEVICES_MAX),
    F_ANY("config", "Parameters of the devices, of the class and of the claim."),
    F_END,
};

static const struct field allocation_fields[] = {
    F_OBJECT("devices", results_fields, "The allocated devices."),
    F_ANY("nodeSelector", "The node of the devices.", .is_atomic = true),
    F_TIME("allocationTimestamp", "The time of the allocation."),
    F_END,
};

static const struct field user_fields[] = {
    F_STRING("apiGroup", "The group of the user's kind; empty: core."),
    F_STRING("resource", "pods.", .is_required = true),
    F_STRING("name", "The user's name.", .is_required = true),
    F_STRING("uid", "The user's uid.", .is_required = true),
    F_END,
};
static const struct field user_item = F_OBJECT(NULL, user_fields, "A user of the claim.");

static const struct field status_fields[] = {
    F_OBJECT("allocation", allocation_fields, "The devices of the claim."),
    F_LIST("reservedFor", &user_item, "The pods that use the claim.", .items_max = USERS_MAX,
           .list_keys = {"uid"}),
    F_ANY("devices", "States of the devices, by their drivers; kept, not used."),
    F_END,
};

static const struct field claim_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The claimed devices.", .is_required = true),
    F_OBJECT("status", status_fields, "The allocated devices, and their users."),
    F_END,
};

static const struct field claim_template_fields[] = {
    F_OBJECT("metadata", object_meta_fields, "Labels and annotations of the claims."),
    F_OBJECT("spec", spec_fields, "The claimed devices.", .is_required = true),
    F_END,
};

static const struct field template_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", claim_template_fields, "The claims that are made for pods.",
             .is_required = true),
    F_END,
};

static const struct field class_config_fields[] = {
    F_OBJECT("opaque", opaque_fields, "Parameters of a driver.", .is_required = true),
    F_END,
};
static const struct field class_config_item =
    F_OBJECT(NULL, class_config_fields, "Parameters of devices.");

static const struct field class_spec_fields[] = {
    F_LIST("selectors", &selector_item, "Conditions that each device of the class meets.",
           .items_max = CLAIM_DEVICES_MAX),
    F_LIST("config", &class_config_item, "Parameters of the devices.",
           .items_max = CLAIM_DEVICES_MAX),
    F_REFUSED("extendedResourceName", "An extended resource that the class serves."),
    F_END,
};

static const struct field class_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", class_spec_fields, "The devices of the class.", .is_required = true),
    F_END,
};

/* ---- columns ---- */

static const struct column claim_columns[] = {
    {"Name", "string", "name", 0, "The name of the claim."},
    {"State", "string", "", 0, "pending, or allocated and perhaps reserved."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *claim_cells(const json_t *object, int64_t now_ns)
{
    const json_t *status = json_object_get(object, "status");
    bool is_reserved = json_array_size(json_object_get(status, "reservedFor")) > 0;
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(
        row, json_string(json_object_size(json_object_get(status, "allocation")) == 0 ? "pending"
                         : is_reserved ? "allocated,reserved"
                                       : "allocated"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* ---- validation ---- */

void claim_validate_selectors(const json_t *list, const struct path *at, struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_text_at(json_array_get(list, i), "cel", "expression", NULL);
        AUTO(cel_freep) struct cel *cel = NULL;

        if (text)
            cause_take(causes, PATH(PATH(PATH_INDEX(at, i), "cel"), "expression"), text,
                       cel_parse(str_of(text), &cel));
    }
}

static void validate_config(const json_t *list, const struct path *at, struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *opaque = json_object_get(json_array_get(list, i), "opaque");
        const struct path *here = PATH(PATH_INDEX(at, i), "opaque");
        struct claim_sharing sharing = {0};
        const char *driver = json_text(opaque, "driver");

        if (driver && text_equal(driver, CLAIM_DRIVER))
            cause_take(causes, PATH(here, "parameters"), "",
                       claim_read_sharing(json_object_get(opaque, "parameters"), &sharing));
    }
}

/* Is `name` that of a request, "gpu", or of an alternative, "gpu/large"? */
static bool has_request(const json_t *requests, const char *name)
{
    struct str rest = str_of(name);
    struct str main = str_cut(&rest, '/');

    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *request = json_array_get(requests, i);
        const json_t *list = json_object_get(request, "firstAvailable");

        if (!str_equal(str_of(json_text(request, "name")), main))
            continue;
        for (size_t k = 0; k < json_array_size(list); k++)
            if (str_equal(str_of(json_text(json_array_get(list, k), "name")), rest))
                return true;
        return !rest.at;
    }
    return false;
}

/* Checks the `requests` of each item of a list: configurations or constraints. */
static void validate_request_names(const json_t *devices, const char *member, const struct path *at,
                                   struct causes *causes)
{
    const json_t *list = json_object_get(devices, member);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *names = json_object_get(json_array_get(list, i), "requests");
        const struct path *here = PATH(PATH_INDEX(PATH(at, member), i), "requests");

        for (size_t k = 0; k < json_array_size(names); k++) {
            const char *name = json_string_value(json_array_get(names, k));

            if (!has_request(json_object_get(devices, "requests"), name))
                cause_invalid(causes, PATH_INDEX(here, k), name,
                              "must be the name of a request in claim or the name of a request "
                              "and a subrequest separated by '/'");
        }
    }
}

static void validate_names(const json_t *list, const struct path *at, struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_text(json_array_get(list, i), "name");

        for (size_t k = 0; k < i; k++)
            if (text_equal(json_text(json_array_get(list, k), "name"), name))
                cause_duplicate(causes, PATH(PATH_INDEX(at, i), "name"), name);
    }
}

static void validate_ask(const json_t *ask, const struct path *at, struct causes *causes)
{
    if (text_equal(json_text(ask, "allocationMode"), "All") && json_object_get(ask, "count"))
        cause_forbidden(causes, PATH(at, "count"), "must not be set when allocationMode is All");
    claim_validate_selectors(json_object_get(ask, "selectors"), PATH(at, "selectors"), causes);
}

static void validate_request(const json_t *request, const struct path *at, struct causes *causes)
{
    const json_t *exactly = json_object_get(request, "exactly");
    const json_t *list = json_object_get(request, "firstAvailable");
    const struct path *here = PATH(at, "firstAvailable");

    if ((exactly != NULL) == (json_array_size(list) > 0))
        cause_required(causes, at, "exactly one of `exactly` or `firstAvailable` is required");
    if (exactly)
        validate_ask(exactly, PATH(at, "exactly"), causes);
    validate_names(list, here, causes);
    for (size_t i = 0; i < json_array_size(list); i++)
        validate_ask(json_array_get(list, i), PATH_INDEX(here, i), causes);
}

static void validate_constraints(const json_t *list, const struct path *at, struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_text_filled(json_array_get(list, i), "matchAttribute");
        const struct path *here = PATH(PATH_INDEX(at, i), "matchAttribute");

        if (!name)
            cause_required(causes, here, "");
        else if (!strchr(name, '/'))
            cause_invalid(causes, here, name, "must include a domain");
    }
}

static void claim_spec_validate(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *devices = json_object_get(spec, "devices");
    const json_t *requests = json_object_get(devices, "requests");
    const struct path *here = PATH(at, "devices");

    validate_names(requests, PATH(here, "requests"), causes);
    for (size_t i = 0; i < json_array_size(requests); i++)
        validate_request(json_array_get(requests, i), PATH_INDEX(PATH(here, "requests"), i),
                         causes);
    validate_constraints(json_object_get(devices, "constraints"), PATH(here, "constraints"),
                         causes);
    validate_config(json_object_get(devices, "config"), PATH(here, "config"), causes);
    validate_request_names(devices, "config", here, causes);
    validate_request_names(devices, "constraints", here, causes);
}

static void claim_validate(const json_t *object, struct causes *causes)
{
    claim_spec_validate(json_object_get(object, "spec"), PATH(NULL, "spec"), causes);
}

static void claim_template_validate(const json_t *object, struct causes *causes)
{
    claim_spec_validate(json_at(object, "spec", "spec", NULL), PATH(PATH(NULL, "spec"), "spec"),
                        causes);
}

static void class_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");

    claim_validate_selectors(json_object_get(spec, "selectors"), PATH(at, "selectors"), causes);
    validate_config(json_object_get(spec, "config"), PATH(at, "config"), causes);
}

static struct err *check_same_spec(const char *kind, const json_t *before, const json_t *after)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);

    if (!json_equal(json_object_get(before, "spec"), json_object_get(after, "spec")))
        cause_forbidden(&causes, PATH(NULL, "spec"), "field is immutable");
    return causes_err(&causes, kind, name ? name : "");
}

static struct err *claim_validate_update(const json_t *before, const json_t *after,
                                         const struct kind_context *c)
{
    (void)c;
    return check_same_spec("ResourceClaim.resource.k8s.io", before, after);
}

static struct err *claim_template_validate_update(const json_t *before, const json_t *after,
                                                  const struct kind_context *c)
{
    (void)c;
    return check_same_spec("ResourceClaimTemplate.resource.k8s.io", before, after);
}

const struct kind kind_claim = {
    .zero = "{\"spec\":{\"devices\":{\"requests\":null}},\"status\":{}}",
    .group = "resource.k8s.io",
    .version = "v1",
    .api_version = "resource.k8s.io/v1",
    .kind = "ResourceClaim",
    .plural = "resourceclaims",
    .singular = "resourceclaim",
    .is_namespaced = true,
    .has_status = true,
    .fields = claim_fields,
    .columns = claim_columns,
    .cells = claim_cells,
    .validate = claim_validate,
    .validate_update = claim_validate_update,
    .doc = "Devices for one pod or several pods.",
};

const struct kind kind_claim_template = {
    .zero = "{\"spec\":{\"metadata\":{},\"spec\":{\"devices\":{\"requests\":null}}}}",
    .group = "resource.k8s.io",
    .version = "v1",
    .api_version = "resource.k8s.io/v1",
    .kind = "ResourceClaimTemplate",
    .plural = "resourceclaimtemplates",
    .singular = "resourceclaimtemplate",
    .is_namespaced = true,
    .fields = template_fields,
    .validate = claim_template_validate,
    .validate_update = claim_template_validate_update,
    .doc = "The claim that is made for each pod that names the template.",
};

const struct kind kind_device_class = {
    .zero = "{\"spec\":{}}",
    .group = "resource.k8s.io",
    .version = "v1",
    .api_version = "resource.k8s.io/v1",
    .kind = "DeviceClass",
    .plural = "deviceclasses",
    .singular = "deviceclass",
    .fields = class_fields,
    .validate = class_validate,
    .doc = "Devices that meet common conditions.",
};
