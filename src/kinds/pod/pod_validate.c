/* pod_validate.c - rules of PodSpec and its containers */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/gang.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/pod/pod_view.h"

enum {
    HOST_PORTS_MAX = 1024
};

static const char *const env_field_paths[] = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.podIP",
    "status.hostIPs",
    "status.podIPs",
    NULL,
};

/* Is `path` that of a map's member: metadata.labels['KEY'] or metadata.annotations['KEY']? */
bool pod_field_is_subscript(const char *path)
{
    return (text_starts_with(path, "metadata.labels['") ||
            text_starts_with(path, "metadata.annotations['")) &&
           text_ends_with(path, "']");
}

static void validate_field_ref(const json_t *ref, const struct path *at, struct causes *causes)
{
    const char *path = value_text(ref, "fieldPath");

    if (!*path || pod_field_is_subscript(path))
        return;
    for (size_t i = 0; env_field_paths[i]; i++)
        if (text_equal(env_field_paths[i], path))
            return;
    cause_unsupported(causes, PATH(at, "fieldPath"), path, env_field_paths);
}

void pod_validate_resource_ref(const json_t *ref, const json_t *spec, const struct path *at,
                               struct causes *causes)
{
    static const char *const known[] = {"limits.cpu",
                                        "limits.ephemeral-storage",
                                        "limits.memory",
                                        "requests.cpu",
                                        "requests.ephemeral-storage",
                                        "requests.memory",
                                        NULL};
    const char *resource = value_text(ref, "resource");
    const char *container = json_text(ref, "containerName");
    bool is_known = !*resource;

    for (size_t i = 0; !is_known && known[i]; i++)
        is_known = text_equal(known[i], resource);
    if (!is_known)
        cause_unsupported(causes, PATH(at, "resource"), resource, known);
    if (container && *container &&
        !value_find_named(json_object_get(spec, "containers"), container) &&
        !value_find_named(json_object_get(spec, "initContainers"), container))
        cause_not_found(causes, PATH(at, "containerName"), container);
}

static void validate_value_from(const json_t *from, const json_t *spec, const struct path *at,
                                struct causes *causes)
{
    static const char *const sources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                          "secretKeyRef"};
    size_t n = 0;

    for (size_t i = 0; i < COUNT(sources); i++)
        n += json_object_get(from, sources[i]) != NULL;
    if (n > 1)
        cause_invalid(causes, at, "", "may not have more than one field specified at a time");
    else if (n == 0)
        cause_invalid(causes, at, "",
                      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or "
                      "`secretKeyRef`");
    if (json_object_get(from, "fieldRef"))
        validate_field_ref(json_object_get(from, "fieldRef"), PATH(at, "fieldRef"), causes);
    if (json_object_get(from, "resourceFieldRef"))
        pod_validate_resource_ref(json_object_get(from, "resourceFieldRef"), spec,
                                  PATH(at, "resourceFieldRef"), causes);
}

static void validate_env(const json_t *container, const json_t *spec, const struct path *at,
                         struct causes *causes)
{
    const json_t *env = json_object_get(container, "env");

    for (size_t i = 0; i < json_array_size(env); i++) {
        const json_t *variable = json_array_get(env, i);
        const json_t *from = json_object_get(variable, "valueFrom");
        const struct path *here = PATH(PATH_INDEX(PATH(at, "env"), i), "valueFrom");

        if (!from)
            continue;
        validate_value_from(from, spec, here, causes);
        if (*value_text(variable, "value"))
            cause_invalid(causes, here, "", "may not be specified when `value` is not empty");
    }
}

static void validate_env_from(const json_t *container, const struct path *at, struct causes *causes)
{
    const json_t *list = json_object_get(container, "envFrom");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *from = json_array_get(list, i);
        bool has_map = json_object_get(from, "configMapRef") != NULL;
        bool has_secret = json_object_get(from, "secretRef") != NULL;
        const struct path *here = PATH_INDEX(PATH(at, "envFrom"), i);

        if (has_map && has_secret)
            cause_invalid(causes, here, "", "may not have more than one field specified at a time");
        else if (!has_map && !has_secret)
            cause_invalid(causes, here, "", "must specify one of: `configMapRef` or `secretRef`");
    }
}

/* Host ports that earlier containers took, as port * 4 + protocol. */
struct host_ports {
    int64_t at[HOST_PORTS_MAX];
    size_t n;
};

static int64_t host_port_of(const json_t *port)
{
    const char *protocol = value_text(port, "protocol");
    int64_t number = text_equal(protocol, "UDP") ? 1 : text_equal(protocol, "SCTP") ? 2 : 0;

    return json_int(port, "hostPort", 0) * 4 + number;
}

static bool take_host_port(struct host_ports *taken, int64_t port)
{
    for (size_t i = 0; i < taken->n; i++)
        if (taken->at[i] == port)
            return false;
    if (taken->n < HOST_PORTS_MAX)
        taken->at[taken->n++] = port;
    return true;
}

static void validate_ports(const json_t *container, bool is_host_network, const struct path *at,
                           struct host_ports *taken, struct causes *causes)
{
    const json_t *ports = json_object_get(container, "ports");

    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        int64_t host_port = json_int(port, "hostPort", 0);
        AUTO_FREE char *shown = mem_format("%" PRId64, host_port);
        const struct path *here = PATH(PATH_INDEX(PATH(at, "ports"), i), "hostPort");

        if (host_port == 0)
            continue;
        if (is_host_network && host_port != json_int(port, "containerPort", 0))
            cause_invalid_int(causes, here, host_port,
                              "must match `containerPort` when `hostNetwork` is true");
        if (!take_host_port(taken, host_port_of(port)))
            cause_duplicate(causes, here, shown);
    }
}

/* workingDir must be absolute: the image `host` has no directory to start a relative path from. */
static void validate_working_dir(const json_t *container, const struct path *at,
                                 struct causes *causes)
{
    const char *dir = value_text(container, "workingDir");

    if (*dir && *dir != '/')
        cause_invalid(causes, PATH(at, "workingDir"), dir, "must be an absolute path");
}

/* Refuses leading and trailing whitespace. The node reports other faults of the name, as in
 * Kubernetes: InvalidImageName. */
static void validate_image(const json_t *container, const struct path *at, struct causes *causes)
{
    const char *image = value_text(container, "image");
    size_t size = strlen(image);

    if (size > 0 && (strchr(" \t\r\n", image[0]) || strchr(" \t\r\n", image[size - 1])))
        cause_invalid(causes, PATH(at, "image"), image,
                      "must not have leading or trailing whitespace");
}

/* Sidecars hold their cpu and memory beside the others, but no devices yet. */
static void validate_sidecar(const json_t *container, bool is_init, const struct path *at,
                             struct causes *causes)
{
    if (!container_is_sidecar(container))
        return;
    if (!is_init)
        cause_forbidden(causes, PATH(at, "restartPolicy"),
                        "may not be set for non-init containers");
    else if (container_gpu_asks(NULL, container).n > 0 ||
             json_array_size(json_at(container, "resources", "claims", NULL)) > 0)
        cause_forbidden(causes, PATH(at, "resources"),
                        "gpus and claims of sidecars are not implemented yet: give them to a "
                        "container of spec.containers");
}

static void validate_containers(const json_t *spec, const char *which, const struct path *at,
                                struct causes *causes)
{
    const json_t *containers = json_object_get(spec, which);
    bool is_init = text_equal(which, "initContainers");
    struct host_ports taken = {0};

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);
        const char *name = json_text(container, "name");
        const struct path *here = PATH_INDEX(PATH(at, which), i);

        if (is_init && value_find_named(json_object_get(spec, "containers"), name))
            cause_duplicate(causes, PATH(here, "name"), name);
        validate_image(container, here, causes);
        validate_working_dir(container, here, causes);
        validate_env(container, spec, here, causes);
        validate_env_from(container, here, causes);
        container_validate_mounts(container, spec, here, causes);
        validate_ports(container, json_bool(spec, "hostNetwork", false), here, &taken, causes);
        container_validate_resources(container, here, causes);
        container_validate_probes(container, spec, is_init, here, causes);
        validate_sidecar(container, is_init, here, causes);
        container_validate_security(container, spec, here, causes);
    }
}

/* ---- ephemeral containers ---- */

static const char not_ephemeral[] = "cannot be set for an Ephemeral Container";

static void validate_absent(const json_t *container, const struct path *at, struct causes *causes)
{
    static const char *const refused[] = {"ports",         "resizePolicy",   "restartPolicy",
                                          "livenessProbe", "readinessProbe", "startupProbe",
                                          "lifecycle"};
    const json_t *mounts = json_object_get(container, "volumeMounts");

    for (size_t i = 0; i < COUNT(refused); i++) {
        const json_t *value = json_object_get(container, refused[i]);

        if (value && !(json_is_array(value) && json_array_size(value) == 0))
            cause_forbidden(causes, PATH(at, refused[i]), not_ephemeral);
    }
    if (json_object_size(json_object_get(container, "resources")) > 0)
        cause_forbidden(causes, PATH(at, "resources"), not_ephemeral);
    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const struct path *here = PATH_INDEX(PATH(at, "volumeMounts"), i);

        if (*value_text(json_array_get(mounts, i), "subPath"))
            cause_forbidden(causes, PATH(here, "subPath"), not_ephemeral);
        if (*value_text(json_array_get(mounts, i), "subPathExpr"))
            cause_forbidden(causes, PATH(here, "subPathExpr"), not_ephemeral);
    }
}

/* An image's processes have a user namespace, and cannot enter the process namespace of one that
 * has none. */
static void validate_target(const json_t *container, const json_t *spec, const struct path *at,
                            struct causes *causes)
{
    const char *name = value_text(container, "targetContainerName");
    const json_t *target = value_find_named(json_object_get(spec, "containers"), name);
    const struct path *here = PATH(at, "targetContainerName");

    if (!*name)
        return;
    if (!target)
        target = value_find_named(json_object_get(spec, "initContainers"), name);
    if (!target)
        cause_not_found(causes, here, name);
    else if (text_equal(value_text(target, "image"), "host") &&
             !text_equal(value_text(container, "image"), "host"))
        cause_forbidden(causes, here,
                        "the target runs as a user of the machine, with the image host: only an "
                        "ephemeral container with the image host can see its processes");
}

static void validate_ephemerals(const json_t *spec, const struct path *up, struct causes *causes)
{
    const json_t *containers = json_object_get(spec, "ephemeralContainers");
    const struct path *at = PATH(up, "ephemeralContainers");

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);
        const char *name = json_text(container, "name");
        const struct path *here = PATH_INDEX(at, i);

        if (value_find_named(json_object_get(spec, "containers"), name) ||
            value_find_named(json_object_get(spec, "initContainers"), name))
            cause_duplicate(causes, PATH(here, "name"), name);
        validate_image(container, here, causes);
        validate_working_dir(container, here, causes);
        validate_env(container, spec, here, causes);
        validate_env_from(container, here, causes);
        container_validate_mounts(container, spec, here, causes);
        container_validate_security(container, spec, here, causes);
        validate_absent(container, here, causes);
        validate_target(container, spec, here, causes);
    }
}

void toleration_validate(const json_t *toleration, const struct path *at, struct causes *causes)
{
    const char *key = value_text(toleration, "key");
    const char *operation = value_text(toleration, "operator");
    const char *value = value_text(toleration, "value");
    const char *effect = value_text(toleration, "effect");
    bool is_exists = text_equal(operation, "Exists");

    if (!*key && !is_exists)
        cause_invalid(causes, PATH(at, "operator"), operation,
                      "operator must be Exists when `key` is empty, which means \"match all "
                      "values and all keys\"");
    if (is_exists && *value)
        cause_invalid(causes, PATH(at, "operator"), value,
                      "value must be empty when `operator` is 'Exists'");
    if (json_object_get(toleration, "tolerationSeconds") && !text_equal(effect, "NoExecute"))
        cause_invalid(causes, PATH(at, "effect"), effect,
                      "effect must be 'NoExecute' when `tolerationSeconds` is set");
}

static void validate_dns(const json_t *spec, const struct path *at, struct causes *causes)
{
    if (text_equal(json_text(spec, "dnsPolicy"), "None") &&
        json_array_size(json_at(spec, "dnsConfig", "nameservers", NULL)) == 0)
        cause_required(causes, PATH(PATH(at, "dnsConfig"), "nameservers"),
                       "must provide at least one DNS nameserver when `dnsPolicy` is None");
}

void pod_spec_validate(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *volumes = json_object_get(spec, "volumes");
    const json_t *tolerations = json_object_get(spec, "tolerations");

    for (size_t i = 0; i < json_array_size(volumes); i++)
        pod_validate_volume(json_array_get(volumes, i), spec, PATH_INDEX(PATH(at, "volumes"), i),
                            causes);
    validate_containers(spec, "initContainers", at, causes);
    validate_containers(spec, "containers", at, causes);
    validate_ephemerals(spec, at, causes);
    for (size_t i = 0; i < json_array_size(tolerations); i++)
        toleration_validate(json_array_get(tolerations, i), PATH_INDEX(PATH(at, "tolerations"), i),
                            causes);
    pod_validate_overhead(json_object_get(spec, "overhead"), PATH(at, "overhead"), causes);
    validate_dns(spec, at, causes);
    pod_validate_security(spec, at, causes);
    pod_validate_gates(spec, at, causes);
    pod_validate_affinity(spec, at, causes);
    pod_validate_claims(spec, at, causes);
}

void pod_validate(const json_t *pod, struct causes *causes)
{
    gang_validate_pod(pod, causes);
    topology_validate(pod, NULL, causes);
    pod_validate_gpus(pod, NULL, causes);
    pod_spec_validate(json_object_get(pod, "spec"), PATH(NULL, "spec"), causes);
}
