/* world.c - the world of world.h */

#include "world.h"

#include "base/mem.h"
#include "mem_storage.h"
#include "test.h"

const struct kind_context ann = {.user = "ann", .host_uid = 1000};
const struct kind_context nobody = {.user = "nobody", .host_uid = -1};
const struct kind_context root = {.user = "root", .is_admin = true};
const struct kind_context ours = {
    .user = "system:test", .is_system = true, .is_admin = true, .host_uid = -1};

static void on_fatal(void *arg, const struct err *e)
{
    (void)arg;
    fail_msg("the store failed: %s", err_message(e));
}

/* splitmix64 (Steele, Lea, Flood, OOPSLA '14) */
uint64_t world_random(struct world *w)
{
    uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t world_pick(struct world *w, size_t n)
{
    return (size_t)(world_random(w) % n);
}

static void random_bytes_of(void *arg, void *ret, size_t size)
{
    struct world *w = arg;
    uint8_t *bytes = ret;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)world_random(w);
}

static void open_store(struct world *w)
{
    struct store_options options = {.loop = w->loop, .storage = w->disk, .on_fatal = on_fatal};
    struct objects_options objects = {.loop = w->loop,
                                      .random = random_bytes_of,
                                      .arg = w,
                                      .host_roots = &w->host_roots,
                                      .network_tiers = &w->network_tiers};

    world_must(store_open(&options, &w->store));
    objects.store = w->store;
    w->objects = objects_new(&objects);
}

static void close_store(struct world *w)
{
    objects_free(w->objects);
    store_free(w->store);
}

void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){.loop = sim_loop_new(), .random = seed};
    w->disk = mem_storage_new(w->loop);
    open_store(w);
    world_must(world_create(w, (struct target){.kind = "namespaces", .who = &ours},
                            "{'metadata':{'name':'default'}}", NULL));
    world_must(world_create(w, (struct target){.kind = "namespaces", .who = &ours},
                            "{'metadata':{'name':'kube-system'}}", NULL));
}

void world_restart(struct world *w)
{
    close_store(w);
    open_store(w);
}

void world_done(struct world *w)
{
    close_store(w);
    mem_storage_free(w->disk);
    sim_loop_free(w->loop);
    host_roots_done(&w->host_roots);
    network_tiers_done(&w->network_tiers);
}

json_t *manifest(const char *text)
{
    AUTO_FREE char *copy = mem_strdup(text);
    json_t *tree = NULL;

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    world_must(json_parse(str_of(copy), &tree));
    return tree;
}

static struct objects_request request_of(struct target t)
{
    const struct kind *k = kind_find(t.group ? t.group : "", t.kind);

    assert_non_null(k);
    return (struct objects_request){.kind = k,
                                    .ns = k->is_namespaced ? (t.ns ? t.ns : "default") : "",
                                    .name = t.name,
                                    .subresource = t.sub,
                                    .who = t.who ? *t.who : ann,
                                    .validation = VALIDATION_STRICT,
                                    .is_dry_run = t.is_dry_run};
}

static void on_done(void *arg, const struct err *e, int64_t revision)
{
    struct world *w = arg;

    (void)revision;
    w->n_done++;
    w->n_failed += e != NULL;
}

/* Runs the loop. Asserts that an accepted write is reported durable exactly once. */
static struct err *finish(struct world *w, struct err *e, json_t *made, json_t **ret)
{
    size_t before = w->n_done;

    sim_loop_run(w->loop);
    assert_int_equal(w->n_done, before + (e ? 0 : 1));
    if (e)
        return e;
    assert_non_null(made);
    if (ret)
        *ret = made;
    else
        json_decref(made);
    return NULL;
}

struct err *world_create(struct world *w, struct target t, const char *text, json_t **ret)
{
    struct objects_request r = request_of(t);
    AUTO(json_freep) json_t *object = manifest(text);
    json_t *made = NULL;
    struct err *e = objects_create(w->objects, &r, object, on_done, w, &made);

    return finish(w, e, made, ret);
}

struct err *world_update(struct world *w, struct target t, json_t *object, json_t **ret)
{
    struct objects_request r = request_of(t);
    json_t *made = NULL;
    struct err *e = objects_update(w->objects, &r, object, on_done, w, &made);

    return finish(w, e, made, ret);
}

struct err *world_patch(struct world *w, struct target t, const char *text, json_t **ret)
{
    struct objects_request r = request_of(t);
    AUTO(json_freep) json_t *patch = manifest(text);
    json_t *made = NULL;
    struct err *e = objects_patch(w->objects, &r, PATCH_MERGE, patch, on_done, w, &made);

    return finish(w, e, made, ret);
}

struct err *world_delete(struct world *w, struct target t, const struct delete_options *options,
                         bool *ret_is_gone)
{
    static const struct delete_options plain = {.grace_seconds = -1};
    struct objects_request r = request_of(t);
    json_t *made = NULL;
    bool is_gone = false;
    struct err *e =
        objects_delete(w->objects, &r, options ? options : &plain, on_done, w, &made, &is_gone);

    if (!e && ret_is_gone)
        *ret_is_gone = is_gone;
    return finish(w, e, made, NULL);
}

json_t *world_get(struct world *w, struct target t)
{
    struct objects_request r = request_of(t);
    const struct store_object *o = store_get(w->store, objects_key(r.kind, r.ns, t.name));
    json_t *tree = NULL;

    if (o)
        world_must(objects_decode(o, &tree));
    return tree;
}

void world_must(struct err *e)
{
    if (e)
        fail_msg("unexpected: %s", err_message(e));
}

void world_refused(struct err *e, int http, const char *message)
{
    AUTO(err_freep) struct err *mine = e;

    if (!mine)
        fail_msg("not refused, want: %s", message);
    assert_string_equal(err_message(mine), message);
    assert_int_equal(err_http(mine), http);
}

void world_add_node(struct world *w, const char *name, int n_gpus)
{
    struct buf gpus = {0};
    AUTO(json_freep) json_t *node = json_object();
    AUTO_FREE char *text = NULL;
    json_t *metadata = json_object_at(node, "metadata");

    buf_add_text(&gpus, "[");
    for (int i = n_gpus - 1; i >= 0; i--)
        buf_printf(&gpus, "{\"uuid\":\"GPU-%s-%d\",\"index\":%d,\"health\":\"healthy\"}%s", name, i,
                   i, i > 0 ? "," : "");
    buf_add_text(&gpus, "]");
    json_put_text(metadata, "name", name);
    json_put_text(json_object_at(metadata, "annotations"), "mete.dev/gpus", gpus.at);
    buf_done(&gpus);
    text = json_format(node);
    world_must(world_create(w, (struct target){.kind = "nodes", .who = &ours}, text, NULL));
}

struct err *world_add_pod(struct world *w, const char *ns, const char *name, int gpus)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'main','image':'host',"
                   "'resources':{'limits':{'nvidia.com/gpu':'%d'}}}]}}",
                   name, gpus);

    return world_create(w, (struct target){.kind = "pods", .ns = ns}, text, NULL);
}

struct err *world_bind(struct world *w, const char *ns, const char *name, const char *node)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'target':{'kind':'Node','name':'%s'}}", name, node);

    return world_create(
        w, (struct target){.kind = "pods", .ns = ns, .name = name, .sub = "binding", .who = &root},
        text, NULL);
}
