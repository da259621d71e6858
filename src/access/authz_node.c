/*
 * authz_node.c - the rights of nodes
 *
 * A node's rights follow its pods. A node reads Services, EndpointSlices, NetworkPolicies and
 * namespaces, its own Node, the pods
 * bound to it, the ConfigMaps and Secrets that these pods name, and the SlurmJobs that they belong
 * to, and PersistentVolumes, of which it writes the status of its own. The node writes its own
 * Node, its own Lease and its pods' status, deletes its pods, and creates events.
 */

#include "access/authz_private.h"
#include "base/json.h"
#include "base/json_pool.h"
#include "base/mem.h"
#include "kinds/node_lease.h"
#include "kinds/object/objects.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/storage/storage.h"
#include "model/selector.h"

static bool is_kind(const struct access *a, const char *plural)
{
    return *a->kind->group == '\0' && text_equal(a->kind->plural, plural);
}

static bool is_subresource(const struct access *a, const char *name)
{
    return text_equal(a->subresource, name);
}

/* Is a list restricted to the node by exactly "PATH=NODE" among its requirements? */
static bool list_selects(const struct access *a, const char *path, const char *node)
{
    struct str rest = str_of(a->field_selector);

    while (rest.at && rest.size > 0) {
        struct str value = str_cut(&rest, ',');
        struct str key = str_cut(&value, '=');

        if (value.size > 0 && *value.at == '=')
            value = (struct str){.at = value.at + 1, .size = value.size - 1};
        if (value.at && str_equal(key, str_of(path)) && str_equal(value, str_of(node)))
            return true;
    }
    return false;
}

static bool is_bound_to(const struct store_object *o, const char *node)
{
    struct str text = {0};
    struct str value = {0};
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(err_freep) struct err *e = NULL;
    enum json_peeked found = json_peek(o->bytes, &text, "spec", "nodeName", NULL);

    if (found == PEEK_ABSENT)
        return false;
    if (found == PEEK_FOUND && json_peek_string(text, &value))
        return str_equal(value, str_of(node));
    e = objects_decode(o, &pod);
    return !e && text_equal(json_text_at(pod, "spec", "nodeName", NULL), node);
}

static bool pod_is_bound_to(const struct store *s, const char *ns, const char *name,
                            const char *node)
{
    const struct store_object *o =
        store_get(s, (struct store_key){.group = "", .resource = "pods", .ns = ns, .name = name});

    return o && is_bound_to(o, node);
}

static bool text_is(const json_t *object, const char *key, const char *text)
{
    const char *value = json_text(object, key);

    return value && text_equal(value, text);
}

static bool env_names(const json_t *container, bool is_secret, const char *name)
{
    const char *key = is_secret ? "secretKeyRef" : "configMapKeyRef";
    const char *from = is_secret ? "secretRef" : "configMapRef";
    size_t i;
    json_t *entry;

    json_array_foreach (json_object_get(container, "env"), i, entry) {
        if (text_is(json_at(entry, "valueFrom", key, NULL), "name", name))
            return true;
    }
    json_array_foreach (json_object_get(container, "envFrom"), i, entry) {
        if (text_is(json_object_get(entry, from), "name", name))
            return true;
    }
    return false;
}

static bool containers_name(const json_t *list, bool is_secret, const char *name)
{
    size_t i;
    json_t *container;

    json_array_foreach (list, i, container) {
        if (env_names(container, is_secret, name))
            return true;
    }
    return false;
}

static bool volume_names(const json_t *volume, bool is_secret, const char *name)
{
    size_t i;
    json_t *source;

    if (is_secret && text_is(json_object_get(volume, "secret"), "secretName", name))
        return true;
    if (!is_secret && text_is(json_object_get(volume, "configMap"), "name", name))
        return true;
    json_array_foreach (json_at(volume, "projected", "sources", NULL), i, source) {
        if (text_is(json_object_get(source, is_secret ? "secret" : "configMap"), "name", name))
            return true;
    }
    return false;
}

static bool pod_names(const json_t *pod, bool is_secret, const char *name)
{
    const json_t *spec = json_object_get(pod, "spec");
    size_t i;
    json_t *entry;

    json_array_foreach (json_object_get(spec, "volumes"), i, entry) {
        if (volume_names(entry, is_secret, name))
            return true;
    }
    json_array_foreach (json_object_get(spec, "imagePullSecrets"), i, entry) {
        if (is_secret && text_is(entry, "name", name))
            return true;
    }
    return containers_name(json_object_get(spec, "containers"), is_secret, name) ||
           containers_name(json_object_get(spec, "initContainers"), is_secret, name) ||
           containers_name(json_object_get(spec, "ephemeralContainers"), is_secret, name);
}

/*
 * Does a pod of the namespace that is bound to the node name the object? Decodes pods of the
 * namespace until one does. Most pods belong to other nodes: their bytes rule them out before
 * decoding.
 */
static bool a_pod_names(const struct store *s, const struct access *a, const char *object,
                        const char *node)
{
    const struct store_range range = {.group = "", .resource = "pods", .ns = a->ns};
    bool is_secret = is_kind(a, "secrets");
    struct store_list list = {0};
    AUTO(err_freep) struct err *e = store_list(s, &range, NULL, NULL, 0, 0, &list);
    bool found = false;

    if (e)
        return false;
    for (size_t i = 0; i < list.n && !found; i++) {
        struct str bytes = list.at[i]->bytes;
        AUTO(json_freep) json_t *pod = NULL;
        AUTO(err_freep) struct err *bad = NULL;

        if (!memmem(bytes.at, bytes.size, node, strlen(node)) ||
            !memmem(bytes.at, bytes.size, object, strlen(object)))
            continue;
        bad = objects_decode(list.at[i], &pod);
        found = !bad && text_equal(json_text_at(pod, "spec", "nodeName", NULL), node) &&
                pod_names(pod, is_secret, object);
    }
    store_list_done(&list);
    return found;
}

static bool allows_node(const struct identity *who, const struct access *a)
{
    if (authz_has_verb("list watch", a->verb))
        return !a->subresource &&
               (text_equal(a->name, who->node) || list_selects(a, "metadata.name", who->node));
    if (text_equal(a->verb, "create")) /* authz_check_node_create checks the name */
        return !a->subresource;
    return text_equal(a->name, who->node) && (!a->subresource || is_subresource(a, "status")) &&
           authz_has_verb("get update patch", a->verb);
}

static bool allows_pods(const struct store *s, const struct identity *who, const struct access *a)
{
    if (authz_has_verb("list watch", a->verb))
        return !a->subresource && list_selects(a, "spec.nodeName", who->node);
    if (!a->name || !a->ns)
        return false;
    if (!a->subresource && !authz_has_verb("get delete", a->verb))
        return false;
    if (a->subresource &&
        (!is_subresource(a, "status") || !authz_has_verb("get update patch", a->verb)))
        return false;
    return pod_is_bound_to(s, a->ns, a->name, who->node);
}

/* The name that a list is restricted to; NULL: none. The caller frees it. */
static char *selected_name(const struct access *a)
{
    struct str rest = str_of(a->field_selector);
    const struct str key = STR("metadata.name=");

    while (rest.at && rest.size > 0) {
        struct str part = str_cut(&rest, ',');

        if (str_starts_with(part, key) && part.size > key.size && part.at[key.size] != '=')
            return mem_strndup(part.at + key.size, part.size - key.size);
    }
    return NULL;
}

/* May the node do this with its own Lease, its sign of life? */
static bool allows_lease(const struct identity *who, const struct access *a)
{
    if (a->subresource || !text_equal(a->ns, NODE_LEASE_NAMESPACE))
        return false;
    if (text_equal(a->verb, "create")) /* authz_check_node_create checks the name */
        return true;
    return text_equal(a->name, who->node) && authz_has_verb("get update patch", a->verb);
}

/* May the node read or watch a ConfigMap or Secret? While a pod of the node names it. */
static bool allows_named(const struct store *s, const struct identity *who, const struct access *a)
{
    AUTO_FREE char *name = NULL;

    if (a->subresource || !a->ns)
        return false;
    if (a->name)
        return text_equal(a->verb, "get") && a_pod_names(s, a, a->name, who->node);
    if (!authz_has_verb("list watch", a->verb))
        return false;
    name = selected_name(a);
    return name && a_pod_names(s, a, name, who->node);
}

static bool is_pod_of_slurm_job(const struct store_object *o, const char *job)
{
    struct str text = {0};
    struct str value = {0};

    return json_peek(o->bytes, &text, "metadata", "labels", SLURM_JOB_LABEL, NULL) == PEEK_FOUND &&
           json_peek_string(text, &value) && str_equal(value, str_of(job));
}

/* May the node read a SlurmJob? While one of the job's pods, whose names begin with the job's, is
 * bound to the node. */
static bool allows_slurm_job(const struct store *s, const struct identity *who,
                             const struct access *a)
{
    const struct store_range range = {.group = "", .resource = "pods", .ns = a->ns};
    const struct store_key key = {
        .group = "", .resource = "pods", .ns = a->ns, .name = text_or_empty(a->name)};
    const struct store_object *o;

    if (a->subresource || !a->ns || !a->name || !text_equal(a->verb, "get"))
        return false;
    o = store_get(s, key);
    if (!o)
        o = store_next(s, &range, &key);
    for (; o && text_starts_with(o->key.name, a->name); o = store_next(s, &range, &o->key))
        if (is_pod_of_slurm_job(o, a->name) && is_bound_to(o, who->node))
            return true;
    return false;
}

/* The kinds that the rules of the pods' network follow from. */
static bool is_of_network(const struct access *a)
{
    return is_kind(a, "services") || is_kind(a, "namespaces") ||
           (text_equal(a->kind->group, "discovery.k8s.io") &&
            text_equal(a->kind->plural, "endpointslices")) ||
           (text_equal(a->kind->group, "networking.k8s.io") &&
            text_equal(a->kind->plural, "networkpolicies"));
}

/* A node reads all volumes, and writes the status of its own: that it has erased the data. */
static bool allows_volume(const struct store *s, const struct identity *who, const struct access *a)
{
    const struct store_object *o;
    AUTO(json_freep) json_t *volume = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!a->subresource)
        return authz_has_verb("get list watch", a->verb);
    if (!is_subresource(a, "status") || !text_equal(a->verb, "patch") || !a->name)
        return false;
    o = store_get(s, (struct store_key){
                         .group = "", .resource = "persistentvolumes", .ns = "", .name = a->name});
    if (!o)
        return false;
    e = objects_decode(o, &volume);
    return !e && text_equal(storage_volume_node(volume), who->node);
}

bool authz_node_allows(const struct store *s, const struct identity *who, const struct access *a)
{
    if (is_kind(a, "nodes"))
        return allows_node(who, a);
    if (is_kind(a, "pods"))
        return allows_pods(s, who, a);
    if (is_kind(a, "events"))
        return !a->subresource && authz_has_verb("create update patch", a->verb);
    if (is_kind(a, "serviceaccounts")) /* token_request.c checks the pod */
        return is_subresource(a, "token") && text_equal(a->verb, "create");
    if (is_of_network(a))
        return !a->subresource && authz_has_verb("get list watch", a->verb);
    if (is_kind(a, "persistentvolumes"))
        return allows_volume(s, who, a);
    if (is_kind(a, "configmaps") || is_kind(a, "secrets"))
        return allows_named(s, who, a);
    if (text_equal(a->kind->group, "mete.dev") && text_equal(a->kind->plural, "slurmjobs"))
        return allows_slurm_job(s, who, a);
    if (text_equal(a->kind->group, "coordination.k8s.io") && text_equal(a->kind->plural, "leases"))
        return allows_lease(who, a);
    return false;
}
