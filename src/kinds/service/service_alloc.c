/* service_alloc.c - the addresses and node ports of Services */

#include <inttypes.h>
#include <stdio.h>

#include "base/json_pool.h"
#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/service/service.h"

enum {
    NODE_PORTS = NODE_PORT_MAX - NODE_PORT_MIN + 1,
    RESERVED = 10, /* the first addresses are given out only if a Service names them */
    LIST_MAX = 1 << 16
};

uint32_t service_address_of_api(struct ip4_net network)
{
    return network.address + 1;
}

uint32_t service_address_of_dns(struct ip4_net network)
{
    return network.address + RESERVED;
}

/* ---- what stays ---- */

static bool has_type_with_address(const json_t *service)
{
    return !text_equal(service_type(service), "ExternalName");
}

static json_t *find_port(const json_t *service, const json_t *like)
{
    const json_t *ports = json_at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_array_size(ports); i++) {
        json_t *port = json_array_get(ports, i);

        if (json_int(port, "port", 0) == json_int(like, "port", 0) &&
            text_equal(json_text(port, "protocol"), json_text(like, "protocol")))
            return port;
    }
    return NULL;
}

static bool holds_node_port(const json_t *service, const json_t *like)
{
    const json_t *ports = json_at(service, "spec", "ports", NULL);
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (ports, i, port)
        if (json_int(port, "nodePort", 0) == json_int(like, "nodePort", 0) &&
            text_equal(json_text(port, "protocol"), json_text(like, "protocol")))
            return true;
    return false;
}

static void keep_ports(const json_t *before, json_t *service)
{
    const json_t *ports = json_at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_array_size(ports); i++) {
        json_t *port = json_array_get(ports, i);
        const json_t *was = find_port(before, port);
        int64_t kept = json_int(was, "nodePort", 0);
        bool has = json_int(port, "nodePort", 0) > 0;

        if (service_has_node_ports(service) && !has && kept > 0)
            json_put_int(port, "nodePort", kept);
        else if (!service_has_node_ports(service) && has && holds_node_port(before, port))
            json_put_text(port, "nodePort", NULL);
    }
}

void service_keep(const json_t *before, json_t *service)
{
    json_t *spec = json_object_at(service, "spec");
    const char *was = json_text_at(before, "spec", "clusterIP", NULL);
    const char *is = json_text_filled(spec, "clusterIP");

    if (!has_type_with_address(service) && text_equal(is, was)) {
        json_put_text(spec, "clusterIP", NULL);
        json_put_text(spec, "clusterIPs", NULL);
        json_put_text(spec, "internalTrafficPolicy", NULL);
        json_put_text(spec, "ipFamilies", NULL);
        json_put_text(spec, "ipFamilyPolicy", NULL);
    } else if (has_type_with_address(before) && !is && was) {
        json_put_text(spec, "clusterIP", was);
        json_put(spec, "clusterIPs", json_pack("[s]", was));
    }
    if (!service_has_node_ports(service) &&
        text_equal(json_text(spec, "externalTrafficPolicy"),
                   json_text_at(before, "spec", "externalTrafficPolicy", NULL)))
        json_put_text(spec, "externalTrafficPolicy", NULL);
    keep_ports(before, service);
}

/* ---- what others hold ---- */

static struct str peek_text(struct str object, const char *key)
{
    struct str text = {0};
    struct str value = {0};

    if (json_peek(object, &text, "spec", key, NULL) == PEEK_FOUND && json_peek_string(text, &value))
        return value;
    return (struct str){0};
}

static struct str peek_address(const struct store_object *o)
{
    return peek_text(o->bytes, "clusterIP");
}

static const struct store_object *next_service(const struct service_pools *p,
                                               const struct store_object *o)
{
    static const struct store_range range = {.group = "", .resource = "services"};

    return store_next_applied(p->store, &range, o ? &o->key : NULL);
}

/* A set bit for each address of the network that a Service holds. The caller frees it. */
static uint8_t *taken_addresses(const struct service_pools *p, uint64_t n)
{
    uint8_t *taken = mem_alloc(n / 8 + 1);
    const struct store_object *o = NULL;

    while ((o = next_service(p, o))) {
        struct str text = peek_address(o);
        char address[IP4_TEXT_SIZE] = "";
        AUTO(err_freep) struct err *e = NULL;
        uint32_t value = 0;

        if (text.size == 0 || text.size >= sizeof(address))
            continue;
        memcpy(address, text.at, text.size);
        e = ip4_parse(address, &value);
        if (!e && ip4_net_has(p->network, value) && value - p->network.address < n)
            taken[(value - p->network.address) / 8] |=
                (uint8_t)(1U << (value - p->network.address) % 8);
    }
    return taken;
}

static bool is_address_taken(const struct service_pools *p, const char *address)
{
    const struct store_object *o = NULL;

    while ((o = next_service(p, o)))
        if (str_equal(peek_address(o), str_of(address)))
            return true;
    return false;
}

/* A bit for each node port and protocol ("TCP": the first NODE_PORTS bits). */
static void take_ports(const json_t *spec, uint8_t *taken)
{
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(spec, "ports"), i, port) {
        int64_t number = json_int(port, "nodePort", 0);
        bool is_udp = text_equal(json_text(port, "protocol"), "UDP");
        size_t bit = 0;

        if (number < NODE_PORT_MIN || number > NODE_PORT_MAX)
            continue;
        bit = (size_t)(number - NODE_PORT_MIN) + (is_udp ? NODE_PORTS : 0);
        taken[bit / 8] |= (uint8_t)(1U << bit % 8);
    }
}

static bool is_bit(const uint8_t *bits, size_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

static uint8_t *taken_ports(const struct service_pools *p)
{
    uint8_t *taken = mem_alloc(2 * NODE_PORTS / 8 + 1);
    const struct store_object *o = NULL;

    while ((o = next_service(p, o))) {
        struct str type = peek_text(o->bytes, "type");
        struct str text = {0};
        AUTO(json_freep) json_t *spec = NULL;
        AUTO(err_freep) struct err *e = NULL;

        if (!str_equal(type, STR("NodePort")) && !str_equal(type, STR("LoadBalancer")))
            continue;
        if (json_peek(o->bytes, &text, "spec", NULL) == PEEK_FOUND)
            e = json_parse(text, &spec);
        take_ports(spec, taken);
    }
    return taken;
}

/* ---- what is given out ---- */

static struct err *refuse(const json_t *service, const struct path *at, const char *value,
                          const char *why)
{
    AUTO(causes_done) struct causes causes = {0};

    cause_invalid(&causes, at, value, why);
    return causes_err(&causes, "Service",
                      text_or_empty(json_text_at(service, "metadata", "name", NULL)));
}

static struct err *check_address(const struct service_pools *p, const json_t *service,
                                 const char *text)
{
    const struct path *at = PATH(PATH(NULL, "spec"), "clusterIPs");
    char network[IP4_NET_TEXT_SIZE];
    uint32_t address = 0;
    AUTO_FREE char *why = NULL;

    TRY(ip4_parse(text, &address));
    ip4_net_format(p->network, network);
    if (!ip4_net_has(p->network, address) || address == p->network.address ||
        address - p->network.address == ip4_net_size(p->network) - 1)
        why = mem_format("failed to allocate IP %s: the provided IP (%s) is not in the valid "
                         "range. The range of valid IPs is %s",
                         text, text, network);
    else if (is_address_taken(p, text))
        why = mem_format("failed to allocate IP %s: provided IP is already allocated", text);
    return why ? refuse(service, at, text, why) : NULL;
}

static struct err *give_address(const struct service_pools *p, json_t *spec)
{
    uint64_t size = ip4_net_size(p->network);
    uint64_t n = size > LIST_MAX ? LIST_MAX : size;
    uint64_t room = n > RESERVED + 2 ? n - RESERVED - 2 : 0; /* without the last */
    AUTO_FREE uint8_t *taken = taken_addresses(p, n);
    uint32_t start = p->random(p->arg);
    char text[IP4_TEXT_SIZE];

    for (uint64_t i = 0; i < room; i++) {
        uint32_t offset = (uint32_t)(RESERVED + 1 + (start + i) % room);

        if (is_bit(taken, offset))
            continue;
        ip4_format(p->network.address + offset, text);
        json_put_text(spec, "clusterIP", text);
        json_put(spec, "clusterIPs", json_pack("[s]", text));
        return NULL;
    }
    return err_new(ERR_BUSY, "failed to allocate a clusterIP: range is full");
}

static struct err *allocate_address(const struct service_pools *p, const json_t *before,
                                    json_t *service)
{
    json_t *spec = json_object_at(service, "spec");
    const char *is = json_text_filled(spec, "clusterIP");

    if (!has_type_with_address(service) || service_is_headless(service))
        return NULL;
    if (!is)
        return give_address(p, spec);
    if (text_equal(is, json_text_at(before, "spec", "clusterIP", NULL)))
        return NULL;
    return check_address(p, service, is);
}

static struct err *check_port(const json_t *service, size_t i, const json_t *port,
                              const uint8_t *taken)
{
    const struct path *at = PATH(PATH_INDEX(PATH(PATH(NULL, "spec"), "ports"), i), "nodePort");
    int64_t number = json_int(port, "nodePort", 0);
    bool is_udp = text_equal(json_text(port, "protocol"), "UDP");
    AUTO(causes_done) struct causes causes = {0};

    if (number < NODE_PORT_MIN || number > NODE_PORT_MAX)
        cause_invalid_int(&causes, at, number,
                          "provided port is not in the valid range. The range of valid ports is "
                          "30000-32767");
    else if (is_bit(taken, (size_t)(number - NODE_PORT_MIN) + (is_udp ? NODE_PORTS : 0)))
        cause_invalid_int(&causes, at, number, "provided port is already allocated");
    return causes_err(&causes, "Service",
                      text_or_empty(json_text_at(service, "metadata", "name", NULL)));
}

static struct err *give_port(const struct service_pools *p, json_t *port, uint8_t *taken)
{
    size_t first = text_equal(json_text(port, "protocol"), "UDP") ? NODE_PORTS : 0;
    uint32_t start = p->random(p->arg);

    for (size_t i = 0; i < NODE_PORTS; i++) {
        size_t offset = (start + i) % NODE_PORTS;

        if (is_bit(taken, first + offset))
            continue;
        taken[(first + offset) / 8] |= (uint8_t)(1U << (first + offset) % 8);
        json_put_int(port, "nodePort", NODE_PORT_MIN + (int64_t)offset);
        return NULL;
    }
    return err_new(ERR_BUSY, "failed to allocate a nodePort: range is full");
}

static struct err *allocate_ports(const struct service_pools *p, const json_t *before,
                                  json_t *service)
{
    json_t *spec = json_object_at(service, "spec");
    bool gives = text_equal(service_type(service), "NodePort") ||
                 json_bool(spec, "allocateLoadBalancerNodePorts", true);
    const json_t *ports = json_object_get(spec, "ports");
    AUTO_FREE uint8_t *taken = NULL;

    if (!service_has_node_ports(service))
        return NULL;
    taken = taken_ports(p);
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);

        if (json_int(port, "nodePort", 0) > 0 && !holds_node_port(before, port))
            TRY(check_port(service, i, port, taken));
    }
    take_ports(spec, taken);
    for (size_t i = 0; gives && i < json_array_size(ports); i++)
        if (json_int(json_array_get(ports, i), "nodePort", 0) == 0)
            TRY(give_port(p, json_array_get(ports, i), taken));
    return NULL;
}

struct err *service_allocate(const struct service_pools *p, const json_t *before, json_t *service)
{
    TRY(allocate_address(p, before, service));
    return allocate_ports(p, before, service);
}
