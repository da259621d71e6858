/* service_rules.c - nftables rules from Services and their endpoints */

#include "node/net/service_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fnv.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kinds/service/service.h"
#include "node/net/net_config.h"

#define SERVICE_LABEL "kubernetes.io/service-name"

enum {
    DNS_PORT = 53,
    DNS_RATE = 1000,  /* questions a second of one pod */
    DNS_BURST = 2000, /* after a pause */
    ASKERS_MAX = 65536,
    AFFINITY_SECONDS = 10800,
    AFFINITY_CLIENTS = 65536, /* of one endpoint */
    TARGET_SIZE = 32
};

/* An endpoint of a port: "10.244.0.2 . 8080". */
struct target {
    char address[IP4_TEXT_SIZE];
    int64_t port;
};

typedef VEC(struct target) targets;

struct rules {
    const struct rules_input *in;
    struct buf *out;
    json_t *slices;   /* "ns/service" → array of slices */
    json_t *names;    /* chains and sets of this text: name → "chain" or "set" */
    json_t *takers;   /* address → true */
    json_t *balanced; /* "address . protocol . port" → true */
    struct buf maps;  /* elements, after all chains */
    struct buf pairs; /* hairpins */
};

/* ---- what goes where ---- */

static const char *name_of(const json_t *object)
{
    return text_or_empty(json_text_at(object, "metadata", "name", NULL));
}

static const char *namespace_of(const json_t *object)
{
    return text_or_empty(json_text_at(object, "metadata", "namespace", NULL));
}

static int by_key(const void *a, const void *b)
{
    const json_t *const *x = a;
    const json_t *const *y = b;
    int order = strcmp(namespace_of(*x), namespace_of(*y));

    return order ? order : strcmp(name_of(*x), name_of(*y));
}

/* Sorted copies of the pointers; the caller frees the array. */
static const json_t **sort_objects(const json_t *const *at, size_t n)
{
    const json_t **list = mem_alloc((n + 1) * sizeof(const json_t *));

    for (size_t i = 0; i < n; i++)
        list[i] = at[i];
    qsort(list, n, sizeof(*list), by_key);
    return list;
}

static void index_slices(struct rules *r)
{
    AUTO_FREE const json_t **list = sort_objects(r->in->slices_at, r->in->n_slices);

    for (size_t i = 0; i < r->in->n_slices; i++) {
        const char *service = json_text_at(list[i], "metadata", "labels", SERVICE_LABEL, NULL);
        AUTO_FREE char *key = service ? mem_format("%s/%s", namespace_of(list[i]), service) : NULL;

        if (key)
            (void)json_array_append(json_array_at(r->slices, key), (json_t *)(uintptr_t)list[i]);
    }
}

static bool is_true(const json_t *conditions, const char *key, bool fallback)
{
    const json_t *value = json_object_get(conditions, key);

    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

/* Does the endpoint take connections? `is_last_resort`: also one that ends. */
static bool takes(const json_t *endpoint, bool is_last_resort)
{
    const json_t *conditions = json_object_get(endpoint, "conditions");

    if (is_last_resort)
        return is_true(conditions, "serving", false) && is_true(conditions, "terminating", false);
    return is_true(conditions, "ready", true);
}

static int64_t slice_port(const json_t *slice, const json_t *port)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(slice, "ports"), i, item)
        if (text_equal(text_or_empty(json_text(item, "name")),
                       text_or_empty(json_text(port, "name"))) &&
            text_equal(json_text(item, "protocol"), json_text(port, "protocol")))
            return json_int(item, "port", 0);
    return 0;
}

static void add_targets(const json_t *slice, const json_t *port, const char *node,
                        bool is_last_resort, targets *ret)
{
    int64_t number = slice_port(slice, port);
    const json_t *endpoint = NULL;
    size_t i = 0;

    if (number <= 0)
        return;
    json_array_foreach (json_object_get(slice, "endpoints"), i, endpoint) {
        const char *text =
            json_string_value(json_array_get(json_object_get(endpoint, "addresses"), 0));
        struct target t = {.port = number};
        uint32_t address = 0;
        AUTO(err_freep) struct err *e = NULL;

        if (!takes(endpoint, is_last_resort) ||
            (node && !text_equal(json_text(endpoint, "nodeName"), node)))
            continue;
        e = ip4_parse(text_or_empty(text), &address);
        if (e)
            continue; /* of another family */
        ip4_format(address, t.address);
        vec_add(ret, t);
    }
}

static int by_target(const void *a, const void *b)
{
    const struct target *x = a;
    const struct target *y = b;
    int order = strcmp(x->address, y->address);

    return order ? order : x->port < y->port ? -1 : x->port > y->port;
}

/* The endpoints of a port, sorted, each once. `policy`: "Local" for those of this node only. */
static void find_targets(const struct rules *r, const json_t *service, const json_t *port,
                         const char *policy, targets *ret)
{
    AUTO_FREE char *key = mem_format("%s/%s", namespace_of(service), name_of(service));
    const json_t *slices = json_object_get(r->slices, key);
    const char *node = text_equal(policy, "Local") ? r->in->node : NULL;
    size_t n = 0;

    for (int resort = 0; resort < 2 && ret->n == 0; resort++) {
        for (size_t i = 0; i < json_array_size(slices); i++)
            add_targets(json_array_get(slices, i), port, node, resort > 0, ret);
        for (size_t i = 0; resort == 0 && i < ret->n; i++)
            json_put_bool(r->takers, ret->at[i].address, true);
    }
    if (ret->n > 1)
        qsort(ret->at, ret->n, sizeof(*ret->at), by_target);
    for (size_t i = 0; i < ret->n; i++)
        if (n == 0 || by_target(&ret->at[n - 1], &ret->at[i]) != 0)
            ret->at[n++] = ret->at[i];
    ret->n = n;
}

/* ---- chains ---- */

static void declare(struct rules *r, const char *name, const char *what, const char *rest)
{
    json_put_text(r->names, name, what);
    buf_printf(r->out, "add %s ip " RULES_TABLE " %s%s\n", what, name, rest);
}

static const char *protocol_of(const json_t *port)
{
    return text_equal(json_text(port, "protocol"), "UDP") ? "udp" : "tcp";
}

static char *hashed(const char *prefix, const char *text)
{
    return mem_format("%s-%016" PRIx64, prefix, fnv_text(FNV_START, text));
}

static void add_hairpins(struct rules *r, const targets *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const char *address = list->at[i].address;

        if (i == 0 || !text_equal(address, list->at[i - 1].address))
            buf_printf(&r->pairs, "add element ip " RULES_TABLE " hairpins { %s . %s }\n", address,
                       address);
    }
}

static void plain_chain(struct rules *r, const char *chain, const char *protocol,
                        const targets *list)
{
    buf_printf(r->out, "add rule ip " RULES_TABLE " %s meta l4proto %s dnat ip to ", chain,
               protocol);
    if (list->n == 1) {
        buf_printf(r->out, "%s:%" PRId64 "\n", list->at[0].address, list->at[0].port);
        return;
    }
    buf_printf(r->out, "numgen random mod %zu map { ", list->n);
    for (size_t i = 0; i < list->n; i++)
        buf_printf(r->out, "%s%zu : %s . %" PRId64, i > 0 ? ", " : "", i, list->at[i].address,
                   list->at[i].port);
    buf_add_text(r->out, " }\n");
}

/* An endpoint has a set of its clients, which goes with the endpoint. */
static void sticky_chain(struct rules *r, const char *chain, const char *protocol,
                         const targets *list, int64_t seconds)
{
    struct buf spread = {0};

    for (size_t i = 0; i < list->n; i++) {
        const struct target *t = &list->at[i];
        AUTO_FREE char *key =
            mem_format("%s/%s:%" PRId64 "/%" PRId64, chain, t->address, t->port, seconds);
        AUTO_FREE char *set = hashed("clients", key);
        AUTO_FREE char *endpoint = hashed("endpoint", key);
        AUTO_FREE char *rest = mem_format(
            " { type ipv4_addr ; flags dynamic,timeout ; timeout %" PRId64 "s ; size %d ; }",
            seconds, AFFINITY_CLIENTS);

        declare(r, set, "set", rest);
        declare(r, endpoint, "chain", "");
        buf_printf(r->out, "add rule ip " RULES_TABLE " %s update @%s { ip saddr }\n", endpoint,
                   set);
        buf_printf(r->out,
                   "add rule ip " RULES_TABLE " %s meta l4proto %s dnat ip to %s:%" PRId64 "\n",
                   endpoint, protocol, t->address, t->port);
        buf_printf(r->out, "add rule ip " RULES_TABLE " %s ip saddr @%s goto %s\n", chain, set,
                   endpoint);
        buf_printf(&spread, "%s%zu : goto %s", i > 0 ? ", " : "", i, endpoint);
    }
    buf_printf(r->out, "add rule ip " RULES_TABLE " %s numgen random mod %zu vmap { %s }\n", chain,
               list->n, spread.at);
    buf_done(&spread);
}

/* The chain to a port's endpoints; NULL: there are none. The caller frees the name. */
static char *add_chain(struct rules *r, const json_t *service, const json_t *port,
                       const char *policy)
{
    const json_t *spec = json_object_get(service, "spec");
    bool is_sticky = text_equal(json_text(spec, "sessionAffinity"), "ClientIP");
    const json_t *client = json_at(spec, "sessionAffinityConfig", "clientIP", NULL);
    AUTO_FREE char *key = mem_format("%s/%s/%s/%" PRId64 "/%s", namespace_of(service),
                                     name_of(service), protocol_of(port), json_int(port, "port", 0),
                                     text_equal(policy, "Local") ? policy : "Cluster");
    char *chain = hashed("service", key);
    targets list = {0};

    if (json_object_get(r->names, chain))
        return chain;
    find_targets(r, service, port, policy, &list);
    if (list.n == 0) {
        free(chain);
        return NULL;
    }
    declare(r, chain, "chain", "");
    if (is_sticky)
        sticky_chain(r, chain, protocol_of(port), &list,
                     json_int(client, "timeoutSeconds", AFFINITY_SECONDS));
    else
        plain_chain(r, chain, protocol_of(port), &list);
    add_hairpins(r, &list);
    vec_done(&list);
    return chain;
}

/* The addresses that a controller of load balancers gave the Service lead to it, too. */
static void add_balancers(struct rules *r, const json_t *service, const json_t *port,
                          const char *chain)
{
    const json_t *list = json_at(service, "status", "loadBalancer", "ingress", NULL);
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        AUTO_FREE char *key = mem_format("%s . %s . %" PRId64, text_or_empty(json_text(item, "ip")),
                                         protocol_of(port), json_int(port, "port", 0));
        uint32_t address = 0;
        AUTO(err_freep)
        struct err *e = ip4_parse(text_or_empty(json_text(item, "ip")), &address);

        if (e || text_equal(json_text(item, "ipMode"), "Proxy"))
            continue; /* a name, IPv6, or connections that end at the balancer */
        if (json_object_get(r->balanced, key))
            continue; /* the first Service by its name has it */
        json_put_bool(r->balanced, key, true);
        buf_printf(&r->maps, "add element ip " RULES_TABLE " balancers { %s : goto %s }\n", key,
                   chain);
    }
}

static void add_service(struct rules *r, const json_t *service)
{
    const json_t *spec = json_object_get(service, "spec");
    const json_t *port = NULL;
    size_t i = 0;

    if (!service_has_address(service))
        return;
    json_array_foreach (json_object_get(spec, "ports"), i, port) {
        AUTO_FREE char *inner =
            add_chain(r, service, port, json_text(spec, "internalTrafficPolicy"));
        AUTO_FREE char *outer = NULL;
        bool is_balanced = text_equal(service_type(service), "LoadBalancer");

        if (inner)
            buf_printf(
                &r->maps,
                "add element ip " RULES_TABLE " addresses { %s . %s . %" PRId64 " : goto %s }\n",
                json_text(spec, "clusterIP"), protocol_of(port), json_int(port, "port", 0), inner);
        if (json_int(port, "nodePort", 0) <= 0 && !is_balanced)
            continue;
        outer = add_chain(r, service, port, json_text(spec, "externalTrafficPolicy"));
        if (outer && is_balanced)
            add_balancers(r, service, port, outer);
        if (outer && json_int(port, "nodePort", 0) > 0)
            buf_printf(&r->maps,
                       "add element ip " RULES_TABLE " node-ports { %s . %" PRId64 " : goto %s }\n",
                       protocol_of(port), json_int(port, "nodePort", 0), outer);
    }
}

/* One element that is there twice would have the kernel refuse the whole table. */
static void add_host_ports(struct rules *r)
{
    const struct rules_host_port *last = NULL;

    for (size_t i = 0; i < r->in->n_ports; i++) {
        const struct rules_host_port *p = &r->in->ports_at[i];

        if (last && last->port == p->port && text_equal(last->protocol, p->protocol))
            continue;
        last = p;
        buf_printf(&r->maps,
                   "add element ip " RULES_TABLE " host-ports { %s . %" PRId64 " : %s . %" PRId64
                   " }\n",
                   text_equal(p->protocol, "UDP") ? "udp" : "tcp", p->port, p->address, p->target);
    }
}

/* ---- the table ---- */

static void rule(const struct rules *r, const char *fmt, ...) PRINTF(2, 3);

static void rule(const struct rules *r, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    buf_printf(r->out, "add rule ip " RULES_TABLE " %s\n", text);
}

static const struct {
    const char *name;
    const char *type;
} hooks[] = {
    {"guard", "filter hook prerouting priority raw"},
    {"prerouting", "nat hook prerouting priority dstnat"},
    {"output", "nat hook output priority -100"},
    {"postrouting", "nat hook postrouting priority srcnat"},
    {"input", "filter hook input priority filter"},
    {"forward", "filter hook forward priority filter"},
    {"leave", "filter hook output priority filter"},
};

static const struct {
    const char *name;
    const char *type;
} maps[] = {
    {"map addresses", "ipv4_addr . inet_proto . inet_service : verdict"},
    {"map balancers", "ipv4_addr . inet_proto . inet_service : verdict"},
    {"map node-ports", "inet_proto . inet_service : verdict"},
    {"map host-ports", "inet_proto . inet_service : ipv4_addr . inet_service"},
    {"set hairpins", "ipv4_addr . ipv4_addr"},
    {"set links", "ifname"},
    {"map " EGRESS_MAP, "ipv4_addr : verdict"},
    {"map " INGRESS_MAP, "ipv4_addr : verdict"},
};

static const char *const families[] = {"ip", "ip6"};

static void add_frame(struct rules *r, bool is_first)
{
    buf_add_text(r->out, "add table ip " RULES_TABLE "\n");
    if (is_first)
        buf_add_text(r->out, "delete table ip " RULES_TABLE "\nadd table ip " RULES_TABLE "\n");
    else
        buf_add_text(r->out, "flush table ip " RULES_TABLE "\n");
    for (size_t i = 0; i < COUNT(maps); i++) {
        const char *space = strchr(maps[i].name, ' ');

        buf_printf(r->out, "add %.*s ip " RULES_TABLE "%s { type %s ; }\n",
                   (int)(space - maps[i].name), maps[i].name, space, maps[i].type);
        buf_printf(r->out, "flush %.*s ip " RULES_TABLE "%s\n", (int)(space - maps[i].name),
                   maps[i].name, space);
    }
    buf_printf(r->out,
               "add set ip " RULES_TABLE
               " askers { type ifname ; size %d ; flags dynamic,timeout ; timeout 10s ; }\n",
               ASKERS_MAX);
    buf_add_text(r->out, "add chain ip " RULES_TABLE " services\n");
    for (size_t i = 0; i < COUNT(hooks); i++)
        buf_printf(r->out, "add chain ip " RULES_TABLE " %s { type %s ; policy accept ; }\n",
                   hooks[i].name, hooks[i].type);
}

/*
 * Links of pods carry IPv4 alone: the kernel gives both ends IPv6 addresses of their own, by which
 * a pod would reach what listens on the machine.
 */
static void add_six(const struct rules *r, bool is_first)
{
    static const char six[] = "ip6 " RULES_TABLE;

    buf_printf(r->out, "add table %s\n", six);
    if (is_first)
        buf_printf(r->out, "delete table %s\nadd table %s\n", six, six);
    else
        buf_printf(r->out, "flush table %s\n", six);
    buf_printf(r->out, "add set %s links { type ifname ; }\nflush set %s links\n", six, six);
    buf_printf(r->out,
               "add chain %s guard { type filter hook prerouting priority raw ; policy accept ; }\n"
               "add rule %s guard iifname @links drop\n",
               six, six);
}

/*
 * A packet of a pod has the pod's address, a packet with a pod's address comes from its link, and
 * nobody's packets go to the loopback. Questions for names are bounded before the kernel keeps a
 * connection for each.
 */
static void add_guard(const struct rules *r, const char *pods, const char *services)
{
    char gateway[IP4_TEXT_SIZE];

    ip4_format(net_gateway(r->in->pods), gateway);
    rule(r, "guard iifname != \"lo\" ip daddr 127.0.0.0/8 drop");
    rule(r, "guard ip saddr %s fib saddr . iif oif missing drop", pods);
    rule(r, "guard iifname @links fib saddr . iif oif missing drop");
    rule(r,
         "guard iifname @links ip daddr { %s, %s } udp dport %d update @askers { iifname limit "
         "rate over %d/second burst %d packets } drop",
         gateway, services, DNS_PORT, DNS_RATE, DNS_BURST);
}

static void add_addresses(const struct rules *r)
{
    static const char local[] = "fib daddr type local ip daddr != 127.0.0.0/8";

    rule(r, "services ip daddr . meta l4proto . th dport vmap @addresses");
    rule(r, "services ip daddr . meta l4proto . th dport vmap @balancers");
    rule(r, "services %s meta l4proto . th dport vmap @node-ports", local);
    rule(r,
         "services %s meta l4proto { tcp, udp } dnat ip to meta l4proto . th dport map @host-ports",
         local);
    rule(r, "prerouting jump services");
    rule(r, "output jump services");
}

/* Packets of pods leave the machine with its address, and so does what a Service leads elsewhere.
 */
static void add_sources(const struct rules *r, const char *pods)
{
    rule(r, "postrouting ct status dnat ip saddr . ip daddr @hairpins masquerade");
    rule(r, "postrouting ct status dnat ip daddr != %s masquerade", pods);
    rule(r, "postrouting ip saddr %s ip daddr != %s oifname != \"lo\" masquerade", pods, pods);
}

static void add_policies(struct rules *r, const char *pods)
{
    struct policy_input in = r->in->policies;
    AUTO_FREE const json_t **sorted = sort_objects(in.policies_at, in.n_policies);

    in.policies_at = sorted;
    policy_rules_format(&in, "ip " RULES_TABLE, r->out, &r->maps, r->names);
    rule(r, "forward jump " POLICY_CHAIN);
    rule(r, "input ip saddr %s jump " POLICY_CHAIN, pods);
}

/* Of the gateway, pods reach names, the API and the answers to pings. */
static void add_gateway(const struct rules *r, const char *pods)
{
    char gateway[IP4_TEXT_SIZE];

    ip4_format(net_gateway(r->in->pods), gateway);
    rule(r, "input ip saddr %s ip daddr %s ct state established,related accept", pods, gateway);
    rule(r, "input ip saddr %s ip daddr %s meta l4proto { tcp, udp } th dport %d accept", pods,
         gateway, DNS_PORT);
    if (r->in->api_port > 0)
        rule(r, "input ip saddr %s ip daddr %s tcp dport %u accept", pods, gateway,
             r->in->api_port);
    rule(r, "input ip saddr %s ip daddr %s icmp type echo-request accept", pods, gateway);
    rule(r, "input ip saddr %s ip daddr %s drop", pods, gateway);
}

/* An address of a Service that no rule has translated has no endpoint. */
static void add_refusals(const struct rules *r, const char *services)
{
    static const char *const chains[] = {"forward", "leave"};

    for (size_t i = 0; i < COUNT(chains); i++) {
        rule(r, "%s ip daddr %s meta l4proto tcp reject with tcp reset", chains[i], services);
        rule(r, "%s ip daddr %s reject with icmp port-unreachable", chains[i], services);
    }
}

/* The machine's ends of the pods' links: what comes from them is a pod's, whatever it says. */
static void add_links(const struct rules *r)
{
    for (size_t f = 0; r->in->n_links > 0 && f < COUNT(families); f++) {
        buf_printf(r->out, "add element %s " RULES_TABLE " links { ", families[f]);
        for (size_t i = 0; i < r->in->n_links; i++)
            buf_printf(r->out, "%s\"%s\"", i > 0 ? ", " : "", r->in->links_at[i]);
        buf_add_text(r->out, " }\n");
    }
}

static void drop_old(const struct rules *r, const json_t *before)
{
    static const char *const order[] = {"chain", "set"}; /* chains name sets */
    const char *name;
    json_t *what;

    for (size_t i = 0; i < COUNT(order); i++)
        json_object_foreach ((json_t *)(uintptr_t)before, name, what)
            if (text_equal(json_string_value(what), order[i]) && !json_object_get(r->names, name))
                buf_printf(r->out, "delete %s ip " RULES_TABLE " %s\n", order[i], name);
}

void service_rules_format(const struct rules_input *in, const json_t *before, struct buf *out,
                          struct rules_names *ret)
{
    struct rules r = {.in = in,
                      .out = out,
                      .slices = json_object(),
                      .names = json_object(),
                      .takers = json_object(),
                      .balanced = json_object()};
    AUTO_FREE const json_t **services = sort_objects(in->services_at, in->n_services);
    char pods[IP4_NET_TEXT_SIZE];
    char network[IP4_NET_TEXT_SIZE];

    ip4_net_format(in->pods, pods);
    ip4_net_format(in->services, network);
    index_slices(&r);
    add_frame(&r, !before);
    add_six(&r, !before);
    add_guard(&r, pods, network);
    add_addresses(&r);
    add_sources(&r, pods);
    add_policies(&r, pods);
    add_gateway(&r, pods);
    add_refusals(&r, network);
    for (size_t i = 0; i < in->n_services; i++)
        add_service(&r, services[i]);
    add_host_ports(&r);
    add_links(&r);
    buf_add(out, r.maps.at, r.maps.size);
    buf_add(out, r.pairs.at, r.pairs.size);
    drop_old(&r, before);
    buf_done(&r.maps);
    buf_done(&r.pairs);
    json_decref(r.slices);
    json_decref(r.balanced);
    *ret = (struct rules_names){r.names, r.takers};
}
