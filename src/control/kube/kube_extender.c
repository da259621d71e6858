/* kube_extender.c - the HTTP extender of a kube-scheduler */

#include "control/kube/kube_extender.h"

#include <string.h>

#include "base/mem.h"
#include "kinds/wire/status.h"

enum {
    SCORE_MAX = 10
};

struct kube_extender {
    struct kube_extender_options o;
};

/* A binding whose answer is on its way. */
struct kube_extended {
    struct exchange *x;
    struct client_call *call;
};

static void extender_reply(struct exchange *x, const json_t *answer)
{
    AUTO_FREE char *text = json_format(answer);
    const struct api_reply r = {.status = 200, .body = str_of(text)};

    x->ops->reply(x, &r);
}

/* kube-scheduler takes any status but 200 for an error, and shows no body. */
static void extender_refuse(struct exchange *x, const struct err *e)
{
    AUTO(json_freep) json_t *status = status_of_error(e, &(struct status_about){0});
    AUTO_FREE char *text = json_format(status);
    const struct api_reply r = {.status = err_http(e), .body = str_of(text)};

    x->ops->reply(x, &r);
}

/* ---- the nodes of a request ---- */

static const char *node_name(const json_t *node)
{
    return json_text_at(node, "metadata", "name", NULL);
}

/* The names of the candidates: NodeNames, or those of the objects in Nodes. New reference. */
static struct err *candidates_of(const json_t *args, json_t **ret)
{
    json_t *names = json_object_get(args, "NodeNames");
    const json_t *nodes = json_at(args, "Nodes", "items", NULL);
    json_t *list;
    json_t *node;
    size_t i;

    if (!json_is_object(json_object_get(args, "Pod")))
        return err_new(ERR_BAD_REQUEST, "Pod: want an object");
    if (json_is_array(names)) {
        *ret = json_incref(names);
        return NULL;
    }
    if (!nodes)
        return err_new(ERR_BAD_REQUEST, "want Nodes or NodeNames");
    list = json_array();
    json_array_foreach ((json_t *)(uintptr_t)nodes, i, node)
        (void)json_array_append_new(list, json_text_new(node_name(node)));
    *ret = list;
    return NULL;
}

/* ---- filter ---- */

static json_t *nodes_kept(const json_t *args, const json_t *names)
{
    json_t *kept = json_object();
    json_t *items = json_array_at(kept, "items");
    json_t *node;
    size_t i;

    json_array_foreach (json_at(args, "Nodes", "items", NULL), i, node)
        if (json_has_text(names, node_name(node)))
            (void)json_array_append(items, node); /* an object */
    return kept;
}

static struct err *extender_filter(const struct kube_extender *x, const json_t *args, json_t **ret)
{
    const json_t *pod = json_object_get(args, "Pod");
    AUTO(json_freep) json_t *names = NULL;
    json_t *answer;
    json_t *kept;
    json_t *failed;
    json_t *name;
    size_t i;

    TRY(candidates_of(args, &names));
    answer = json_object();
    kept = json_array();
    failed = json_object_at(answer, "FailedNodes");
    json_array_foreach (names, i, name) {
        const char *node = json_string_value(name);

        if (scheduler_count_starts(x->o.scheduler, pod, node, 1) > 0)
            (void)json_array_append(kept, name); /* a text */
        else if (node)
            json_put_text(failed, node, "mete: the pod cannot start here now");
    }
    if (json_is_array(json_object_get(args, "NodeNames")))
        json_put(answer, "NodeNames", json_incref(kept));
    else
        json_put(answer, "Nodes", nodes_kept(args, kept));
    json_decref(kept);
    json_put(answer, "FailedAndUnresolvableNodes", json_object());
    json_put_text(answer, "Error", "");
    *ret = answer;
    return NULL;
}

/* ---- prioritize ---- */

static struct err *extender_prioritize(const struct kube_extender *x, const json_t *args,
                                       json_t **ret)
{
    const json_t *pod = json_object_get(args, "Pod");
    AUTO(json_freep) json_t *names = NULL;
    json_t *answer;
    json_t *name;
    size_t i;

    TRY(candidates_of(args, &names));
    answer = json_array();
    json_array_foreach (names, i, name) {
        uint32_t n =
            scheduler_count_starts(x->o.scheduler, pod, json_string_value(name), SCORE_MAX + 1);
        json_t *one = json_object();

        json_put_text(one, "Host", json_string_value(name));
        json_put_int(one, "Score", n == 0 ? 0 : SCORE_MAX + 1 - (int64_t)n);
        (void)json_array_append_new(answer, one); /* an object */
    }
    *ret = answer;
    return NULL;
}

/* ---- preempt ---- */

/* The uids of the victims, of objects or of names alone. New reference. */
static json_t *victims_of(const json_t *victims)
{
    json_t *answer = json_object();
    json_t *pods = json_array_at(answer, "Pods");
    json_t *pod;
    size_t i;

    json_array_foreach (json_object_get(victims, "Pods"), i, pod) {
        const char *uid = json_text(pod, "UID");
        json_t *one = json_object();

        json_put_text(one, "UID", uid ? uid : json_text_at(pod, "metadata", "uid", NULL));
        (void)json_array_append_new(pods, one); /* an object */
    }
    json_put_int(answer, "NumPDBViolations", json_int(victims, "NumPDBViolations", 0));
    return answer;
}

static struct err *extender_preempt(const struct kube_extender *x, const json_t *args, json_t **ret)
{
    json_t *meta = json_object_get(args, "NodeNameToMetaVictims");
    json_t *whole = json_object_get(args, "NodeNameToVictims");
    json_t *answer = json_object();
    json_t *kept = json_object_at(answer, "NodeNameToMetaVictims");
    const char *node;
    json_t *victims;

    json_object_foreach (json_object_size(meta) > 0 ? meta : whole, node, victims)
        if (scheduler_has_node(x->o.scheduler, node))
            json_put(kept, node, victims_of(victims));
    *ret = answer;
    return NULL;
}

/* ---- bind ---- */

static void reply_bound(struct exchange *x, const struct err *e)
{
    AUTO(json_freep) json_t *answer = json_object();

    json_put_text(answer, "Error", e ? err_message(e) : "");
    extender_reply(x, answer);
}

static void on_extender_close(void *arg)
{
    struct kube_extended *b = arg;

    client_cancel(b->call); /* it may have been taken: the watch will say */
    free(b);
}

static void on_extender_bound(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct kube_extended *b = arg;
    struct exchange *x = b->x;
    AUTO(err_freep) struct err *e = client_error(failed, reply);

    x->on_close = NULL;
    free(b);
    reply_bound(x, e);
}

static json_t *extender_binding(const json_t *args)
{
    json_t *body = json_object();
    json_t *metadata = json_object_at(body, "metadata");
    json_t *target = json_object_at(body, "target");

    json_put_text(body, "apiVersion", "v1");
    json_put_text(body, "kind", "Binding");
    json_put_text(metadata, "name", json_text(args, "PodName"));
    json_put_text(metadata, "namespace", json_text(args, "PodNamespace"));
    json_put_text(metadata, "uid", json_text(args, "PodUID"));
    json_put_text(target, "apiVersion", "v1");
    json_put_text(target, "kind", "Node");
    json_put_text(target, "name", json_text(args, "Node"));
    return body;
}

static struct err *extender_bind(struct kube_extender *x, struct exchange *exchange,
                                 const json_t *args)
{
    static const char *const wanted[] = {"PodName", "PodNamespace", "PodUID", "Node"};
    AUTO(json_freep) json_t *body = NULL;
    AUTO_FREE char *text = NULL;
    struct buf path = {0};
    struct kube_extended *b;

    for (size_t i = 0; i < COUNT(wanted); i++)
        if (!json_text(args, wanted[i]) || !*json_text(args, wanted[i]))
            return err_new(ERR_BAD_REQUEST, "%s: want a text", wanted[i]);
    body = extender_binding(args);
    text = json_format(body);
    buf_add_text(&path, "/api/v1/namespaces/");
    client_add_escaped(&path, str_of(json_text(args, "PodNamespace")));
    buf_add_text(&path, "/pods/");
    client_add_escaped(&path, str_of(json_text(args, "PodName")));
    buf_add_text(&path, "/binding");
    b = mem_alloc(sizeof(*b));
    b->x = exchange;
    exchange->arg = b;
    exchange->on_close = on_extender_close;
    client_send(x->o.client,
                &(struct client_request){.method = "POST", .path = path.at, .body = str_of(text)},
                on_extender_bound, b, &b->call);
    buf_done(&path);
    return NULL;
}

/* ---- routes ---- */

static struct err *extender_serve(struct kube_extender *x, struct exchange *exchange)
{
    const char *slash = strrchr(exchange->request.path, '/');
    const char *verb = slash ? slash + 1 : "";
    AUTO(json_freep) json_t *args = NULL;
    AUTO(json_freep) json_t *answer = NULL;

    if (!text_equal(exchange->request.method, "POST"))
        return err_new(ERR_BAD_REQUEST, "an extender is asked by POST");
    TRY(scheduler_check_loaded(x->o.scheduler));
    TRY(json_parse(exchange->request.body, &args));
    if (text_equal(verb, "bind"))
        return extender_bind(x, exchange, args);
    if (text_equal(verb, "filter"))
        TRY(extender_filter(x, args, &answer));
    else if (text_equal(verb, "prioritize"))
        TRY(extender_prioritize(x, args, &answer));
    else if (text_equal(verb, "preempt"))
        TRY(extender_preempt(x, args, &answer));
    else
        return err_new(ERR_NOT_FOUND, "want filter, prioritize, bind or preempt, not %.64s", verb);
    extender_reply(exchange, answer);
    return NULL;
}

void kube_extender_handle(void *extender, struct exchange *x)
{
    AUTO(err_freep) struct err *e = extender_serve(extender, x);

    if (e)
        extender_refuse(x, e);
}

struct kube_extender *kube_extender_new(const struct kube_extender_options *o)
{
    struct kube_extender *x = mem_alloc(sizeof(*x));

    x->o = *o;
    return x;
}

void kube_extender_free(struct kube_extender *x)
{
    free(x);
}
