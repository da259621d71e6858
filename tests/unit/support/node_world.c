/* node_world.c - a node over fakes, for tests of its pods */

#include "node_world.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "gpu/driver_root.h"
#include "node/image/host_driver.h"
#include "node/spec/share_files.h"

/* ---- turns ---- */

struct turn {
    struct loop_timer *timer;
    struct node_world *world;
    char *id;
    int signal;
    struct err *e;
    runtime_done_fn done;
    void *arg;
    void (*run)(struct turn *t);
};

static void run_turn(void *arg)
{
    struct turn *t = arg;

    if (t->run)
        t->run(t);
    if (t->done)
        t->done(t->arg, t->e);
    err_free(t->e);
    loop_timer_free(t->timer);
    free(t->id);
    free(t);
}

static struct turn *later(struct node_world *w, const char *id, runtime_done_fn done, void *arg)
{
    struct turn *t = mem_alloc(sizeof(*t));

    *t = (struct turn){.world = w, .id = mem_strdup(id), .done = done, .arg = arg};
    t->timer = loop_timer_new(w->loop, run_turn, t);
    loop_timer_set(t->timer, 0);
    return t;
}

/* ---- the runtime ---- */

struct fake_container *node_world_container(struct node_world *w, const char *id)
{
    for (size_t i = 0; i < w->containers.n; i++)
        if (text_equal(w->containers.at[i]->id, id))
            return w->containers.at[i];
    return NULL;
}

/* A container that must exist. */
static struct fake_container *known(struct node_world *w, const char *id)
{
    struct fake_container *c = node_world_container(w, id);

    assert(c);
    if (!c)
        abort(); /* for the compiler */
    return c;
}

static struct fake_container *add_container(struct node_world *w, const char *id,
                                            const json_t *intent)
{
    struct fake_container *c = mem_alloc(sizeof(*c));

    *c = (struct fake_container){.id = mem_strdup(id), .intent = json_deep_copy(intent)};
    vec_add(&w->containers, c);
    return c;
}

static void tell(struct node_world *w, const struct fake_container *c)
{
    const struct runtime_container found = {
        .id = c->id, .intent = c->intent, .state = c->state, .exit = c->exit};

    w->runtime.on_change(w->runtime.arg, &found);
}

void node_world_end(struct node_world *w, const char *id, int code)
{
    struct fake_container *c = known(w, id);

    assert(c && (c->state == RUNTIME_RUNNING || c->state == RUNTIME_CREATED));
    c->exit.code = code;
    c->exit.was_started = c->state == RUNTIME_RUNNING;
    c->exit.finished_ns = loop_wall_ns(w->loop);
    c->state = RUNTIME_ENDED;
    tell(w, c);
    node_world_run(w);
}

static void created(struct turn *t)
{
    struct fake_container *c = known(t->world, t->id);

    c->state = t->e ? RUNTIME_INTENDED : RUNTIME_CREATED;
}

static void fake_create(void *self, const struct runtime_create *r, runtime_done_fn done, void *arg)
{
    struct node_world *w = self;
    struct fake_container *c = node_world_container(w, r->id);
    struct turn *t = later(w, r->id, done, arg);

    if (!c)
        c = add_container(w, r->id, r->intent);
    assert(c->state == RUNTIME_INTENDED);
    c->state = RUNTIME_CREATING;
    c->n_creates++;
    json_decref(c->config);
    c->config = json_deep_copy(r->config);
    t->run = created;
    if (w->create_message)
        t->e = err_new(w->create_error, "%s", w->create_message);
}

static void started(struct turn *t)
{
    struct fake_container *c = known(t->world, t->id);

    c->state = RUNTIME_RUNNING;
    c->n_starts++;
    c->exit.started_ns = loop_wall_ns(t->world->loop);
}

static void fake_start(void *self, const char *id, runtime_done_fn done, void *arg)
{
    later(self, id, done, arg)->run = started;
}

static void killed(struct turn *t)
{
    struct node_world *w = t->world;
    struct fake_container *c = known(w, t->id);
    bool ends = t->signal == SIGKILL ? !w->is_stuck : w->obeys_term;

    if (c->state == RUNTIME_ENDED || !ends)
        return;
    c->exit.code = 128 + t->signal;
    c->exit.finished_ns = loop_wall_ns(w->loop);
    c->state = RUNTIME_ENDED;
    tell(w, c);
}

static void fake_kill(void *self, const char *id, int signal, runtime_done_fn done, void *arg)
{
    struct node_world *w = self;
    struct fake_container *c = known(w, id);
    struct turn *t = later(w, id, done, arg);

    t->run = killed;
    t->signal = signal;
    if (signal == SIGKILL)
        c->n_kills++;
    else
        c->n_terms++;
}

static void container_free(struct fake_container *c)
{
    json_decref(c->intent);
    json_decref(c->config);
    free(c->id);
    free(c);
}

static void removed(struct turn *t)
{
    struct node_world *w = t->world;

    for (size_t i = 0; i < w->containers.n; i++)
        if (text_equal(w->containers.at[i]->id, t->id)) {
            assert(w->containers.at[i]->state == RUNTIME_ENDED ||
                   w->containers.at[i]->state == RUNTIME_INTENDED);
            container_free(w->containers.at[i]);
            vec_remove(&w->containers, i);
            return;
        }
}

static void fake_remove(void *self, const char *id, runtime_done_fn done, void *arg)
{
    later(self, id, done, arg)->run = removed;
}

static struct exec *fake_exec(void *self, const struct runtime_exec *e)
{
    struct node_world *w = self;

    return fake_exec_new(&w->execs, e, false);
}

static struct exec *fake_attach(void *self, const struct runtime_exec *e)
{
    struct node_world *w = self;

    return fake_exec_new(&w->execs, e, true);
}

static struct exec *fake_forward(void *self, const struct runtime_forward *f)
{
    struct node_world *w = self;

    return fake_exec_forward(&w->execs, f);
}

static char *fake_stuck(void *self, const char *id)
{
    const struct node_world *w = self;

    return w->is_stuck && id[0] ? mem_strdup("process 4711 (python) waits in the kernel, at "
                                             "nvidia_ioctl")
                                : NULL;
}

static const struct runtime_ops fake_runtime = {.create = fake_create,
                                                .start = fake_start,
                                                .kill = fake_kill,
                                                .remove = fake_remove,
                                                .exec = fake_exec,
                                                .attach = fake_attach,
                                                .forward = fake_forward,
                                                .stuck = fake_stuck};

struct fake_container *node_world_found(struct node_world *w, const char *intent,
                                        enum runtime_state state)
{
    AUTO(json_freep) json_t *tree = NULL;
    struct err *e = json_parse(str_of(intent), &tree);
    AUTO_FREE char *id = NULL;
    struct fake_container *c = NULL;

    assert(!e);
    id = mem_format("%s-%s-%" PRId64, json_text(tree, "uid"), json_text(tree, "container"),
                    json_int(tree, "attempt", 0));
    c = add_container(w, id, tree);
    c->state = state;
    if (state == RUNTIME_RUNNING || state == RUNTIME_ENDED)
        c->exit = (struct runtime_exit){.was_started = true, .started_ns = loop_wall_ns(w->loop)};
    return c;
}

void node_world_adopt(struct node_world *w)
{
    struct runtime_container found[16];
    size_t n = w->containers.n;

    assert(n <= 16);
    for (size_t i = 0; i < n; i++)
        found[i] = (struct runtime_container){.id = w->containers.at[i]->id,
                                              .intent = w->containers.at[i]->intent,
                                              .state = w->containers.at[i]->state,
                                              .exit = w->containers.at[i]->exit};
    pods_adopt(w->pods, found, n);
    node_world_run(w);
}

/* ---- the server ---- */

struct fake_call {
    struct client_call call;
    struct node_world *world;
    size_t request;      /* in world->requests */
    client_data_fn data; /* NULL: not a watch */
    client_done_fn done;
    void *arg;
};

static struct client_call *fake_send(void *self, const struct client_request *r,
                                     client_data_fn data, client_done_fn done, void *arg);

static void fake_cancel(struct client_call *call)
{
    struct fake_call *c = (struct fake_call *)call;

    for (size_t i = 0; i < c->world->calls.n; i++)
        if (c->world->calls.at[i] == call) {
            vec_remove(&c->world->calls, i);
            break;
        }
    for (size_t i = 0; i < c->world->watches.n; i++)
        if (c->world->watches.at[i] == call) {
            vec_remove(&c->world->watches, i);
            break;
        }
    free(c);
}

static void fake_client_free(void *self)
{
    (void)self;
}

static const struct client_ops fake_client = {
    .start = fake_send, .cancel = fake_cancel, .free = fake_client_free};

static struct client_call *fake_send(void *self, const struct client_request *r,
                                     client_data_fn data, client_done_fn done, void *arg)
{
    struct node_world *w = self;
    struct fake_call *c = mem_alloc(sizeof(*c));
    json_t *body = NULL;
    struct err *e = r->body.size ? json_parse(r->body, &body) : NULL;

    assert(!e);
    *c = (struct fake_call){.call.ops = &fake_client,
                            .world = w,
                            .request = w->requests.n,
                            .data = data,
                            .done = done,
                            .arg = arg};
    vec_add(&w->requests, (struct fake_request){.method = mem_strdup(r->method),
                                                .path = mem_strdup(r->path),
                                                .body = body});
    if (data)
        vec_add(&w->watches, &c->call);
    else
        vec_add(&w->calls, &c->call);
    return &c->call;
}

/* Is the path that of "configmaps/NAME", or of a list restricted to that object? */
static bool is_path_of(const char *path, const char *ref)
{
    struct str name = str_of(ref);
    struct str plural = str_cut(&name, '/');
    AUTO_FREE char *own = mem_format("/api/v1/namespaces/default/%s", ref);
    AUTO_FREE char *list = mem_format("/api/v1/namespaces/default/" STR_FMT
                                      "?fieldSelector=metadata.name%%3D" STR_FMT "&",
                                      STR_ARG(plural), STR_ARG(name));

    return text_equal(path, own) || text_starts_with(path, list);
}

/* The list with the one object of its field selector, or an empty list. The caller frees it. */
static char *list_body(struct node_world *w, const char *path)
{
    AUTO(json_freep)
    json_t *list = json_pack("{s:{s:s},s:[]}", "metadata", "resourceVersion", "1", "items");
    const char *ref = NULL;
    json_t *object = NULL;

    json_object_foreach (w->objects, ref, object)
        if (is_path_of(path, ref)) {
            AUTO(json_freep) json_t *named = json_deep_copy(object);

            json_put_text(json_object_at(named, "metadata"), "name", strchr(ref, '/') + 1);
            (void)json_array_append(json_object_get(list, "items"), named);
        }
    return json_format(list);
}

/* The answer to an authentication.k8s.io/v1 TokenRequest. The caller frees it. */
static char *token_body(struct node_world *w, const json_t *asked)
{
    AUTO(json_freep) json_t *answer = json_object();
    json_t *status = json_object_at(answer, "status");
    AUTO_FREE char *token = mem_format("T%u", ++w->n_tokens);
    char until[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(w->loop) +
                     json_int_at(asked, "spec", "expirationSeconds", NULL) * NS_PER_SEC,
                 until);
    json_put_text(status, "token", token);
    json_put_text(status, "expirationTimestamp", until);
    return json_format(answer);
}

static void answer(struct node_world *w)
{
    struct fake_call *c = (struct fake_call *)w->calls.at[0];
    struct fake_request *r = &w->requests.at[c->request];
    struct client_reply reply = {.status = 200, .body = STR("{}")};
    AUTO(err_freep) struct err *away = NULL;
    AUTO_FREE char *text = NULL;

    vec_remove(&w->calls, 0);
    if (w->is_server_away)
        away = err_new(ERR_UNAVAILABLE, "connection refused");
    if (text_equal(r->method, "PATCH") && w->patch_status)
        reply.status = w->patch_status;
    if (!away && text_equal(r->method, "POST") && text_ends_with(r->path, "/token")) {
        text = token_body(w, r->body);
        reply.body = str_of(text);
    } else if (text_equal(r->method, "GET") && strchr(r->path, '?')) {
        text = list_body(w, r->path);
        reply.body = str_of(text);
    } else if (text_equal(r->method, "GET")) {
        const char *path = strstr(r->path, "default/");
        const json_t *object = path ? json_object_get(w->objects, path + strlen("default/")) : NULL;

        reply.status = object ? 200 : 404;
        if (object)
            text = json_format(object);
        if (text)
            reply.body = str_of(text);
    }
    c->done(c->arg, away, away ? NULL : &reply);
    free(c);
}

/* ---- the worker ---- */

struct job {
    struct loop_timer *timer;
    worker_work_fn work;
    worker_done_fn done;
    void *message;
};

static void run_job(void *arg)
{
    struct job *j = arg;
    AUTO(err_freep) struct err *e = j->work(j->message);

    j->done(j->message, e);
    loop_timer_free(j->timer);
    free(j);
}

static void fake_give(void *self, worker_work_fn work, worker_done_fn done, void *message)
{
    struct node_world *w = self;
    struct job *j = mem_alloc(sizeof(*j));

    *j = (struct job){.work = work, .done = done, .message = message};
    j->timer = loop_timer_new(w->loop, run_job, j);
    loop_timer_set(j->timer, 0);
}

static const struct worker_ops fake_worker = {.give = fake_give};

/* The world of the present test, for prepare(), which has no argument for it. */
static struct node_world *the_world;

static struct err *fake_prepare(struct preparation *p)
{
    the_world->n_prepared++;
    for (size_t i = 0; i < p->n_users; i++) {
        p->users[i] =
            (struct host_user){.uid = p->uids[i], .gid = 100, .groups = {100}, .n_groups = 1};
        (void)snprintf(p->users[i].name, sizeof(p->users[i].name), "ann");
        (void)snprintf(p->users[i].home, sizeof(p->users[i].home), "/home/ann");
    }
    if (the_world->prepare_message)
        return err_new(ERR_INVALID, "%s", the_world->prepare_message);
    return NULL;
}

static struct err *fake_make_stage(struct stage *s)
{
    (void)s;
    the_world->n_staged++;
    return the_world->stage_message ? err_new(ERR_NOT_FOUND, "%s", the_world->stage_message) : NULL;
}

static struct err *fake_make_words(const char *path)
{
    assert(strstr(path, "/words/"));
    return NULL;
}

static char *fake_read_words(const char *path)
{
    assert(strstr(path, "/words/"));
    return mem_strdup(the_world->words ? the_world->words : "");
}

static struct err *fake_strike_stage(const char *dir)
{
    (void)dir;
    the_world->n_struck++;
    return NULL;
}

static struct err *fake_update_volumes(const struct volumes *v)
{
    the_world->n_updated++;
    json_decref(the_world->shown);
    the_world->shown = json_object();
    for (size_t i = 0; i < v->list.n; i++)
        for (size_t k = 0; k < v->list.at[i].files.n; k++) {
            const struct atomic_file *f = &v->list.at[i].files.at[k];

            json_put_text(the_world->shown, f->path, f->bytes);
        }
    return NULL;
}

static struct err *fake_unprepare(const char *const *dirs, size_t n)
{
    (void)dirs;
    assert(n == 2);
    the_world->n_unprepared++;
    return NULL;
}

/* ---- the world ---- */

static const struct gpu *find_gpu(void *arg, const char *uuid, bool *ret_known)
{
    struct node_world *w = arg;

    *ret_known = w->gpus_known;
    for (size_t i = 0; i < w->n_gpus; i++)
        if (text_equal(w->gpus[i].uuid, uuid))
            return &w->gpus[i];
    return NULL;
}

static const struct driver_root *find_driver(void *arg)
{
    static struct driver_file libraries[] = {{DRIVER_LIBRARY,
                                              (char *)(uintptr_t) "/usr/lib/libcuda.so.570",
                                              (char *)(uintptr_t) "libcuda.so.1"}};
    static struct driver_node nodes[] = {{(char *)(uintptr_t) "/dev/nvidiactl", 195, 255},
                                         {(char *)(uintptr_t) "/dev/nvidia-uvm", 511, 0},
                                         {(char *)(uintptr_t) "/dev/nvidia-uvm-tools", 511, 1}};
    static const struct driver_root root = {.dir = (char *)(uintptr_t) "/",
                                            .files = {libraries, 1, 1},
                                            .version = (char *)(uintptr_t) "570.124.06",
                                            .gpu_major = 195,
                                            .capability_major = -1,
                                            .nodes = {.at = nodes, .n = 3}};

    (void)arg;
    return &root;
}

static struct err *fake_make_share(const struct share_files *f)
{
    (void)f;
    return NULL;
}

static void note_shares(void *arg, json_t *list)
{
    struct node_world *w = arg;

    json_decref(w->shares);
    w->shares = list;
}

static struct err *fake_strike_driver(const char *root_dir)
{
    (void)root_dir;
    return NULL;
}

static struct err *fake_read_cdi(struct cdi_request *r)
{
    (void)r;
    return NULL;
}

static struct err *fake_make_points(struct host_driver *h)
{
    (void)snprintf(h->loader.dir, sizeof(h->loader.dir), "/usr/lib/x86_64-linux-gnu");
    return NULL;
}

static struct err *fake_remove_root(const char *dir)
{
    (void)dir;
    return NULL;
}

void node_world_init(struct node_world *w)
{
    node_world_init_images(w, NULL, NULL);
}

static struct err *fake_measure(const char *path, struct disk_usage *ret)
{
    const json_t *bytes = json_object_get(the_world->disk, path);

    the_world->n_measured++;
    if (!bytes)
        return err_new(ERR_NOT_FOUND, "there is no %s", path);
    if (json_integer_value(bytes) < 0)
        return err_new(ERR_TOO_LARGE, "%s is too deep", path);
    ret->bytes = json_integer_value(bytes);
    return NULL;
}

void node_world_init_images(struct node_world *w, const struct image_source *images,
                            struct err *(*make_root)(struct root *r))
{
    struct pods_options o = {.node = "n1",
                             .dir = "/data/node",
                             .rootfs = "/data/node/host",
                             .prepare = fake_prepare,
                             .unprepare = fake_unprepare,
                             .make_stage = fake_make_stage,
                             .strike_stage = fake_strike_stage,
                             .make_words = fake_make_words,
                             .read_words = fake_read_words,
                             .update_volumes = fake_update_volumes,
                             .find_gpu = find_gpu,
                             .find_driver = find_driver,
                             .make_points = fake_make_points,
                             .share_library_dir = "/lib/mete",
                             .make_share = fake_make_share,
                             .on_shares = note_shares,
                             .read_cdi = fake_read_cdi,
                             .strike_driver = fake_strike_driver,
                             .images = images,
                             .make_root = make_root,
                             .remove_root = fake_remove_root,
                             .measure = fake_measure,
                             .arg = w};

    *w = (struct node_world){.loop = sim_loop_new(),
                             .client = {&fake_client, w},
                             .runtime = {.ops = &fake_runtime, .self = w},
                             .worker = {&fake_worker, w},
                             .host = {.hostname = "box", .address = "192.0.2.7", .cpus = 8},
                             .gpus_known = true,
                             .objects = json_object()};
    for (size_t i = 0; i < 4; i++) {
        struct gpu *g = &w->gpus[w->n_gpus++];

        (void)snprintf(g->uuid, sizeof(g->uuid), "GPU-%zu", i);
        g->minor = (int)i;
    }
    w->execs.loop = w->loop;
    fake_pinger_init(&w->pinger, w->loop);
    o.pinger = &w->pinger.pinger;
    o.loop = w->loop;
    o.client = &w->client;
    o.runtime = &w->runtime;
    o.worker = &w->worker;
    o.disk_worker = &w->worker;
    o.host = &w->host;
    the_world = w;
    log_setup("test", LOG_ERROR, false);
    w->pods = pods_new(&o);
}

void node_world_done(struct node_world *w)
{
    node_world_run(w);
    pods_free(w->pods);
    json_decref(w->shares);
    fake_execs_done(&w->execs);
    fake_pinger_done(&w->pinger);
    for (size_t i = w->calls.n; i > 0; i--)
        fake_cancel(w->calls.at[i - 1]);
    for (size_t i = 0; i < w->containers.n; i++)
        container_free(w->containers.at[i]);
    for (size_t i = 0; i < w->requests.n; i++) {
        free(w->requests.at[i].method);
        free(w->requests.at[i].path);
        json_decref(w->requests.at[i].body);
    }
    for (size_t i = w->watches.n; i > 0; i--)
        fake_cancel(w->watches.at[i - 1]);
    vec_done(&w->watches);
    vec_done(&w->containers);
    vec_done(&w->requests);
    vec_done(&w->calls);
    json_decref(w->objects);
    json_decref(w->shown);
    json_decref(w->disk);
    sim_loop_free(w->loop);
}

void node_world_run(struct node_world *w)
{
    for (;;) {
        sim_loop_run(w->loop);
        if (w->calls.n == 0)
            return;
        answer(w);
    }
}

void node_world_advance(struct node_world *w, int64_t ns)
{
    int64_t until_ns = loop_now_ns(w->loop) + ns;

    node_world_run(w);
    for (;;) {
        int64_t left_ns = until_ns - loop_now_ns(w->loop);
        int64_t next_ns = sim_loop_next_ns(w->loop);

        if (next_ns < 0 || next_ns > left_ns)
            next_ns = left_ns;
        sim_loop_advance(w->loop, next_ns);
        node_world_run(w);
        if (left_ns == next_ns)
            return;
    }
}

json_t *node_world_pod(const char *spec, const char *status)
{
    AUTO_FREE char *text = mem_format("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
                                      "\"name\":\"p\",\"namespace\":\"default\","
                                      "\"uid\":\"u1\"},\"spec\":%s,\"status\":%s}",
                                      spec, status);
    json_t *pod = NULL;
    struct err *e = json_parse(str_of(text), &pod);

    if (e)
        (void)fprintf(stderr, "%s in %s\n", err_message(e), text);
    assert(!e);
    json_put_int(json_object_at(json_object_at(pod, "spec"), "securityContext"), "runAsUser", 1000);
    return pod;
}

void node_world_put(struct node_world *w, const json_t *pod)
{
    pods_put(w->pods, pod);
    node_world_run(w);
}

void node_world_change(struct node_world *w, const char *ref, const char *object)
{
    AUTO(json_freep) json_t *event = json_object();
    AUTO_FREE char *line = NULL;
    json_t *tree = NULL;
    struct err *e = json_parse(str_of(object ? object : "{}"), &tree);

    assert(!e);
    if (object)
        (void)json_object_set(w->objects, ref, tree);
    else
        (void)json_object_del(w->objects, ref);
    json_put_text(json_object_at(tree, "metadata"), "name", strchr(ref, '/') + 1);
    json_put_text(json_object_at(tree, "metadata"), "resourceVersion", "2");
    json_put_text(event, "type", object ? "MODIFIED" : "DELETED");
    json_put(event, "object", tree);
    char *text = json_format(event);

    line = mem_format("%s\n", text);
    free(text);
    for (size_t i = 0; i < w->watches.n; i++) {
        struct fake_call *c = (struct fake_call *)w->watches.at[i];

        if (is_path_of(w->requests.at[c->request].path, ref))
            c->data(c->arg, str_of(line));
    }
    node_world_run(w);
}

const json_t *node_world_status(const struct node_world *w)
{
    for (size_t i = w->requests.n; i > 0; i--)
        if (text_equal(w->requests.at[i - 1].method, "PATCH") &&
            text_ends_with(w->requests.at[i - 1].path, "/status"))
            return json_object_get(w->requests.at[i - 1].body, "status");
    return NULL;
}

size_t node_world_count(const struct node_world *w, const char *method, const char *part_of_path)
{
    size_t n = 0;

    for (size_t i = 0; i < w->requests.n; i++)
        n += text_equal(w->requests.at[i].method, method) &&
             strstr(w->requests.at[i].path, part_of_path) != NULL;
    return n;
}
