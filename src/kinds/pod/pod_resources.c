/* pod_resources.c - rules of a container's requests and limits */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_rules.h"
#include "model/names.h"
#include "model/quantity.h"

static struct quantity read_quantity(const json_t *value)
{
    struct quantity q = {0};

    if (json_is_string(value)) /* was decoded: parses */
        err_free(quantity_parse(str_of(json_string_value(value)), &q));
    return q;
}

static bool is_native(const char *name)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(names[i], name))
            return true;
    return false;
}

static bool is_future(const char *name)
{
    return text_starts_with(name, "hugepages-") ||
           (text_starts_with(name, "nvidia.com/") && !gpu_resource_is_known(name));
}

static void resources_validate_name(const char *name, const struct path *at, struct causes *causes)
{
    struct err *e = name_check_qualified(name);

    if (e)
        cause_take(causes, at, name, e);
    else if (is_future(name))
        cause_forbidden(causes, at, cause_not_implemented);
    else if (!is_native(name) && !strchr(name, '/'))
        cause_invalid(causes, at, name, "must be a standard resource for containers");
}

static void validate_amounts(json_t *map, const struct path *at, struct causes *causes)
{
    const char *name;
    json_t *value;

    json_object_foreach (map, name, value) {
        const struct path *here = PATH_KEY(at, name);

        resources_validate_name(name, here, causes);
        if (strchr(name, '/') && read_quantity(value).milli % 1000 != 0)
            cause_invalid(causes, here, json_string_value(value), "must be an integer");
    }
}

static void validate_request(const char *name, const json_t *request, const json_t *limit,
                             const struct path *at, struct causes *causes)
{
    int64_t request_milli = read_quantity(request).milli;
    int64_t limit_milli = read_quantity(limit).milli;
    bool is_extended = strchr(name, '/') != NULL;
    AUTO_FREE char *detail = NULL;

    if (!limit || (is_extended ? request_milli == limit_milli : request_milli <= limit_milli))
        return;
    detail =
        mem_format("must be %s %s limit of %s", is_extended ? "equal to" : "less than or equal to",
                   name, json_string_value(limit));
    cause_invalid(causes, at, json_string_value(request), detail);
}

void container_validate_resources(const json_t *container, const struct path *at,
                                  struct causes *causes)
{
    const json_t *resources = json_object_get(container, "resources");
    json_t *limits = json_object_get(resources, "limits");
    json_t *requests = json_object_get(resources, "requests");
    const struct path *here = PATH(at, "resources");
    const struct path *requests_at = PATH(here, "requests");
    const char *name;
    json_t *value;

    validate_amounts(limits, PATH(here, "limits"), causes);
    validate_amounts(requests, requests_at, causes);
    json_object_foreach (requests, name, value)
        validate_request(name, value, json_object_get(limits, name), requests_at, causes);
    container_validate_gpus(container, here, causes);
}

void pod_validate_overhead(json_t *amounts, const struct path *at, struct causes *causes)
{
    const char *name;
    json_t *value;

    validate_amounts(amounts, at, causes);
    json_object_foreach (amounts, name, value)
        if (gpu_resource_is_known(name))
            cause_forbidden(causes, PATH_KEY(at, name), "a runtime takes no gpus");
}
