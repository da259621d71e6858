/* queue.c - queues of objects, amounts, and annotations of waiting */

#include "kinds/queue.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/label_selector.h"

#define AMOUNT_MAX   (INT64_C(1) << 60)
#define PRIORITY_MAX 1000000000 /* of classes that users make */

const char *queue_of(const json_t *object)
{
    const json_t *labels = json_at(object, "metadata", "labels", NULL);
    const char *own = json_text(labels, QUEUE_LABEL);
    const char *kueue = json_text(labels, QUEUE_KUEUE_LABEL);

    if (own && *own)
        return own;
    return kueue && *kueue ? kueue : NULL;
}

/* A Queue of the store has a uid, whatever its annotations say. */
const char *queue_source(const json_t *queue)
{
    if (json_text_at(queue, "metadata", "uid", NULL))
        return NULL;
    return json_text_at(queue, "metadata", "annotations", QUEUE_SOURCE, NULL);
}

static bool is_milli(const char *resource)
{
    return text_equal(resource, "gpu") || text_starts_with(resource, "gpu:") ||
           text_equal(resource, "cpu");
}

struct err *queue_amount(const char *resource, const char *text, int64_t *ret)
{
    struct quantity q = {0};
    int64_t amount;

    TRY(quantity_parse(str_of(text), &q));
    amount = is_milli(resource) ? q.milli : quantity_units(q);
    if (amount < 0 || amount > AMOUNT_MAX)
        return err_new(ERR_INVALID, "must be within 0 and 2^60");
    *ret = amount;
    return NULL;
}

static bool is_bytes(const char *resource)
{
    return text_equal(resource, "memory") || text_equal(resource, "ephemeral-storage") ||
           text_starts_with(resource, "hugepages-");
}

void queue_amount_format(const char *resource, int64_t amount, char ret[QUANTITY_TEXT_SIZE])
{
    struct quantity q = {.milli = amount,
                         .form = is_bytes(resource) ? QUANTITY_BINARY : QUANTITY_DECIMAL};

    if (!is_milli(resource) && __builtin_mul_overflow(amount, INT64_C(1000), &q.milli))
        q.milli = INT64_MAX;
    quantity_format(q, ret);
}

bool queue_lets_in(const json_t *queue, const json_t *ns)
{
    const json_t *spec = json_object_get(queue, "spec");
    const json_t *names = json_object_get(spec, "namespaces");
    const json_t *selector = json_object_get(spec, "namespaceSelector");
    const char *name = json_text_at(ns, "metadata", "name", NULL);
    AUTO(selector_freep) struct selector *parsed = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (json_has_text(names, name))
        return true;
    if (!selector)
        return json_array_size(names) == 0;
    e = label_selector_parse(selector, &parsed);
    return !e && label_selector_matches(parsed, ns);
}

static const char *annotation(const json_t *object, const char *key)
{
    return json_text_at(object, "metadata", "annotations", key, NULL);
}

static void check_duration(const json_t *object, const char *key, const struct path *at,
                           struct causes *causes)
{
    const char *text = annotation(object, key);
    int64_t ns = 0;
    struct err *e = text ? num_parse_duration(str_of(text), &ns) : NULL;

    if (e)
        cause_take(causes, PATH_KEY(at, key), text, e);
    else if (text && ns < NS_PER_SEC)
        cause_invalid(causes, PATH_KEY(at, key), text, "must be at least a second");
}

static struct err *priority_parse(const char *text, int64_t *ret)
{
    return num_parse_int64(str_of(text), -PRIORITY_MAX, PRIORITY_MAX, ret);
}

int64_t queue_since_ns(const json_t *pod)
{
    const char *text = annotation(pod, QUEUE_SINCE);
    int64_t ns =
        stamp_or(text ? text : json_text_at(pod, "metadata", "creationTimestamp", NULL), 0);

    return ns < 0 ? 0 : ns;
}

int32_t queue_priority(const json_t *pod)
{
    const char *text = annotation(pod, QUEUE_PRIORITY);
    int64_t own = json_int_at(pod, "spec", "priority", NULL);
    int64_t n = own;
    AUTO(err_freep) struct err *e = text ? priority_parse(text, &n) : NULL;

    return (int32_t)(e ? own : n); /* both are validated */
}

static void check_priority(const json_t *before, const json_t *after, bool is_admin,
                           const struct path *at, struct causes *causes)
{
    const char *text = annotation(after, QUEUE_PRIORITY);
    const json_t *class = json_at(before, "spec", "priority", NULL);
    const struct path *here = PATH_KEY(at, QUEUE_PRIORITY);
    int64_t n = 0;
    struct err *e = NULL;

    if (!text || text_equal(text, annotation(before, QUEUE_PRIORITY)))
        return;
    e = priority_parse(text, &n);
    if (e)
        cause_take(causes, here, text, e);
    else if (!is_admin && !json_is_integer(class))
        cause_forbidden(causes, here, "only administrators set it, except on a pod that exists");
    else if (!is_admin && n > json_integer_value(class))
        cause_forbidden(causes, here, "only administrators set more than the pod's spec.priority");
}

void queue_check_annotations(const json_t *before, const json_t *after, bool is_admin,
                             struct causes *causes)
{
    static const char *const mine[] = {"user", NULL};
    static const char *const all[] = {"user", "admin", NULL};
    const struct path *at = PATH(PATH(NULL, "metadata"), "annotations");
    const char *was = annotation(before, QUEUE_HOLD);
    const char *is = annotation(after, QUEUE_HOLD);
    const char *start = annotation(after, QUEUE_NOT_BEFORE);
    int64_t ns = 0;
    struct err *e = start ? stamp_parse(str_of(start), &ns) : NULL;

    if (e)
        cause_take(causes, PATH_KEY(at, QUEUE_NOT_BEFORE), start, e);
    check_priority(before, after, is_admin, at, causes);
    check_duration(after, QUEUE_EXPECTED, at, causes);
    check_duration(after, QUEUE_TIME_LIMIT, at, causes);
    if (text_equal(was, is))
        return;
    if (text_equal(was, "admin") && !is_admin)
        cause_forbidden(causes, PATH_KEY(at, QUEUE_HOLD),
                        "an administrator put the object on hold: only administrators release it");
    else if (is && !text_equal(is, "user") && !(is_admin && text_equal(is, "admin")))
        cause_unsupported(causes, PATH_KEY(at, QUEUE_HOLD), is, is_admin ? all : mine);
}
