/* endpoints_of.c - EndpointSlices and Endpoints, from a Service and its pods */

#include "control/services/endpoints_of.h"

#include <inttypes.h>

#include "base/fnv.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/service/service.h"

/* Pods that offer the same ports; pods may differ where targetPort is a name. */
struct endpoint_group {
    char *key;     /* the ports as text */
    json_t *ports; /* of a slice */
    VEC(const json_t *) pods;
};

typedef VEC(struct endpoint_group) endpoint_groups;

/* ---- ports ---- */

/* The number of the pod's port `target`; 0: the pod has none. */
static int64_t find_target(const json_t *pod, const json_t *target, const char *protocol)
{
    const json_t *container = NULL;
    size_t i = 0;

    if (json_is_integer(target))
        return json_integer_value(target);
    json_array_foreach (json_at(pod, "spec", "containers", NULL), i, container) {
        const json_t *port = NULL;
        size_t k = 0;

        json_array_foreach (json_object_get(container, "ports"), k, port)
            if (text_equal(json_text(port, "name"), json_string_value(target)) &&
                text_equal(json_text(port, "protocol"), protocol))
                return json_int(port, "containerPort", 0);
    }
    return 0;
}

/* The ports of a slice; `pod` NULL: of a Service without pods. */
static json_t *find_ports(const json_t *service, const json_t *pod)
{
    json_t *list = json_array();
    const json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (json_at(service, "spec", "ports", NULL), i, port) {
        const char *protocol = json_text(port, "protocol");
        int64_t number = find_target(pod, json_object_get(port, "targetPort"), protocol);
        const char *app = json_text_filled(port, "appProtocol");
        json_t *item = NULL;

        if (number <= 0)
            continue;
        item = json_object();
        json_put(item, "name", json_string(text_or_empty(json_text(port, "name"))));
        json_put_text(item, "protocol", protocol ? protocol : "TCP");
        json_put_int(item, "port", number);
        if (app)
            json_put_text(item, "appProtocol", app);
        (void)json_array_append_new(list, item);
    }
    return list;
}

/* ---- pods ---- */

static const char *pod_address(const json_t *pod)
{
    return json_text_at(pod, "status", "podIP", NULL);
}

/* As Kubernetes: a pod that ends stays, marked, in slices. */
static bool has_endpoint(const json_t *pod, bool with_ending)
{
    const char *address = pod_address(pod);

    /* The loopback is that of each machine: no address of a pod. */
    return address && *address && !text_starts_with(address, "127.") && !pod_is_terminal(pod) &&
           (with_ending || !pod_is_deleting(pod));
}

static bool publishes_all(const json_t *service)
{
    return json_bool_at(service, "spec", "publishNotReadyAddresses", NULL);
}

/* The pod's name in the Service's domain; NULL: none. */
static const char *find_hostname(const json_t *service, const json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec");
    const char *hostname = json_text_filled(spec, "hostname");

    return text_equal(json_text(spec, "subdomain"), json_text_at(service, "metadata", "name", NULL))
               ? hostname
               : NULL;
}

static json_t *make_target(const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    json_t *target = json_object();

    json_put_text(target, "kind", "Pod");
    json_put_text(target, "namespace", json_text(metadata, "namespace"));
    json_put_text(target, "name", json_text(metadata, "name"));
    json_put_text(target, "uid", json_text(metadata, "uid"));
    return target;
}

static void group_pods(const json_t *service, struct service_pods pods, bool with_ending,
                       endpoint_groups *groups)
{
    for (size_t i = 0; i < pods.n; i++) {
        struct endpoint_group *found = NULL;
        AUTO(json_freep) json_t *ports = NULL;
        AUTO_FREE char *key = NULL;

        if (!has_endpoint(pods.at[i], with_ending))
            continue;
        ports = find_ports(service, pods.at[i]);
        key = json_format(ports);
        VEC_EACH (groups, g)
            if (text_equal(g->key, key))
                found = g;
        if (!found) {
            vec_add(groups, (struct endpoint_group){.key = TAKE(key), .ports = TAKE(ports)});
            found = &groups->at[groups->n - 1];
        }
        vec_add(&found->pods, pods.at[i]);
    }
}

static void groups_done(endpoint_groups *groups)
{
    VEC_EACH (groups, g) {
        free(g->key);
        json_decref(g->ports);
        vec_done(&g->pods);
    }
    vec_done(groups);
}

/* ---- slices ---- */

/* Names follow from the Service's uid and a number, so that a restart finds its own slices. */
static char *slice_name(const json_t *service, size_t number)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const json_t *metadata = json_object_get(service, "metadata");
    uint64_t hash =
        fnv_number(fnv_text(FNV_START, text_or_empty(json_text(metadata, "uid"))), number);
    char suffix[6] = "";

    for (size_t i = 0; i + 1 < sizeof(suffix); i++) {
        suffix[i] = letters[hash % (sizeof(letters) - 1)];
        hash /= sizeof(letters) - 1;
    }
    return mem_format("%s-%s", text_or_empty(json_text(metadata, "name")), suffix);
}

static json_t *make_owner(const json_t *service)
{
    const json_t *metadata = json_object_get(service, "metadata");

    return json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", "v1", "kind", "Service",
                     "name", text_or_empty(json_text(metadata, "name")), "uid",
                     text_or_empty(json_text(metadata, "uid")), "controller", 1,
                     "blockOwnerDeletion", 1);
}

static json_t *make_labels(const json_t *service)
{
    json_t *labels = json_at(service, "metadata", "labels", NULL);
    json_t *copy = labels ? json_deep_copy(labels) : json_object();

    if (service_is_headless(service))
        json_put(copy, "service.kubernetes.io/headless", json_string(""));
    return copy;
}

static json_t *make_slice(const json_t *service, const char *manager, size_t number)
{
    AUTO_FREE char *name = slice_name(service, number);
    json_t *slice = json_object();
    json_t *metadata = json_object_at(slice, "metadata");
    json_t *labels = make_labels(service);

    json_put_text(labels, SERVICE_LABEL, json_text_at(service, "metadata", "name", NULL));
    json_put_text(labels, SLICE_MANAGER, manager);
    json_put_text(metadata, "name", name);
    json_put(metadata, "labels", labels);
    json_put(metadata, "ownerReferences", make_owner(service));
    json_put_text(slice, "addressType", "IPv4");
    json_put(slice, "endpoints", json_array());
    json_put(slice, "ports", json_array());
    return slice;
}

static json_t *make_endpoint(const json_t *service, const json_t *pod)
{
    json_t *endpoint = json_object();
    json_t *conditions = json_object_at(endpoint, "conditions");
    const char *hostname = find_hostname(service, pod);
    bool is_serving = pod_is_ready(pod);
    bool is_ending = pod_is_deleting(pod);

    json_put_bool(conditions, "ready", publishes_all(service) || (is_serving && !is_ending));
    json_put_bool(conditions, "serving", is_serving);
    json_put_bool(conditions, "terminating", is_ending);
    json_put(endpoint, "addresses", json_pack("[s]", pod_address(pod)));
    if (hostname)
        json_put_text(endpoint, "hostname", hostname);
    if (*pod_node(pod))
        json_put_text(endpoint, "nodeName", pod_node(pod));
    json_put(endpoint, "targetRef", make_target(pod));
    return endpoint;
}

/* The last slice of the list, if it has room; else a new one. */
static json_t *slice_with_room(const json_t *service, const char *manager, json_t *list,
                               json_t *ports)
{
    json_t *last = json_array_get(list, json_array_size(list) - 1);
    json_t *slice = NULL;

    if (last && json_equal(json_object_get(last, "ports"), ports) &&
        json_array_size(json_object_get(last, "endpoints")) < SLICE_ENDPOINTS_MAX)
        return last;
    slice = make_slice(service, manager, json_array_size(list));
    json_put(slice, "ports", json_incref(ports));
    (void)json_array_append_new(list, slice);
    return slice;
}

json_t *service_slices(const json_t *service, struct service_pods pods)
{
    endpoint_groups groups = {0};
    json_t *list = json_array();

    group_pods(service, pods, true, &groups);
    VEC_EACH (&groups, g)
        VEC_EACH (&g->pods, pod)
            (void)json_array_append_new(
                json_object_get(slice_with_room(service, SLICE_OWNER, list, g->ports), "endpoints"),
                make_endpoint(service, *pod));
    if (json_array_size(list) == 0)
        (void)json_array_append_new(list, make_slice(service, SLICE_OWNER, 0));
    groups_done(&groups);
    return list;
}

/* ---- Endpoints ---- */

static json_t *make_address(const json_t *service, const json_t *pod)
{
    json_t *address = json_object();
    const char *hostname = find_hostname(service, pod);

    json_put_text(address, "ip", pod_address(pod));
    if (hostname)
        json_put_text(address, "hostname", hostname);
    if (*pod_node(pod))
        json_put_text(address, "nodeName", pod_node(pod));
    json_put(address, "targetRef", make_target(pod));
    return address;
}

/* An old port has no empty name. */
static json_t *old_ports(const json_t *ports)
{
    json_t *list = json_deep_copy(ports);
    json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (list, i, port)
        if (!json_text_filled(port, "name"))
            json_put_text(port, "name", NULL);
    return list;
}

json_t *service_endpoints(const json_t *service, struct service_pods pods)
{
    endpoint_groups groups = {0};
    json_t *object = json_object();
    json_t *metadata = json_object_at(object, "metadata");
    json_t *labels = make_labels(service);
    json_t *subsets = json_array_at(object, "subsets");
    size_t n = 0;

    json_put_text(labels, ENDPOINTS_MANAGER, ENDPOINTS_OWNER);
    json_put_text(metadata, "name", json_text_at(service, "metadata", "name", NULL));
    json_put(metadata, "labels", labels);
    json_put(metadata, "ownerReferences", make_owner(service));
    group_pods(service, pods, publishes_all(service), &groups);
    VEC_EACH (&groups, g) {
        json_t *subset = json_object();

        VEC_EACH (&g->pods, pod) {
            bool is_ready = pod_is_ready(*pod) || publishes_all(service);

            if (n++ < ENDPOINTS_ADDRESSES_MAX)
                (void)json_array_append_new(
                    json_array_at(subset, is_ready ? "addresses" : "notReadyAddresses"),
                    make_address(service, *pod));
        }
        if (json_array_size(g->ports) > 0)
            json_put(subset, "ports", old_ports(g->ports));
        (void)json_array_append_new(subsets, subset);
    }
    groups_done(&groups);
    return object;
}

/* ---- the slices of Endpoints that others wrote ---- */

static json_t *mirror_endpoint(const json_t *address, bool is_ready)
{
    static const char *const kept[] = {"hostname", "nodeName", "targetRef"};
    json_t *endpoint = json_object();
    json_t *conditions = json_object_at(endpoint, "conditions");

    json_put_bool(conditions, "ready", is_ready);
    json_put(endpoint, "addresses", json_pack("[s]", text_or_empty(json_text(address, "ip"))));
    for (size_t i = 0; i < COUNT(kept); i++)
        if (json_object_get(address, kept[i]))
            json_put(endpoint, kept[i], json_deep_copy(json_object_get(address, kept[i])));
    return endpoint;
}

static void mirror_addresses(const json_t *service, const json_t *subset, bool is_ready,
                             json_t *list)
{
    const char *key = is_ready ? "addresses" : "notReadyAddresses";
    json_t *ports = json_object_get(subset, "ports");
    AUTO(json_freep) json_t *named = ports ? json_deep_copy(ports) : json_array();
    const json_t *address = NULL;
    json_t *port = NULL;
    size_t i = 0;

    json_array_foreach (named, i, port)
        if (!json_text(port, "name"))
            json_put(port, "name", json_string(""));
    json_array_foreach (json_object_get(subset, key), i, address)
        (void)json_array_append_new(
            json_object_get(slice_with_room(service, SLICE_MIRROR, list, named), "endpoints"),
            mirror_endpoint(address, is_ready));
}

json_t *service_mirror(const json_t *service, const json_t *endpoints)
{
    json_t *list = json_array();
    const json_t *subset = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(endpoints, "subsets"), i, subset) {
        mirror_addresses(service, subset, true, list);
        mirror_addresses(service, subset, false, list);
    }
    return list;
}
