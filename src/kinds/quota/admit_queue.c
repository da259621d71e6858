/* admit_queue.c - the queue of submitted pods and Jobs, and checks of the tree of queues */

#include "base/num.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"
#include "kinds/quota/admit.h"

enum {
    ABOVE_MAX = 64 /* queues examined on the way up */
};

static bool is_queue(const struct kind *k)
{
    return text_equal(k->group, "mete.dev") && text_equal(k->plural, "queues");
}

static bool is_job(const struct kind *k)
{
    return text_equal(k->group, "batch") && text_equal(k->plural, "jobs");
}

/* Sets the queue that the namespace's label or annotation names. */
static struct err *put_queue_of_namespace(struct change *c)
{
    const struct kind *k = kind_find("", "namespaces");
    const struct store_object *o =
        store_get_applied(c->objects->store, objects_key(k, "", c->request->ns));
    AUTO(json_freep) json_t *ns = NULL;
    const char *queue;

    if (!o)
        return NULL; /* the lookup of the namespace reports it */
    TRY(tree_cache_get(c->objects->trees, o, &ns));
    queue = json_text_at(ns, "metadata", "labels", QUEUE_LABEL, NULL);
    if (!queue || !*queue)
        queue = json_text_at(ns, "metadata", "annotations", QUEUE_LABEL, NULL);
    if (queue && *queue)
        json_put_text(json_object_at(json_object_at(c->after, "metadata"), "labels"), QUEUE_LABEL,
                      queue);
    return NULL;
}

static void job_unsuspend(struct change *c)
{
    json_t *spec = json_object_get(c->after, "spec");
    const char *queue = json_text_at(c->after, "metadata", "labels", QUEUE_KUEUE_LABEL, NULL);

    if (queue && *queue && json_bool(spec, "suspend", false))
        json_put_bool(spec, "suspend", false);
}

static int64_t pod_time_limit(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "annotations", QUEUE_TIME_LIMIT, NULL);
    const char *seconds = json_text_at(pod, "metadata", "labels", QUEUE_KUEUE_LIMIT, NULL);
    AUTO(err_freep) struct err *e = NULL;
    int64_t limit = 0;

    if (text) {
        e = num_parse_duration(str_of(text), &limit);
        limit /= NS_PER_SEC;
    } else if (seconds) {
        e = num_parse_int64(str_of(seconds), 1, INT32_MAX,
                            &limit); /* another system's label: ignored if malformed */
    }
    return e || limit > INT32_MAX ? 0 : limit;
}

/* Sets activeDeadlineSeconds from the annotation or Kueue's label, unless the spec has it. */
static void put_time_limit(json_t *pod)
{
    json_t *spec = json_object_get(pod, "spec");
    int64_t limit = pod_time_limit(pod);

    if (limit > 0 && spec && !json_object_get(spec, "activeDeadlineSeconds"))
        json_put_int(spec, "activeDeadlineSeconds", limit);
}

struct err *admit_queue(struct change *c)
{
    const char *own;

    if (is_job(c->kind))
        job_unsuspend(c);
    if (!is_pod(c->kind) && !is_job(c->kind))
        return NULL;
    put_time_limit(c->after);
    own = queue_of(c->after);
    if (!own)
        return put_queue_of_namespace(c);
    json_put_text(json_object_at(json_object_at(c->after, "metadata"), "labels"), QUEUE_LABEL, own);
    return NULL;
}

static const json_t *parent_of(const json_t *queue)
{
    const json_t *parent = json_at(queue, "spec", "parent", NULL);
    const char *name = json_string_value(parent);

    return name && *name && !text_equal(name, QUEUE_ROOT) ? parent : NULL;
}

/* Checks that the queue is not among its own ancestors. A missing ancestor ends the walk: it may be
 * created later. */
static struct err *check_above(const struct change *c)
{
    const char *name = json_text_at(c->after, "metadata", "name", NULL);
    AUTO(json_freep) json_t *at = json_incref(c->after);
    AUTO(causes_done) struct causes causes = {0};
    const char *parent = json_string_value(parent_of(c->after));

    for (unsigned i = 0; i < ABOVE_MAX && parent_of(at); i++) {
        const char *up = json_string_value(parent_of(at));
        const struct store_object *o;
        json_t *next = NULL;

        if (text_equal(up, name)) {
            cause_invalid(&causes, PATH(PATH(NULL, "spec"), "parent"), parent,
                          "the parent is below this queue");
            return causes_err_of(&causes, c->kind, name);
        }
        o = store_get_applied(c->objects->store, objects_key(c->kind, "", up));
        if (!o)
            return NULL;
        TRY(tree_cache_get(c->objects->trees, o, &next));
        json_decref(at);
        at = next;
    }
    return NULL;
}

/* A placed pod keeps its queue, to which its devices are charged. */
static struct err *check_stays(const struct change *c)
{
    const char *was = queue_of(c->before);
    const char *is = queue_of(c->after);

    if (!*pod_node(c->before) || text_equal(was, is))
        return NULL;
    return field_forbidden(c, "metadata.labels",
                           "a placed pod stays in its queue; a waiting pod can move");
}

struct err *admit_check_queue(const struct change *c)
{
    if (is_queue(c->kind))
        return check_above(c);
    return is_pod(c->kind) && c->before ? check_stays(c) : NULL;
}

struct err *admit_queue_removal(const struct change *c)
{
    if (is_queue(c->kind) && text_equal(c->key.name, QUEUE_DEFAULT))
        return forbidden(c, "pods without a queue use this one; change or stop it instead");
    return NULL;
}
