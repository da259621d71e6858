/* pod_defaults.c - defaults of a pod that depend on other fields, as in Kubernetes */

#include "base/mem.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/pod/pod_view.h"

enum {
    NOT_READY_SECONDS = 300
};

/* Always for images with a movable tag, as in Kubernetes; the image `host` needs no pull. */
static const char *pull_policy_of(const char *image)
{
    const char *name = image ? strrchr(image, '/') : NULL;
    const char *tag;

    name = name ? name + 1 : image;
    if (!name || text_equal(image, "host"))
        return "IfNotPresent";
    if (strchr(name, '@'))
        return "IfNotPresent";
    tag = strchr(name, ':');
    return !tag || text_equal(tag, ":latest") ? "Always" : "IfNotPresent";
}

/*
 * Copies the members that `to` lacks; `is_extended_only`: only extended resources ("vendor/name").
 */
static void copy_missing(json_t *from, json_t *to, bool is_extended_only)
{
    const char *name;
    json_t *value;

    json_object_foreach (from, name, value)
        if (!json_object_get(to, name) && (!is_extended_only || strchr(name, '/')))
            json_put(to, name, json_incref(value));
}

/* A limit without a request is the request too; an extended resource has both. */
static void set_resources(json_t *container)
{
    json_t *resources = json_object_at(container, "resources");
    json_t *limits = json_object_get(resources, "limits");
    json_t *requests = json_object_get(resources, "requests");

    if (json_object_size(limits) > 0)
        copy_missing(limits, json_object_at(resources, "requests"), false);
    if (json_object_size(requests) > 0) {
        AUTO(json_freep) json_t *extended = json_object();

        copy_missing(requests, extended, true);
        if (json_object_size(extended) > 0)
            copy_missing(extended, json_object_at(resources, "limits"), false);
    }
}

static void set_host_ports(json_t *container)
{
    const json_t *ports = json_object_get(container, "ports");

    for (size_t i = 0; i < json_array_size(ports); i++) {
        json_t *port = json_array_get(ports, i);

        if (json_int(port, "hostPort", 0) == 0)
            json_put_int(port, "hostPort", json_int(port, "containerPort", 0));
    }
}

static void set_containers(json_t *spec, const char *which)
{
    const json_t *containers = json_object_get(spec, which);

    for (size_t i = 0; i < json_array_size(containers); i++) {
        json_t *container = json_array_get(containers, i);
        const char *policy = json_text(container, "imagePullPolicy");

        if (!policy || !*policy)
            json_put_text(container, "imagePullPolicy",
                          pull_policy_of(json_text(container, "image")));
        set_resources(container);
        container_set_probes(container);
        if (json_bool(spec, "hostNetwork", false))
            set_host_ports(container);
    }
}

/* A volume without a source is an emptyDir. */
static void set_volumes(json_t *spec)
{
    const json_t *volumes = json_object_get(spec, "volumes");

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        json_t *volume = json_array_get(volumes, i);

        if (json_object_size(volume) == 1 && json_object_get(volume, "name"))
            (void)json_object_at(volume, "emptyDir"); /* creates the member */
    }
}

static bool pod_tolerates(const json_t *tolerations, const char *key)
{
    for (size_t i = 0; i < json_array_size(tolerations); i++) {
        const json_t *toleration = json_array_get(tolerations, i);
        const char *own = json_text(toleration, "key");
        const char *effect = json_text(toleration, "effect");

        if ((!own || !*own || text_equal(own, key)) &&
            (!effect || !*effect || text_equal(effect, "NoExecute")))
            return true;
    }
    return false;
}

static void add_toleration(json_t *spec, const char *key)
{
    json_t *toleration;

    if (pod_tolerates(json_object_get(spec, "tolerations"), key))
        return;
    toleration = json_object();
    json_put_text(toleration, "key", key);
    json_put_text(toleration, "operator", "Exists");
    json_put_text(toleration, "effect", "NoExecute");
    json_put_int(toleration, "tolerationSeconds", NOT_READY_SECONDS);
    (void)json_array_append_new(json_array_at(spec, "tolerations"), toleration);
}

void pod_spec_set_defaults(json_t *spec)
{
    set_containers(spec, "containers");
    set_containers(spec, "initContainers");
    set_containers(spec, "ephemeralContainers");
    set_volumes(spec);
}

void pod_set_defaults(json_t *pod, const struct kind_context *c)
{
    json_t *spec = json_object_at(pod, "spec");
    json_t *status = json_object_at(pod, "status");

    (void)c;
    pod_spec_set_defaults(spec);
    add_toleration(spec, "node.kubernetes.io/not-ready");
    add_toleration(spec, "node.kubernetes.io/unreachable");
    if (!json_text(status, "phase"))
        json_put_text(status, "phase", "Pending");
    if (!json_text(status, "qosClass"))
        json_put_text(status, "qosClass", pod_qos_class(pod));
}
