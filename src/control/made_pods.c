/* made_pods.c - what a pod inherits from the object whose controller makes it */

#include "control/made_pods.h"

#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

void made_pod_put_user(json_t *pod, const json_t *object)
{
    const char *user = json_text_at(object, "metadata", "annotations", POD_USER, NULL);

    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"), POD_USER,
                  user ? user : "");
}

static void copy_missing(const json_t *from, json_t *to, const char *map, const char *key)
{
    const char *text = json_text_at(from, map, key, NULL);

    if (text && !json_text_at(to, map, key, NULL))
        json_put_text(json_object_at(to, map), key, text);
}

void made_pod_put_queue(json_t *pod, const json_t *object)
{
    const json_t *from = json_object_get(object, "metadata");
    json_t *metadata = json_object_at(pod, "metadata");
    const char *queue = queue_of(object);

    if (queue && !queue_of(pod))
        json_put_text(json_object_at(metadata, "labels"), QUEUE_LABEL, queue);
    copy_missing(from, metadata, "annotations", QUEUE_HOLD);
    copy_missing(from, metadata, "annotations", QUEUE_NOT_BEFORE);
    copy_missing(from, metadata, "annotations", QUEUE_EXPECTED);
    copy_missing(from, metadata, "annotations", QUEUE_TIME_LIMIT);
    copy_missing(from, metadata, "labels", QUEUE_KUEUE_LIMIT);
}
