/*
 * objects_bind.c - pods/binding: another scheduler names a node
 *
 * The scheduler does not name gpus: the pod gets free devices of the node (bind_devices.h), in the
 * same transaction. Main containers get devices of their own; init containers, which run before
 * them and one after the other, use the first of these.
 */

#include "base/arena.h"
#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/ledger.h"
#include "kinds/object/bind_devices.h"
#include "kinds/object/objects_private.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"

struct choice {
    json_t *gpus; /* the node's list */
    bool is_fenced;
    struct bind_devices devices;
    VEC(struct pod_part) parts;
    struct arena *arena; /* of the containers */
    struct ledger_container *containers;
    size_t n_containers;
};

static void choice_done(struct choice *choice)
{
    json_decref(choice->gpus);
    bind_devices_done(&choice->devices);
    vec_done(&choice->parts);
    arena_free(choice->arena);
}

static struct err *load_node(struct change *c, const char *name, struct choice *choice)
{
    const struct kind *nodes = kind_find("", "nodes");
    const struct store_object *o =
        store_get_applied(c->objects->store, objects_key(nodes, "", name));
    AUTO(json_freep) json_t *node = NULL;
    const char *across;
    const char *gpus;

    if (!o)
        return objects_not_found(nodes, name);
    TRY(json_parse(o->bytes, &node));
    gpus = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    across = json_text_at(node, "metadata", "annotations", NODE_SHARES_ACROSS, NULL);
    choice->is_fenced = !text_equal(across, "true");
    if (gpus)
        TRY(json_parse(str_of(gpus), &choice->gpus));
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
    const struct bind_ask ask = {&asked, c->request->ns, choice->gpus, choice->is_fenced};
    const struct bind_devices *found = &choice->devices;
    char text[GPU_ASK_TEXT_SIZE];

    bind_devices_choose(c->objects->store, &ask, &choice->devices);
    gpu_ask_format(&found->short_of, text);
    if (found->missing > 0 && found->short_of.kind == DEVICE_WHOLE)
        return conflict(c, "node \"%s\" has %lld free healthy gpus, the pod asks for %s", node,
                        (long long)found->found, text);
    if (found->missing > 0)
        return conflict(c, "node \"%s\" has %lld free devices such as the pod asks for with %s",
                        node, (long long)found->found, text);
    pod_each_part(c->before, choice_add_part, choice);
    choice->n_containers = ledger_deal(choice->arena, choice->parts.at, choice->parts.n, found->at,
                                       found->n, &choice->containers);
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
