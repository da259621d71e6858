/* cluster_kube_write.c - requests to a kube-apiserver: reads, creations, patches, deletions */

#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/cluster_kube_private.h"

/* A call has a connection of its own: more calls do not make the server faster. */
#define CALLS_MAX 32

struct kube_call {
    struct kube_call *prev;
    struct kube_call *next;
    struct over_kube *cluster;
    struct client_call *call; /* NULL: not sent */
    const char *method;       /* static */
    const char *content_type; /* static */
    char *path;
    char *body;
    kube_fn fn;
    void *arg;
};

/* A struct cluster_read of this cluster. */
struct kube_read {
    struct over_kube *cluster;
    struct kube_call *call;
    struct cluster_reader reader;
    bool is_pod;
};

char *kube_path(const struct kind *k, const char *ns, const char *name, const char *subresource)
{
    struct buf path = {0};

    buf_printf(&path, "%s/%s", *k->group ? "/apis" : "/api", k->api_version);
    if (ns && *ns) {
        buf_add_text(&path, "/namespaces/");
        client_add_escaped(&path, str_of(ns));
    }
    buf_printf(&path, "/%s", k->plural);
    if (name) {
        buf_add_char(&path, '/');
        client_add_escaped(&path, str_of(name));
    }
    if (subresource)
        buf_printf(&path, "/%s", subresource);
    return buf_steal(&path);
}

const struct kind *kube_kind(const char *resource)
{
    const char *dot = strchr(resource, '.');
    AUTO_FREE char *plural =
        mem_strndup(resource, dot ? (size_t)(dot - resource) : strlen(resource));

    return kind_find(dot ? dot + 1 : "", plural);
}

bool kube_is_lost(const struct err *e)
{
    return err_code(e) == ERR_UNAVAILABLE || err_code(e) == ERR_TIMEOUT ||
           err_code(e) == ERR_INTERNAL || err_code(e) == ERR_BUSY;
}

static void on_reply(void *arg, const struct err *failed, const struct client_reply *reply);

static void call_send(struct kube_call *call)
{
    struct over_kube *c = call->cluster;
    const struct client_request request = {.method = call->method,
                                           .path = call->path,
                                           .content_type = call->content_type,
                                           .body = str_of(call->body)};

    LIST_ADD(c->calls, call);
    c->n_calls++;
    client_send(c->o.client, &request, on_reply, call, &call->call);
    free(TAKE(call->body));
    free(TAKE(call->path));
}

static void send_next(struct over_kube *c)
{
    struct kube_call *next = c->unsent;

    if (!next || c->n_calls >= CALLS_MAX)
        return;
    LIST_REMOVE(c->unsent, next);
    call_send(next);
}

static void call_end(struct kube_call *call)
{
    free(call->path);
    free(call->body);
    free(call);
}

void kube_call_free(struct kube_call *call)
{
    struct over_kube *c = call->cluster;

    if (!call->call) {
        LIST_REMOVE(c->unsent, call);
        call_end(call);
        return;
    }
    LIST_REMOVE(c->calls, call);
    c->n_calls--;
    client_cancel(call->call);
    call_end(call);
    send_next(c);
}

static void on_reply(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct kube_call *call = arg;
    struct over_kube *c = call->cluster;
    const kube_fn fn = call->fn;
    void *const fn_arg = call->arg;
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(err_freep) struct err *e = client_error(failed, reply);

    if (!e && reply->body.size > 0)
        e = json_parse(reply->body, &answer);
    LIST_REMOVE(c->calls, call);
    c->n_calls--;
    call_end(call);
    send_next(c);
    fn(fn_arg, e, answer);
}

/* Ends the call without an answer. */
static void call_refuse(struct kube_call *call, const struct err *e)
{
    const kube_fn fn = call->fn;
    void *const arg = call->arg;

    kube_call_free(call);
    fn(arg, e, NULL);
}

void kube_unsent_end(struct over_kube *c)
{
    AUTO(err_freep) struct err *e = err_new(ERR_UNAVAILABLE, "the program ends");

    while (c->unsent)
        call_refuse(c->unsent, e); /* NOLINT(clang-analyzer-unix.Malloc): utlist */
}

void kube_calls_end(struct over_kube *c)
{
    AUTO(err_freep) struct err *e = err_new(ERR_UNAVAILABLE, "the program ends");

    kube_unsent_end(c);
    while (c->calls)
        call_refuse(c->calls, e); /* NOLINT(clang-analyzer-unix.Malloc): utlist */
}

struct kube_call *kube_send(struct over_kube *c, const struct kube_request *r)
{
    struct kube_call *call = mem_alloc(sizeof(*call));

    *call = (struct kube_call){.cluster = c,
                               .method = r->method,
                               .content_type = r->content_type,
                               .path = mem_strdup(r->path),
                               .body = r->body ? json_format(r->body) : NULL,
                               .fn = r->fn,
                               .arg = r->arg};
    if (c->n_calls < CALLS_MAX)
        call_send(call);
    else
        LIST_ADD(c->unsent, call);
    return call;
}

/* ---- writes ---- */

static void on_written(void *arg, const struct err *e, const json_t *answer)
{
    struct cluster_answer *a = arg;
    const struct cluster_answer told = *a;

    (void)answer;
    free(a);
    told.done(told.arg, e, 0);
}

static void write_send(struct over_kube *c, struct kube_request *r, struct cluster_answer a)
{
    r->fn = on_written;
    r->arg = mem_dup(&a, sizeof(a));
    (void)kube_send(c, r);
}

struct err *over_kube_create(void *self, const char *resource, const char *ns, json_t *object,
                             struct cluster_answer a)
{
    AUTO_FREE char *path = kube_path(kube_kind(resource), ns, NULL, NULL);
    struct kube_request r = {.method = "POST", .path = path, .body = object};

    write_send(self, &r, a);
    return NULL;
}

struct err *over_kube_write_all(void *self, const struct cluster_write *writes, size_t n,
                                struct cluster_answer a,
                                int64_t *ret_version) /* NOLINT(readability-non-const-parameter) */
{
    (void)self;
    (void)writes;
    (void)n;
    (void)a;
    (void)ret_version;
    return err_new(ERR_UNIMPLEMENTED, "a kube-apiserver has no transactions");
}

/* Only the kinds that the server has built in know strategic merges. */
static bool is_built_in(const struct kind *k)
{
    return !strchr(k->group, '.') || text_ends_with(k->group, ".k8s.io");
}

struct err *over_kube_patch(void *self, const struct cluster_target *t, const json_t *patch,
                            struct cluster_answer a)
{
    const struct kind *k = kube_served(self, kube_kind(t->resource));
    AUTO_FREE char *path = kube_path(k, t->ns, t->name, t->subresource);
    struct kube_request r = {.method = "PATCH",
                             .path = path,
                             .content_type = is_built_in(k)
                                                 ? "application/strategic-merge-patch+json"
                                                 : "application/merge-patch+json",
                             .body = patch};

    write_send(self, &r, a);
    return NULL;
}

/* A deletion of the object with this uid; NULL: of any. A new tree. */
static json_t *delete_options(const char *uid)
{
    json_t *body = json_object();

    json_put_text(body, "apiVersion", "v1");
    json_put_text(body, "kind", "DeleteOptions");
    if (uid)
        json_put_text(json_object_at(body, "preconditions"), "uid", uid);
    return body;
}

struct err *over_kube_remove(void *self, const struct cluster_target *t, const char *if_uid,
                             struct cluster_answer a)
{
    AUTO_FREE char *path = kube_path(kube_kind(t->resource), t->ns, t->name, t->subresource);
    AUTO(json_freep) json_t *body = delete_options(if_uid);
    struct kube_request r = {.method = "DELETE", .path = path, .body = body};

    write_send(self, &r, a);
    return NULL;
}

/* ---- evictions: as kube-scheduler does, a condition and then a deletion ---- */

struct kube_eviction {
    struct over_kube *cluster;
    char *path;
    char *uid;
    struct cluster_answer answer;
};

static void on_condition(void *arg, const struct err *e, const json_t *answer)
{
    struct kube_eviction *x = arg;
    AUTO(json_freep) json_t *body = delete_options(x->uid);
    struct kube_request r = {.method = "DELETE", .path = x->path, .body = body};

    (void)answer;
    if (e)
        x->answer.done(x->answer.arg, e, 0);
    else
        write_send(x->cluster, &r, x->answer);
    free(x->path);
    free(x->uid);
    free(x);
}

static json_t *condition_patch(const struct cluster_eviction *e, int64_t now_ns)
{
    json_t *patch = json_object();
    json_t *condition = json_object();
    char now[STAMP_TEXT_SIZE];

    stamp_format(now_ns, now);
    json_put_text(condition, "type", "DisruptionTarget");
    json_put_text(condition, "status", "True");
    json_put_text(condition, "reason", e->reason);
    json_put_text(condition, "message", e->message);
    json_put_text(condition, "lastTransitionTime", now);
    json_put_text(json_object_at(patch, "metadata"), "uid", e->uid);
    (void)json_array_append_new(json_array_at(json_object_at(patch, "status"), "conditions"),
                                condition); /* an object */
    return patch;
}

struct err *over_kube_evict(void *self, const struct cluster_eviction *e, struct cluster_answer a)
{
    struct over_kube *c = self;
    const struct kind *pods = kube_kind("pods");
    AUTO_FREE char *path = kube_path(pods, e->ns, e->name, "status");
    AUTO(json_freep) json_t *patch = condition_patch(e, loop_wall_ns(c->o.loop));
    struct kube_eviction *x = mem_alloc(sizeof(*x));

    *x = (struct kube_eviction){.cluster = c,
                                .path = kube_path(pods, e->ns, e->name, NULL),
                                .uid = mem_strdup(e->uid),
                                .answer = a};
    (void)kube_send(c,
                    &(struct kube_request){.method = "PATCH",
                                           .path = path,
                                           .content_type = "application/strategic-merge-patch+json",
                                           .body = patch,
                                           .fn = on_condition,
                                           .arg = x});
    return NULL;
}

/* ---- reads ---- */

static void on_read(void *arg, const struct err *e, const json_t *answer)
{
    struct kube_read *r = arg;
    const struct cluster_reader reader = r->reader;
    AUTO(json_freep)
    json_t *pod = r->is_pod && answer ? kube_pod_told(r->cluster, answer) : NULL;

    if (pod)
        kube_moved_tell(r->cluster);
    free(r);
    if (e && err_code(e) == ERR_NOT_FOUND)
        reader.done(reader.arg, NULL, NULL);
    else
        reader.done(reader.arg, pod ? pod : answer, e);
}

struct cluster_read *over_kube_read(void *self, const char *resource, const char *ns,
                                    const char *name, struct cluster_reader reader)
{
    AUTO_FREE char *path = kube_path(kube_kind(resource), ns, name, NULL);
    struct kube_read *r = mem_alloc(sizeof(*r));

    *r = (struct kube_read){
        .cluster = self, .reader = reader, .is_pod = text_equal(resource, "pods")};
    r->call = kube_send(
        self, &(struct kube_request){.method = "GET", .path = path, .fn = on_read, .arg = r});
    return (struct cluster_read *)r;
}

void over_kube_unread(void *self, struct cluster_read *read)
{
    struct kube_read *r = (struct kube_read *)read;

    (void)self;
    kube_call_free(r->call);
    free(r);
}
