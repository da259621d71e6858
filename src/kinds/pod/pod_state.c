/* pod_state.c - node, devices and conditions of a pod */

#include "kinds/pod/pod_state.h"

#include "base/stamp.h"

const char *pod_node(const json_t *pod)
{
    const char *node = json_text_at(pod, "spec", "nodeName", NULL);

    return node ? node : "";
}

bool pod_is_deleting(const json_t *pod)
{
    return json_text_at(pod, "metadata", "deletionTimestamp", NULL) != NULL;
}

const char *pod_job(const json_t *pod)
{
    const json_t *owners = json_at(pod, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);

        if (json_bool(owner, "controller", false) && text_equal(json_text(owner, "kind"), "Job") &&
            text_starts_with(json_text(owner, "apiVersion"), "batch/"))
            return json_text_filled(owner, "name");
    }
    return NULL;
}

static bool tell_device(const json_t *item, const char *container,
                        bool (*fn)(void *arg, const char *container, const struct device *d),
                        void *arg)
{
    const char *text = json_string_value(item);
    struct device d = {0};
    AUTO(err_freep) struct err *e = text ? device_parse(text, &d) : NULL;

    return !text || e || fn(arg, container, &d);
}

void pod_each_device(const json_t *pod,
                     bool (*fn)(void *arg, const char *container, const struct device *d),
                     void *arg)
{
    const char *text = json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL);
    AUTO(json_freep) json_t *devices = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const char *container;
    json_t *texts;
    json_t *item;
    size_t i;

    if (!text)
        return;
    e = json_parse(str_of(text), &devices);
    if (e)
        return;
    json_object_foreach (json_at(devices, "containers", NULL), container, texts) {
        json_array_foreach (texts, i, item) {
            if (!tell_device(item, container, fn, arg))
                return;
        }
    }
}

json_t *object_condition(const json_t *object, const char *type)
{
    json_t *conditions = json_at(object, "status", "conditions", NULL);
    json_t *condition;
    size_t i;

    json_array_foreach (conditions, i, condition) {
        if (text_equal(json_text(condition, "type"), type))
            return condition;
    }
    return NULL;
}

bool object_set_condition(json_t *object, const char *type, const char *status, const char *reason,
                          const char *message, int64_t now_ns)
{
    json_t *condition = object_condition(object, type);
    char now[STAMP_TEXT_SIZE];

    if (!condition) {
        json_t *conditions = json_array_at(json_object_at(object, "status"), "conditions");

        condition = json_object();
        json_put_text(condition, "type", type);
        (void)json_array_append_new(conditions, condition); /* cannot fail */
    }
    if (text_equal(json_text(condition, "status"), status) &&
        text_equal(json_text(condition, "reason"), reason) &&
        text_equal(json_text(condition, "message"), message))
        return false;
    if (!text_equal(json_text(condition, "status"), status)) {
        stamp_format(now_ns, now);
        json_put_text(condition, "lastTransitionTime", now);
    }
    json_put_text(condition, "status", status);
    json_put_text(condition, "reason", reason);
    json_put_text(condition, "message", message);
    return true;
}
