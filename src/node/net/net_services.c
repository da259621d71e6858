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
#include "node/net/nft.h"
#include "node/net/pod_nets.h"
#include "node/net/service_rules.h"

enum {
    TEXT_MAX = 64 << 20
};

static const int64_t SETTLE_NS = 20 * NS_PER_MS;
static const int64_t RETRY_NS = NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 30 * NS_PER_SEC;

struct net_services {
    struct net_services_options o;
    struct informer *services_of;
    struct informer *slices_of;
    struct dns *dns;
    json_t *services; /* "ns/name" → object */
    json_t *slices;
    bool is_services_synced;
    bool is_slices_synced;
    struct loop_timer *timer;
    bool is_timer_set;
    bool is_busy;    /* in the worker */
    bool is_changed; /* meanwhile */
    json_t *names;   /* of the rules applied; NULL: none */
    char *rules;     /* applied */
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

static void keep(struct net_services *s, json_t *map, const json_t *object)
{
    AUTO_FREE char *key = key_of(object);

    json_put(map, key, json_incref((json_t *)(uintptr_t)object));
    services_wake(s, SETTLE_NS);
}

static void drop(struct net_services *s, json_t *map, const json_t *object)
{
    AUTO_FREE char *key = key_of(object);

    (void)json_object_del(map, key);
    services_wake(s, SETTLE_NS);
}

static void on_service(void *arg, const json_t *object)
{
    struct net_services *s = arg;

    keep(s, s->services, object);
}

static void on_service_removed(void *arg, const json_t *object)
{
    struct net_services *s = arg;

    drop(s, s->services, object);
}

static void on_slice(void *arg, const json_t *object)
{
    struct net_services *s = arg;

    keep(s, s->slices, object);
}

static void on_slice_removed(void *arg, const json_t *object)
{
    struct net_services *s = arg;

    drop(s, s->slices, object);
}

static void on_services_synced(void *arg)
{
    struct net_services *s = arg;

    s->is_services_synced = true;
    services_wake(s, SETTLE_NS);
}

static void on_slices_synced(void *arg)
{
    struct net_services *s = arg;

    s->is_slices_synced = true;
    services_wake(s, SETTLE_NS);
}

/* ---- texts ---- */

/* The values of a map; the caller frees the array. */
static const json_t **values_of(json_t *map, size_t *ret_n)
{
    const json_t **list = mem_alloc((json_object_size(map) + 1) * sizeof(const json_t *));
    const char *key;
    json_t *value;

    *ret_n = 0;
    json_object_foreach (map, key, value)
        list[(*ret_n)++] = value;
    return list;
}

struct host_ports {
    VEC(struct rules_host_port) list;
};

static void add_host_ports(void *arg, const char *uid, const struct pod_net *net)
{
    struct host_ports *h = arg;
    const json_t *port = NULL;
    size_t i = 0;

    (void)uid;
    json_array_foreach (net->ports, i, port)
        vec_add(&h->list, (struct rules_host_port){.protocol = json_text(port, "protocol"),
                                                   .port = json_int(port, "hostPort", 0),
                                                   .address = net->address,
                                                   .target = json_int(port, "containerPort", 0)});
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
    const json_t *slice = json_object_get(s->slices, "default/kubernetes");
    const json_t *port = json_array_get(json_object_get(slice, "ports"), 0);

    return (unsigned)json_int(port, "port", 0);
}

/* A job for the worker; it has all that it needs. */
struct net_state {
    struct net_services *of;
    char *rules;
    json_t *names;
    char *hosts;
    char *hosts_path;
    bool has_rules; /* to be applied */
    bool has_hosts; /* to be written */
};

static void state_free(struct net_state *m)
{
    free(m->rules);
    json_decref(m->names);
    free(m->hosts);
    free(m->hosts_path);
    free(m);
}

static struct net_state *state_make(struct net_services *s)
{
    struct net_state *m = mem_alloc(sizeof(*m));
    struct rules_input in = {.pods = s->o.pods,
                             .services = s->o.services,
                             .node = s->o.node,
                             .api_port = find_api_port(s)};
    AUTO_FREE const json_t **services = values_of(s->services, &in.n_services);
    AUTO_FREE const json_t **slices = values_of(s->slices, &in.n_slices);
    struct buf rules = {.cap = TEXT_MAX};
    struct buf hosts = {.cap = TEXT_MAX};
    struct host_ports ports = {0};

    pod_nets_each(s->o.nets, add_host_ports, &ports);
    if (ports.list.n > 1)
        qsort(ports.list.at, ports.list.n, sizeof(*ports.list.at), by_host_port);
    in.services_at = services;
    in.slices_at = slices;
    in.ports_at = ports.list.at;
    in.n_ports = ports.list.n;
    service_rules_format(&in, s->names, &rules, &m->names);
    names_format(&(struct names_input){services, in.n_services, slices, in.n_slices}, &hosts);
    vec_done(&ports.list);
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
    json_decref(s->names);
    s->names = TAKE(m->names);
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
        services_wake(s, retry_pause(&s->retry_ns, RETRY_NS, RETRY_MAX_NS));
    } else {
        state_take(s, m);
        if (s->is_changed)
            services_wake(s, 0);
    }
    state_free(m);
}

static void net_services_on_time(void *arg)
{
    struct net_services *s = arg;
    struct net_state *m = NULL;

    s->is_timer_set = false;
    s->is_changed = s->is_busy;
    if (s->is_busy || !s->is_services_synced || !s->is_slices_synced)
        return;
    m = state_make(s);
    if (!m->has_rules && !m->has_hosts) {
        state_free(m);
        return;
    }
    s->is_busy = true;
    worker_give(s->o.worker, state_work, on_state, m);
}

void net_services_pods_changed(struct net_services *s)
{
    services_wake(s, 0);
}

/* ---- variables ---- */

/* "my-svc" as "MY_SVC". The caller frees it. */
static char *variable_of(const char *name)
{
    char *copy = mem_strdup(name);

    for (char *at = copy; *at; at++)
        *at = *at == '-' ? '_' : (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    return copy;
}

static void put_variable(json_t *env, const char *prefix, const char *suffix, const char *value)
{
    AUTO_FREE char *name = mem_format("%s%s", prefix, suffix);

    json_put_text(env, name, value);
}

static void put_number(json_t *env, const char *prefix, const char *suffix, int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    put_variable(env, prefix, suffix, text);
}

/* Docker's form: NAME_PORT_80_TCP and its parts. */
static void add_port(json_t *env, const char *prefix, const char *address, const json_t *port)
{
    const char *protocol = text_equal(json_text(port, "protocol"), "UDP") ? "udp" : "tcp";
    int64_t number = json_int(port, "port", 0);
    AUTO_FREE char *upper = variable_of(protocol);
    AUTO_FREE char *long_prefix = mem_format("%s_PORT_%" PRId64 "_%s", prefix, number, upper);
    AUTO_FREE char *url = mem_format("%s://%s:%" PRId64, protocol, address, number);

    put_variable(env, long_prefix, "", url);
    put_variable(env, long_prefix, "_PROTO", protocol);
    put_number(env, long_prefix, "_PORT", number);
    put_variable(env, long_prefix, "_ADDR", address);
}

static void add_service_variables(json_t *env, const json_t *service)
{
    const char *address = json_text_at(service, "spec", "clusterIP", NULL);
    const json_t *ports = json_at(service, "spec", "ports", NULL);
    AUTO_FREE char *prefix =
        variable_of(text_or_empty(json_text_at(service, "metadata", "name", NULL)));
    const json_t *first = json_array_get(ports, 0);
    AUTO_FREE char *url = NULL;
    const json_t *port = NULL;
    size_t i = 0;

    if (!service_has_address(service) || !first)
        return;
    url = mem_format("%s://%s:%" PRId64,
                     text_equal(json_text(first, "protocol"), "UDP") ? "udp" : "tcp", address,
                     json_int(first, "port", 0));
    put_variable(env, prefix, "_SERVICE_HOST", address);
    put_number(env, prefix, "_SERVICE_PORT", json_int(first, "port", 0));
    put_variable(env, prefix, "_PORT", url);
    json_array_foreach (ports, i, port) {
        const char *name = json_text_filled(port, "name");
        AUTO_FREE char *upper = name ? variable_of(name) : NULL;
        AUTO_FREE char *suffix = name ? mem_format("_SERVICE_PORT_%s", upper) : NULL;

        if (suffix)
            put_number(env, prefix, suffix, json_int(port, "port", 0));
        add_port(env, prefix, address, port);
    }
}

void net_services_env(const struct net_services *s, const char *ns, json_t *env)
{
    const char *key;
    json_t *service;

    json_object_foreach (s->services, key, service)
        if (text_equal(json_text_at(service, "metadata", "namespace", NULL), ns))
            add_service_variables(env, service);
    service = json_object_get(s->services, "default/kubernetes");
    if (service)
        add_service_variables(env, service);
}

/* ---- start and end ---- */

struct err *net_services_new(const struct net_services_options *o, struct net_services **ret)
{
    struct net_services *s = mem_alloc(sizeof(*s));
    const struct dns_options dns = {.loop = o->loop, .dir = o->dir, .pods = o->pods};
    struct informer_options services = {.client = o->client,
                                        .loop = o->loop,
                                        .path = "/api/v1/services",
                                        .put = on_service,
                                        .removed = on_service_removed,
                                        .synced = on_services_synced,
                                        .arg = s};
    struct informer_options slices = services;
    struct err *e;

    slices.path = "/apis/discovery.k8s.io/v1/endpointslices";
    slices.put = on_slice;
    slices.removed = on_slice_removed;
    slices.synced = on_slices_synced;
    *s = (struct net_services){.o = *o, .services = json_object(), .slices = json_object()};
    s->timer = loop_timer_new(o->loop, net_services_on_time, s);
    e = dns_new(&dns, &s->dns);
    if (e) {
        net_services_free(s);
        return err_wrap(e, "services");
    }
    s->services_of = informer_new(&services);
    s->slices_of = informer_new(&slices);
    *ret = s;
    return NULL;
}

void net_services_free(struct net_services *s)
{
    if (!s)
        return;
    informer_free(s->services_of);
    informer_free(s->slices_of);
    dns_free(s->dns);
    loop_timer_free(s->timer);
    json_decref(s->services);
    json_decref(s->slices);
    json_decref(s->names);
    free(s->rules);
    free(s->hosts);
    free(s);
}
