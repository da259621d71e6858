/* net_services.c - from Services to rules, names and variables */

#include "node/net/net_services.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "client/informer.h"
#include "kinds/service/service.h"
#include "node/net/dns.h"
#include "node/net/names.h"
#include "node/net/net_config.h"
#include "node/net/nft.h"
#include "node/net/pod_nets.h"
#include "node/net/service_env.h"
#include "node/net/service_rules.h"

enum {
    TEXT_MAX = 64 << 20,
    DNS_PORT = 53
};

static const int64_t SETTLE_NS = 20 * NS_PER_MS;
static const int64_t RETRY_NS = NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 30 * NS_PER_SEC;

enum {
    OF_SERVICES,
    OF_SLICES,
    OF_POLICIES,
    OF_NAMESPACES,
    SOURCES
};

/* Objects of a kind that the rules follow from. */
struct net_source {
    struct net_services *of;
    struct informer *informer;
    json_t *objects; /* "ns/name" → object */
    bool is_synced;
};

struct net_services {
    struct net_services_options o;
    struct net_source sources[SOURCES];
    struct dns *dns;
    struct loop_timer *timer;
    bool is_timer_set;
    bool is_busy;    /* in the worker */
    bool is_changed; /* meanwhile */
    json_t *names;   /* of the rules applied; NULL: none */
    json_t *takers;  /* of the rules applied: address → true */
    json_t *covered; /* by the rules applied: pod's uid → true */
    char *rules;     /* applied */
    char *problem;   /* why the newest rules were not applied; NULL: they were */
    char *hosts;     /* written; NULL: nothing yet */
    int64_t retry_ns;
};

static void services_wake(struct net_services *s, int64_t delay_ns)
{
    if (!s->is_timer_set)
        loop_timer_set(s->timer, delay_ns);
    s->is_timer_set = true;
}

/* ---- objects ---- */

static char *key_of(const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");

    return mem_format("%s/%s", text_or_empty(json_text(metadata, "namespace")),
                      text_or_empty(json_text(metadata, "name")));
}

static void on_object(void *arg, const json_t *object)
{
    struct net_source *source = arg;
    AUTO_FREE char *key = key_of(object);

    json_put(source->objects, key, json_incref((json_t *)(uintptr_t)object));
    services_wake(source->of, SETTLE_NS);
}

static void on_object_removed(void *arg, const json_t *object)
{
    struct net_source *source = arg;
    AUTO_FREE char *key = key_of(object);

    (void)json_object_del(source->objects, key);
    services_wake(source->of, SETTLE_NS);
}

static void on_source_synced(void *arg)
{
    struct net_source *source = arg;

    source->is_synced = true;
    services_wake(source->of, SETTLE_NS);
}

static bool are_synced(const struct net_services *s)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (!s->sources[i].is_synced)
            return false;
    return true;
}

/* ---- texts ---- */

/* The objects of a source, in any order; the caller frees the array. */
static const json_t **objects_of(const struct net_services *s, size_t source, size_t *ret_n)
{
    json_t *map = s->sources[source].objects;
    const json_t **list = mem_alloc((json_object_size(map) + 1) * sizeof(const json_t *));
    const char *key;
    json_t *value;

    *ret_n = 0;
    json_object_foreach (map, key, value)
        list[(*ret_n)++] = value;
    return list;
}

/* The facts of this node's pods that the rules need. */
struct net_pods {
    VEC(struct rules_host_port) ports;
    VEC(const char *) links;
    VEC(struct policy_pod) pods;
    json_t *uids;
    json_t *dns;    /* the facts of the DNS server, for policies */
    bool are_known; /* all of them */
};

static void add_pod(void *arg, const char *uid, const struct pod_net *net)
{
    struct net_pods *all = arg;
    const json_t *port = NULL;
    size_t i = 0;

    all->are_known = all->are_known && net->facts;
    json_put_bool(all->uids, uid, true);
    vec_add(&all->links, net->link);
    vec_add(&all->pods, (struct policy_pod){net->address, net->facts});
    json_array_foreach (net->ports, i, port)
        vec_add(&all->ports,
                (struct rules_host_port){.protocol = json_text(port, "protocol"),
                                         .port = json_int(port, "hostPort", 0),
                                         .address = net->address,
                                         .target = json_int(port, "containerPort", 0)});
}

static void net_pods_done(struct net_pods *all)
{
    vec_done(&all->ports);
    vec_done(&all->links);
    vec_done(&all->pods);
    json_decref(all->uids);
    json_decref(all->dns);
}

/* To policies, the DNS server is a pod with the labels that it has elsewhere. */
static json_t *dns_facts(void)
{
    return json_pack("{s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:i}, {s:s, s:s, s:i}]}", "namespace",
                     "kube-system", "name", "kube-dns", "labels", "k8s-app", "kube-dns", "ports",
                     "name", "dns", "protocol", "UDP", "port", DNS_PORT, "name", "dns-tcp",
                     "protocol", "TCP", "port", DNS_PORT);
}

static int by_address(const void *a, const void *b)
{
    const struct policy_pod *x = a;
    const struct policy_pod *y = b;

    return strcmp(x->address, y->address);
}

static int by_link(const void *a, const void *b)
{
    const char *const *x = a;
    const char *const *y = b;

    return strcmp(*x, *y);
}

static int by_host_port(const void *a, const void *b)
{
    const struct rules_host_port *x = a;
    const struct rules_host_port *y = b;

    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return strcmp(x->protocol, y->protocol);
}

/* The port of the API at the gateway's address: that of default/kubernetes; 0: unknown. */
static unsigned find_api_port(const struct net_services *s)
{
    const json_t *slice = json_object_get(s->sources[OF_SLICES].objects, "default/kubernetes");
    const json_t *port = json_array_get(json_object_get(slice, "ports"), 0);

    return (unsigned)json_int(port, "port", 0);
}

/* A job for the worker; it has all that it needs. */
struct net_state {
    struct net_services *of;
    char *rules;
    struct rules_names names;
    json_t *covered;
    char *hosts;
    char *hosts_path;
    bool has_rules; /* to be applied */
    bool has_hosts; /* to be written */
};

static void state_free(struct net_state *m)
{
    free(m->rules);
    json_decref(m->names.names);
    json_decref(m->names.takers);
    json_decref(m->covered);
    free(m->hosts);
    free(m->hosts_path);
    free(m);
}

/* Sorted, so that the same state gives the same text. False: the objects of some pods, with their
 * labels, are not known yet. */
static bool net_pods_find(const struct net_services *s, const char *gateway, struct net_pods *ret)
{
    *ret = (struct net_pods){.uids = json_object(), .dns = dns_facts(), .are_known = true};
    pod_nets_each(s->o.nets, add_pod, ret);
    vec_add(&ret->pods, (struct policy_pod){gateway, ret->dns});
    qsort(ret->pods.at, ret->pods.n, sizeof(*ret->pods.at), by_address);
    if (ret->ports.n > 1)
        qsort(ret->ports.at, ret->ports.n, sizeof(*ret->ports.at), by_host_port);
    if (ret->links.n > 1)
        qsort(ret->links.at, ret->links.n, sizeof(*ret->links.at), by_link);
    return ret->are_known;
}

static struct net_state *state_make(struct net_services *s, const struct net_pods *pods)
{
    struct net_state *m = mem_alloc(sizeof(*m));
    struct rules_input in = {.pods = s->o.pods,
                             .services = s->o.services,
                             .node = s->o.node,
                             .api_port = find_api_port(s),
                             .ports_at = pods->ports.at,
                             .n_ports = pods->ports.n,
                             .links_at = pods->links.at,
                             .n_links = pods->links.n,
                             .policies = {.namespaces = s->sources[OF_NAMESPACES].objects,
                                          .pods_at = pods->pods.at,
                                          .n_pods = pods->pods.n}};
    AUTO_FREE const json_t **services = objects_of(s, OF_SERVICES, &in.n_services);
    AUTO_FREE const json_t **slices = objects_of(s, OF_SLICES, &in.n_slices);
    AUTO_FREE const json_t **policies = objects_of(s, OF_POLICIES, &in.policies.n_policies);
    struct buf rules = {.cap = TEXT_MAX};
    struct buf hosts = {.cap = TEXT_MAX};

    in.services_at = services;
    in.slices_at = slices;
    in.policies.policies_at = policies;
    service_rules_format(&in, s->names, &rules, &m->names);
    names_format(&(struct names_input){services, in.n_services, slices, in.n_slices}, &hosts);
    m->covered = json_incref(pods->uids);
    m->of = s;
    m->rules = buf_steal(&rules);
    m->hosts = buf_steal(&hosts);
    m->hosts_path = mem_strdup(dns_hosts_path(s->dns));
    m->has_rules = !text_equal(m->rules, s->rules);
    m->has_hosts = !text_equal(m->hosts, s->hosts);
    return m;
}

static struct err *state_work(void *message)
{
    const struct net_state *m = message;

    if (m->has_rules)
        TRY(nft_apply(m->rules));
    return m->has_hosts ? file_write(m->hosts_path, 0644, str_of(m->hosts)) : NULL;
}

static void state_take(struct net_services *s, struct net_state *m)
{
    s->retry_ns = 0;
    free(s->problem);
    s->problem = NULL;
    json_decref(s->names);
    s->names = TAKE(m->names.names);
    json_decref(s->takers);
    s->takers = TAKE(m->names.takers);
    json_decref(s->covered);
    s->covered = TAKE(m->covered);
    free(s->rules);
    s->rules = TAKE(m->rules);
    free(s->hosts);
    s->hosts = TAKE(m->hosts);
    if (m->has_hosts)
        dns_read_again(s->dns);
}

static void on_state(void *message, const struct err *e)
{
    struct net_state *m = message;
    struct net_services *s = m->of;

    s->is_busy = false;
    if (e) {
        LOG(ERROR, "rules of services cannot be applied, will be tried again", E(e));
        free(s->problem);
        s->problem = mem_strdup(err_message(e));
        services_wake(s, retry_pause(&s->retry_ns, RETRY_NS, RETRY_MAX_NS));
    } else {
        state_take(s, m);
        if (s->is_changed)
            services_wake(s, 0);
    }
    state_free(m);
    s->o.applied(s->o.arg);
}

static void net_services_on_time(void *arg)
{
    struct net_services *s = arg;
    struct net_pods pods = {0};
    char gateway[IP4_TEXT_SIZE];

    s->is_timer_set = false;
    s->is_changed = s->is_busy;
    if (s->is_busy || !are_synced(s))
        return;
    ip4_format(net_gateway(s->o.pods), gateway);
    if (net_pods_find(s, gateway, &pods)) { /* else net_services_pods_changed */
        s->is_busy = true;
        worker_give(s->o.worker, state_work, on_state, state_make(s, &pods));
    }
    net_pods_done(&pods);
}

void net_services_pods_changed(struct net_services *s)
{
    services_wake(s, 0);
}

bool net_services_cover(const struct net_services *s, const char *uid, const char **ret_problem)
{
    *ret_problem = s->problem;
    return json_object_get(s->covered, uid) != NULL;
}

bool net_services_lead_to(const struct net_services *s, const char *address)
{
    return json_object_get(s->takers, address) != NULL;
}

/* ---- variables ---- */

void net_services_env(const struct net_services *s, const char *ns, json_t *env)
{
    const char *key;
    json_t *service;

    json_object_foreach (s->sources[OF_SERVICES].objects, key, service)
        if (text_equal(json_text_at(service, "metadata", "namespace", NULL), ns))
            service_env_add(service, env);
}

/* ---- start and end ---- */

static void source_begin(struct net_services *s, size_t source, const char *path)
{
    struct net_source *own = &s->sources[source];
    const struct informer_options o = {.client = s->o.client,
                                       .loop = s->o.loop,
                                       .path = path,
                                       .put = on_object,
                                       .removed = on_object_removed,
                                       .synced = on_source_synced,
                                       .arg = own};

    *own = (struct net_source){.of = s, .objects = json_object()};
    own->informer = informer_new(&o);
}

struct err *net_services_new(const struct net_services_options *o, struct net_services **ret)
{
    static const char *const paths[SOURCES] = {
        [OF_SERVICES] = "/api/v1/services",
        [OF_SLICES] = "/apis/discovery.k8s.io/v1/endpointslices",
        [OF_POLICIES] = "/apis/networking.k8s.io/v1/networkpolicies",
        [OF_NAMESPACES] = "/api/v1/namespaces",
    };
    struct net_services *s = mem_alloc(sizeof(*s));
    const struct dns_options dns = {.loop = o->loop, .dir = o->dir, .pods = o->pods};
    struct err *e;

    *s = (struct net_services){.o = *o};
    s->timer = loop_timer_new(o->loop, net_services_on_time, s);
    e = dns_new(&dns, &s->dns);
    if (e) {
        net_services_free(s);
        return err_wrap(e, "services");
    }
    for (size_t i = 0; i < SOURCES; i++)
        source_begin(s, i, paths[i]);
    *ret = s;
    return NULL;
}

void net_services_free(struct net_services *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < SOURCES; i++) {
        informer_free(s->sources[i].informer);
        json_decref(s->sources[i].objects);
    }
    dns_free(s->dns);
    loop_timer_free(s->timer);
    json_decref(s->names);
    json_decref(s->takers);
    json_decref(s->covered);
    free(s->rules);
    free(s->problem);
    free(s->hosts);
    free(s);
}
