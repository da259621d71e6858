/* cluster_services.c - creates and mends the Services of the API and of DNS */

#include "control/services/cluster_services.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/services/endpoints_of.h"
#include "control/writes.h"
#include "kinds/service/service.h"

static const int64_t again_ns = NS_PER_SEC;

enum {
    DNS_PORT = 53,
    WATCHES = 3,
    SERVICES = 2,
    PORTS_MAX = 2
};

struct cluster_port {
    const char *name;
    const char *protocol;
    unsigned port;
    unsigned target;
};

struct cluster_service {
    const char *ns;
    const char *name;
    char address[IP4_TEXT_SIZE];
    struct cluster_port ports[PORTS_MAX];
    size_t n_ports;
};

struct cluster_services {
    struct cluster_services_options options;
    char *gateway;
    struct cluster_service all[SERVICES];
    struct store_watch *watches[WATCHES];
    struct loop_timer *timer;
    struct writes *writes;
};

static const struct {
    const char *group;
    const char *plural;
    const char *member; /* that is kept as it should be */
} resources[WATCHES] = {
    {"", "services", "spec"},
    {"", "endpoints", "subsets"},
    {"discovery.k8s.io", "endpointslices", "endpoints"},
};

/* ---- the objects ---- */

static json_t *make_ports(const struct cluster_service *s, bool is_service)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->n_ports; i++) {
        const struct cluster_port *p = &s->ports[i];
        json_t *port = json_pack("{s:s, s:s, s:i}", "name", p->name, "protocol", p->protocol,
                                 "port", (int)(is_service ? p->port : p->target));

        if (is_service)
            json_put_int(port, "targetPort", p->target);
        (void)json_array_append_new(list, port);
    }
    return list;
}

static json_t *make_spec(const struct cluster_service *s)
{
    return json_pack("{s:s, s:[s], s:s, s:s, s:s, s:s, s:[s], s:o}", "clusterIP", s->address,
                     "clusterIPs", s->address, "type", "ClusterIP", "sessionAffinity", "None",
                     "internalTrafficPolicy", "Cluster", "ipFamilyPolicy", "SingleStack",
                     "ipFamilies", "IPv4", "ports", make_ports(s, true));
}

static json_t *make_labels(const struct cluster_service *s, size_t resource)
{
    json_t *labels = json_object();

    if (resource == 2) {
        json_put_text(labels, SERVICE_LABEL, s->name);
        return labels;
    }
    json_put_text(labels, "k8s-app", s->name);
    if (text_equal(s->name, "kubernetes"))
        json_put_text(labels, "component", "apiserver");
    json_put_text(labels, "provider", "kubernetes");
    if (resource == 1)
        json_put_text(labels, ENDPOINTS_SKIP_MIRROR, "true");
    return labels;
}

/* The object of one of `resources`. New reference. */
static json_t *make_object(const struct cluster_services *c, const struct cluster_service *s,
                           size_t resource)
{
    json_t *object = json_object();
    json_t *metadata = json_object_at(object, "metadata");

    json_put_text(metadata, "name", s->name);
    json_put(metadata, "labels", make_labels(s, resource));
    if (resource == 0) {
        json_put(object, "spec", make_spec(s));
    } else if (resource == 1) {
        json_put(object, "subsets",
                 json_pack("[{s:[{s:s}], s:o}]", "addresses", "ip", c->gateway, "ports",
                           make_ports(s, false)));
    } else {
        json_put_text(object, "addressType", "IPv4");
        json_put(
            object, "endpoints",
            json_pack("[{s:[s], s:{s:b}}]", "addresses", c->gateway, "conditions", "ready", 1));
        json_put(object, "ports", make_ports(s, false));
    }
    return object;
}

/* ---- writes ---- */

static void cluster_services_on_written(void *owner, const char *key, uint64_t number,
                                        const struct err *e)
{
    struct cluster_services *c = owner;

    (void)number;
    if (!e)
        return;
    LOG(WARN, "service of the cluster was taken back, will be written again", S("service", key),
        E(e));
    loop_timer_set(c->timer, again_ns);
}

static struct err *write_one(struct cluster_services *c, const struct objects_request *r,
                             const json_t *present, const json_t *wanted)
{
    AUTO(json_freep) json_t *object = json_deep_copy(wanted);
    AUTO(json_freep) json_t *made = NULL;
    struct cluster_answer a = writes_begin(c->writes, cluster_services_on_written, r->name, 0);
    struct objects_request create = *r;

    create.name = NULL;
    if (!present)
        return writes_end(
            a, objects_create(c->options.objects, &create, object, a.done, a.arg, &made));
    return writes_end(
        a, objects_patch(c->options.objects, r, PATCH_MERGE, object, a.done, a.arg, &made));
}

static struct err *keep_one(struct cluster_services *c, const struct cluster_service *s,
                            size_t resource)
{
    const struct kind *k = kind_find(resources[resource].group, resources[resource].plural);
    const struct objects_request r = {
        .kind = k,
        .ns = s->ns,
        .name = s->name,
        .who = {.user = "system:services", .is_system = true, .is_admin = true, .host_uid = -1}};
    const struct store_object *o =
        store_get_applied(objects_store(c->options.objects), objects_key(k, s->ns, s->name));
    AUTO(json_freep) json_t *wanted = make_object(c, s, resource);
    AUTO(json_freep) json_t *present = NULL;

    if (o)
        TRY(objects_decode(o, &present));
    if (present &&
        json_equal(json_object_get(present, resources[resource].member),
                   json_object_get(wanted, resources[resource].member)) &&
        json_equal(json_object_get(present, "ports"), json_object_get(wanted, "ports")))
        return NULL;
    return write_one(c, &r, present, wanted);
}

static void cluster_services_on_time(void *arg)
{
    struct cluster_services *c = arg;
    bool is_done = true;

    for (size_t i = 0; i < SERVICES; i++)
        for (size_t k = 0; k < WATCHES; k++) {
            AUTO(err_freep) struct err *e = keep_one(c, &c->all[i], k);

            if (!e)
                continue;
            is_done = false;
            if (err_code(e) != ERR_NOT_FOUND) /* the namespace comes */
                LOG(WARN, "service of the cluster cannot be written, will be tried again",
                    S("service", c->all[i].name), S("resource", resources[k].plural), E(e));
        }
    if (!is_done)
        loop_timer_set(c->timer, again_ns);
}

static void cluster_services_on_change(void *arg, const struct store_change *change,
                                       int64_t revision)
{
    struct cluster_services *c = arg;

    (void)revision;
    for (size_t i = 0; change && i < SERVICES; i++)
        if (text_equal(change->object->key.name, c->all[i].name) &&
            text_equal(change->object->key.ns, c->all[i].ns))
            loop_timer_set(c->timer, 0);
}

static void cluster_services_name(struct cluster_services *c)
{
    const struct cluster_services_options *o = &c->options;

    c->all[0] = (struct cluster_service){.ns = "default",
                                         .name = "kubernetes",
                                         .ports = {{"https", "TCP", API_SERVICE_PORT, o->api_port}},
                                         .n_ports = 1};
    c->all[1] = (struct cluster_service){
        .ns = "kube-system",
        .name = "kube-dns",
        .ports = {{"dns", "UDP", DNS_PORT, DNS_PORT}, {"dns-tcp", "TCP", DNS_PORT, DNS_PORT}},
        .n_ports = 2};
    ip4_format(service_address_of_api(o->network), c->all[0].address);
    ip4_format(service_address_of_dns(o->network), c->all[1].address);
}

struct err *cluster_services_new(const struct cluster_services_options *o,
                                 struct cluster_services **ret)
{
    struct cluster_services *c = NULL;
    struct store *store = objects_store(o->objects);
    struct err *e = NULL;

    *ret = NULL;
    if (!o->gateway)
        return NULL;
    c = mem_alloc(sizeof(*c));
    *c = (struct cluster_services){.options = *o, .gateway = mem_strdup(o->gateway)};
    cluster_services_name(c);
    c->timer = loop_timer_new(o->loop, cluster_services_on_time, c);
    c->writes = writes_new(c);
    loop_timer_set(c->timer, 0);
    for (size_t i = 0; i < WATCHES && !e; i++) {
        const struct store_range range = {.group = resources[i].group,
                                          .resource = resources[i].plural};

        e = store_watch_new(store, &range, store_revision(store), cluster_services_on_change, c,
                            &c->watches[i]);
    }
    if (e) {
        cluster_services_free(c);
        return err_wrap(e, "services of the cluster");
    }
    *ret = c;
    return NULL;
}

void cluster_services_free(struct cluster_services *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < WATCHES; i++)
        store_watch_free(c->watches[i]);
    loop_timer_free(c->timer);
    writes_free(c->writes);
    free(c->gateway);
    free(c);
}
