/* views_reason.c - the reason of a waiting pod, in the members that `mete why` documents */
#include "base/mem.h"
#include "base/stamp.h"
#include "control/report/views.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/queue.h"

static void put_stamp(json_t *o, const char *key, int64_t ns)
{
    char stamp[STAMP_TEXT_SIZE];

    if (ns <= 0) {
        json_put(o, key, json_null());
        return;
    }
    stamp_format(ns, stamp);
    json_put_text(o, key, stamp);
}

static json_t *blocking_tree(const struct mete_reason *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_nodes && json_array_size(list) == 0; i++) {
        const struct mete_node_reason *n = &r->nodes[i];
        json_t *o;

        if (!n->resource)
            continue;
        o = json_object();
        json_put_text(o, "resource", n->resource);
        json_put_int(o, "asked", n->asked);
        json_put_int(o, "best", n->free);
        json_put_text(o, "node", n->node);
        put_stamp(o, "until", n->until_ns);
        json_put_text(o, "why", n->text);
        (void)json_array_append_new(list, o); /* as above */
    }
    return list;
}

static json_t *nodes_tree(const struct mete_reason *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_nodes; i++) {
        const struct mete_node_reason *n = &r->nodes[i];
        json_t *o = json_object();

        json_put_text(o, "name", n->node);
        json_put_text(o, "resource", n->resource);
        json_put_int(o, "free", n->free);
        json_put_int(o, "capacity", n->capacity);
        put_stamp(o, "until", n->until_ns);
        json_put(o, "text", json_text_new(n->text));
        (void)json_array_append_new(list, o); /* as above */
    }
    return list;
}

/* null: no estimate. */
static json_t *estimate_tree(const struct mete_reason *r)
{
    json_t *o;

    if (!r->estimate_basis)
        return json_null();
    o = json_object();
    put_stamp(o, "from", r->estimate_from_ns);
    put_stamp(o, "to", r->estimate_to_ns);
    json_put_text(o, "basis", r->estimate_basis);
    return o;
}

/* All members are always present. */
static json_t *reason_tree(const struct mete_reason *r)
{
    json_t *o = json_object();
    json_t *would;

    json_put_text(o, "code", r->code_text);
    json_put_text(o, "class", r->class_text);
    json_put(o, "message", json_text_new(r->message));
    put_stamp(o, "since", r->since_ns);
    put_stamp(o, "evaluatedAt", r->evaluated_ns);
    json_put(o, "blocking", blocking_tree(r));
    json_put(o, "nodes", nodes_tree(r));
    json_put_int(o, "nodesLeftOut", (int64_t)r->nodes_left_out);
    would = json_array_at(o, "wouldStartIf");
    for (size_t i = 0; i < r->n_would_start_if; i++)
        (void)json_array_append_new(would, json_text_new(r->would_start_if[i])); /* as above */
    json_put_int(o, "position", r->position);
    json_put_int(o, "queueLength", r->waiting);
    json_put(o, "estimate", estimate_tree(r));
    return o;
}

/* False: no such queue. */
static bool find_queue(struct mete_engine *e, const char *name, struct mete_queue_view *ret)
{
    for (size_t i = 0; i < mete_queue_count(e); i++)
        if (mete_queue_view(e, i, ret) == METE_OK && text_equal(ret->name, name))
            return true;
    return false;
}

static void put_limit(json_t *o, const char *key, const char *resource, int64_t limit)
{
    char text[QUANTITY_TEXT_SIZE];

    if (limit == METE_UNLIMITED) {
        json_put(o, key, json_null());
        return;
    }
    queue_amount_format(resource, limit, text);
    json_put_text(o, key, text);
}

/* The holdings of the queue and of its ancestors, for the resources with a quota. */
static json_t *quotas_tree(struct mete_engine *e, const char *queue)
{
    json_t *list = json_array();
    AUTO_FREE char *name = mem_strdup(queue);
    struct mete_queue_view v;

    while (*name && find_queue(e, name, &v)) {
        for (size_t i = 0; i < v.n_quotas; i++) {
            const struct mete_quota_view *quota = &v.quotas[i];
            json_t *o = json_object();

            json_put_text(o, "queue", v.name);
            json_put_text(o, "resource", quota->resource);
            put_limit(o, "held", quota->resource, quota->held);
            put_limit(o, "nominal", quota->resource, quota->nominal);
            put_limit(o, "borrowLimit", quota->resource, quota->borrow_limit);
            (void)json_array_append_new(list, o); /* as above */
        }
        free(name);
        name = mem_strdup(v.parent);
    }
    return list;
}

/* Does the pod ask for parts of gpus that a mode offers? */
static bool wants_mode(const json_t *pod)
{
    struct gpu_asks asks = pod_gpu_asks(pod);

    for (size_t i = 0; i < asks.n; i++)
        if (asks.at[i].kind == DEVICE_SLICE || asks.at[i].kind == DEVICE_REPLICA)
            return true;
    return false;
}

json_t *views_reason(struct views *v, const json_t *pod, bool is_brief)
{
    struct mete_engine *e = scheduler_engine(v->scheduler);
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);
    AUTO_FREE char *key = mem_format("%s/%s", json_text_at(pod, "metadata", "namespace", NULL),
                                     json_text_at(pod, "metadata", "name", NULL));
    const char *queue = queue_of(pod);
    struct mete_reason r;
    json_t *reason;

    if (!scheduler_why(v->scheduler, key, uid ? uid : "", is_brief, &r))
        return NULL;
    reason = reason_tree(&r);
    if (is_brief)
        return reason;
    json_put(reason, "quotas", quotas_tree(e, queue ? queue : QUEUE_DEFAULT));
    if (wants_mode(pod))
        json_put(reason, "gpuModes", views_unwanted_gpus(v));
    json_put(reason, "values", json_text_new(mete_values_id(e)));
    if (mete_values_id(e) && v->learned_ns > 0) {
        json_put_int(reason, "valuesFrom", (int64_t)v->learned_pods);
        put_stamp(reason, "valuesAt", v->learned_ns);
    }
    return reason;
}
