/* kind_networkpolicy.c - networking.k8s.io/v1 NetworkPolicy */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "model/ip4.h"
#include "model/names.h"

enum {
    PORT_MAX = 65535,
    SIX_BITS = 128
};

static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const char *const types[] = {"Ingress", "Egress", NULL};

static const struct field block_fields[] = {
    F_STRING("cidr", "The network, as 10.0.0.0/8.", .is_required = true, .size_max = 64),
    F_LIST("except", &string_item, "Networks within it that do not count.", .items_max = 1024),
    F_END,
};
static const struct field peer_fields[] = {
    F_OBJECT("podSelector", label_selector_fields,
             "Pods: of the policy's namespace, or of those that namespaceSelector selects.",
             .is_atomic = true),
    F_OBJECT("namespaceSelector", label_selector_fields, "Namespaces whose pods count.",
             .is_atomic = true),
    F_OBJECT("ipBlock", block_fields, "Addresses, usually outside of the cluster."),
    F_END,
};
static const struct field peer_item = F_OBJECT(NULL, peer_fields, "Pods or addresses.");

static const struct field port_fields[] = {
    F_STRING("protocol", "TCP, UDP or SCTP.", .fallback = "\"TCP\"", .values = protocols),
    F("port", FIELD_INT_OR_STRING, "The port, or the name of a port of the pods; absent: all."),
    F_INT("endPort", "The last port of a range that begins at `port`."),
    F_END,
};
static const struct field port_item = F_OBJECT(NULL, port_fields, "A port of the pods.");

static const struct field ingress_fields[] = {
    F_LIST("ports", &port_item, "The ports; absent: all.", .is_atomic = true),
    F_LIST("from", &peer_item, "The sources; absent: all.", .is_atomic = true),
    F_END,
};
static const struct field ingress_item =
    F_OBJECT(NULL, ingress_fields, "Connections to the pods that are allowed.");
static const struct field egress_fields[] = {
    F_LIST("ports", &port_item, "The ports; absent: all.", .is_atomic = true),
    F_LIST("to", &peer_item, "The destinations; absent: all.", .is_atomic = true),
    F_END,
};
static const struct field egress_item =
    F_OBJECT(NULL, egress_fields, "Connections from the pods that are allowed.");

static const struct field type_item = F_STRING(NULL, "Ingress or Egress.", .values = types);

static const struct field spec_fields[] = {
    F_OBJECT("podSelector", label_selector_fields, "The policy's pods; {}: all of the namespace.",
             .is_atomic = true, .fallback = "{}"),
    F_LIST("ingress", &ingress_item, "What may reach the pods; absent: nothing.",
           .is_atomic = true),
    F_LIST("egress", &egress_item, "What the pods may reach; absent: nothing.", .is_atomic = true),
    F_LIST("policyTypes", &type_item, "The directions that the policy restricts.",
           .is_atomic = true, .items_max = 16),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The pods, and what they may do.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the policy."},
    {"Pod-Selector", "string", "", 0, "The policy's pods."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *policy_cells(const json_t *object, int64_t now_ns)
{
    AUTO_FREE char *selector = label_selector_format(json_at(object, "spec", "podSelector", NULL));
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(selector, "<none>"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* ---- defaults ---- */

static void policy_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *spec = json_object_at(object, "spec");
    bool has_egress = json_array_size(json_object_get(spec, "egress")) > 0;

    (void)c;
    if (json_array_size(json_object_get(spec, "policyTypes")) == 0)
        json_put(spec, "policyTypes",
                 has_egress ? json_pack("[s, s]", "Ingress", "Egress")
                            : json_pack("[s]", "Ingress"));
}

/* ---- validation ---- */

static const char port_words[] = "must be between 1 and 65535, inclusive";

static bool is_port(int64_t number)
{
    return number >= 1 && number <= PORT_MAX;
}

static void validate_end(const json_t *port, const struct path *at, struct causes *causes)
{
    const json_t *number = json_object_get(port, "port");
    int64_t end = json_int(port, "endPort", 0);

    if (json_is_integer(number) && end < json_integer_value(number))
        cause_invalid_int(causes, at, end, "must be greater than or equal to `port`");
    if (json_is_integer(number) && !is_port(end))
        cause_invalid_int(causes, at, end, port_words);
    if (json_is_string(number))
        cause_invalid_int(causes, at, end, "may not be specified when `port` is non-numeric");
    if (!number)
        cause_invalid_int(causes, at, end, "may not be specified when `port` is not specified");
}

static void validate_ports(const json_t *ports, const struct path *at, struct causes *causes)
{
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (ports, i, port) {
        const struct path *here = PATH_INDEX(at, i);
        const json_t *number = json_object_get(port, "port");

        if (json_is_integer(number) && !is_port(json_integer_value(number)))
            cause_invalid_int(causes, PATH(here, "port"), json_integer_value(number), port_words);
        if (json_is_string(number))
            cause_take(causes, PATH(here, "port"), json_string_value(number),
                       name_check_port(json_string_value(number)));
        if (json_object_get(port, "endPort"))
            validate_end(port, PATH(here, "endPort"), causes);
    }
}

/* False: a cause was added, or the network is one of IPv6, which no pod has. */
static bool validate_cidr(const char *text, const struct path *at, struct causes *causes,
                          struct ip4_block *ret)
{
    const char *slash = strchr(text, '/');
    struct err *e = NULL;

    if (ip_is_six(text) && slash && slash[strspn(slash, "/0123456789")] == '\0')
        return false;
    e = ip4_block_parse(text, ret);
    if (e)
        cause_invalid(causes, at, text,
                      "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    err_free(e);
    return !e;
}

static void validate_block(const json_t *block, const struct path *at, struct causes *causes)
{
    const char *cidr = text_or_empty(json_text(block, "cidr"));
    struct ip4_block whole = {0};
    const json_t *item = NULL;
    bool is_four = false;
    size_t i = 0;

    if (*cidr == '\0')
        cause_required(causes, PATH(at, "cidr"), "");
    else
        is_four = validate_cidr(cidr, PATH(at, "cidr"), causes, &whole);
    json_array_foreach (json_object_get(block, "except"), i, item) {
        const struct path *here = PATH_INDEX(PATH(at, "except"), i);
        struct ip4_block part = {0};

        if (validate_cidr(json_string_value(item), here, causes, &part) && is_four &&
            (part.bits <= whole.bits || !ip4_block_has(whole, part.address)))
            cause_invalid(causes, here, json_string_value(item),
                          "must be a strict subset of `cidr`");
    }
}

static void validate_peers(const json_t *peers, const struct path *at, struct causes *causes)
{
    static const char *const selectors[] = {"podSelector", "namespaceSelector"};
    const json_t *peer = NULL;
    size_t i = 0;

    json_array_foreach (peers, i, peer) {
        const struct path *here = PATH_INDEX(at, i);
        const json_t *block = json_object_get(peer, "ipBlock");
        size_t n = block ? 1 : 0;

        for (size_t k = 0; k < COUNT(selectors); k++) {
            const json_t *selector = json_object_get(peer, selectors[k]);

            n += selector ? 1 : 0;
            if (selector)
                label_selector_validate(selector, PATH(here, selectors[k]), causes);
        }
        if (block)
            validate_block(block, PATH(here, "ipBlock"), causes);
        if (n == 0)
            cause_required(causes, here, "must specify a peer");
        else if (n > 1 && block)
            cause_forbidden(causes, here, "may not specify both ipBlock and another peer");
    }
}

static void validate_direction(const json_t *spec, const char *direction, const char *peers,
                               struct causes *causes)
{
    const struct path *at = PATH(PATH(NULL, "spec"), direction);
    const json_t *rule = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(spec, direction), i, rule) {
        validate_ports(json_object_get(rule, "ports"), PATH(PATH_INDEX(at, i), "ports"), causes);
        validate_peers(json_object_get(rule, peers), PATH(PATH_INDEX(at, i), peers), causes);
    }
}

static void policy_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");
    const json_t *list = json_object_get(spec, "policyTypes");

    label_selector_validate(json_object_get(spec, "podSelector"), PATH(at, "podSelector"), causes);
    validate_direction(spec, "ingress", "from", causes);
    validate_direction(spec, "egress", "to", causes);
    if (json_array_size(list) > 2)
        cause_invalid_json(causes, PATH(at, "policyTypes"), list,
                           "may not specify more than two policyTypes");
}

const struct kind kind_networkpolicy = {
    .zero = "{\"spec\":{\"podSelector\":{}}}",
    .group = "networking.k8s.io",
    .version = "v1",
    .api_version = "networking.k8s.io/v1",
    .kind = "NetworkPolicy",
    .plural = "networkpolicies",
    .singular = "networkpolicy",
    .short_names = {"netpol"},
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = policy_cells,
    .validate = policy_validate,
    .set_defaults = policy_set_defaults,
    .doc = "What pods may reach, and what may reach them.",
};
