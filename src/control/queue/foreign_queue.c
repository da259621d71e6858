/* foreign_queue.c - Queues that stand for the queue objects of other schedulers */

#include "control/queue/foreign_queue.h"

#include <stdarg.h>

#include "base/mem.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/queue.h"

enum {
    WEIGHT_MAX = 1000000
};

static json_t *annotations_at(json_t *queue)
{
    return json_object_at(json_object_at(queue, "metadata"), "annotations");
}

json_t *foreign_queue_new(const char *name, const char *source)
{
    json_t *queue = json_object();

    json_put_text(queue, "apiVersion", "mete.dev/v1");
    json_put_text(queue, "kind", "Queue");
    json_put_text(json_object_at(queue, "metadata"), "name", name);
    json_put_text(annotations_at(queue), QUEUE_SOURCE, source);
    json_put_int(json_object_at(queue, "spec"), "weight", 1);
    return queue;
}

bool foreign_queue_is_refused(const json_t *queue)
{
    return json_text_at(queue, "metadata", "annotations", QUEUE_REFUSED, NULL) != NULL;
}

void foreign_queue_refuse(json_t *queue, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    if (foreign_queue_is_refused(queue))
        return;
    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    json_put_text(annotations_at(queue), QUEUE_REFUSED, text);
    json_put_bool(json_object_at(queue, "spec"), "stopped", true);
}

void foreign_queue_note(json_t *queue, const char *fmt, ...)
{
    const char *before = json_text_at(queue, "metadata", "annotations", QUEUE_NOTE, NULL);
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *all = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    all = mem_format("%s%s%s", text_or_empty(before), before ? "; " : "", text);
    json_put_text(annotations_at(queue), QUEUE_NOTE, all);
}

void foreign_queue_weight(json_t *queue, const char *field, const json_t *weight)
{
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *text = NULL;
    int64_t milli = 1000;

    if (!weight || json_is_null(weight))
        return;
    e = foreign_amount("cpu", weight, &milli); /* in thousandths */
    if (!e && milli >= 1000 && milli % 1000 == 0 && milli / 1000 <= WEIGHT_MAX) {
        json_put_int(json_object_at(queue, "spec"), "weight", milli / 1000);
        return;
    }
    text = json_format(weight);
    foreign_queue_note(queue, "%s %s counts as 1: Mete has whole weights", field, text);
}

static void put_amount(json_t *to, const char *key, const char *resource, int64_t amount)
{
    char text[QUANTITY_TEXT_SIZE];

    if (amount == METE_UNLIMITED)
        return;
    queue_amount_format(resource, amount, text);
    json_put_text(to, key, text);
}

void foreign_queue_quota(json_t *queue, const struct mete_quota *quota)
{
    json_t *list = json_array_at(json_object_at(queue, "spec"), "quotas");
    json_t *o;
    size_t i;

    json_array_foreach (list, i, o) {
        if (!text_equal(json_text(o, "resource"), quota->resource))
            continue;
        foreign_queue_refuse(queue, "it has two quotas of %s, which Mete counts as one resource",
                             quota->resource);
        return;
    }
    if (json_array_size(list) == QUEUE_QUOTAS_MAX) {
        foreign_queue_refuse(queue, "it has quotas of more than %d resources", QUEUE_QUOTAS_MAX);
        return;
    }
    o = json_object();
    json_put_text(o, "resource", quota->resource);
    put_amount(o, "nominal", quota->resource, quota->nominal);
    put_amount(o, "borrowLimit", quota->resource, quota->borrow_limit);
    put_amount(o, "lendLimit", quota->resource, quota->lend_limit);
    (void)json_array_append_new(list, o); /* an object */
}

struct err *foreign_resource(const char *resource, const char **ret)
{
    static const char *const whole[] = {"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915",
                                        "gpu.intel.com/xe"};

    for (size_t i = 0; i < COUNT(whole); i++) {
        if (text_equal(resource, whole[i])) {
            *ret = "gpu";
            return NULL;
        }
    }
    if (gpu_resource_is_known(resource) || text_equal(resource, "gpu") ||
        text_starts_with(resource, "gpu:"))
        return err_new(ERR_INVALID,
                       "Mete has no quota of %s: parts of GPUs count as nvidia.com/gpu", resource);
    *ret = resource;
    return NULL;
}

struct err *foreign_amount(const char *resource, const json_t *quantity, int64_t *ret)
{
    AUTO_FREE char *text =
        json_is_string(quantity) ? mem_strdup(json_string_value(quantity)) : json_format(quantity);
    struct err *e = queue_amount(resource, text, ret);

    return e ? err_wrap(e, "%s", resource) : NULL;
}
