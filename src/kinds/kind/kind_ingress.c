/* kind_ingress.c - networking.k8s.io/v1 Ingress */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/service/ingress.h"

enum {
    HOSTS_SHOWN = 3
};

static const struct field reference_fields[] = {
    F_STRING("apiGroup", "The group of the object's kind.", .size_max = 253),
    F_STRING("kind", "The kind of the object.", .size_max = 253),
    F_STRING("name", "The name of the object.", .size_max = 253),
    F_END,
};
static const struct field port_fields[] = {
    F_STRING("name", "The name of the Service's port.", .size_max = 63),
    F_INT("number", "The number of the Service's port.", .min = INT32_MIN, .max = INT32_MAX),
    F_END,
};
static const struct field service_fields[] = {
    F_STRING("name", "The Service, of the same namespace.", .size_max = 253),
    F_OBJECT("port", port_fields, "The Service's port.", .fallback = "{}"),
    F_END,
};
static const struct field backend_fields[] = {
    F_OBJECT("service", service_fields, "A Service."),
    F_OBJECT("resource", reference_fields, "An object of the same namespace.", .is_atomic = true),
    F_END,
};

static const struct field path_fields[] = {
    F_STRING("path", "The path of a request's URL.", .size_max = 4096),
    F_STRING("pathType", "Exact, Prefix or ImplementationSpecific.", .size_max = 64),
    F_OBJECT("backend", backend_fields, "Where such requests go.", .fallback = "{}"),
    F_END,
};
static const struct field path_item = F_OBJECT(NULL, path_fields, "A path and its backend.");
static const struct field http_fields[] = {
    F_LIST("paths", &path_item, "The paths.", .is_atomic = true),
    F_END,
};
static const struct field rule_fields[] = {
    F_STRING("host", "The host of a request; absent: all.", .size_max = 253),
    F_OBJECT("http", http_fields, "The paths of the host."),
    F_END,
};
static const struct field rule_item = F_OBJECT(NULL, rule_fields, "A host and its paths.");

static const struct field tls_fields[] = {
    F_LIST("hosts", &string_item, "Hosts in the certificate.", .is_atomic = true),
    F_STRING("secretName", "The Secret with the certificate and its key.", .size_max = 253),
    F_END,
};
static const struct field tls_item = F_OBJECT(NULL, tls_fields, "A certificate.");

static const struct field spec_fields[] = {
    F_STRING("ingressClassName", "The IngressClass; absent: the default one.", .size_max = 253),
    F_OBJECT("defaultBackend", backend_fields, "Where requests without a rule go."),
    F_LIST("tls", &tls_item, "The certificates.", .is_atomic = true),
    F_LIST("rules", &rule_item, "The hosts and paths.", .is_atomic = true),
    F_END,
};

static const struct field status_port_fields[] = {
    F_INT("port", "The port.", .min = 0, .max = 65535),
    F_STRING("protocol", "TCP, UDP or SCTP.", .size_max = 16),
    F_STRING("error", "The reason why the port is not served.", .size_max = 316),
    F_END,
};
static const struct field status_port_item = F_OBJECT(NULL, status_port_fields, "A port.");
static const struct field address_fields[] = {
    F_STRING("ip", "The address.", .size_max = 64),
    F_STRING("hostname", "The name of the address.", .size_max = 253),
    F_LIST("ports", &status_port_item, "The ports.", .is_atomic = true),
    F_END,
};
static const struct field address_item = F_OBJECT(NULL, address_fields, "A way in.");
static const struct field balancer_fields[] = {
    F_LIST("ingress", &address_item, "The addresses.", .is_atomic = true),
    F_END,
};
static const struct field status_fields[] = {
    F_OBJECT("loadBalancer", balancer_fields, "The addresses that the controller has.",
             .fallback = "{}"),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "Hosts, paths, and their Services.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "What the controller reports.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the ingress."},
    {"Class", "string", "", 0, "The IngressClass."},
    {"Hosts", "string", "", 0, "The hosts."},
    {"Address", "string", "", 0, "The addresses that the controller has."},
    {"Ports", "string", "", 0, "The ports of clients."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *cell_hosts(const json_t *rules)
{
    struct buf text = {0};
    AUTO_FREE char *joined = NULL;
    size_t n = json_array_size(rules);
    size_t shown = 0;

    for (size_t i = 0; i < n && shown < HOSTS_SHOWN; i++) {
        const char *host = json_text_filled(json_array_get(rules, i), "host");

        if (host)
            buf_printf(&text, "%s%s", shown++ > 0 ? "," : "", host);
    }
    if (shown == HOSTS_SHOWN && n > HOSTS_SHOWN)
        buf_printf(&text, " + %zu more...", n - HOSTS_SHOWN);
    joined = buf_steal(&text);
    return cell_text(joined, "*");
}

static json_t *cell_addresses(const json_t *ingress)
{
    const json_t *list = json_at(ingress, "status", "loadBalancer", "ingress", NULL);
    struct buf text = {0};
    AUTO_FREE char *joined = NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *ip = json_text_filled(item, "ip");

        buf_printf(&text, "%s%s", i > 0 ? "," : "",
                   ip ? ip : text_or_empty(json_text(item, "hostname")));
    }
    joined = buf_steal(&text);
    return cell_text(joined, "");
}

static json_t *ingress_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    bool is_tls = json_array_size(json_object_get(spec, "tls")) > 0;
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "ingressClassName"), "<none>"));
    (void)json_array_append_new(row, cell_hosts(json_object_get(spec, "rules")));
    (void)json_array_append_new(row, cell_addresses(object));
    (void)json_array_append_new(row, json_string(is_tls ? "80, 443" : "80"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_ingress = {
    .group = "networking.k8s.io",
    .version = "v1",
    .api_version = "networking.k8s.io/v1",
    .kind = "Ingress",
    .plural = "ingresses",
    .singular = "ingress",
    .short_names = {"ing"},
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = ingress_cells,
    .validate = ingress_validate,
    .doc = "Hosts and paths for an ingress controller; Mete itself has none.",
};
