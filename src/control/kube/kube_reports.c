/*
 * kube_reports.c - the scheduler's reports for the users of a cluster
 *
 * A request is answered at once, but for two cases: a list of gpus waits for the authorizer's word
 * on whose pods may be named, and reports are computed in a later turn of the loop.
 */

#include "control/kube/kube_reports.h"

#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "control/kube/cluster_kube.h"
#include "control/report/free.h"
#include "control/report/views.h"
#include "control/report/what_if.h"
#include "http/target.h"
#include "kinds/kind/kind.h"
#include "kinds/wire/status.h"

enum {
    PREFIX_SEGMENTS = 3 /* apis, the group, the version */
};

struct kube_reports {
    struct kube_reports_options o;
    struct views views;
};

/* A request that waits for an answer of others. */
struct kube_asked {
    struct kube_reports *reports;
    struct exchange *x;
    struct client_call *call; /* to the authorizer */
    char *user;
    json_t *groups;
    char *ns;   /* the second question to the authorizer; NULL: none */
    char *uuid; /* of the gpu; NULL: all */
    bool is_table;
    bool is_of_ns; /* the second question was sent */
    struct report *report;
    void (*cancel)(struct report *r);
};

/* ---- answers ---- */

static void reports_reply(struct exchange *x, const json_t *answer)
{
    AUTO_FREE char *text = json_format(answer);
    const struct api_reply r = {.status = 200, .body = str_of(text)};

    x->ops->reply(x, &r);
}

static void reports_refuse(struct exchange *x, const struct err *e)
{
    const struct status_about about = {0};
    AUTO(json_freep) json_t *status = status_of_error(e, &about);
    AUTO_FREE char *text = json_format(status);
    const struct api_reply r = {.status = err_http(e), .body = str_of(text)};

    x->ops->reply(x, &r);
}

static json_t *reports_list(const struct kind *k, json_t *items)
{
    AUTO_FREE char *kind = mem_format("%sList", k->kind);
    json_t *list = json_object();
    json_t *item;
    size_t i;

    json_put_text(list, "apiVersion", REPORTS_GROUP "/" REPORTS_VERSION);
    json_put_text(list, "kind", kind);
    json_put(list, "metadata", json_object());
    json_array_foreach (items, i, item)
        json_put_text(item, "apiVersion", REPORTS_GROUP "/" REPORTS_VERSION);
    json_put(list, "items", items);
    return list;
}

/* kubectl asks for tables. */
static bool wants_table(const struct api_request *r)
{
    const char *accept = request_header(r, "accept");

    return accept && strstr(accept, "as=Table") && strstr(accept, "g=meta.k8s.io");
}

/* Answers with the objects, or with the first of them. Takes `items`. */
static void reports_answer(const struct kube_reports *r, struct exchange *x, const struct kind *k,
                           json_t *items, bool is_single, bool is_table)
{
    AUTO(json_freep) json_t *list = reports_list(k, items);
    AUTO(json_freep) json_t *table = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (is_table)
        table = table_format(k, items, 0, "Metadata", loop_wall_ns(r->o.loop));
    if (is_single && json_array_size(items) == 0)
        e = err_new(ERR_NOT_FOUND, "%s.%s not found", k->plural, REPORTS_GROUP);
    if (e)
        reports_refuse(x, e);
    else
        reports_reply(x, is_table ? table : is_single ? json_array_get(items, 0) : list);
}

/* ---- discovery ---- */

static void resource_add(json_t *list, const struct kind *k, const char *name, bool is_namespaced)
{
    json_t *o = json_object();

    json_put_text(o, "name", name);
    json_put_text(o, "singularName", k ? k->singular : name);
    json_put_bool(o, "namespaced", is_namespaced);
    json_put_text(o, "kind", k ? k->kind : "Report");
    json_put(o, "verbs", json_pack("[s, s]", "get", "list"));
    (void)json_array_append_new(list, o); /* an object */
}

static json_t *reports_discovery(void)
{
    json_t *o = json_object();
    json_t *list = json_array_at(o, "resources");

    json_put_text(o, "kind", "APIResourceList");
    json_put_text(o, "apiVersion", "v1");
    json_put_text(o, "groupVersion", REPORTS_GROUP "/" REPORTS_VERSION);
    resource_add(list, kind_find("mete.dev", "gpus"), "gpus", false);
    resource_add(list, kind_find("mete.dev", "queues"), "queues", false);
    resource_add(list, kind_find("mete.dev", "workloads"), "workloads", true);
    resource_add(list, NULL, "free", true);
    resource_add(list, NULL, "what-if", true);
    return o;
}

/* ---- who asks ---- */

/* Only the front proxy of the kube-apiserver may name users. */
static struct err *check_proxy(const struct kube_reports *r, const struct api_request *request)
{
    const char *name = request->peer.cert_user;

    if (name && (json_array_size(r->o.proxy_names) == 0 || json_has_text(r->o.proxy_names, name)))
        return NULL;
    return err_new(ERR_UNAUTHENTICATED, "reports come through the kube-apiserver: %s",
                   REPORTS_PATH);
}

static json_t *groups_of(const struct api_request *request)
{
    json_t *groups = json_array();

    for (size_t i = 0; i < request->n_headers; i++)
        if (text_equal(request->headers[i].name, "x-remote-group"))
            (void)json_array_append_new(groups, json_text_new(request->headers[i].value));
    return groups;
}

static void asked_free(struct kube_asked *a)
{
    client_cancel(a->call);
    if (a->report)
        a->cancel(a->report);
    json_decref(a->groups);
    free(a->user);
    free(a->ns);
    free(a->uuid);
    free(a);
}

static void on_asked_close(void *arg)
{
    asked_free(arg);
}

static struct kube_asked *asked_new(struct kube_reports *r, struct exchange *x)
{
    struct kube_asked *a = mem_alloc(sizeof(*a));

    *a = (struct kube_asked){.reports = r,
                             .x = x,
                             .user = mem_strdup(request_header(&x->request, "x-remote-user")),
                             .groups = groups_of(&x->request),
                             .is_table = wants_table(&x->request)};
    x->arg = a;
    x->on_close = on_asked_close;
    return a;
}

/* The exchange ends with its answer; `a` is gone. */
static struct exchange *asked_end(struct kube_asked *a)
{
    struct exchange *x = a->x;

    x->on_close = NULL;
    a->report = NULL;
    asked_free(a);
    return x;
}

/* ---- gpus: whose pods may be named? ---- */

static void holder_hide(json_t *holder)
{
    static const char *const hidden[] = {"namespace", "pod", "jobId", "user"};

    for (size_t i = 0; i < COUNT(hidden); i++)
        json_put(holder, hidden[i], json_null());
}

/* Removes the names of pods in other namespaces. */
static void gpus_hide(json_t *gpus, const json_t *namespaces)
{
    json_t *gpu;
    json_t *holder;
    size_t i;
    size_t k;

    json_array_foreach (gpus, i, gpu) {
        json_array_foreach (json_at(gpu, "status", "holders", NULL), k, holder) {
            const char *ns = json_text(holder, "namespace");

            if (ns && !report_may_show(namespaces, ns))
                holder_hide(holder); /* `holder` is the first of `holders` */
        }
    }
}

/* `namespaces` NULL: all pods may be named. */
static void asked_answer_gpus(struct kube_asked *a, const json_t *namespaces)
{
    struct kube_reports *r = a->reports;
    AUTO_FREE char *uuid = TAKE(a->uuid);
    bool is_table = a->is_table;
    struct exchange *x = asked_end(a);
    json_t *gpus = uuid ? json_array() : views_gpus(&r->views);
    json_t *gpu = uuid ? views_gpu(&r->views, uuid) : NULL;

    if (gpu)
        (void)json_array_append_new(gpus, gpu); /* an object */
    gpus_hide(gpus, namespaces);
    reports_answer(r, x, kind_find("mete.dev", "gpus"), gpus, uuid != NULL, is_table);
}

static void asked_ask(struct kube_asked *a, const char *ns);

static void on_reviewed(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct kube_asked *a = arg;
    AUTO(json_freep) json_t *review = NULL;
    AUTO(json_freep) json_t *namespaces = json_array();
    AUTO(err_freep) struct err *e = client_error(failed, reply);
    bool is_allowed;

    a->call = NULL;
    if (!e)
        e = json_parse(reply->body, &review);
    if (e) {
        AUTO(err_freep) struct err *told = err_wrap(TAKE(e), "ask the authorizer");

        reports_refuse(asked_end(a), told);
        return;
    }
    is_allowed = json_bool(json_object_get(review, "status"), "allowed", false);
    if (is_allowed && !a->is_of_ns) {
        asked_answer_gpus(a, NULL);
        return;
    }
    if (!a->is_of_ns && a->ns) {
        a->is_of_ns = true;
        asked_ask(a, a->ns);
        return;
    }
    if (is_allowed)
        (void)json_array_append_new(namespaces, json_text_new(a->ns));
    asked_answer_gpus(a, namespaces);
}

/* Asks whether the user may list pods in the namespace; NULL: in all. */
static void asked_ask(struct kube_asked *a, const char *ns)
{
    AUTO(json_freep) json_t *review = json_object();
    AUTO_FREE char *body = NULL;
    json_t *spec = json_object_at(review, "spec");
    json_t *about = json_object_at(spec, "resourceAttributes");

    json_put_text(review, "apiVersion", "authorization.k8s.io/v1");
    json_put_text(review, "kind", "SubjectAccessReview");
    json_put_text(spec, "user", a->user);
    json_put(spec, "groups", json_incref(a->groups));
    json_put_text(about, "namespace", ns);
    json_put_text(about, "verb", "list");
    json_put_text(about, "resource", "pods");
    body = json_format(review);
    client_send(
        a->reports->o.client,
        &(struct client_request){.method = "POST",
                                 .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                 .body = str_of(body)},
        on_reviewed, a, &a->call);
}

static void handle_gpus(struct kube_reports *r, struct exchange *x, const char *uuid,
                        const struct query *q)
{
    const char *ns = query_get(q, "namespace");
    struct kube_asked *a = asked_new(r, x);

    if (uuid)
        a->uuid = mem_strdup(uuid);
    if (ns && *ns)
        a->ns = mem_strdup(ns);
    asked_ask(a, NULL);
}

/* ---- queues ---- */

static void handle_queues(struct kube_reports *r, struct exchange *x, const char *name)
{
    AUTO(json_freep) json_t *all = scheduler_queues(r->o.scheduler);
    json_t *items = json_array();
    json_t *queue;
    size_t i;

    json_array_foreach (all, i, queue)
        if (!name || text_equal(json_text_at(queue, "metadata", "name", NULL), name))
            (void)json_array_append(items, queue); /* an object */
    reports_answer(r, x, kind_find("mete.dev", "queues"), items, name != NULL,
                   wants_table(&x->request));
}

/* ---- workloads ---- */

/* `*ret` NULL: all phases. */
static struct err *phase_wanted(const struct query *q, const char **ret)
{
    static const char only[] = "status.phase=";
    const char *text = query_get(q, "fieldSelector");

    *ret = NULL;
    if (!text || !*text)
        return NULL;
    if (!text_starts_with(text, only) || strpbrk(text + strlen(only), ",=!"))
        return err_new(ERR_BAD_REQUEST,
                       "fieldSelector \"%.64s\": want status.phase=PHASE, and nothing else", text);
    *ret = text + strlen(only);
    return NULL;
}

static json_t *of_phase(json_t *workloads, const char *phase)
{
    json_t *kept;
    json_t *one;
    size_t i;

    if (!phase)
        return workloads;
    kept = json_array();
    json_array_foreach (workloads, i, one)
        if (text_equal(json_text_at(one, "status", "phase", NULL), phase))
            (void)json_array_append(kept, one); /* an object */
    json_decref(workloads);
    return kept;
}

static struct err *handle_workloads(struct kube_reports *r, struct exchange *x, const char *ns,
                                    const char *name, const struct query *q)
{
    json_t *one = name ? views_workload(&r->views, ns, name) : NULL;
    const char *phase = NULL;
    json_t *items;

    TRY(phase_wanted(q, &phase));
    items = name ? json_array() : of_phase(views_workloads(&r->views, ns), phase);
    if (one)
        (void)json_array_append_new(items, one); /* an object */
    reports_answer(r, x, kind_find("mete.dev", "workloads"), items, name != NULL,
                   wants_table(&x->request));
    return NULL;
}

/* ---- reports that are computed later ---- */

static void on_report(void *arg, const struct err *e, const json_t *report)
{
    struct exchange *x = asked_end(arg);

    if (e)
        reports_refuse(x, e);
    else
        reports_reply(x, report);
}

static struct err *handle_later(struct kube_reports *r, struct exchange *x, const char *name,
                                const char *ns, const struct query *q)
{
    AUTO(json_freep) json_t *parameters = json_object();
    AUTO(json_freep) json_t *namespaces = json_array();
    bool is_free = text_equal(name, "free");
    const struct report_question question = {.parameters = parameters,
                                             .namespaces = namespaces,
                                             .user = request_header(&x->request, "x-remote-user")};
    struct report *report = NULL;
    struct kube_asked *a;
    struct err *e;

    for (size_t i = 0; i < q->n; i++)
        json_put_text(parameters, q->pairs[i].key, q->pairs[i].value);
    json_put_text(parameters, "namespace", ns);
    (void)json_array_append_new(namespaces, json_text_new(ns));
    a = asked_new(r, x);
    a->cancel = is_free ? free_cancel : what_if_cancel;
    e = is_free ? free_begin(&r->views, &question, on_report, a, &report)
                : what_if_begin(&r->views, &question, on_report, a, &report);
    if (e) {
        (void)asked_end(a);
        return e;
    }
    a->report = report;
    return NULL;
}

/* ---- routes ---- */

static struct err *reports_no_path(const struct exchange *x)
{
    return err_new(ERR_NOT_FOUND, "there is no report at %.128s", x->request.path);
}

/* The path below the version: "gpus", "namespaces/NS/workloads/NAME", ... */
static struct err *reports_route(struct kube_reports *r, struct exchange *x,
                                 const struct request_target *t, const struct query *q)
{
    const char *const *at = t->segments + PREFIX_SEGMENTS;
    size_t n = t->n - PREFIX_SEGMENTS;
    const char *ns = NULL;

    TRY(scheduler_check_loaded(r->o.scheduler));
    if (n > 2 && text_equal(at[0], "namespaces")) {
        ns = at[1];
        at += 2;
        n -= 2;
    }
    if (!ns && n <= 2 && text_equal(at[0], "gpus")) {
        handle_gpus(r, x, n > 1 ? at[1] : NULL, q);
        return NULL;
    }
    if (!ns && n <= 2 && text_equal(at[0], "queues")) {
        handle_queues(r, x, n > 1 ? at[1] : NULL);
        return NULL;
    }
    if (text_equal(at[0], "workloads") && (n == 1 || (ns && n == 2)))
        return handle_workloads(r, x, ns, n > 1 ? at[1] : NULL, q);
    if (ns && n == 1 && (text_equal(at[0], "free") || text_equal(at[0], "what-if")))
        return handle_later(r, x, at[0], ns, q);
    return reports_no_path(x);
}

static struct err *reports_serve(struct kube_reports *r, struct exchange *x, struct arena *a)
{
    struct request_target t = {0};
    struct query *q = arena_alloc(a, sizeof(*q));
    AUTO(json_freep) json_t *discovery = NULL;

    TRY(check_proxy(r, &x->request));
    if (!request_header(&x->request, "x-remote-user"))
        return err_new(ERR_UNAUTHENTICATED, "the request names no user: X-Remote-User");
    if (!text_equal(x->request.method, "GET"))
        return err_new(ERR_BAD_REQUEST, "reports are read: want GET");
    TRY(target_parse(a, x->request.path, &t));
    TRY(query_parse(a, x->request.query, q));
    if (t.n < PREFIX_SEGMENTS || !text_starts_with(x->request.path, REPORTS_PATH))
        return reports_no_path(x);
    if (t.n > PREFIX_SEGMENTS)
        return reports_route(r, x, &t, q);
    discovery = reports_discovery();
    reports_reply(x, discovery);
    return NULL;
}

void kube_reports_handle(void *reports, struct exchange *x)
{
    struct arena *a = arena_new();
    AUTO(err_freep) struct err *e = reports_serve(reports, x, a);

    if (e)
        reports_refuse(x, e);
    arena_free(a);
}

struct kube_reports *kube_reports_new(const struct kube_reports_options *o)
{
    struct kube_reports *r = mem_alloc(sizeof(*r));

    *r = (struct kube_reports){.o = *o,
                               .views = {.loop = o->loop,
                                         .source = cluster_kube_source(o->cluster),
                                         .scheduler = o->scheduler}};
    return r;
}

void kube_reports_free(struct kube_reports *r)
{
    free(r);
}
