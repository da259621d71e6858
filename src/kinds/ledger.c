#include "kinds/ledger.h"

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/account/account.h"
#include "kinds/object/txn.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

static struct store_key ledger_key(const char *uuid)
{
    return (struct store_key){.group = "mete.dev", .resource = "ledger", .ns = "", .name = uuid};
}

static struct store_key placement_key(const char *ns, const char *name)
{
    return (struct store_key){
        .group = "mete.dev", .resource = "placements", .ns = ns, .name = name};
}

static struct store_key pod_key(const char *ns, const char *name)
{
    return (struct store_key){.group = "", .resource = "pods", .ns = ns, .name = name};
}

static struct store_key node_key(const char *name)
{
    return (struct store_key){.group = "", .resource = "nodes", .ns = "", .name = name};
}

enum {
    PODS_OF_PART = 64
};

/* One call of ledger_bind. */
struct binding {
    struct store *store;
    const struct ledger_placement *p;
    struct txn txn;
    char *part;      /* of the placement: its name */
    json_t *entries; /* what it says of its pods */
    json_t *gpus;    /* of the node of the pod before */
    const char *node;
};

static json_t *gpu_list(const struct ledger_container *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->n_gpus; i++)
        (void)json_array_append_new(list, json_string(c->gpus[i])); /* uuids are ASCII */
    return list;
}

/* The value of the annotation mete.dev/devices, or NULL without gpus. The caller frees it. */
static char *devices_text(const struct ledger_pod *pod)
{
    AUTO(json_freep) json_t *devices = json_object();
    json_t *containers = json_object_at(devices, "containers");

    for (size_t i = 0; i < pod->n_containers; i++) {
        if (pod->containers[i].n_gpus > 0)
            json_put(containers, pod->containers[i].name, gpu_list(&pod->containers[i]));
    }
    return json_object_size(containers) > 0 ? json_format(devices) : NULL;
}

static bool is_init_container(const json_t *pod, const char *name)
{
    json_t *inits = json_at(pod, "spec", "initContainers", NULL);
    json_t *init;
    size_t i;

    json_array_foreach (inits, i, init) {
        if (text_equal(json_text(init, "name"), name))
            return true;
    }
    return false;
}

/* Whether the main containers of a pod share a gpu, or one names it twice. */
static const char *shared_gpu(const json_t *tree, const struct ledger_pod *pod)
{
    VEC(const char *) seen = {0};
    const char *shared = NULL;

    for (size_t c = 0; c < pod->n_containers && !shared; c++) {
        const struct ledger_container *container = &pod->containers[c];

        if (is_init_container(tree, container->name))
            continue;
        for (size_t g = 0; g < container->n_gpus && !shared; g++) {
            for (size_t i = 0; i < seen.n; i++) {
                if (text_equal(seen.at[i], container->gpus[g]))
                    shared = container->gpus[g];
            }
            vec_add(&seen, container->gpus[g]);
        }
    }
    vec_done(&seen);
    return shared;
}

static bool node_has_gpu(const json_t *gpus, const char *uuid)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        if (text_equal(json_text(gpu, "uuid"), uuid))
            return true;
    }
    return false;
}

static struct err *take_gpu(struct binding *b, const struct ledger_pod *pod, const char *uuid)
{
    const struct store_object *held = store_get_applied(b->store, ledger_key(uuid));
    AUTO(json_freep) json_t *entry = NULL;
    AUTO_FREE char *pod_name = NULL;
    AUTO_FREE char *placement = NULL;

    if (held) {
        TRY(json_parse(held->bytes, &entry));
        return err_new(ERR_CONFLICT, "gpu %s is held by pod %s", uuid, json_text(entry, "pod"));
    }
    placement = mem_format("%s/%s", b->p->ns, b->p->workload);
    pod_name = mem_format("%s/%s", b->p->ns, pod->name);
    entry = json_object();
    json_put_text(entry, "placement", placement);
    json_put_text(entry, "pod", pod_name);
    json_put_text(entry, "podUid", pod->uid);
    json_put_text(entry, "node", pod->node);
    txn_put(&b->txn, ledger_key(uuid), entry, STORE_ABSENT);
    return NULL;
}

static bool is_in_list(const char *const *gpus, size_t n, const char *uuid)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equal(gpus[i], uuid))
            return true;
    }
    return false;
}

/* Whether a container of the pod before the `end`th names the gpu too. */
static bool is_taken_before(const struct ledger_pod *pod, size_t end, const char *uuid)
{
    for (size_t c = 0; c < end; c++) {
        if (is_in_list(pod->containers[c].gpus, pod->containers[c].n_gpus, uuid))
            return true;
    }
    return false;
}

static struct err *take_container(struct binding *b, const struct ledger_pod *pod, size_t c,
                                  const json_t *node_gpus)
{
    const struct ledger_container *container = &pod->containers[c];

    for (size_t g = 0; g < container->n_gpus; g++) {
        const char *uuid = container->gpus[g];

        if (!node_has_gpu(node_gpus, uuid))
            return err_new(ERR_CONFLICT, "node \"%s\" has no gpu %s", pod->node, uuid);
        if (is_taken_before(pod, c, uuid) || is_in_list(container->gpus, g, uuid))
            continue;
        if (txn_has(&b->txn, ledger_key(uuid)))
            return err_new(ERR_CONFLICT, "gpu %s is given to two pods of the placement", uuid);
        TRY(take_gpu(b, pod, uuid));
    }
    return NULL;
}

/* The node must be there in this very transaction; its list of gpus is known from here on. */
static struct err *check_node(struct binding *b, const struct ledger_pod *pod)
{
    const struct store_object *o = store_get_applied(b->store, node_key(pod->node));
    AUTO(json_freep) json_t *node = NULL;
    const char *gpus;

    if (text_equal(b->node, pod->node))
        return NULL;
    json_decref(TAKE(b->gpus));
    b->node = NULL;
    if (!o)
        return err_new(ERR_CONFLICT, "node \"%s\" is gone", pod->node);
    if (!txn_has(&b->txn, node_key(pod->node)))
        txn_check(&b->txn, node_key(pod->node), STORE_EXISTS);
    TRY(json_parse(o->bytes, &node));
    gpus = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    if (gpus)
        TRY(json_parse(str_of(gpus), &b->gpus));
    b->node = pod->node;
    return NULL;
}

static struct err *check_pod(const struct ledger_pod *pod, const json_t *tree)
{
    const char *shared = shared_gpu(tree, pod);

    if (!text_equal(json_text_at(tree, "metadata", "uid", NULL), pod->uid))
        return err_new(ERR_CONFLICT, "pod %s is gone: another has its name", pod->name);
    if (pod_is_deleting(tree))
        return err_new(ERR_CONFLICT, "pod %s is being deleted, cannot be assigned to a host",
                       pod->name);
    if (*pod_node(tree))
        return err_new(ERR_CONFLICT, "pod %s is already assigned to node \"%s\"", pod->name,
                       pod_node(tree));
    if (pod_is_terminal(tree))
        return err_new(ERR_CONFLICT, "pod %s has ended", pod->name);
    if (shared)
        return err_new(ERR_CONFLICT, "gpu %s is given twice to pod %s", shared, pod->name);
    return NULL;
}

static void pod_project(const struct binding *b, const struct ledger_pod *pod, json_t *tree)
{
    json_t *metadata = json_object_at(tree, "metadata");
    AUTO_FREE char *devices = devices_text(pod);

    json_put_text(json_object_at(tree, "spec"), "nodeName", pod->node);
    if (devices)
        json_put_text(json_object_at(metadata, "annotations"), POD_DEVICES, devices);
    if (!text_equal(pod->name, b->p->workload))
        json_put_text(json_object_at(metadata, "annotations"), POD_PLACEMENT, b->part);
    (void)object_set_condition(tree, "PodScheduled", "True", NULL, NULL, b->p->now_ns);
}

static void add_entry(struct binding *b, const struct ledger_pod *pod, const json_t *tree)
{
    json_t *entry = json_object();
    json_t *containers;

    json_put_text(entry, "name", pod->name);
    json_put_text(entry, "uid", pod->uid);
    json_put_text(entry, "node", pod->node);
    containers = json_array_at(entry, "containers");
    for (size_t i = 0; i < pod->n_containers; i++) {
        json_t *container = json_object();

        json_put_text(container, "name", pod->containers[i].name);
        json_put(container, "gpus", gpu_list(&pod->containers[i]));
        (void)json_array_append_new(containers, container); /* a fresh object: cannot fail */
    }
    account_open(entry, tree, b->gpus, b->p->now_ns);
    (void)json_array_append_new(b->entries, entry); /* as above */
}

static struct err *bind_pod(struct binding *b, const struct ledger_pod *pod)
{
    struct store_key key = pod_key(b->p->ns, pod->name);
    const struct store_object *o = store_get_applied(b->store, key);
    AUTO(json_freep) json_t *tree = NULL;

    if (!o)
        return err_new(ERR_CONFLICT, "pod %s is gone", pod->name);
    if (txn_has(&b->txn, key))
        return err_new(ERR_CONFLICT, "pod %s is named twice in the placement", pod->name);
    TRY(json_parse(o->bytes, &tree));
    TRY(check_pod(pod, tree));
    TRY(check_node(b, pod));
    for (size_t c = 0; c < pod->n_containers; c++)
        TRY(take_container(b, pod, c, b->gpus));
    pod_project(b, pod, tree);
    txn_put(&b->txn, key, tree, o->version);
    add_entry(b, pod, tree);
    return NULL;
}

static struct err *put_part(struct binding *b)
{
    struct store_key key = placement_key(b->p->ns, b->part);
    const struct store_object *o = store_get_applied(b->store, key);
    AUTO(json_freep) json_t *placement = NULL;

    if (o) {
        TRY(json_parse(o->bytes, &placement));
    } else {
        placement = json_object();
        json_put_text(placement, "workload", b->p->workload);
        json_put_text(placement, "uid", b->p->pods[0].uid);
    }
    (void)json_array_extend(json_array_at(placement, "pods"), b->entries); /* both are arrays */
    txn_put(&b->txn, key, placement, o ? o->version : STORE_ABSENT);
    return NULL;
}

static void begin_part(struct binding *b, size_t number)
{
    free(b->part);
    b->part =
        number == 0 ? mem_strdup(b->p->workload) : mem_format("%s/%zu", b->p->workload, number);
    json_decref(b->entries);
    b->entries = json_array();
}

static struct err *bind_all(struct binding *b, store_done_fn done, void *arg)
{
    size_t n = b->p->n_pods;

    for (size_t i = 0; i < n; i++) {
        if (i % PODS_OF_PART == 0)
            begin_part(b, i / PODS_OF_PART);
        TRY(bind_pod(b, &b->p->pods[i]));
        if (i + 1 == n || (i + 1) % PODS_OF_PART == 0)
            TRY(put_part(b));
    }
    return txn_commit(&b->txn, b->store, done, arg, NULL);
}

struct err *ledger_bind(struct store *s, const struct ledger_placement *p, store_done_fn done,
                        void *arg)
{
    struct binding b = {.store = s, .p = p};
    struct err *e;

    if (p->n_pods == 0)
        return err_new(ERR_INVALID, "placement %s/%s has no pods", p->ns, p->workload);
    e = bind_all(&b, done, arg);
    json_decref(b.entries);
    json_decref(b.gpus);
    free(b.part);
    txn_done(&b.txn);
    return e;
}

struct release {
    struct store *store;
    struct txn *txn;
    const char *uid;
    const struct account_end *end;
};

static bool release_gpu(void *arg, const char *container, const char *uuid)
{
    struct release *r = arg;
    const struct store_object *o = store_get_applied(r->store, ledger_key(uuid));
    AUTO(json_freep) json_t *entry = NULL;
    AUTO(err_freep) struct err *e = NULL;

    (void)container;
    if (!o || txn_has(r->txn, ledger_key(uuid)))
        return true;
    e = json_parse(o->bytes, &entry);
    if (!e && text_equal(json_text(entry, "podUid"), r->uid))
        txn_delete(r->txn, ledger_key(uuid), o->version);
    return true;
}

/* Takes the pod out of its placement, and the placement away with its last pod. */
static void leave_placement(const struct release *r, const char *ns, const char *name)
{
    struct store_key key = placement_key(ns, name);
    const struct store_object *o = store_get_applied(r->store, key);
    AUTO(json_freep) json_t *placement = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const char *workload;
    json_t *pods;
    size_t before;

    if (!o)
        return;
    e = json_parse(o->bytes, &placement);
    if (e)
        return; /* ledger_check tells about it */
    workload = json_text(placement, "workload");
    pods = json_array_at(placement, "pods");
    before = json_array_size(pods);
    for (size_t i = before; i-- > 0;) {
        const json_t *entry = json_array_get(pods, i);

        if (!text_equal(json_text(entry, "uid"), r->uid))
            continue;
        account_close(r->txn, ns, workload ? workload : name, entry, r->end);
        (void)json_array_remove(pods, i); /* `i` is in range */
    }
    if (json_array_size(pods) == before)
        return;
    if (json_array_size(pods) == 0)
        txn_delete(r->txn, key, o->version);
    else
        txn_put(r->txn, key, placement, o->version);
}

void ledger_release_in(struct store *s, struct txn *t, const json_t *pod,
                       const struct account_end *end)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    struct release r = {.store = s, .txn = t, .uid = json_text(metadata, "uid"), .end = end};
    const char *placement = json_text_at(metadata, "annotations", POD_PLACEMENT, NULL);

    if (!*pod_node(pod))
        return;
    pod_each_device(pod, release_gpu, &r);
    leave_placement(&r, json_text(metadata, "namespace"),
                    placement ? placement : json_text(metadata, "name"));
}

char *ledger_holder(const struct store *s, const char *uuid)
{
    const struct store_object *o = store_get(s, ledger_key(uuid));
    AUTO(json_freep) json_t *entry = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const char *pod;

    if (!o)
        return NULL;
    e = json_parse(o->bytes, &entry);
    pod = e ? NULL : json_text(entry, "pod");
    return mem_strdup(pod ? pod : "?"); /* held, whatever it says */
}

bool ledger_is_free(const struct store *s, const char *uuid)
{
    return store_get_applied(s, ledger_key(uuid)) == NULL;
}
