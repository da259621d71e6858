/* kind_endpoints.c - core/v1 Endpoints and discovery.k8s.io/v1 EndpointSlice */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "model/ip4.h"
#include "model/names.h"

enum {
    ADDRESSES_MAX = 1000, /* as the endpoints controller of Kubernetes */
    PORTS_MAX = 100,
    SHOWN_MAX = 3
};

static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const char *const address_types[] = {"IPv4", "IPv6", "FQDN", NULL};

/* ---- Endpoints ---- */

static const struct field address_fields[] = {
    F_STRING("ip", "The address.", .is_required = true, .size_max = 64),
    F_STRING("hostname", "The name in the Service's domain.", .check = name_check_label),
    F_STRING("nodeName", "The node.", .size_max = 253),
    F_OBJECT("targetRef", object_reference_fields, "The pod."),
    F_END,
};
static const struct field address_item = F_OBJECT(NULL, address_fields, "An address.");

static const struct field old_port_fields[] = {
    F_STRING("name", "The port's name in the Service.", .size_max = 63),
    F_INT("port", "The port.", .is_required = true, .min = 1, .max = 65535),
    F_STRING("protocol", "TCP, UDP or SCTP.", .fallback = "\"TCP\"", .values = protocols),
    F_STRING("appProtocol", "The protocol of the application.", .check = name_check_qualified),
    F_END,
};
static const struct field old_port_item = F_OBJECT(NULL, old_port_fields, "A port.");

static const struct field subset_fields[] = {
    F_LIST("addresses", &address_item, "Ready addresses.", .items_max = ADDRESSES_MAX),
    F_LIST("notReadyAddresses", &address_item, "Addresses that are not ready.",
           .items_max = ADDRESSES_MAX),
    F_LIST("ports", &old_port_item, "The ports of all addresses.", .items_max = PORTS_MAX),
    F_END,
};
static const struct field subset_item = F_OBJECT(NULL, subset_fields, "Addresses and ports.");

static const struct field old_fields[] = {
    F_TYPE_AND_METADATA,
    F_LIST("subsets", &subset_item, "The addresses behind the Service of the same name."),
    F_END,
};

static const struct column old_columns[] = {
    {"Name", "string", "name", 0, "The name of the Service."},
    {"Endpoints", "string", "", 0, "The ready addresses with their ports."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

/* Adds up to three of "IP:PORT", and counts all. */
static void add_subset(struct buf *text, const json_t *subset, size_t *n)
{
    const json_t *ports = json_object_get(subset, "ports");
    const json_t *address = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(subset, "addresses"), i, address) {
        size_t n_ports = json_array_size(ports);

        for (size_t k = 0; k < (n_ports > 0 ? n_ports : 1); k++) {
            if ((*n)++ >= SHOWN_MAX)
                continue;
            buf_printf(text, "%s%s", text->size > 0 ? "," : "",
                       text_or_empty(json_text(address, "ip")));
            if (n_ports > 0)
                buf_printf(text, ":%" PRId64, json_int(json_array_get(ports, k), "port", 0));
        }
    }
}

static json_t *endpoints_cells(const json_t *object, int64_t now_ns)
{
    const json_t *subset = NULL;
    json_t *row = json_array();
    AUTO_FREE char *joined = NULL;
    struct buf text = {0};
    size_t n = 0;
    size_t i = 0;

    (void)now_ns;
    json_array_foreach (json_object_get(object, "subsets"), i, subset)
        add_subset(&text, subset, &n);
    if (n > SHOWN_MAX)
        buf_printf(&text, " + %zu more...", n - SHOWN_MAX);
    joined = buf_steal(&text);
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(joined, "<none>"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* An address that others write must not be one of the machine's own. */
static void validate_address(const char *text, const struct path *at, struct causes *causes)
{
    uint32_t address = 0;
    struct err *e = NULL;

    if (ip_is_six(text)) {
        cause_forbidden(causes, at, "IPv6 is not implemented yet");
        return;
    }
    e = ip4_parse(text_or_empty(text), &address);
    if (e)
        cause_take(causes, at, text_or_empty(text), e);
    else if (address == 0)
        cause_invalid(causes, at, text, "may not be unspecified (0.0.0.0 or ::)");
    else if (address >> 24 == 127)
        cause_invalid(causes, at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    else if (address >> 16 == 0xa9fe)
        cause_invalid(causes, at, text,
                      "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    else if (address >> 8 == 0xe00000)
        cause_invalid(causes, at, text,
                      "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

static void validate_addresses(const json_t *subset, const char *key, const struct path *at,
                               struct causes *causes)
{
    const json_t *address = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(subset, key), i, address)
        validate_address(json_text(address, "ip"), PATH(PATH_INDEX(PATH(at, key), i), "ip"),
                         causes);
}

static void endpoints_validate(const json_t *object, struct causes *causes)
{
    const json_t *subset = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(object, "subsets"), i, subset) {
        const struct path *at = PATH_INDEX(PATH(NULL, "subsets"), i);

        if (json_array_size(json_object_get(subset, "addresses")) == 0 &&
            json_array_size(json_object_get(subset, "notReadyAddresses")) == 0)
            cause_required(causes, at, "must specify `addresses` or `notReadyAddresses`");
        validate_addresses(subset, "addresses", at, causes);
        validate_addresses(subset, "notReadyAddresses", at, causes);
    }
}

const struct kind kind_endpoints = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "Endpoints",
    .plural = "endpoints",
    .singular = "endpoints",
    .short_names = {"ep"},
    .is_namespaced = true,
    .fields = old_fields,
    .columns = old_columns,
    .cells = endpoints_cells,
    .validate = endpoints_validate,
    .doc = "The addresses behind a Service, in the old form.",
};

/* ---- EndpointSlice ---- */

static const struct field endpoint_conditions_fields[] = {
    F_BOOL("ready", "Whether new connections may go there; absent: yes."),
    F_BOOL("serving", "Whether the pod is ready, even while it ends."),
    F_BOOL("terminating", "Whether the pod ends."),
    F_END,
};
static const struct field endpoint_fields[] = {
    F_LIST("addresses", &string_item, "The address; only the first counts.", .is_required = true,
           .items_max = 100),
    F_OBJECT("conditions", endpoint_conditions_fields, "The state.", .fallback = "{}"),
    F_STRING("hostname", "The name in the Service's domain.", .check = name_check_label),
    F_OBJECT("targetRef", object_reference_fields, "The pod."),
    F_MAP("deprecatedTopology", &string_item, "Old facts of the node."),
    F_STRING("nodeName", "The node.", .size_max = 253),
    F_STRING("zone", "The node's zone.", .size_max = 63),
    F_ANY("hints", "Kept, not used."),
    F_END,
};
static const struct field endpoint_item = F_OBJECT(NULL, endpoint_fields, "An endpoint.");

static const struct field port_fields[] = {
    F_STRING("name", "The port's name in the Service.", .size_max = 63, .fallback = "\"\""),
    F_STRING("protocol", "TCP, UDP or SCTP.", .fallback = "\"TCP\"", .values = protocols),
    F_INT("port", "The port.", .min = 0, .max = 65535),
    F_STRING("appProtocol", "The protocol of the application.", .check = name_check_qualified),
    F_END,
};
static const struct field port_item = F_OBJECT(NULL, port_fields, "A port.");

static const struct field slice_fields[] = {
    F_TYPE_AND_METADATA,
    F_STRING("addressType", "The type of all addresses.", .is_required = true,
             .values = address_types),
    F_LIST("endpoints", &endpoint_item, "The endpoints.", .items_max = ADDRESSES_MAX),
    F_LIST("ports", &port_item, "The ports of all endpoints.", .items_max = PORTS_MAX),
    F_END,
};

static const struct column slice_columns[] = {
    {"Name", "string", "name", 0, "The name of the slice."},
    {"AddressType", "string", "", 0, "The type of the addresses."},
    {"Ports", "string", "", 0, "The ports of the endpoints."},
    {"Endpoints", "string", "", 0, "The addresses."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *cell_slice_ports(const json_t *object)
{
    const json_t *ports = json_object_get(object, "ports");
    size_t n = json_array_size(ports);
    AUTO_FREE char *joined = NULL;
    struct buf text = {0};

    for (size_t i = 0; i < n && i < SHOWN_MAX; i++)
        buf_printf(&text, "%s%" PRId64, i > 0 ? "," : "",
                   json_int(json_array_get(ports, i), "port", 0));
    if (n > SHOWN_MAX)
        buf_printf(&text, " + %zu more...", n - SHOWN_MAX);
    joined = buf_steal(&text);
    return cell_text(joined, "<unset>");
}

static json_t *cell_slice_addresses(const json_t *object)
{
    const json_t *endpoint = NULL;
    AUTO_FREE char *joined = NULL;
    struct buf text = {0};
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (json_object_get(object, "endpoints"), i, endpoint) {
        const json_t *address = NULL;
        size_t k = 0;

        json_array_foreach (json_object_get(endpoint, "addresses"), k, address)
            if (n++ < SHOWN_MAX)
                buf_printf(&text, "%s%s", text.size > 0 ? "," : "", json_string_value(address));
    }
    if (n > SHOWN_MAX)
        buf_printf(&text, " + %zu more...", n - SHOWN_MAX);
    joined = buf_steal(&text);
    return cell_text(joined, "<unset>");
}

static json_t *slice_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(object, "addressType"), ""));
    (void)json_array_append_new(row, cell_slice_ports(object));
    (void)json_array_append_new(row, cell_slice_addresses(object));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void slice_validate(const json_t *object, struct causes *causes)
{
    const char *type = json_text(object, "addressType");
    const json_t *endpoint = NULL;
    size_t i = 0;

    if (type && *type && !text_equal(type, "IPv4"))
        cause_forbidden(causes, PATH(NULL, "addressType"), "only IPv4 is implemented");
    json_array_foreach (json_object_get(object, "endpoints"), i, endpoint) {
        const struct path *at = PATH(PATH_INDEX(PATH(NULL, "endpoints"), i), "addresses");
        const json_t *address = NULL;
        size_t k = 0;

        json_array_foreach (json_object_get(endpoint, "addresses"), k, address)
            validate_address(json_string_value(address), PATH_INDEX(at, k), causes);
    }
}

static struct err *slice_validate_update(const json_t *before, const json_t *after,
                                         const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *type = json_text(after, "addressType");

    (void)c;
    if (!text_equal(json_text(before, "addressType"), type))
        cause_invalid(&causes, PATH(NULL, "addressType"), text_or_empty(type),
                      "field is immutable");
    return causes_err(&causes, "EndpointSlice.discovery.k8s.io",
                      text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}

const struct kind kind_endpointslice = {
    .group = "discovery.k8s.io",
    .version = "v1",
    .api_version = "discovery.k8s.io/v1",
    .kind = "EndpointSlice",
    .plural = "endpointslices",
    .singular = "endpointslice",
    .is_namespaced = true,
    .fields = slice_fields,
    .columns = slice_columns,
    .cells = slice_cells,
    .validate = slice_validate,
    .validate_update = slice_validate_update,
    .doc = "A part of the addresses behind a Service.",
};
