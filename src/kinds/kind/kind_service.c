/* kind_service.c - core/v1 Service */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/service/service.h"
#include "model/names.h"

enum {
    TIMEOUT_MAX = 86400
};

static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const char *const types[] = {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName", NULL};
static const char *const affinities[] = {"ClientIP", "None", NULL};
static const char *const family_policies[] = {"SingleStack", "PreferDualStack", "RequireDualStack",
                                              NULL};
static const char *const policies[] = {"Cluster", "Local", NULL};

static const struct field port_fields[] = {
    F_STRING("name", "The port's name, needed if there are several ports.", .size_max = 63),
    F_STRING("protocol", "TCP, UDP or SCTP.", .fallback = "\"TCP\"", .values = protocols),
    F_STRING("appProtocol", "The protocol of the application, for tools.",
             .check = name_check_qualified),
    F_INT("port", "The Service's port.", .is_required = true, .min = 1, .max = 65535),
    F("targetPort", FIELD_INT_OR_STRING,
      "The pods' port, or the name of one of their ports; absent: `port`."),
    F_INT("nodePort", "The port of every node, for NodePort and LoadBalancer.", .min = 0,
          .max = 65535),
    F_END,
};
static const struct field port_item = F_OBJECT(NULL, port_fields, "A port of the Service.");

static const struct field client_ip_fields[] = {
    F_INT("timeoutSeconds", "Seconds without connections after which a client may get another pod.",
          .min = 1, .max = TIMEOUT_MAX),
    F_END,
};
static const struct field affinity_fields[] = {
    F_OBJECT("clientIP", client_ip_fields, "For ClientIP."),
    F_END,
};

static const struct field spec_fields[] = {
    F_LIST("ports", &port_item, "The Service's ports.", .merge_key = "port", .items_max = 128),
    F_MAP("selector", &label_value_item,
          "Labels of the pods behind the Service; absent: endpoints are made by others.",
          .check_key = name_check_qualified),
    F_STRING("clusterIP", "The Service's address; None: headless, names resolve to pods.",
             .size_max = 64),
    F_LIST("clusterIPs", &string_item, "The same as a list of one.", .items_max = 2),
    F_STRING("type", "The way in which the Service is reached.", .fallback = "\"ClusterIP\"",
             .values = types),
    F_REFUSED("externalIPs", "Foreign addresses that the nodes take."),
    F_STRING("sessionAffinity", "ClientIP: a client stays with its pod.", .fallback = "\"None\"",
             .values = affinities),
    F_STRING("loadBalancerIP", "The wanted address of a load balancer.", .support = FIELD_IGNORED,
             .size_max = 64),
    F_REFUSED("loadBalancerSourceRanges", "Clients that may use the load balancer."),
    F_STRING("externalName", "The name that an ExternalName stands for.", .support = FIELD_IGNORED,
             .instead = "names of type ExternalName are not resolved yet", .size_max = 254),
    F_STRING("externalTrafficPolicy", "Local: only pods of the node that a client asks.",
             .values = policies),
    F_INT("healthCheckNodePort", "The port of health checks.", .support = FIELD_IGNORED),
    F_BOOL("publishNotReadyAddresses", "Whether pods that are not ready get connections."),
    F_OBJECT("sessionAffinityConfig", affinity_fields, "The settings of sessionAffinity."),
    F_STRING("ipFamilyPolicy", "SingleStack: IPv4 is the only family.", .values = family_policies),
    F_LIST("ipFamilies", &string_item, "IPv4.", .items_max = 2),
    F_BOOL("allocateLoadBalancerNodePorts", "Whether a LoadBalancer gets node ports."),
    F_STRING("loadBalancerClass", "The controller of the load balancer.",
             .check = name_check_qualified),
    F_STRING("internalTrafficPolicy", "Local: pods reach only pods of their own node.",
             .values = policies),
    F_STRING("trafficDistribution", "A preference for near pods.", .support = FIELD_IGNORED,
             .size_max = 64),
    F_END,
};

static const struct field ingress_port_fields[] = {
    F_INT("port", "The port.", .is_required = true),
    F_STRING("protocol", "The protocol.", .values = protocols),
    F_STRING("error", "The port's problem.", .size_max = 316),
    F_END,
};
static const struct field ingress_port_item = F_OBJECT(NULL, ingress_port_fields, "A port.");
static const struct field ingress_fields[] = {
    F_STRING("ip", "The address.", .size_max = 64),
    F_STRING("hostname", "The name.", .size_max = 253),
    F_STRING("ipMode", "VIP or Proxy.", .size_max = 16),
    F_LIST("ports", &ingress_port_item, "The ports' states."),
    F_END,
};
static const struct field ingress_item = F_OBJECT(NULL, ingress_fields, "A way in.");
static const struct field balancer_fields[] = {
    F_LIST("ingress", &ingress_item, "The addresses of the load balancer."),
    F_END,
};
static const struct field condition_fields[] = {
    F_CONDITION("Conditions of the Service."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the Service.");
static const struct field status_fields[] = {
    F_OBJECT("loadBalancer", balancer_fields, "The state of a LoadBalancer.", .fallback = "{}"),
    F_LIST("conditions", &condition_item, "Conditions of the object.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The Service's address, ports and pods.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The present state.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the Service."},
    {"Type", "string", "", 0, "The way in which the Service is reached."},
    {"Cluster-IP", "string", "", 0, "The Service's address."},
    {"External-IP", "string", "", 0, "The address for clients elsewhere."},
    {"Port(s)", "string", "", 0, "The Service's ports, with those of the nodes."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Selector", "string", "", 1, "The labels of its pods."},
    {0},
};

static json_t *cell_ports(const json_t *spec)
{
    const json_t *port = NULL;
    struct buf text = {0};
    AUTO_FREE char *joined = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(spec, "ports"), i, port) {
        int64_t node_port = json_int(port, "nodePort", 0);

        buf_printf(&text, "%s%" PRId64, i > 0 ? "," : "", json_int(port, "port", 0));
        if (node_port > 0)
            buf_printf(&text, ":%" PRId64, node_port);
        buf_printf(&text, "/%s", text_or_empty(json_text(port, "protocol")));
    }
    joined = buf_steal(&text);
    return cell_text(joined, "<none>");
}

static json_t *cell_external(const json_t *service)
{
    const json_t *spec = json_object_get(service, "spec");
    const json_t *list = json_at(service, "status", "loadBalancer", "ingress", NULL);
    const char *type = json_text(spec, "type");
    AUTO_FREE char *joined = NULL;
    const json_t *item = NULL;
    struct buf text = {0};
    size_t i = 0;

    if (text_equal(type, "ExternalName"))
        return cell_text(json_text(spec, "externalName"), "<none>");
    if (!text_equal(type, "LoadBalancer"))
        return cell_text(NULL, "<none>");
    json_array_foreach (list, i, item) {
        const char *ip = json_text_filled(item, "ip");

        buf_printf(&text, "%s%s", i > 0 ? "," : "",
                   ip ? ip : text_or_empty(json_text(item, "hostname")));
    }
    joined = buf_steal(&text);
    return cell_text(joined, "<pending>");
}

static json_t *cell_selector(const json_t *spec)
{
    json_t *selector = json_object_get(spec, "selector");
    AUTO_FREE char *joined = NULL;
    struct buf text = {0};
    const char *key;
    json_t *value;

    json_object_foreach (selector, key, value)
        buf_printf(&text, "%s%s=%s", text.size > 0 ? "," : "", key, json_string_value(value));
    joined = buf_steal(&text);
    return cell_text(joined, "<none>");
}

static json_t *service_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "type"), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "clusterIP"), "<none>"));
    (void)json_array_append_new(row, cell_external(object));
    (void)json_array_append_new(row, cell_ports(spec));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row, cell_selector(spec));
    return row;
}

const struct kind kind_service = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "Service",
    .plural = "services",
    .singular = "service",
    .short_names = {"svc"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = service_cells,
    .validate = service_validate,
    .validate_update = service_validate_update,
    .set_defaults = service_set_defaults,
    .check_name = name_check_service,
    .doc = "An address and a name for pods that do the same.",
};
