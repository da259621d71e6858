/* inventory.c - the gpus of all nodes with what holds them, for metrics */

#include "control/report/inventory.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "gpu/gpu_watch.h"
#include "kinds/object/objects.h"
#include "kinds/pod/pod_state.h"

/* A node as it was decoded. */
struct inventory_node {
    const struct store_object *object; /* the version that was decoded */
    char *name;
    char *driver;
    char *drain_reason;
    char *agent;
    bool is_ready;
    bool takes_pods;
    json_t *conditions; /* of its status */
    VEC(struct gpu) gpus;
};

typedef VEC(struct inventory_node) inventory_nodes;

struct inventory {
    struct store *store;
    const struct scheduler *scheduler;
    inventory_nodes nodes;             /* in the order of names */
    VEC(struct device_holder) holders; /* of the present row */
};

struct inventory *inventory_new(struct store *store, const struct scheduler *scheduler)
{
    struct inventory *i = mem_alloc(sizeof(*i));

    i->store = store;
    i->scheduler = scheduler;
    return i;
}

static void inventory_node_done(struct inventory_node *n)
{
    store_object_unref(n->object);
    free(n->name);
    free(n->driver);
    free(n->drain_reason);
    free(n->agent);
    json_decref(n->conditions);
    vec_done(&n->gpus);
}

void inventory_free(struct inventory *i)
{
    if (!i)
        return;
    VEC_EACH (&i->nodes, n)
        inventory_node_done(n);
    vec_done(&i->nodes);
    vec_done(&i->holders);
    free(i);
}

/* Reads the gpus of the node's annotation; the scheduler has logged a damaged one. */
static void inventory_read_gpus(const json_t *node, struct inventory_node *ret)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &gpus) : NULL;
    json_t *tree;
    size_t i;

    json_array_foreach (gpus, i, tree) {
        AUTO(err_freep) struct err *bad = NULL;
        struct gpu gpu;

        bad = gpu_parse_json(tree, &gpu);
        if (!bad)
            vec_add(&ret->gpus, gpu);
    }
    vec_fit(&ret->gpus);
}

static struct inventory_node inventory_decode(const struct store_object *o)
{
    struct inventory_node n = {.object = store_object_ref(o), .name = mem_strdup(o->key.name)};
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = objects_decode(o, &tree);
    const char *driver =
        json_text_at(tree, "metadata", "labels", "nvidia.com/cuda.driver-version.full", NULL);

    if (e)
        LOG(ERROR, "stored node cannot be read", S("node", o->key.name), E(e));
    n.driver = mem_strdup(text_or_empty(driver));
    n.drain_reason = mem_strdup(text_or_empty(
        json_text_at(tree, "metadata", "annotations", "mete.dev/drain-reason", NULL)));
    n.agent =
        mem_strdup(text_or_empty(json_text_at(tree, "status", "nodeInfo", "kubeletVersion", NULL)));
    n.is_ready = text_equal(json_text(object_condition(tree, "Ready"), "status"), "True");
    n.takes_pods = n.is_ready && !json_bool_at(tree, "spec", "unschedulable", NULL);
    n.conditions = json_incref(json_at(tree, "status", "conditions", NULL));
    inventory_read_gpus(tree, &n);
    return n;
}

/*
 * Takes the copy of the same version out of the old list, or decodes the object. Both lists are in
 * the order of names: `*cursor` is the place in the old one.
 */
static struct inventory_node inventory_node_of(inventory_nodes *old, size_t *cursor,
                                               const struct store_object *o)
{
    struct inventory_node found;

    while (*cursor < old->n && strcmp(old->at[*cursor].name, o->key.name) < 0)
        ++*cursor;
    if (*cursor == old->n || old->at[*cursor].object != o)
        return inventory_decode(o);
    found = old->at[*cursor];
    old->at[(*cursor)++] = (struct inventory_node){0};
    return found;
}

static void inventory_refresh(struct inventory *i)
{
    const struct store_range range = {.group = "", .resource = "nodes"};
    inventory_nodes old = i->nodes;
    struct store_list list = {0};
    size_t cursor = 0;
    AUTO(err_freep) struct err *e = store_list(i->store, &range, NULL, NULL, 0, 0, &list);

    if (e)
        LOG(ERROR, "nodes cannot be listed", E(e));
    i->nodes = (inventory_nodes){0};
    for (size_t k = 0; k < list.n; k++)
        vec_add(&i->nodes, inventory_node_of(&old, &cursor, list.at[k]));
    VEC_EACH (&old, n)
        inventory_node_done(n);
    vec_done(&old);
    store_list_done(&list);
}

static void inventory_row(struct inventory *i, const struct inventory_node *n,
                          const struct gpu *gpu, device_row_fn fn, void *fn_arg)
{
    struct scheduler_holder found;

    vec_clear(&i->holders);
    for (size_t k = 0; scheduler_gpu_holder(i->scheduler, gpu->uuid, k, &found); k++)
        vec_add(&i->holders, (struct device_holder){.ns = found.ns,
                                                    .pod = found.pod,
                                                    .container = found.container,
                                                    .user = found.user,
                                                    .queue = found.queue,
                                                    .job_id = found.job_id,
                                                    .device = found.device});
    fn(fn_arg, &(struct device_row){.node = n->name,
                                    .driver = n->driver,
                                    .takes_pods = n->takes_pods,
                                    .gpu = gpu,
                                    .holders = i->holders.at,
                                    .n_holders = i->holders.n});
}

void inventory_each(void *inventory, device_row_fn fn, void *fn_arg)
{
    struct inventory *i = inventory;

    inventory_refresh(i);
    VEC_EACH (&i->nodes, n) {
        VEC_EACH (&n->gpus, gpu)
            inventory_row(i, n, gpu, fn, fn_arg);
    }
}

void inventory_each_node(void *inventory, node_row_fn fn, void *fn_arg)
{
    struct inventory *i = inventory;

    inventory_refresh(i);
    VEC_EACH (&i->nodes, n) {
        fn(fn_arg, &(struct node_row){.name = n->name,
                                      .drain_reason = n->drain_reason,
                                      .agent = n->agent,
                                      .is_ready = n->is_ready,
                                      .takes_pods = n->takes_pods});
    }
}

static void write_condition(struct exposition *x, const struct inventory_node *n,
                            const json_t *condition)
{
    const char *status = json_text(condition, "status");
    AUTO(buf_done) struct buf labels = {0};

    labels_add(&labels, "node", n->name);
    labels_add(&labels, "condition", json_text(condition, "type"));
    labels_add(&labels, "status",
               text_equal(status, "True")    ? "true"
               : text_equal(status, "False") ? "false"
                                             : "unknown");
    exposition_add(x, labels.at, 1, 0);
}

void inventory_write(struct inventory *i, struct exposition *x)
{
    static const struct metric_family conditions = {
        "mete_node_condition", METRIC_GAUGE,
        "1 for the present status of each condition of a node."};
    static const struct metric_family takes = {"mete_node_takes_pods", METRIC_GAUGE,
                                               "1: the node is ready and not cordoned."};

    inventory_refresh(i);
    exposition_family(x, &conditions);
    VEC_EACH (&i->nodes, n) {
        json_t *condition;
        size_t k;

        json_array_foreach (n->conditions, k, condition)
            write_condition(x, n, condition);
    }
    exposition_family(x, &takes);
    VEC_EACH (&i->nodes, n) {
        AUTO(buf_done) struct buf labels = {0};

        labels_add(&labels, "node", n->name);
        exposition_add(x, labels.at, n->takes_pods, 0);
    }
}
