/* core.c - from a request to its route, its caller and its handler */

#include "api/core.h"

#include "access/node_ca.h"
#include "access/signing.h"
#include "api/audit.h"
#include "api/deadline.h"
#include "api/handlers.h"
#include "api/nodestream.h"
#include "api/requests.h"
#include "api/reviews.h"
#include "api/routes.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "kinds/admission/admission_context.h"
#include "kinds/object/objects.h"

enum {
    CA_FILE_MAX = 64 << 10,
    TREES_KEPT = 4
};

struct kept_tree {
    const struct store_object *object;
    json_t *tree;
};

struct core {
    struct loop *loop;
    struct objects *objects;
    struct auth *auth;
    struct signing_key *signing_key;
    const struct key_rotation *rotation;
    struct node_ca *node_ca; /* NULL: no machine can join */
    char *ca_text;
    struct arena *arena; /* of the present request */
    struct requests *requests;
    const struct hook_caller *hook_caller;
    struct node_links *links;
    const struct api_view *views;
    size_t n_views;
    const struct report_maker *reports;
    size_t n_reports;
    struct report_share *report_shares;
    struct kept_report kept_reports[REPORTS_KEPT];
    struct kept_openapi kept_openapi;
    const struct metrics_maker *metrics;
    void (*take_stats)(void *arg, const char *node, struct node_stats *taken);
    void *stats_arg;
    struct audit *audit; /* NULL: requests are not recorded */
    char *(*make_link)(void *arg, const struct api_request *r, const char *user);
    void *link_arg;
    request_fn rest;
    void *rest_arg;
    struct kept_tree trees[TREES_KEPT];
    size_t next_tree;
};

/* Reads what joining machines get. Without certificates no machine can join. */
static struct err *open_join(struct core *c, const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/ca.crt", dir);
    struct buf text = {0};
    struct err *e = file_read(path, CA_FILE_MAX, &text);

    if (!e)
        e = node_ca_open(dir, &c->node_ca);
    if (!e)
        c->ca_text = buf_steal(&text);
    buf_done(&text);
    return e;
}

struct err *core_new(const struct core_options *o, struct core **ret)
{
    struct core *c = mem_alloc(sizeof(*c));
    struct auth_options auth = {.loop = o->loop,
                                .users_file = o->users_file,
                                .user_name = o->user_name,
                                .user_uid = o->user_uid,
                                .nodes_file = o->nodes_file,
                                .token_revoked = o->token_revoked,
                                .revoked_arg = o->revoked_arg,
                                .store = objects_store(o->objects)};
    struct err *e = NULL;

    c->loop = o->loop;
    c->objects = o->objects;
    c->views = o->views;
    c->n_views = o->n_views;
    c->reports = o->reports;
    c->n_reports = o->n_reports;
    c->metrics = o->metrics;
    c->take_stats = o->take_stats;
    c->stats_arg = o->stats_arg;
    c->make_link = o->make_link;
    c->link_arg = o->link_arg;
    c->rest = o->rest;
    c->rest_arg = o->rest_arg;
    c->arena = arena_new();
    c->requests = requests_new(o->loop);
    c->hook_caller = o->hook_caller;
    c->rotation = o->rotation;
    c->links = node_links_new(o->loop, o->node_wait_ns);
    if (o->signing_key_file)
        e = signing_key_load(o->signing_key_file, &c->signing_key);
    auth.signing_key = c->signing_key;
    if (!e && o->join_dir)
        e = open_join(c, o->join_dir);
    if (!e)
        e = auth_new(&auth, &c->auth);
    if (e) {
        core_free(c);
        return e;
    }
    if (o->audit)
        c->audit = audit_new(&(struct audit_options){
            .core = c, .log = o->audit, .has_reads = o->audits_reads, .keep_ns = o->audit_keep_ns});
    *ret = c;
    return NULL;
}

void core_free(struct core *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < TREES_KEPT; i++) {
        store_object_unref(c->trees[i].object);
        json_decref(c->trees[i].tree);
    }
    for (size_t i = 0; i < REPORTS_KEPT; i++) {
        free(c->kept_reports[i].key);
        free(c->kept_reports[i].text);
    }
    free(c->kept_openapi.text);
    audit_free(c->audit);
    auth_free(c->auth);
    signing_key_free(c->signing_key);
    node_ca_free(c->node_ca);
    free(c->ca_text);
    node_links_free(c->links);
    arena_free(c->arena);
    requests_free(c->requests);
    free(c);
}

void core_take_users(struct core *c, struct users *taken)
{
    auth_take_users(c->auth, taken);
}

struct requests *core_requests(const struct core *c)
{
    return c->requests;
}

struct loop *core_loop(const struct core *c)
{
    return c->loop;
}

struct store *core_store(const struct core *c)
{
    return objects_store(c->objects);
}

struct objects *core_objects(const struct core *c)
{
    return c->objects;
}

const struct auth *core_auth(const struct core *c)
{
    return c->auth;
}

const struct signing_key *core_signing_key(const struct core *c)
{
    return c->signing_key;
}

const struct node_ca *core_node_ca(const struct core *c)
{
    return c->node_ca;
}

const char *core_ca_text(const struct core *c)
{
    return c->ca_text;
}

struct node_links *core_links(const struct core *c)
{
    return c->links;
}

const struct api_view *core_view(const struct core *c, const struct kind *k)
{
    for (size_t i = 0; i < c->n_views; i++) {
        if (c->views[i].kind == k)
            return &c->views[i];
    }
    return apiservices_is(k) ? &apiservices_view : NULL;
}

const struct report_maker *core_report(const struct core *c, const char *path)
{
    for (size_t i = 0; i < c->n_reports; i++) {
        if (text_equal(c->reports[i].path, path))
            return &c->reports[i];
    }
    return NULL;
}

struct report_share **core_report_shares(struct core *c)
{
    return &c->report_shares;
}

struct kept_report *core_kept_reports(struct core *c)
{
    return c->kept_reports;
}

struct kept_openapi *core_kept_openapi(struct core *c)
{
    return &c->kept_openapi;
}

const struct metrics_maker *core_metrics(const struct core *c)
{
    return c->metrics;
}

const struct key_rotation *core_rotation(const struct core *c)
{
    return c->rotation;
}

const struct audit_log *core_audit_log(const struct core *c)
{
    return c->audit ? audit_log_of(c->audit) : NULL;
}

bool core_wants_stats(const struct core *c)
{
    return c->take_stats != NULL;
}

void core_take_stats(const struct core *c, const char *node, struct node_stats *taken)
{
    c->take_stats(c->stats_arg, node, taken);
}

char *core_make_link(const struct core *c, const struct api_request *r, const char *user)
{
    return c->make_link ? c->make_link(c->link_arg, r, user) : NULL;
}

json_t *core_tree(struct core *c, const struct store_object *o)
{
    struct kept_tree *kept;
    AUTO(err_freep) struct err *e = NULL;
    json_t *tree = NULL;

    for (size_t i = 0; i < TREES_KEPT; i++) {
        if (c->trees[i].object == o)
            return json_incref(c->trees[i].tree);
    }
    e = objects_decode(o, &tree);
    if (e) {
        LOG(ERROR, "stored object cannot be read", S("resource", o->key.resource),
            S("namespace", o->key.ns), S("name", o->key.name), E(e));
        return NULL;
    }
    kept = &c->trees[c->next_tree++ % TREES_KEPT];
    store_object_unref(kept->object);
    json_decref(kept->tree);
    *kept = (struct kept_tree){.object = store_object_ref(o), .tree = json_incref(tree)};
    return tree;
}

void reply_json(struct exchange *x, int status, const json_t *json, const json_t *warnings)
{
    AUTO_FREE char *text = json_format(json);
    const struct api_reply r = {.status = status, .body = str_of(text), .warnings = warnings};

    x->ops->reply(x, &r);
}

void reply_bytes(struct exchange *x, struct str bytes)
{
    const struct api_reply r = {.status = 200, .body = bytes};

    x->ops->reply(x, &r);
}

void reply_error(struct exchange *x, const struct err *e, const struct status_about *about)
{
    reply_error_warned(x, e, about, NULL);
}

void reply_error_warned(struct exchange *x, const struct err *e, const struct status_about *about,
                        const json_t *warnings)
{
    AUTO(json_freep) json_t *status = status_of_error(e, about);
    AUTO_FREE char *text = json_format(status);
    int code = status_code(e);
    const struct api_reply r = {.status = code,
                                .body = str_of(text),
                                .warnings = warnings,
                                .retry_after_s = code == 503 || code == 429 ? 1 : 0};

    if (err_code(e) == ERR_INTERNAL)
        LOG(ERROR, "request failed", S("method", x->request.method), S("path", x->request.path),
            E(e));
    x->ops->reply(x, &r);
}

struct kind_context call_context(const struct call *c)
{
    return (struct kind_context){.user = c->who.user,
                                 .is_system = c->who.node != NULL,
                                 .is_admin = c->who.is_admin,
                                 .host_uid = c->who.host_uid};
}

/* "application/json;as=Table;v=v1;g=meta.k8s.io, application/json": returns the first known
 * form. */
static enum wants_as parse_accept(const char *accept)
{
    struct str rest = str_of(accept);

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');
        bool is_meta = memmem(one.at, one.size, "g=meta.k8s.io", 13) != NULL;

        if (is_meta && memmem(one.at, one.size, "as=Table", 8) &&
            memmem(one.at, one.size, "v=v1", 4) && !memmem(one.at, one.size, "v=v1beta1", 9))
            return AS_TABLE;
        if (is_meta && memmem(one.at, one.size, "as=PartialObjectMetadata", 24))
            return AS_METADATA;
        if (memmem(one.at, one.size, "application/json", 16) && !memmem(one.at, one.size, "as=", 3))
            return AS_OBJECT;
    }
    return AS_OBJECT;
}

/* A watch is a list or get with a parameter, but needs a right of its own. */
static const char *verb_of(const struct call *c)
{
    bool reads = text_equal(c->route->verb, "list") ||
                 (text_equal(c->route->verb, "get") && !c->subresource);

    return reads && query_bool(&c->query, "watch") ? "watch" : c->route->verb;
}

static struct err *call_authorize(const struct call *c)
{
    const struct access a = {.verb = verb_of(c),
                             .kind = c->kind,
                             .subresource = c->subresource,
                             .ns = c->ns,
                             .name = c->name,
                             .field_selector = query_get(&c->query, "fieldSelector")};

    return authz_check(core_store(c->core), &c->who, &a);
}

static void reply_not_allowed(struct call *c, const char *allow)
{
    const struct status_about about = {.kind = c->kind, .name = c->name};
    AUTO(json_freep)
    json_t *status =
        status_new(405, "MethodNotAllowed",
                   "the server does not allow this method on the requested resource", &about);
    AUTO_FREE char *text = json_format(status);
    const struct api_reply r = {.status = 405, .body = str_of(text), .allow = allow};

    c->x->ops->reply(c->x, &r);
}

/* Does the kind lack this verb? Views are computed, and cannot be written or watched. Questions can
 * only be created. */
static bool is_beyond_kind(const struct call *c)
{
    const char *verb = verb_of(c);

    if (c->kind && c->kind->is_question)
        return !text_equal(verb, "create");
    return c->kind && c->kind->is_view && !text_equal(verb, "get") && !text_equal(verb, "list");
}

/* A HEAD of a stream: the reply would never end. */
static bool is_headless_stream(const struct call *c)
{
    return c->x->request.is_head &&
           (query_bool(&c->query, "watch") || text_equal(c->subresource, "log") ||
            text_equal(c->subresource, "exec") || text_equal(c->subresource, "attach"));
}

/* Does the route refuse this call? Writes to collections of a namespaced kind need a namespace. */
static bool is_beyond_route(const struct call *c)
{
    bool is_write = !text_equal(c->x->request.method, "GET");

    if (is_beyond_kind(c) || is_headless_stream(c))
        return true;
    return is_write && c->route->shape == ROUTE_COLLECTION && c->kind->is_namespaced && !c->ns;
}

static struct err *find_route(struct call *c, const char **ret_allow)
{
    const struct api_request *r = &c->x->request;
    struct route_match m = {0};
    const char *path = r->path;

    c->rest = target_proxy_rest(path);
    if (c->rest)
        path = arena_strndup(c->arena, path, (size_t)(c->rest - path));
    TRY(target_parse(c->arena, path, &c->target));
    TRY(query_parse(c->arena, r->query, &c->query));
    if (text_equal(r->method, "GET"))
        TRY(target_unfold_watch(&c->target, &c->query));
    TRY(routes_find(c->arena, r->method, &c->target, &m, &c->route, ret_allow));
    c->kind = m.kind;
    c->ns = m.ns;
    c->name = m.name;
    c->subresource = m.subresource;
    c->as = parse_accept(request_header(r, "accept"));
    return NULL;
}

/* Answers a call that failed, and ends it. */
static void call_end(struct call *c, const struct err *e)
{
    const struct status_about about = {.kind = c->kind, .name = c->name};

    if (e) {
        audit_failure(c->core->audit, c, e);
        reply_error_warned(c->x, e, &about,
                           c->admission ? admission_context_warnings(c->admission) : NULL);
    }
    admission_context_free(c->admission);
    arena_reset(c->core->arena);
}

/* ---- writes that wait for webhooks ---- */

/* A request whose handler lacked answers, and runs again when they are there. */
struct parked {
    struct core *core;
    struct exchange *x;
    struct audited *audited;
    struct admission_context *admission;
};

struct admission_context *core_admission_of(struct core *core, json_t *user)
{
    struct admission_context_options o = {
        .loop = core->loop, .store = core_store(core), .caller = core->hook_caller, .user = user};

    if (!objects_asks(core->objects))
        return NULL;
    objects_random(core->objects, &o.random, &o.random_arg);
    return admission_context_new(&o);
}

/* Does the call write an object? Then others may be asked about it. */
static bool is_write(const struct call *c)
{
    return c->kind && !c->kind->is_question && !text_equal(c->x->request.method, "GET") &&
           !text_equal(c->route->verb, "deletecollection");
}

static struct admission_context *admission_context_of_call(const struct call *c)
{
    AUTO(json_freep) json_t *user = NULL;

    if (!is_write(c) || c->who.node || !objects_asks(c->core->objects))
        return NULL;
    user = json_object();
    user_info_put(user, &c->who);
    return core_admission_of(c->core, user);
}

static void parked_on_close(void *arg)
{
    struct parked *p = arg;

    admission_context_free(p->admission);
    free(p);
}

static struct err *call_resume(struct call *c);

static void parked_on_ready(void *arg)
{
    struct parked *p = arg;
    struct call c = {.core = p->core,
                     .x = p->x,
                     .arena = p->core->arena,
                     .audited = p->audited,
                     .admission = p->admission};
    AUTO(err_freep) struct err *e = NULL;

    free(p);
    c.x->on_close = NULL;
    e = call_resume(&c);
    call_end(&c, e);
}

/* Runs the handler. While webhooks are asked, the exchange waits. */
static struct err *call_run(struct call *c)
{
    struct err *e;
    struct parked *p;

    if (c->admission)
        admission_context_begin(c->admission);
    e = c->route->handle(c);
    if (!e || !c->admission || !admission_context_is_waiting(c->admission))
        return e;
    err_free(e);
    p = mem_alloc(sizeof(*p));
    *p = (struct parked){
        .core = c->core, .x = c->x, .audited = c->audited, .admission = TAKE(c->admission)};
    p->x->arg = p;
    p->x->on_close = parked_on_close;
    p->x->on_drain = NULL;
    admission_context_await(p->admission, parked_on_ready, p);
    return NULL;
}

/* Runs the handler, within the client's timeout. */
static struct err *call_answer(struct call *c)
{
    int64_t begun_ns = loop_now_ns(c->core->loop);
    int64_t timeout_ns = 0;
    struct err *e;

    TRY(deadline_parse(c, &timeout_ns));
    if (timeout_ns > 0)
        c->x = deadline_new(c->core->loop, c->x, timeout_ns);
    c->admission = admission_context_of_call(c);
    e = call_run(c);
    if (c->who.user)
        requests_add(c->core->requests, c, verb_of(c), loop_now_ns(c->core->loop) - begun_ns);
    return e;
}

/* The rest of a call whose webhooks have answered: who the caller is, and what the caller may do,
 * is found anew. */
static struct err *call_resume(struct call *c)
{
    const char *allow = "GET";

    TRY(find_route(c, &allow));
    TRY(auth_identify(c->core->auth, c->arena, &c->x->request, &c->who));
    TRY(call_authorize(c));
    return call_run(c);
}

/* Callers without an identity get 401 for every path, whether it exists or not. */
static struct err *call_handle(struct call *c)
{
    AUTO(err_freep) struct err *e = NULL;
    const char *allow = "GET";

    e = find_route(c, &allow);
    if (!e && c->route && c->route->is_open) {
        if (!text_equal(c->x->request.method, "GET"))
            audit_begin(c->core->audit, c);
        return audit_waits(c) ? NULL : call_answer(c);
    }
    TRY(auth_identify(c->core->auth, c->arena, &c->x->request, &c->who));
    c->x->credentials[0] = c->who.credential;
    c->x->credentials[1] = c->who.account_credential;
    if (e)
        return TAKE(e);
    if (!c->route || is_beyond_route(c)) {
        reply_not_allowed(c, allow);
        return NULL;
    }
    if (c->kind)
        TRY(call_authorize(c));
    audit_begin(c->core->audit, c);
    return audit_waits(c) ? NULL : call_answer(c);
}

void core_handle_begun(struct core *core, struct exchange *x, struct audited *a)
{
    struct call c = {.core = core, .x = x, .arena = core->arena, .audited = a};
    AUTO(err_freep) struct err *e = call_handle(&c);

    call_end(&c, e);
}

void core_handle(void *arg, struct exchange *x)
{
    struct core *core = arg;
    const char *path = x->request.path;

    if (core->rest && (text_starts_with(path, "/slurm/") || text_starts_with(path, "/slurmdb/")))
        core->rest(core->rest_arg, x);
    else
        core_handle_begun(core, x, NULL);
}
