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

bool net_is_wanted(const json_t *pod)
{
    static const char *const lists[] = {"initContainers", "containers"};
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
