/* foreign.c - queues and pods of Kueue, Volcano and KAI together */

#include "control/queue/foreign.h"

#include "base/mem.h"
#include "control/queue/foreign_private.h"
#include "kinds/queue.h"

static bool is_taken(const struct foreign *f, const char *name)
{
    return text_equal(name, QUEUE_DEFAULT) || text_equal(name, QUEUE_ROOT) ||
           json_object_get(f->kueue.cluster_queues, name);
}

char *volcano_queue_name(const struct foreign *f, const json_t *native, const char *name)
{
    if (json_object_get(native, name) || !is_taken(f, name))
        return mem_strdup(name);
    return mem_format("volcano:%s", name);
}

char *kai_queue_name(const struct foreign *f, const json_t *native, const char *name)
{
    if (json_object_get(native, name) || (!is_taken(f, name) && !json_object_get(f->volcano, name)))
        return mem_strdup(name);
    return mem_format("kai:%s", name);
}

json_t *foreign_queues(const struct foreign *f, const json_t *native)
{
    json_t *queues = kueue_queues(&f->kueue, native);

    volcano_queues(f, native, queues);
    kai_queues(f, native, queues);
    return queues;
}

/* The queue of Volcano that the pod or its group names; NULL: none. A group is in `default` unless
 * it says otherwise. */
static const char *volcano_of(const json_t *pod, const json_t *group)
{
    const json_t *annotations = json_at(pod, "metadata", "annotations", NULL);
    const char *name = json_text_filled(annotations, VOLCANO_GROUP "/queue-name");

    if (!name)
        name = json_text_filled(annotations, "volcano.sh/queue-name");
    if (!name)
        name = json_text_filled(json_at(pod, "metadata", "labels", NULL), "volcano.sh/queue-name");
    if (!name)
        name = json_text_filled(json_object_get(group, "spec"), "queue");
    return name || !group ? name : "default";
}

static const char *kai_of(const json_t *pod)
{
    const json_t *labels = json_at(pod, "metadata", "labels", NULL);
    const char *name = json_text_filled(labels, "kai.scheduler/queue");

    return name ? name : json_text_filled(labels, "runai/queue");
}

json_t *foreign_pod(const struct foreign *f, const json_t *native, const json_t *pod,
                    const struct foreign_owners *owners)
{
    bool has_own = json_text_filled(json_at(pod, "metadata", "labels", NULL), QUEUE_LABEL) != NULL;
    const char *volcano = json_object_size(f->volcano) > 0 ? volcano_of(pod, owners->group) : NULL;
    const char *kai = json_object_size(f->kai) > 0 ? kai_of(pod) : NULL;
    AUTO_FREE char *queue = NULL;
    json_t *copy;

    if (json_object_size(f->kueue.cluster_queues) > 0 && (has_own || owners->label))
        return kueue_pod(&f->kueue, native, pod, owners->label);
    if (!has_own && volcano)
        queue = volcano_queue_name(f, native, volcano);
    else if (!has_own && kai)
        queue = kai_queue_name(f, native, kai);
    if (!queue)
        return json_incref((json_t *)(uintptr_t)pod);
    copy = json_twin(pod);
    json_put_text(json_object_at(json_object_at(copy, "metadata"), "labels"), QUEUE_LABEL, queue);
    return copy;
}
