/* service_validate.c - defaults of Services, and checks in Kubernetes' words */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/service/service.h"
#include "model/names.h"

enum {
    AFFINITY_SECONDS = 10800,
    SERVICE_PORT_MAX = 65535
};

const char *service_type(const json_t *service)
{
    const char *type = json_text_at(service, "spec", "type", NULL);

    return type && *type ? type : "ClusterIP";
}

bool service_is_headless(const json_t *service)
{
    return text_equal(json_text_at(service, "spec", "clusterIP", NULL), "None");
}

bool service_has_address(const json_t *service)
{
    const char *address = json_text_at(service, "spec", "clusterIP", NULL);

    return address && *address && !service_is_headless(service);
}

bool service_has_node_ports(const json_t *service)
{
    return text_equal(service_type(service), "NodePort") ||
           text_equal(service_type(service), "LoadBalancer");
}

static bool is_external_name(const json_t *service)
{
    return text_equal(service_type(service), "ExternalName");
}

/* ---- defaults ---- */

static void put_default(json_t *spec, const char *key, const char *value)
{
    if (!json_text_filled(spec, key))
        json_put_text(spec, key, value);
}

static void default_ports(json_t *spec)
{
    const json_t *ports = json_object_get(spec, "ports");

    for (size_t i = 0; i < json_array_size(ports); i++) {
        json_t *port = json_array_get(ports, i);
        const json_t *target = json_object_get(port, "targetPort");

        if (!target || (json_is_integer(target) && json_integer_value(target) == 0) ||
            (json_is_string(target) && json_string_length(target) == 0))
            json_put_int(port, "targetPort", json_int(port, "port", 0));
        if (json_int(port, "nodePort", 0) == 0)
            json_put_text(port, "nodePort", NULL);
    }
}

/* clusterIP and clusterIPs say the same. */
static void default_addresses(json_t *spec)
{
    const char *first = json_string_value(json_array_get(json_object_get(spec, "clusterIPs"), 0));
    const char *one = json_text_filled(spec, "clusterIP");

    if (!one && first)
        json_put_text(spec, "clusterIP", first);
    else if (one && !first)
        json_put(spec, "clusterIPs", json_pack("[s]", one));
}

void service_set_defaults(json_t *service, const struct kind_context *c)
{
    json_t *spec = json_object_at(service, "spec");

    (void)c;
    default_ports(spec);
    default_addresses(spec);
    if (text_equal(json_text(spec, "sessionAffinity"), "None"))
        (void)json_object_del(spec,
                              "sessionAffinityConfig"); /* an update to None goes without it */
    if (text_equal(json_text(spec, "sessionAffinity"), "ClientIP") &&
        !json_at(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds", NULL))
        json_put_int(json_object_at(json_object_at(spec, "sessionAffinityConfig"), "clientIP"),
                     "timeoutSeconds", AFFINITY_SECONDS);
    if (is_external_name(service))
        return;
    put_default(spec, "internalTrafficPolicy", "Cluster");
    put_default(spec, "ipFamilyPolicy", "SingleStack");
    if (json_array_size(json_object_get(spec, "ipFamilies")) == 0)
        json_put(spec, "ipFamilies", json_pack("[s]", "IPv4"));
    if (service_has_node_ports(service))
        put_default(spec, "externalTrafficPolicy", "Cluster");
    if (text_equal(service_type(service), "LoadBalancer") &&
        !json_object_get(spec, "allocateLoadBalancerNodePorts"))
        json_put_bool(spec, "allocateLoadBalancerNodePorts", true);
}

/* ---- validation ---- */

static void validate_target(const json_t *port, const struct path *at, struct causes *causes)
{
    const json_t *target = json_object_get(port, "targetPort");
    const struct path *here = PATH(at, "targetPort");

    if (json_is_integer(target) &&
        (json_integer_value(target) < 1 || json_integer_value(target) > SERVICE_PORT_MAX))
        cause_invalid_int(causes, here, json_integer_value(target),
                          "must be between 1 and 65535, inclusive");
    if (json_is_string(target))
        cause_take(causes, here, json_string_value(target),
                   name_check_port(json_string_value(target)));
}

static void validate_port_name(const json_t *ports, size_t i, const struct path *at,
                               struct causes *causes)
{
    const char *name = json_text_filled(json_array_get(ports, i), "name");
    const struct path *here = PATH(at, "name");

    if (!name) {
        if (json_array_size(ports) > 1)
            cause_required(causes, here, "");
        return;
    }
    cause_take(causes, here, name, name_check_label(name));
    for (size_t j = 0; j < i; j++)
        if (text_equal(json_text(json_array_get(ports, j), "name"), name)) {
            cause_duplicate(causes, here, name);
            return;
        }
}

static bool is_same_port(const json_t *a, const json_t *b, const char *key)
{
    return json_int(a, key, 0) == json_int(b, key, 0) &&
           text_equal(json_text(a, "protocol"), json_text(b, "protocol"));
}

static void validate_port_twice(const json_t *ports, size_t i, const struct path *at,
                                struct causes *causes)
{
    const json_t *port = json_array_get(ports, i);
    char text[32];

    for (size_t j = 0; j < i; j++) {
        const json_t *other = json_array_get(ports, j);

        if (is_same_port(port, other, "port")) {
            (void)snprintf(text, sizeof(text), "%" PRId64 "/%s", json_int(port, "port", 0),
                           text_or_empty(json_text(port, "protocol")));
            cause_duplicate(causes, at, text);
        }
        if (json_int(port, "nodePort", 0) > 0 && is_same_port(port, other, "nodePort")) {
            (void)snprintf(text, sizeof(text), "%" PRId64, json_int(port, "nodePort", 0));
            cause_duplicate(causes, PATH(at, "nodePort"), text);
        }
    }
}

static void validate_ports(const json_t *service, const struct path *spec_at, struct causes *causes)
{
    const json_t *ports = json_at(service, "spec", "ports", NULL);
    const struct path *list_at = PATH(spec_at, "ports");

    if (json_array_size(ports) == 0 && !service_is_headless(service) && !is_external_name(service))
        cause_required(causes, list_at, "");
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        const struct path *at = PATH_INDEX(list_at, i);

        validate_port_name(ports, i, at, causes);
        validate_target(port, at, causes);
        validate_port_twice(ports, i, at, causes);
        if (json_int(port, "nodePort", 0) > 0 && !service_has_node_ports(service))
            cause_forbidden(causes, PATH(at, "nodePort"),
                            "may not be used when `type` is 'ClusterIP'");
        if (text_equal(json_text(port, "protocol"), "SCTP"))
            cause_forbidden(causes, PATH(at, "protocol"), "SCTP is not implemented yet");
    }
}

static void validate_addresses(const json_t *service, const struct path *at, struct causes *causes)
{
    const json_t *spec = json_object_get(service, "spec");
    const json_t *list = json_object_get(spec, "clusterIPs");
    const char *one = json_text_filled(spec, "clusterIP");
    const char *first = json_string_value(json_array_get(list, 0));
    const struct path *here = PATH_INDEX(PATH(at, "clusterIPs"), 0);
    uint32_t address = 0;

    if (is_external_name(service)) {
        if (first)
            cause_forbidden(causes, PATH(at, "clusterIPs"),
                            "may not be set for ExternalName services");
        return;
    }
    if (!text_equal(one, first))
        cause_invalid(causes, PATH(at, "clusterIPs"), text_or_empty(first),
                      "first value must match `clusterIP`");
    if (json_array_size(list) > 1)
        cause_forbidden(causes, PATH_INDEX(PATH(at, "clusterIPs"), 1),
                        "a second address family is not implemented yet");
    if (service_is_headless(service) && service_has_node_ports(service)) {
        AUTO_FREE char *why =
            mem_format("may not be set to 'None' for %s services", service_type(service));

        cause_invalid(causes, here, "None", why);
    } else if (ip_is_six(first)) {
        cause_forbidden(causes, here, "IPv6 is not implemented yet");
    } else if (first && !service_is_headless(service)) {
        cause_take(causes, here, first, ip4_parse(first, &address));
    }
}

static void validate_families(const json_t *service, const struct path *at, struct causes *causes)
{
    const json_t *spec = json_object_get(service, "spec");
    const json_t *family = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(spec, "ipFamilies"), i, family)
        if (!text_equal(json_string_value(family), "IPv4"))
            cause_forbidden(causes, PATH_INDEX(PATH(at, "ipFamilies"), i),
                            "only IPv4 is implemented");
    if (text_equal(json_text(spec, "ipFamilyPolicy"), "RequireDualStack"))
        cause_forbidden(causes, PATH(at, "ipFamilyPolicy"),
                        "this cluster is not configured for dual-stack services");
}

static void validate_external_name(const json_t *service, const struct path *at,
                                   struct causes *causes)
{
    const char *name = json_text_at(service, "spec", "externalName", NULL);
    size_t size = name ? strlen(name) : 0;
    AUTO_FREE char *plain = NULL;

    if (!is_external_name(service))
        return;
    plain = mem_strndup(name ? name : "", size > 0 && name[size - 1] == '.' ? size - 1 : size);
    if (!*plain)
        cause_required(causes, PATH(at, "externalName"), "");
    else
        cause_take(causes, PATH(at, "externalName"), plain, name_check_subdomain(plain));
}

static void validate_policies(const json_t *service, const struct path *at, struct causes *causes)
{
    const json_t *spec = json_object_get(service, "spec");
    const char *external = json_text_filled(spec, "externalTrafficPolicy");

    if (external && !service_has_node_ports(service))
        cause_invalid(causes, PATH(at, "externalTrafficPolicy"), external,
                      "may only be set for externally-accessible services");
}

void service_validate(const json_t *service, struct causes *causes)
{
    const struct path *at = PATH(NULL, "spec");

    validate_addresses(service, at, causes);
    validate_families(service, at, causes);
    validate_external_name(service, at, causes);
    validate_ports(service, at, causes);
    validate_policies(service, at, causes);
}

/* The address stays as long as the type has one. */
struct err *service_validate_update(const json_t *before, const json_t *after,
                                    const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *was = json_text_at(before, "spec", "clusterIP", NULL);
    const char *is = json_text_at(after, "spec", "clusterIP", NULL);
    const char *name = json_text_at(after, "metadata", "name", NULL);

    (void)c;
    if (was && *was && !is_external_name(before) && !is_external_name(after) &&
        !text_equal(was, is))
        cause_invalid(&causes, PATH_INDEX(PATH(PATH(NULL, "spec"), "clusterIPs"), 0),
                      text_or_empty(is), "may not change once set");
    return causes_err(&causes, "Service", text_or_empty(name));
}
