/* kube_server.c - objects, requests and watches of kube_server.h */

#include "kube_server.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "kinds/kind/kind.h"
#include "kinds/pod/pod_state.h"
#include "prop.h"
#include "test.h"

#define CUT_NS (4 * NS_PER_SEC)

/* The kinds that this cluster has. */
static const char *const served[][2] = {
    {"", "nodes"},
    {"", "pods"},
    {"", "namespaces"},
    {"scheduling.k8s.io", "priorityclasses"},
    {"policy", "poddisruptionbudgets"},
    {"scheduling.x-k8s.io", "podgroups"},
    {"mete.dev", "queues"},
    {"coordination.k8s.io", "leases"},
    {"resource.k8s.io", "resourceslices"},
    {"resource.k8s.io", "deviceclasses"},
    {"resource.k8s.io", "resourceclaims"},
};

struct kube_object {
    const char *plural;
    json_t *tree;
};

struct kube_change {
    const char *plural;
    const char *type;
    char *line; /* of a watch */
    int64_t revision;
};

/* A list that is read in pages. */
struct kube_pages {
    json_t *items;
    int64_t revision;
};

struct kube_wire {
    struct client client; /* first */
    struct kube_server *server;
    int who;
};

/* A request on its way, its answer on its way, or a watch. */
struct kube_request_of {
    struct client_call call; /* first */
    struct kube_request_of *prev;
    struct kube_request_of *next;
    struct kube_server *server;
    struct kube_wire *wire; /* NULL: the client has gone, or has given up */
    int who;
    struct loop_timer *timer;
    struct loop_timer *limit;
    int64_t arrives_ns;
    char *method;
    char *path;
    json_t *body;
    bool is_patch_merge;
    bool is_served;
    int status; /* of the answer; 0: lost */
    char *answer;
    const char *plural; /* of a watch, else NULL */
    int64_t seen;       /* revision that a watch has told */
    client_data_fn data;
    client_done_fn done;
    void *arg;
};

struct kube_server {
    struct kube_server_options o;
    struct prop p;
    struct kube_faults faults;
    VEC(struct kube_object) objects;
    VEC(struct kube_change) history;
    VEC(struct kube_pages) pages;
    int64_t revision;
    int64_t compacted; /* watches begin here or later */
    struct kube_request_of *requests;
    int n_uids;
};

int64_t kube_server_now_ns(const struct kube_server *s)
{
    return INT64_C(1767225600) * NS_PER_SEC + loop_now_ns(s->o.loop);
}

/* ---- objects ---- */

static const char *ns_of(const json_t *tree)
{
    return text_or_empty(json_text_at(tree, "metadata", "namespace", NULL));
}

static const char *name_of(const json_t *tree)
{
    return text_or_empty(json_text_at(tree, "metadata", "name", NULL));
}

static size_t object_find(const struct kube_server *s, const char *plural, const char *ns,
                          const char *name)
{
    size_t i = 0;

    while (i < s->objects.n && !(text_equal(s->objects.at[i].plural, plural) &&
                                 text_equal(ns_of(s->objects.at[i].tree), ns) &&
                                 text_equal(name_of(s->objects.at[i].tree), name)))
        i++;
    return i;
}

const json_t *kube_server_get(const struct kube_server *s, const char *plural, const char *ns,
                              const char *name)
{
    size_t i = object_find(s, plural, ns, name);

    return i < s->objects.n ? s->objects.at[i].tree : NULL;
}

static void wake_watches(struct kube_server *s, const char *plural)
{
    struct kube_request_of *r;

    LIST_EACH (s->requests, r) {
        if (r->plural && r->is_served && text_equal(r->plural, plural))
            loop_timer_set(r->timer, (int64_t)prop_below(&s->p, (size_t)s->faults.slow_ns + 1));
    }
}

/* Takes `after`; NULL: the object goes. */
static void change(struct kube_server *s, int who, const char *plural, size_t i, json_t *after)
{
    AUTO(json_freep) json_t *before = i < s->objects.n ? s->objects.at[i].tree : NULL;
    AUTO(json_freep) json_t *event = json_object();
    json_t *told = after ? after : json_deep_copy(before);
    AUTO_FREE char *version = mem_format("%lld", (long long)++s->revision);
    const char *type = !after ? "DELETED" : before ? "MODIFIED" : "ADDED";

    json_put_text(json_object_at(told, "metadata"), "resourceVersion", version);
    json_put_text(event, "type", type);
    json_put(event, "object", after ? json_incref(told) : told);
    vec_add(&s->history, (struct kube_change){.plural = plural,
                                              .type = type,
                                              .line = json_format(event),
                                              .revision = s->revision});
    if (!after)
        vec_remove(&s->objects, i);
    else if (before)
        s->objects.at[i].tree = after;
    else
        vec_add(&s->objects, (struct kube_object){plural, after});
    s->o.changed(s->o.arg, who, plural, before, after);
    wake_watches(s, plural);
}

static const char *plural_served(const char *group, const char *plural)
{
    for (size_t i = 0; i < COUNT(served); i++)
        if (text_equal(served[i][0], group) && text_equal(served[i][1], plural))
            return served[i][1];
    return NULL;
}

static const char *plural_known(const char *plural)
{
    for (size_t i = 0; i < COUNT(served); i++)
        if (text_equal(served[i][1], plural))
            return served[i][1];
    fail_msg("no kind %s", plural);
    return NULL;
}

static const struct kind *kind_of(const char *plural)
{
    for (size_t i = 0; i < COUNT(served); i++)
        if (text_equal(served[i][1], plural))
            return kind_find(served[i][0], plural);
    return NULL;
}

/* A new object with a uid; takes `tree`. */
static void object_add(struct kube_server *s, int who, const char *plural, json_t *tree)
{
    AUTO_FREE char *uid = mem_format("%s-%d", name_of(tree), ++s->n_uids);
    char now[STAMP_TEXT_SIZE];

    stamp_format(kube_server_now_ns(s), now);
    json_put_text(json_object_at(tree, "metadata"), "uid", uid);
    json_put_text(json_object_at(tree, "metadata"), "creationTimestamp", now);
    change(s, who, plural, s->objects.n, tree);
}

static json_t *tree_of(const char *text)
{
    AUTO_FREE char *copy = mem_strdup(text);
    json_t *tree = NULL;

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    assert_null(json_parse(str_of(copy), &tree));
    return tree;
}

void kube_server_put(struct kube_server *s, const char *plural, const char *text)
{
    json_t *tree = tree_of(text);
    size_t i = object_find(s, plural, ns_of(tree), name_of(tree));

    if (i == s->objects.n) {
        object_add(s, -1, plural_known(plural), tree);
        return;
    }
    json_put_text(json_object_at(tree, "metadata"), "uid",
                  json_text_at(s->objects.at[i].tree, "metadata", "uid", NULL));
    change(s, -1, plural_known(plural), i, tree);
}

void kube_server_patch(struct kube_server *s, const char *plural, const json_t *object,
                       const char *text)
{
    size_t i = object_find(s, plural, ns_of(object), name_of(object));
    AUTO(json_freep) json_t *patch = tree_of(text);
    json_t *after = NULL;

    assert_true(i < s->objects.n);
    assert_null(patch_strategic(kind_of(plural), s->objects.at[i].tree, patch, &after));
    change(s, -1, plural_known(plural), i, after);
}

void kube_server_patch_merge(struct kube_server *s, const char *plural, const json_t *object,
                             const char *text)
{
    size_t i = object_find(s, plural, ns_of(object), name_of(object));
    AUTO(json_freep) json_t *patch = tree_of(text);
    json_t *after = NULL;

    assert_true(i < s->objects.n);
    assert_null(patch_merge(s->objects.at[i].tree, patch, &after));
    change(s, -1, plural_known(plural), i, after);
}

void kube_server_remove(struct kube_server *s, const char *plural, const json_t *object)
{
    size_t i = object_find(s, plural, ns_of(object), name_of(object));

    assert_true(i < s->objects.n);
    change(s, -1, plural_known(plural), i, NULL);
}

void kube_server_each(struct kube_server *s, const char *plural,
                      void (*fn)(void *arg, const json_t *object), void *arg)
{
    VEC(json_t *) all = {0};

    VEC_EACH (&s->objects, o)
        if (text_equal(o->plural, plural))
            vec_add(&all, json_incref(o->tree));
    VEC_EACH (&all, tree) {
        fn(arg, *tree);
        json_decref(*tree);
    }
    vec_done(&all);
}

/* ---- what requests do ---- */

/* A path in its parts. Borrowed. */
struct target_of {
    const char *group;
    const char *plural; /* NULL: the cluster has no such kind */
    const char *ns;
    const char *name; /* NULL: the list */
    const char *sub;  /* NULL: none */
};

/* Cuts `path` (without its query) into its parts. */
static struct target_of path_read(char *path)
{
    char *parts[10] = {0};
    size_t n = 0;
    size_t at = 0;
    struct target_of t = {.group = "", .ns = ""};
    char *save = NULL;
    bool is_core = text_starts_with(path, "/api/");

    for (char *p = strtok_r(path, "/", &save); p && n < COUNT(parts);
         p = strtok_r(NULL, "/", &save))
        parts[n++] = p;
    if (!is_core)
        t.group = parts[1];
    at = is_core ? 2 : 3;
    if (n > at + 2 && text_equal(parts[at], "namespaces")) {
        t.ns = parts[at + 1];
        at += 2;
    }
    t.plural = parts[at] ? parts[at] : "";
    t.name = parts[at + 1];
    t.sub = t.name ? parts[at + 2] : NULL;
    return t;
}

static int64_t query_number(const char *path, const char *key, int64_t fallback)
{
    AUTO_FREE char *want = mem_format("%s=", key);
    const char *at = strstr(path, want);
    int64_t n = fallback;

    if (!at)
        return fallback;
    at += strlen(want);
    err_free(num_parse_int64((struct str){at, strspn(at, "0123456789")}, 0, INT64_MAX, &n));
    return n;
}

static void answer_status(struct kube_request_of *r, int status, const char *reason)
{
    r->status = status;
    r->answer = mem_format("{\"kind\":\"Status\",\"reason\":\"%s\",\"code\":%d}", reason, status);
}

static void answer_tree(struct kube_request_of *r, int status, const json_t *tree)
{
    r->status = status;
    r->answer = json_format(tree);
}

static size_t pages_new(struct kube_server *s, const struct target_of *t)
{
    struct kube_pages pages = {.items = json_array(), .revision = s->revision};

    VEC_EACH (&s->objects, o)
        if (text_equal(o->plural, t->plural) && (!*t->ns || text_equal(t->ns, ns_of(o->tree))))
            (void)json_array_append(pages.items, o->tree);
    vec_add(&s->pages, pages);
    return s->pages.n - 1;
}

/* A list in pages: the token of the next is the list's number times 1,000 and the first item. */
static void serve_list(struct kube_request_of *r, const struct target_of *t)
{
    struct kube_server *s = r->server;
    int64_t token = query_number(r->path, "continue", -1);
    size_t number = token < 0 ? pages_new(s, t) : (size_t)token / 1000;
    size_t at = token < 0 ? 0 : (size_t)token % 1000;
    const struct kube_pages *pages = &s->pages.at[number];
    size_t size = 1 + prop_below(&s->p, 20);
    size_t limit = (size_t)query_number(r->path, "limit", 500);
    AUTO(json_freep) json_t *list = json_object();
    json_t *metadata = json_object_at(list, "metadata");
    json_t *items = json_array_at(list, "items");
    AUTO_FREE char *version = mem_format("%lld", (long long)pages->revision);

    if (token >= 0 && prop_chance(&s->p, s->faults.expired_pct)) {
        answer_status(r, 410, "Expired");
        return;
    }
    for (size = size < limit ? size : limit; size > 0 && at < json_array_size(pages->items); size--)
        (void)json_array_append(items, json_array_get(pages->items, at++));
    json_put_text(metadata, "resourceVersion", version);
    if (at < json_array_size(pages->items)) {
        AUTO_FREE char *next = mem_format("%zu", number * 1000 + at);

        json_put_text(metadata, "continue", next);
    }
    answer_tree(r, 200, list);
}

/* spec.nodeName, the binding's annotations, and the condition, as the registry writes them. */
static json_t *pod_bound(struct kube_server *s, const json_t *pod, const char *node,
                         const json_t *annotations)
{
    json_t *patch = tree_of("{'status':{'conditions':[{'type':'PodScheduled','status':'True'}]}}");
    char now[STAMP_TEXT_SIZE];
    json_t *after = NULL;

    stamp_format(kube_server_now_ns(s), now);
    json_put_text(json_array_get(json_at(patch, "status", "conditions", NULL), 0),
                  "lastTransitionTime", now);
    json_put_text(json_object_at(patch, "spec"), "nodeName", node);
    if (annotations)
        json_put(json_object_at(patch, "metadata"), "annotations", json_deep_copy(annotations));
    assert_null(patch_strategic(kind_find("", "pods"), pod, patch, &after));
    json_decref(patch);
    return after;
}

void kube_server_bind(struct kube_server *s, const json_t *pod, const char *node)
{
    size_t i = object_find(s, "pods", ns_of(pod), name_of(pod));

    assert_true(i < s->objects.n);
    change(s, -1, "pods", i, pod_bound(s, s->objects.at[i].tree, node, NULL));
}

static void serve_binding(struct kube_request_of *r, size_t i)
{
    struct kube_server *s = r->server;
    const json_t *pod = s->objects.at[i].tree;
    const char *uid = json_text_at(r->body, "metadata", "uid", NULL);

    if ((uid && !text_equal(uid, json_text_at(pod, "metadata", "uid", NULL))) || *pod_node(pod) ||
        pod_is_deleting(pod)) {
        answer_status(r, 409, "Conflict");
        return;
    }
    change(s, r->who, "pods", i,
           pod_bound(s, pod, json_text_at(r->body, "target", "name", NULL),
                     json_at(r->body, "metadata", "annotations", NULL)));
    answer_status(r, 201, "");
}

static void serve_create(struct kube_request_of *r, const struct target_of *t)
{
    struct kube_server *s = r->server;

    if (object_find(s, t->plural, t->ns, name_of(r->body)) < s->objects.n) {
        answer_status(r, 409, "AlreadyExists");
        return;
    }
    object_add(s, r->who, t->plural, json_deep_copy(r->body));
    answer_tree(r, 201, s->objects.at[s->objects.n - 1].tree);
}

static void serve_patch(struct kube_request_of *r, const struct target_of *t, size_t i)
{
    struct kube_server *s = r->server;
    const json_t *tree = s->objects.at[i].tree;
    const char *uid = json_text_at(r->body, "metadata", "uid", NULL);
    const char *version = json_text_at(r->body, "metadata", "resourceVersion", NULL);
    json_t *after = NULL;

    if ((uid && !text_equal(uid, json_text_at(tree, "metadata", "uid", NULL))) ||
        (version &&
         !text_equal(version, json_text_at(tree, "metadata", "resourceVersion", NULL)))) {
        answer_status(r, 409, "Conflict");
        return;
    }
    assert_null(r->is_patch_merge ? patch_merge(tree, r->body, &after)
                                  : patch_strategic(kind_of(t->plural), tree, r->body, &after));
    change(s, r->who, t->plural, i, after);
    answer_tree(r, 200, after);
}

static void serve_update(struct kube_request_of *r, const struct target_of *t, size_t i)
{
    struct kube_server *s = r->server;

    if (!text_equal(json_text_at(r->body, "metadata", "resourceVersion", NULL),
                    json_text_at(s->objects.at[i].tree, "metadata", "resourceVersion", NULL))) {
        answer_status(r, 409, "Conflict");
        return;
    }
    change(s, r->who, t->plural, i, json_deep_copy(r->body));
    answer_tree(r, 200, s->objects.at[i].tree);
}

/* A bound pod stays until its node has ended it. */
static void serve_deletion(struct kube_request_of *r, const struct target_of *t, size_t i)
{
    struct kube_server *s = r->server;
    const json_t *tree = s->objects.at[i].tree;
    const char *uid = json_text_at(r->body, "preconditions", "uid", NULL);
    json_t *after = NULL;
    char now[STAMP_TEXT_SIZE];

    if (uid && !text_equal(uid, json_text_at(tree, "metadata", "uid", NULL))) {
        answer_status(r, 409, "Conflict");
        return;
    }
    if (text_equal(t->plural, "pods") && *pod_node(tree)) {
        stamp_format(kube_server_now_ns(s), now);
        after = json_deep_copy(tree);
        json_put_text(json_object_at(after, "metadata"), "deletionTimestamp", now);
        json_put_int(json_object_at(after, "metadata"), "deletionGracePeriodSeconds", 30);
    }
    change(s, r->who, t->plural, i, after);
    answer_status(r, 200, "");
}

static void serve_one(struct kube_request_of *r, const struct target_of *t)
{
    struct kube_server *s = r->server;
    size_t i = object_find(s, t->plural, t->ns, t->name);

    if (i == s->objects.n)
        answer_status(r, 404, "NotFound");
    else if (text_equal(r->method, "GET"))
        answer_tree(r, 200, s->objects.at[i].tree);
    else if (text_equal(t->sub, "binding"))
        serve_binding(r, i);
    else if (text_equal(r->method, "PATCH"))
        serve_patch(r, t, i);
    else if (text_equal(r->method, "PUT"))
        serve_update(r, t, i);
    else
        serve_deletion(r, t, i);
}

static void serve(struct kube_request_of *r)
{
    AUTO_FREE char *path = mem_strndup(r->path, strcspn(r->path, "?"));
    struct target_of t = path_read(path);
    bool is_event = text_equal(t.plural, "events");

    t.plural = plural_served(t.group, t.plural);
    if (is_event && !text_equal(r->method, "GET"))
        answer_status(r, 201, ""); /* nobody reads them */
    else if (!t.plural)
        answer_status(r, 404, "NotFound");
    else if (t.name)
        serve_one(r, &t);
    else if (text_equal(r->method, "POST"))
        serve_create(r, &t);
    else
        serve_list(r, &t);
}

/* ---- the way of a request ---- */

static void request_free(struct kube_request_of *r)
{
    LIST_REMOVE(r->server->requests, r);
    loop_timer_free(r->timer);
    loop_timer_free(r->limit);
    json_decref(r->body);
    free(r->method);
    free(r->path);
    free(r->answer);
    free(r);
}

/* The client has its answer, or has given up. The request may still be on its way. */
static void request_leave(struct kube_request_of *r)
{
    r->wire = NULL;
    loop_timer_stop(r->limit);
    if (r->is_served || r->plural || r->arrives_ns - loop_now_ns(r->server->o.loop) > CUT_NS)
        request_free(r);
}

/* Ends the call. `code` 0: with the answer. */
static void request_end(struct kube_request_of *r, enum err_code code)
{
    const client_done_fn done = r->done;
    void *const arg = r->arg;
    AUTO_FREE char *text = TAKE(r->answer);
    const struct client_reply reply = {.status = r->status, .body = str_of(text)};
    AUTO(err_freep) struct err *e = code ? err_new(code, "no answer came") : NULL;
    bool has_client = r->wire != NULL;

    request_leave(r);
    if (has_client)
        done(arg, e, e ? NULL : &reply);
}

static void on_limit(void *arg)
{
    request_end(arg, ERR_TIMEOUT);
}

static int64_t way_ns(struct kube_server *s)
{
    return (int64_t)prop_below(&s->p, (size_t)s->faults.slow_ns + 1);
}

static void request_arrive(struct kube_request_of *r)
{
    struct kube_server *s = r->server;
    size_t luck = prop_below(&s->p, 100);

    r->is_served = true;
    if (s->faults.is_gone || prop_chance(&s->p, s->faults.lost_pct)) {
        r->status = 0;
    } else if (luck < s->faults.busy_pct) {
        answer_status(r, 429, "TooManyRequests");
    } else if (luck < s->faults.busy_pct + s->faults.broken_pct) {
        if (prop_chance(&s->p, 50))
            serve(r);
        free(TAKE(r->answer));
        answer_status(r, 500, "InternalError");
    } else {
        serve(r);
        if (prop_chance(&s->p, s->faults.silent_pct))
            r->status = 0;
    }
    if (r->wire)
        loop_timer_set(r->timer, way_ns(s));
    else
        request_free(r);
}

/* ---- watches ---- */

static void watch_tell(struct kube_request_of *r, const char *line)
{
    AUTO_FREE char *text = mem_format("%s\n", line);

    r->data(r->arg, str_of(text)); /* may end the watch */
}

/* The next change for the watch; NULL: it has all. */
static const struct kube_change *watch_next(const struct kube_request_of *r)
{
    VEC_EACH (&r->server->history, c)
        if (c->revision > r->seen && text_equal(c->plural, r->plural))
            return c;
    return NULL;
}

static void watch_begin(struct kube_request_of *r)
{
    struct kube_server *s = r->server;

    r->is_served = true;
    if (r->seen >= s->compacted && !prop_chance(&s->p, s->faults.expired_pct)) {
        loop_timer_set(r->timer, 0);
    } else if (prop_chance(&s->p, 50)) {
        answer_status(r, 410, "Expired");
        request_end(r, 0);
    } else {
        watch_tell(r, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                      "\"metadata\":{\"resourceVersion\":\"0\"}}}");
    }
}

/* Tells one change, and goes on in the next turn. */
static void watch_go_on(struct kube_request_of *r)
{
    struct kube_server *s = r->server;
    const struct kube_change *next = watch_next(r);

    if (s->faults.is_gone || prop_chance(&s->p, s->faults.cut_pct)) {
        r->status = 200;
        request_end(r, prop_chance(&s->p, 50) ? ERR_UNAVAILABLE : 0);
        return;
    }
    if (!next)
        return;
    r->seen = next->revision;
    loop_timer_set(r->timer, 0);
    watch_tell(r, next->line);
}

/* ---- the client ---- */

static void on_way(void *arg)
{
    struct kube_request_of *r = arg;

    if (r->plural && !r->is_served && r->server->faults.is_gone)
        request_end(r, ERR_UNAVAILABLE);
    else if (r->plural && !r->is_served)
        watch_begin(r);
    else if (r->plural)
        watch_go_on(r);
    else if (!r->is_served)
        request_arrive(r);
    else
        request_end(r, r->status ? 0 : ERR_UNAVAILABLE);
}

static void request_cancel(struct client_call *call)
{
    request_leave((struct kube_request_of *)call);
}

static const struct client_ops wire_ops;

static void watch_read(struct kube_request_of *r)
{
    AUTO_FREE char *path = mem_strndup(r->path, strcspn(r->path, "?"));
    struct target_of t = path_read(path);

    r->plural = plural_served(t.group, t.plural);
    assert_non_null(r->plural); /* a list came before */
    r->seen = query_number(r->path, "resourceVersion", 0);
}

static struct client_call *wire_start(void *self, const struct client_request *q,
                                      client_data_fn data, client_done_fn done, void *arg)
{
    struct kube_wire *w = self;
    struct kube_server *s = w->server;
    struct kube_request_of *r = mem_alloc(sizeof(*r));
    int64_t way = way_ns(s);

    *r = (struct kube_request_of){.call = {.ops = &wire_ops},
                                  .server = s,
                                  .wire = w,
                                  .who = w->who,
                                  .arrives_ns = loop_now_ns(s->o.loop) + way,
                                  .method = mem_strdup(q->method),
                                  .path = mem_strdup(q->path),
                                  .data = data,
                                  .done = done,
                                  .arg = arg};
    r->is_patch_merge = text_equal(q->content_type, "application/merge-patch+json");
    if (q->body.size > 0)
        assert_null(json_parse(q->body, &r->body));
    if (data)
        watch_read(r);
    LIST_ADD(s->requests, r);
    r->timer = loop_timer_new(s->o.loop, on_way, r);
    r->limit = loop_timer_new(s->o.loop, on_limit, r);
    loop_timer_set(r->timer, way);
    if (q->timeout_ns >= 0)
        loop_timer_set(r->limit, q->timeout_ns ? q->timeout_ns : 30 * NS_PER_SEC);
    return &r->call;
}

static const struct client_ops wire_ops = {.start = wire_start, .cancel = request_cancel};

struct client *kube_client_new(struct kube_server *s, int who)
{
    struct kube_wire *w = mem_alloc(sizeof(*w));

    *w = (struct kube_wire){.client = {.ops = &wire_ops, .self = w}, .server = s, .who = who};
    return &w->client;
}

void kube_client_end(struct client *c)
{
    struct kube_wire *w = c->self;
    struct kube_request_of *r;

    LIST_EACH (w->server->requests, r) {
        if (r->wire == w)
            request_leave(r);
    }
    free(w);
}

/* ---- the server ---- */

struct kube_faults *kube_server_faults(struct kube_server *s)
{
    return &s->faults;
}

void kube_server_cut(struct kube_server *s)
{
    struct kube_request_of *r;

    LIST_EACH (s->requests, r) {
        if (r->plural && r->is_served)
            loop_timer_set(r->timer, 0);
    }
}

void kube_server_compact(struct kube_server *s)
{
    s->compacted = s->revision;
}

struct kube_server *kube_server_new(const struct kube_server_options *o)
{
    struct kube_server *s = mem_alloc(sizeof(*s));

    *s = (struct kube_server){.o = *o, .p = {o->seed}, .revision = 100, .compacted = 100};
    return s;
}

void kube_server_free(struct kube_server *s)
{
    while (s->requests)
        request_free(s->requests);
    VEC_EACH (&s->objects, o)
        json_decref(o->tree);
    VEC_EACH (&s->history, c)
        free(c->line);
    VEC_EACH (&s->pages, p)
        json_decref(p->items);
    vec_done(&s->objects);
    vec_done(&s->history);
    vec_done(&s->pages);
    free(s);
}
