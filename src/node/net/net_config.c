/* net_config.c - configurations for CNI plugins, and facts of pods */

#include "node/net/net_config.h"

#include "base/mem.h"

uint32_t net_gateway(struct ip4_net network)
{
    return network.address + 1;
}

json_t *net_plugins(struct ip4_net network, const char *ipam_dir)
{
    char subnet[IP4_NET_TEXT_SIZE];
    char gateway[IP4_TEXT_SIZE];

    ip4_net_format(network, subnet);
    ip4_format(net_gateway(network), gateway);
    return json_pack("[{s:s, s:b, s:{s:s, s:s, s:[[{s:s, s:s}]], s:[{s:s}]}}]", "type", "ptp",
                     "ipMasq", 0, "ipam", "type", "host-local", "dataDir", ipam_dir, "ranges",
                     "subnet", subnet, "gateway", gateway, "routes", "dst", "0.0.0.0/0");
}

struct err *net_result_address(const json_t *result, char **ret)
{
    const json_t *first = json_array_get(json_object_get(result, "ips"), 0);
    const char *text = json_text(first, "address");
    AUTO_FREE char *address = text ? mem_strndup(text, strcspn(text, "/")) : NULL;
    uint32_t value = 0;
    struct err *e;

    if (!address)
        return err_new(ERR_INTERNAL, "the CNI plugins gave the pod no address");
    e = ip4_parse(address, &value);
    if (e)
        return err_wrap(e, "address '%s' of the CNI plugins", address);
    *ret = TAKE(address);
    return NULL;
}

struct err *net_result_link(const json_t *result, char **ret)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(result, "interfaces"), i, item) {
        const char *name = json_text_filled(item, "name");

        if (name && !json_text_filled(item, "sandbox")) {
            *ret = mem_strdup(name);
            return NULL;
        }
    }
    return err_new(ERR_INTERNAL,
                   "the CNI plugins did not name the machine's end of the pod's link");
}

static const char *const lists[] = {"initContainers", "containers"};

static void add_named_ports(const json_t *container, json_t *list)
{
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(container, "ports"), i, port) {
        const char *name = json_text_filled(port, "name");
        const char *protocol = json_text_filled(port, "protocol");

        if (name)
            (void)json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", name, "protocol",
                                                        protocol ? protocol : "TCP", "port",
                                                        json_int(port, "containerPort", 0)));
    }
}

json_t *net_facts(const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const json_t *labels = json_object_get(metadata, "labels");
    json_t *facts = json_object();
    json_t *ports = json_array();
    const json_t *container = NULL;
    size_t i = 0;

    json_put_text(facts, "namespace", text_or_empty(json_text(metadata, "namespace")));
    json_put_text(facts, "name", text_or_empty(json_text(metadata, "name")));
    json_put(facts, "labels", labels ? json_deep_copy(labels) : json_object());
    for (size_t k = 0; k < COUNT(lists); k++)
        json_array_foreach (json_at(pod, "spec", lists[k], NULL), i, container)
            add_named_ports(container, ports);
    json_put(facts, "ports", ports);
    return facts;
}

bool net_is_wanted(const json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *container = NULL;
    size_t i = 0;

    if (json_bool(spec, "hostNetwork", false))
        return false;
    for (size_t k = 0; k < COUNT(lists); k++)
        json_array_foreach (json_object_get(spec, lists[k]), i, container)
            if (text_equal(json_text(container, "image"), "host"))
                return false;
    return true;
}

json_t *net_host_ports(const json_t *pod)
{
    json_t *list = json_array();
    const json_t *container = NULL;
    size_t i = 0;

    json_array_foreach (json_at(pod, "spec", "containers", NULL), i, container) {
        const json_t *port = NULL;
        size_t k = 0;

        json_array_foreach (json_object_get(container, "ports"), k, port)
            if (json_int(port, "hostPort", 0) > 0)
                (void)json_array_append_new(
                    list, json_pack("{s:I, s:I, s:s}", "hostPort", json_int(port, "hostPort", 0),
                                    "containerPort", json_int(port, "containerPort", 0), "protocol",
                                    text_or_empty(json_text(port, "protocol"))));
    }
    return list;
}
