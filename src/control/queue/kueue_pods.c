/* kueue_pods.c - pods in the queues of their LocalQueues, on the nodes of their flavors */

#include "base/mem.h"
#include "control/queue/kueue_private.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

const char *kueue_label(const json_t *object)
{
    return json_text_filled(json_at(object, "metadata", "labels", NULL), QUEUE_KUEUE_LABEL);
}

static const char *local_target(const json_t *local)
{
    return text_or_empty(json_text_at(local, "spec", "clusterQueue", NULL));
}

/* A LocalQueue of the namespace that leads to the ClusterQueue. */
static const json_t *local_to(const struct kueue *k, const char *ns, const char *cluster_queue)
{
    AUTO_FREE char *prefix = mem_format("%s/", ns);
    const char *key;
    json_t *local;

    json_object_foreach (k->local_queues, key, local)
        if (text_starts_with(key, prefix) && text_equal(local_target(local), cluster_queue))
            return local;
    return NULL;
}

/* The queue and the LocalQueue of a pod. */
struct kueue_place {
    char *queue;                 /* NULL: the pod is as it is */
    const json_t *local;         /* NULL: none */
    const json_t *cluster_queue; /* NULL: none, or a Queue of mete.dev has its name */
};

static void place_local(const struct kueue *k, const json_t *native, const json_t *local,
                        struct kueue_place *ret)
{
    const char *target = local_target(local);

    ret->local = local;
    if (json_object_get(native, target)) {
        ret->queue = mem_strdup(target);
        return;
    }
    ret->queue = kueue_queue_name(target);
    ret->cluster_queue = json_object_get(k->cluster_queues, target);
}

/* The pod's label of Mete's; NULL: none. Mete's own API server copies the label of Kueue there. */
static const char *own_label(const json_t *pod, const char *label)
{
    const char *own = json_text_filled(json_at(pod, "metadata", "labels", NULL), QUEUE_LABEL);

    return text_equal(own, label) ? NULL : own;
}

/* No queue has a "/" in its name: what is not found waits. */
static struct kueue_place place_of(const struct kueue *k, const json_t *native, const json_t *pod,
                                   const char *label)
{
    const char *ns = text_or_empty(json_text_at(pod, "metadata", "namespace", NULL));
    const char *own = own_label(pod, label);
    const char *said = own ? own : text_or_empty(label);
    AUTO_FREE char *key = mem_format("%s/%s", ns, said);
    const json_t *local = own ? local_to(k, ns, own) : json_object_get(k->local_queues, key);
    struct kueue_place place = {0};

    if (!*said || (own && !json_object_get(k->cluster_queues, own)))
        return place;
    if (json_object_get(native, said))
        place.queue = mem_strdup(said);
    else if (local)
        place_local(k, native, local, &place);
    else
        place.queue = TAKE(key);
    return place;
}

static bool pod_requests(const json_t *pod, const char *resource)
{
    static const char *const lists[] = {"containers", "initContainers"};

    if (text_equal(resource, "pods"))
        return true;
    for (size_t i = 0; i < COUNT(lists); i++) {
        const json_t *list = json_at(pod, "spec", lists[i], NULL);

        for (size_t n = 0; n < json_array_size(list); n++)
            if (container_request_milli(json_array_get(list, n), resource) > 0)
                return true;
    }
    return false;
}

static bool group_serves(const json_t *group, const json_t *pod)
{
    const json_t *covered = json_object_get(group, "coveredResources");

    for (size_t i = 0; i < json_array_size(covered); i++)
        if (pod_requests(pod, text_or_empty(json_string_value(json_array_get(covered, i)))))
            return true;
    return false;
}

/* The pod's own label of another value is a pod that the flavor does not serve: no node has the
 * label that it gets instead. */
static void flavor_put(json_t *spec, const char *name, const json_t *flavor)
{
    json_t *selector = json_object_at(spec, "nodeSelector");
    json_t *tolerations = json_array_at(spec, "tolerations");
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach (json_at(flavor, "spec", "nodeLabels", NULL), key, value) {
        const char *own = json_text(selector, key);

        if (own && !text_equal(own, json_string_value(value)))
            json_put_text(selector, KUEUE_GROUP "/flavor", name);
        else
            json_put(selector, key, json_incref(value));
    }
    json_array_foreach (json_at(flavor, "spec", "tolerations", NULL), i, value)
        (void)json_array_append(tolerations, value); /* a copy's own list */
}

static void flavors_put(const struct kueue *k, const json_t *cluster_queue, json_t *pod)
{
    const json_t *groups = json_at(cluster_queue, "spec", "resourceGroups", NULL);

    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        const char *name = json_text(json_array_get(json_object_get(group, "flavors"), 0), "name");
        const json_t *flavor = name ? json_object_get(k->flavors, name) : NULL;

        if (flavor && group_serves(group, pod))
            flavor_put(json_object_at(pod, "spec"), name, flavor);
    }
}

json_t *kueue_pod(const struct kueue *k, const json_t *native, const json_t *pod, const char *label)
{
    struct kueue_place place = place_of(k, native, pod, label);
    AUTO_FREE char *queue = place.queue;
    const char *stop = json_text_at(place.local, "spec", "stopPolicy", NULL);
    json_t *copy;
    json_t *metadata;

    if (!queue)
        return json_incref((json_t *)(uintptr_t)pod);
    copy = json_twin(pod);
    metadata = json_object_at(copy, "metadata");
    json_put_text(json_object_at(metadata, "labels"), QUEUE_LABEL, queue);
    if (*pod_node(pod))
        return copy;
    if (stop && !text_equal(stop, "None"))
        json_put_text(json_object_at(metadata, "annotations"), QUEUE_HOLD, "admin");
    if (place.cluster_queue)
        flavors_put(k, place.cluster_queue, copy);
    return copy;
}

json_t *kueue_pod_ignored(const json_t *native, const json_t *pod)
{
    const char *label = kueue_label(pod);
    json_t *copy;

    if (!label || own_label(pod, label) || json_object_get(native, label))
        return json_incref((json_t *)(uintptr_t)pod);
    copy = json_twin(pod);
    json_put_text(json_object_at(json_object_at(copy, "metadata"), "labels"), QUEUE_LABEL,
                  QUEUE_DEFAULT);
    return copy;
}
