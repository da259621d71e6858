/* policy_rules.c - nftables rules from NetworkPolicies */

#include "node/net/policy_rules.h"

#include <inttypes.h>

#include "base/fnv.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kinds/kind/label_selector.h"

/* A direction, as policies and packets name it. */
struct way {
    const char *type;  /* of policyTypes */
    const char *rules; /* in spec */
    const char *peers; /* in a rule */
    const char *map;   /* from a pod's address to its chain */
    const char *peer;  /* the peer's address in a packet */
};

static const struct way ways[] = {
    {"Egress", "egress", "to", EGRESS_MAP, "ip daddr"},
    {"Ingress", "ingress", "from", INGRESS_MAP, "ip saddr"},
};

typedef VEC(char *) matches; /* alternatives; "": everything */
typedef VEC(const struct policy_pod *) some_pods;

struct policies {
    const struct policy_input *in;
    const char *table;
    struct buf *out;
    struct buf *elements;
    json_t *names;
};

static void matches_done(matches *m)
{
    VEC_EACH (m, text)
        free(*text);
    vec_done(m);
}

/* ---- pods ---- */

/* The labels of a pod, or of a namespace, as label_selector_matches wants them. */
static bool labels_match(const json_t *selector, const json_t *labels)
{
    AUTO(json_freep)
    json_t *object = json_pack("{s:{s:O}}", "metadata", "labels", (json_t *)(uintptr_t)labels);
    AUTO(selector_freep) struct selector *parsed = NULL;
    AUTO(err_freep) struct err *e = label_selector_parse(selector, &parsed);

    return !e && label_selector_matches(parsed, object); /* validation refuses others */
}

static bool namespace_matches(const struct policies *p, const json_t *selector, const char *name)
{
    AUTO_FREE char *key = mem_format("/%s", name);
    const json_t *space = json_object_get(p->in->namespaces, key);
    const json_t *labels = json_at(space, "metadata", "labels", NULL);
    AUTO(json_freep) json_t *none = json_object();

    return space && labels_match(selector, labels ? labels : none);
}

/* The pods of the policy's namespace (`spaces` NULL), or of those that `spaces` selects, which
 * `selector` (NULL: all) selects. */
static void find_pods(const struct policies *p, const char *ns, const json_t *spaces,
                      const json_t *selector, some_pods *ret)
{
    for (size_t i = 0; i < p->in->n_pods; i++) {
        const struct policy_pod *pod = &p->in->pods_at[i];
        const char *its = json_text(pod->facts, "namespace");
        const json_t *labels = json_object_get(pod->facts, "labels");

        if (spaces ? !namespace_matches(p, spaces, its) : !text_equal(its, ns))
            continue;
        if (!selector || labels_match(selector, labels))
            vec_add(ret, pod);
    }
}

static const char *policy_namespace(const json_t *policy)
{
    return text_or_empty(json_text_at(policy, "metadata", "namespace", NULL));
}

/* ---- peers ---- */

static char *block_match(const struct way *w, const json_t *block)
{
    struct buf text = {0};
    struct ip4_block whole = {0};
    char address[IP4_TEXT_SIZE];
    const json_t *item = NULL;
    size_t i = 0;
    AUTO(err_freep) struct err *e = ip4_block_parse(json_text(block, "cidr"), &whole);

    if (e)
        return NULL; /* of IPv6: no pod has such a peer */
    ip4_format(whole.address, address);
    if (whole.bits > 0)
        buf_printf(&text, "%s %s/%u ", w->peer, address, whole.bits);
    json_array_foreach (json_object_get(block, "except"), i, item) {
        struct ip4_block part = {0};
        AUTO(err_freep) struct err *bad = ip4_block_parse(json_string_value(item), &part);

        ip4_format(part.address, address);
        if (!bad)
            buf_printf(&text, "%s != %s/%u ", w->peer, address, part.bits);
    }
    buf_add_text(&text, "");
    return buf_steal(&text);
}

static char *pods_match(const struct way *w, const some_pods *pods)
{
    struct buf text = {0};

    if (pods->n == 0)
        return NULL;
    buf_printf(&text, "%s { ", w->peer);
    for (size_t i = 0; i < pods->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", pods->at[i]->address);
    buf_add_text(&text, " } ");
    return buf_steal(&text);
}

/* The alternatives of a rule's peers. `pods`: those that its selectors name; of a rule without
 * peers, all. */
static void find_peers(const struct policies *p, const struct way *w, const json_t *policy,
                       const json_t *rule, matches *ret, some_pods *pods)
{
    const json_t *peers = json_object_get(rule, w->peers);
    const json_t *peer = NULL;
    some_pods found = {0};
    char *match = NULL;
    size_t i = 0;

    json_array_foreach (peers, i, peer) {
        const json_t *block = json_object_get(peer, "ipBlock");

        match = block ? block_match(w, block) : NULL;
        if (match)
            vec_add(ret, match);
        if (!block)
            find_pods(p, policy_namespace(policy), json_object_get(peer, "namespaceSelector"),
                      json_object_get(peer, "podSelector"), &found);
    }
    if (json_array_size(peers) == 0) {
        vec_add(ret, mem_strdup(""));
        for (size_t k = 0; k < p->in->n_pods; k++)
            vec_add(pods, &p->in->pods_at[k]);
    }
    VEC_EACH (&found, pod) {
        bool is_there = false;

        VEC_EACH (pods, other)
            is_there = is_there || *other == *pod;
        if (!is_there)
            vec_add(pods, *pod);
    }
    match = json_array_size(peers) > 0 ? pods_match(w, pods) : NULL;
    if (match)
        vec_add(ret, match);
    vec_done(&found);
}

/* ---- ports ---- */

static const char *nft_protocol(const json_t *port)
{
    const char *protocol = json_text(port, "protocol");

    return text_equal(protocol, "UDP") ? "udp" : text_equal(protocol, "SCTP") ? "sctp" : "tcp";
}

/* A port's name means the number that each pod gives it; NULL: no pod has it. */
static char *named_match(const json_t *port, const some_pods *pods)
{
    const char *name = json_string_value(json_object_get(port, "port"));
    const char *protocol = json_text_filled(port, "protocol");
    struct buf text = {0};
    bool is_found = false;

    buf_printf(&text, "ip daddr . %s dport { ", nft_protocol(port));
    VEC_EACH (pods, pod) {
        const json_t *item = NULL;
        size_t i = 0;

        json_array_foreach (json_object_get((*pod)->facts, "ports"), i, item) {
            if (!text_equal(json_text(item, "name"), name) ||
                !text_equal(json_text(item, "protocol"), protocol ? protocol : "TCP"))
                continue;
            buf_printf(&text, "%s%s . %" PRId64, is_found ? ", " : "", (*pod)->address,
                       json_int(item, "port", 0));
            is_found = true;
            break;
        }
    }
    buf_add_text(&text, " } ");
    if (is_found)
        return buf_steal(&text);
    buf_done(&text);
    return NULL;
}

static char *port_match(const json_t *port, const some_pods *pods)
{
    const json_t *number = json_object_get(port, "port");
    int64_t first = json_integer_value(number);
    int64_t last = json_int(port, "endPort", first);

    if (json_is_string(number))
        return named_match(port, pods);
    if (!number)
        return mem_format("meta l4proto %s ", nft_protocol(port));
    if (last > first)
        return mem_format("%s dport %" PRId64 "-%" PRId64 " ", nft_protocol(port), first, last);
    return mem_format("%s dport %" PRId64 " ", nft_protocol(port), first);
}

/* `pods`: those that the packets go to. */
static void find_ports(const json_t *rule, const some_pods *pods, matches *ret)
{
    const json_t *ports = json_object_get(rule, "ports");
    const json_t *port = NULL;
    size_t i = 0;

    if (json_array_size(ports) == 0)
        vec_add(ret, mem_strdup(""));
    json_array_foreach (ports, i, port) {
        char *match = port_match(port, pods);

        if (match)
            vec_add(ret, match);
    }
}

/* ---- chains ---- */

static void add_rule(struct policies *p, const struct way *w, const char *chain,
                     const json_t *policy, const json_t *rule)
{
    const json_t *selector = json_at(policy, "spec", "podSelector", NULL);
    bool is_egress = text_equal(w->type, "Egress");
    matches peers = {0};
    matches ports = {0};
    some_pods theirs = {0};
    some_pods own = {0};

    find_peers(p, w, policy, rule, &peers, &theirs);
    if (!is_egress)
        find_pods(p, policy_namespace(policy), NULL, selector, &own);
    find_ports(rule, is_egress ? &theirs : &own, &ports);
    VEC_EACH (&peers, peer)
        VEC_EACH (&ports, port)
            buf_printf(p->out, "add rule %s %s %s%sreturn\n", p->table, chain, *peer, *port);
    matches_done(&peers);
    matches_done(&ports);
    vec_done(&theirs);
    vec_done(&own);
}

static bool restricts(const json_t *policy, const struct way *w)
{
    const json_t *type = NULL;
    size_t i = 0;

    json_array_foreach (json_at(policy, "spec", "policyTypes", NULL), i, type)
        if (text_equal(json_string_value(type), w->type))
            return true;
    return false;
}

static bool policy_selects(const json_t *policy, const struct policy_pod *pod)
{
    return text_equal(policy_namespace(policy), json_text(pod->facts, "namespace")) &&
           labels_match(json_at(policy, "spec", "podSelector", NULL),
                        json_object_get(pod->facts, "labels"));
}

typedef VEC(const json_t *) some_policies;

static void add_chain(struct policies *p, const struct way *w, const char *chain,
                      const some_policies *list)
{
    if (json_object_get(p->names, chain))
        return;
    json_put_text(p->names, chain, "chain");
    buf_printf(p->out, "add chain %s %s\n", p->table, chain);
    VEC_EACH (list, policy) {
        const json_t *rule = NULL;
        size_t i = 0;

        json_array_foreach (json_at(*policy, "spec", w->rules, NULL), i, rule)
            add_rule(p, w, chain, *policy, rule);
    }
    buf_printf(p->out, "add rule %s %s drop\n", p->table, chain);
}

static void add_pod(struct policies *p, const struct way *w, const struct policy_pod *pod)
{
    some_policies list = {0};
    uint64_t hash = fnv_text(FNV_START, w->type);
    AUTO_FREE char *chain = NULL;

    for (size_t i = 0; i < p->in->n_policies; i++) {
        const json_t *policy = p->in->policies_at[i];

        if (!restricts(policy, w) || !policy_selects(policy, pod))
            continue;
        hash = fnv_text(hash, policy_namespace(policy));
        hash = fnv_text(hash, "/");
        hash = fnv_text(hash, text_or_empty(json_text_at(policy, "metadata", "name", NULL)));
        hash = fnv_text(hash, " ");
        vec_add(&list, policy);
    }
    if (list.n > 0) {
        chain = mem_format("policy-%016" PRIx64, hash);
        add_chain(p, w, chain, &list);
        buf_printf(p->elements, "add element %s %s { %s : jump %s }\n", p->table, w->map,
                   pod->address, chain);
    }
    vec_done(&list);
}

void policy_rules_format(const struct policy_input *in, const char *table, struct buf *out,
                         struct buf *elements, json_t *names)
{
    struct policies p = {in, table, out, elements, names};

    buf_printf(out, "add chain %s " POLICY_CHAIN "\n", table);
    buf_printf(out, "add rule %s " POLICY_CHAIN " ct state established,related return\n", table);
    buf_printf(out, "add rule %s " POLICY_CHAIN " ip saddr . ip daddr @hairpins return\n", table);
    for (size_t w = 0; w < COUNT(ways); w++)
        buf_printf(out, "add rule %s " POLICY_CHAIN " %s vmap @%s\n", table,
                   text_equal(ways[w].type, "Egress") ? "ip saddr" : "ip daddr", ways[w].map);
    for (size_t w = 0; w < COUNT(ways); w++)
        for (size_t i = 0; i < in->n_pods; i++)
            add_pod(&p, &ways[w], &in->pods_at[i]);
}
