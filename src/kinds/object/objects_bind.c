/*
 * objects_bind.c - pods/binding: another scheduler names a node
 *
 * The scheduler does not name gpus: the ledger gives the pod the free healthy gpus of the node with
 * the lowest indices, in the same transaction. Main containers get gpus of their own; init
 * containers, which run before them and one after the other, use the first of these.
 */

#include "base/arena.h"
#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/ledger.h"
#include "kinds/object/objects_private.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "model/gpu.h"

enum {
    NODE_GPUS_MAX = 256
};

struct free_gpu {
    int64_t index;
    const char *uuid; /* borrowed from the node's list */
};

struct choice {
    json_t *gpus; /* the node's list */
    VEC(struct free_gpu) free;
    VEC(struct device) devices; /* the pod's gpus, in the order of containers */
    VEC(struct pod_part) parts;
    struct arena *arena; /* of the containers */
    struct ledger_container *containers;
    size_t n_containers;
};

static void choice_done(struct choice *choice)
{
    json_decref(choice->gpus);
    vec_done(&choice->free);
    vec_done(&choice->devices);
    vec_done(&choice->parts);
    arena_free(choice->arena);
}

static int compare_free(const void *a, const void *b)
{
    const struct free_gpu *one = a;
    const struct free_gpu *other = b;

    if (one->index != other->index)
        return one->index < other->index ? -1 : 1;
    return strcmp(one->uuid, other->uuid);
}

static void find_free(const struct store *s, struct choice *choice)
{
    for (size_t i = 0; i < json_array_size(choice->gpus) && choice->free.n < NODE_GPUS_MAX; i++) {
        const json_t *gpu = json_array_get(choice->gpus, i);
        const char *uuid = json_text(gpu, "uuid");

        if (!uuid || !text_equal(json_text(gpu, "health"), gpu_health_text(GPU_HEALTHY)) ||
            !ledger_is_free(s, uuid))
            continue;
        vec_add(&choice->free,
                (struct free_gpu){.index = json_int(gpu, "index", INT64_MAX), .uuid = uuid});
    }
    if (choice->free.n > 1)
        qsort(choice->free.at, choice->free.n, sizeof(choice->free.at[0]), compare_free);
}

static struct err *load_node(struct change *c, const char *name, struct choice *choice)
{
    const struct kind *nodes = kind_find("", "nodes");
    const struct store_object *o =
        store_get_applied(c->objects->store, objects_key(nodes, "", name));
    AUTO(json_freep) json_t *node = NULL;
    const char *gpus;

    if (!o)
        return objects_not_found(nodes, name);
    TRY(json_parse(o->bytes, &node));
    gpus = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    if (gpus)
        TRY(json_parse(str_of(gpus), &choice->gpus));
    find_free(c->objects->store, choice);
    return NULL;
}

static void choice_add_part(void *arg, const struct pod_part *part)
{
    struct choice *choice = arg;

    vec_add(&choice->parts, *part);
}

static struct err *choice_make(struct change *c, const char *node, struct choice *choice)
{
    struct gpu_asks asked = pod_gpu_asks(c->before);
    int64_t needed = gpu_asks_count(&asked);

    if (asked.n > 1 || (asked.n == 1 && asked.at[0].kind != DEVICE_WHOLE))
        return conflict(c, "pod %s asks for parts of gpus: a Binding gives whole gpus",
                        c->key.name);
    if (needed > (int64_t)choice->free.n)
        return conflict(c, "node \"%s\" has %zu free healthy gpus, the pod asks for %lld", node,
                        choice->free.n, (long long)needed);
    for (int64_t i = 0; i < needed; i++)
        vec_add(&choice->devices, device_whole(choice->free.at[i].uuid));
    pod_each_part(c->before, choice_add_part, choice);
    choice->n_containers = ledger_deal(choice->arena, choice->parts.at, choice->parts.n,
                                       choice->devices.at, choice->devices.n, &choice->containers);
    return NULL;
}

static struct err *check_binding(const struct change *c, const json_t *binding)
{
    const char *kind = json_text_at(binding, "target", "kind", NULL);
    const char *node = json_text_at(binding, "target", "name", NULL);
    AUTO(causes_done) struct causes causes = {0};

    if (kind && *kind && !text_equal(kind, "Node"))
        cause_unsupported(&causes, PATH(PATH(NULL, "target"), "kind"), kind,
                          (const char *const[]){"Node", "", NULL});
    if (!node || !*node)
        cause_required(&causes, PATH(PATH(NULL, "target"), "name"), "");
    TRY(causes_err(&causes, "Binding", c->request->name));
    return NULL;
}

static json_t *success(void)
{
    return json_pack("{s:s, s:s, s:{}, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "metadata",
                     "status", "Success", "code", 201);
}

static struct err *commit_binding(struct change *c, const char *node, const struct choice *choice,
                                  store_done_fn done, void *arg)
{
    struct ledger_pod pod = {.name = c->key.name,
                             .uid = json_text_at(c->before, "metadata", "uid", NULL),
                             .node = node,
                             .containers = choice->containers,
                             .n_containers = choice->n_containers};
    struct ledger_placement placement = {.ns = c->request->ns,
                                         .workload = c->key.name,
                                         .pods = &pod,
                                         .n_pods = 1,
                                         .now_ns = objects_now_ns(c->objects)};
    struct err *e;

    if (c->request->is_dry_run) {
        txn_check(&c->txn, c->key, STORE_ANY);
        return txn_commit(&c->txn, c->objects->store, done, arg, NULL);
    }
    e = ledger_bind(c->objects->store, &placement, done, arg);
    if (e && err_code(e) == ERR_CONFLICT) {
        AUTO(err_freep) struct err *mine = e;

        return conflict(c, "%s", err_message(mine));
    }
    return e;
}

static struct err *bind_pod(struct change *c, const json_t *binding, struct choice *choice,
                            store_done_fn done, void *arg)
{
    const char *node = json_text_at(binding, "target", "name", NULL);

    TRY(meta_check_body(c, binding));
    TRY(check_binding(c, binding));
    TRY(change_load(c, c->request->name));
    TRY(meta_check_preconditions(c, binding));
    if (pod_is_deleting(c->before))
        return conflict(c, "pod %s is being deleted, cannot be assigned to a host", c->key.name);
    if (*pod_node(c->before))
        return conflict(c, "pod %s is already assigned to node \"%s\"", c->key.name,
                        pod_node(c->before));
    if (json_array_size(json_at(c->before, "spec", "schedulingGates", NULL)) > 0)
        return conflict(c, "pod %s has non-empty .spec.schedulingGates", c->key.name);
    TRY(load_node(c, node, choice));
    TRY(choice_make(c, node, choice));
    return commit_binding(c, node, choice, done, arg);
}

struct err *bind_create(struct objects *o, const struct objects_request *r, json_t *binding,
                        store_done_fn done, void *arg, json_t **ret)
{
    struct objects_request request = *r;
    struct choice choice = {.arena = arena_new()};
    struct change c;
    struct err *e;

    if (!request.name)
        request.name = json_text_at(binding, "metadata", "name", NULL);
    if (!request.name)
        return err_new(ERR_BAD_REQUEST, "name must be provided");
    change_init(&c, o, &request);
    e = bind_pod(&c, binding, &choice, done, arg);
    if (!e)
        *ret = success();
    choice_done(&choice);
    change_done(&c);
    return e;
}
