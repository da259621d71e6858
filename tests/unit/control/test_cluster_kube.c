/*
 * test_cluster_kube.c - placements over a model of a kube-apiserver that loses answers: a gang is
 * bound whole, or undone
 */

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/kube/cluster_kube.h"
#include "kinds/pod/pod_state.h"
#include "prop.h"
#include "sim_loop.h"
#include "test.h"

enum {
    PODS_MAX = 5
};

/* A pod of the server; an empty uid: there is none. */
struct server_pod {
    char uid[32];
    char node[16];
};

/* A request on its way, or its answer. */
struct server_call {
    struct client_call call; /* first */
    struct server_call *prev;
    struct server_call *next;
    struct server_world *world;
    struct loop_timer *timer;
    char *method;
    char *path;
    json_t *body;
    client_data_fn data; /* NULL: no watch */
    client_done_fn done;
    void *arg;
};

struct server_world {
    uint64_t seed;
    struct prop p;
    struct loop *loop;
    struct client client;
    struct server_call *calls;
    struct server_pod pods[PODS_MAX];
    size_t n_pods;
    VEC(char *) deleted; /* uids, for the watch */
    unsigned faults_pct;
    bool is_answered;
    bool is_refused;
};

static void call_free(struct server_call *call)
{
    LIST_REMOVE(call->world->calls, call);
    loop_timer_free(call->timer);
    json_decref(call->body);
    free(call->method);
    free(call->path);
    free(call);
}

static void call_cancel(struct client_call *c)
{
    call_free((struct server_call *)c);
}

static void answer(struct server_call *call, int status, const char *body)
{
    const client_done_fn done = call->done;
    void *const arg = call->arg;
    const struct client_reply reply = {.status = status, .body = str_of(body)};

    call_free(call);
    done(arg, NULL, &reply);
}

static void lose(struct server_call *call)
{
    const client_done_fn done = call->done;
    void *const arg = call->arg;
    AUTO(err_freep) struct err *e = err_new(ERR_UNAVAILABLE, "the connection was cut");

    call_free(call);
    done(arg, e, NULL);
}

static char *pod_text(const struct server_world *w, size_t i)
{
    const struct server_pod *p = &w->pods[i];

    return mem_format("{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"default\",\"name\":\"p%zu\","
                      "\"uid\":\"%s\",\"resourceVersion\":\"7\"},\"spec\":{\"nodeName\":\"%s\"}}",
                      i, p->uid, p->node);
}

/* The watch tells of the pods that have gone since. */
static void tell_watch(struct server_world *w)
{
    struct server_call *call = NULL;

    LIST_EACH (w->calls, call) {
        if (!call->data || !strstr(call->path, "/v1/pods"))
            continue;
        VEC_EACH (&w->deleted, uid) {
            AUTO_FREE char *line = mem_format(
                "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"namespace\":"
                "\"default\",\"name\":\"%c%c\",\"uid\":\"%s\",\"resourceVersion\":\"9\"}}}\n",
                (*uid)[0], (*uid)[1], *uid);

            call->data(call->arg, str_of(line));
            free(*uid);
        }
        vec_clear(&w->deleted);
        return;
    }
}

/* The bodies of the lists: of pods, else empty. */
static char *list_text(const struct server_world *w, bool is_pods)
{
    struct buf text = {0};

    buf_add_text(&text, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[");
    for (size_t i = 0; is_pods && i < w->n_pods; i++) {
        AUTO_FREE char *pod = pod_text(w, i);

        buf_printf(&text, "%s%s", i > 0 ? "," : "", pod);
    }
    buf_add_text(&text, "]}");
    return buf_steal(&text);
}

/* The pod that the path of a call names. */
static size_t pod_of(const struct server_call *call)
{
    const char *at = strstr(call->path, "/pods/p");

    return at ? (size_t)(at[strlen("/pods/p")] - '0') : PODS_MAX;
}

static const char conflict[] = "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409}";
static const char not_found[] = "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}";

static void serve_binding(struct server_call *call, struct server_pod *p)
{
    const char *uid = json_text_at(call->body, "metadata", "uid", NULL);
    const char *node = json_text_at(call->body, "target", "name", NULL);

    if (!p->uid[0])
        answer(call, 404, not_found);
    else if (!text_equal(p->uid, uid) || p->node[0])
        answer(call, 409, conflict);
    else {
        (void)snprintf(p->node, sizeof(p->node), "%s", node);
        if (prop_chance(&call->world->p, call->world->faults_pct))
            lose(call); /* bound, and the client does not know */
        else
            answer(call, 201, "{\"kind\":\"Status\"}");
    }
}

static void serve_deletion(struct server_call *call, struct server_pod *p)
{
    struct server_world *w = call->world;

    if (!p->uid[0]) {
        answer(call, 404, not_found);
        return;
    }
    if (!text_equal(p->uid, json_text_at(call->body, "preconditions", "uid", NULL))) {
        answer(call, 409, conflict);
        return;
    }
    vec_add(&w->deleted, mem_strdup(p->uid));
    *p = (struct server_pod){0};
    answer(call, 200, "{}");
    tell_watch(w);
}

static void serve(void *arg)
{
    struct server_call *call = arg;
    struct server_world *w = call->world;
    size_t i = pod_of(call);
    AUTO_FREE char *text = NULL;

    if (i == PODS_MAX) {
        text = list_text(w, strstr(call->path, "/v1/pods") != NULL);
        if (call->data)
            tell_watch(w);
        else
            answer(call, strstr(call->path, ".k8s.io") ? 404 : 200, text);
    } else if (prop_chance(&w->p, w->faults_pct)) {
        lose(call); /* before the server saw it */
    } else if (text_equal(call->method, "POST")) {
        serve_binding(call, &w->pods[i]);
    } else if (text_equal(call->method, "DELETE")) {
        serve_deletion(call, &w->pods[i]);
    } else if (w->pods[i].uid[0]) {
        text = pod_text(w, i);
        answer(call, 200, text);
    } else {
        answer(call, 404, not_found);
    }
}

static const struct client_ops call_ops;

static struct client_call *call_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg)
{
    struct server_world *w = self;
    struct server_call *call = mem_alloc(sizeof(*call));

    *call = (struct server_call){.call = {.ops = &call_ops},
                                 .world = w,
                                 .method = mem_strdup(r->method),
                                 .path = mem_strdup(r->path),
                                 .data = data,
                                 .done = done,
                                 .arg = arg};
    if (r->body.size > 0)
        assert_null(json_parse(r->body, &call->body));
    LIST_ADD(w->calls, call);
    call->timer = loop_timer_new(w->loop, serve, call);
    loop_timer_set(call->timer, (int64_t)prop_below(&w->p, 50) * NS_PER_MS);
    return &call->call;
}

static const struct client_ops call_ops = {.start = call_start, .cancel = call_cancel};

static void world_init(struct server_world *w, uint64_t seed)
{
    *w = (struct server_world){.seed = seed, .p = {seed}, .loop = sim_loop_new()};
    w->client = (struct client){.ops = &call_ops, .self = w};
    w->n_pods = 1 + prop_below(&w->p, PODS_MAX);
    w->faults_pct = (unsigned)prop_below(&w->p, 40);
    for (size_t i = 0; i < w->n_pods; i++)
        (void)snprintf(w->pods[i].uid, sizeof(w->pods[i].uid), "p%zu-first", i);
}

static void world_done(struct server_world *w)
{
    while (w->calls)
        call_free(w->calls);
    VEC_EACH (&w->deleted, uid)
        free(*uid);
    vec_done(&w->deleted);
    sim_loop_free(w->loop);
}

static void on_put(void *arg, const char *ns, const char *name, const json_t *object)
{
    (void)arg;
    (void)ns;
    (void)name;
    (void)object;
}

static void on_synced(void *arg)
{
    (void)arg;
}

static void on_answer(void *arg, const struct err *e, int64_t revision)
{
    struct server_world *w = arg;

    (void)revision;
    CHECK(w, !w->is_answered);
    w->is_answered = true;
    w->is_refused = e != NULL;
}

/* Somebody else binds or replaces a pod meanwhile. */
static void disturb(struct server_world *w)
{
    struct server_pod *p = &w->pods[prop_below(&w->p, w->n_pods)];

    if (prop_chance(&w->p, 50))
        (void)snprintf(p->node, sizeof(p->node), "other");
    else
        (void)snprintf(p->uid, sizeof(p->uid), "p%zu-second", (size_t)(p - w->pods));
}

static void check_end(struct server_world *w)
{
    CHECK(w, w->is_answered);
    for (size_t i = 0; i < w->n_pods; i++) {
        bool is_first = strstr(w->pods[i].uid, "first") != NULL;
        bool is_ours = is_first && text_equal(w->pods[i].node, "node");

        CHECK(w, is_ours == !w->is_refused);
    }
}

static void a_gang_is_bound_whole_or_undone(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct server_world w;
        const struct cluster_listener l = {on_put, on_put, NULL, on_synced};
        struct ledger_pod pods[PODS_MAX] = {0};
        char names[PODS_MAX][24];
        char uids[PODS_MAX][32];
        struct ledger_placement placement = {.ns = "default", .workload = "gang", .pods = pods};
        struct cluster *c = NULL;
        struct cluster_watch *watches[2] = {0};

        world_init(&w, seed);
        c = cluster_kube_new(&(struct cluster_kube_options){.loop = w.loop, .client = &w.client});
        assert_null(cluster_watch(c, "", "nodes", &l, &watches[0]));
        assert_null(cluster_watch(c, "", "pods", &l, &watches[1]));
        sim_loop_advance(w.loop, 2 * NS_PER_SEC);
        placement.n_pods = w.n_pods;
        for (size_t i = 0; i < w.n_pods; i++) {
            (void)snprintf(names[i], sizeof(names[i]), "p%zu", i);
            (void)snprintf(uids[i], sizeof(uids[i]), "p%zu-first", i);
            pods[i] = (struct ledger_pod){.name = names[i], .uid = uids[i], .node = "node"};
        }
        assert_null(
            cluster_bind(c, &placement, (struct cluster_answer){.done = on_answer, .arg = &w}));
        if (prop_chance(&w.p, 50))
            disturb(&w);
        sim_loop_advance(w.loop, 120 * NS_PER_SEC);
        check_end(&w);
        cluster_unwatch(c, watches[0]);
        cluster_unwatch(c, watches[1]);
        cluster_free(c);
        world_done(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_is_bound_whole_or_undone),
    };

    log_setup("test", LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
