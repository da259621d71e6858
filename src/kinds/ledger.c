/* ledger.c - placements bound in one transaction, and the release of their devices */

#include "kinds/ledger.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "kinds/account/account.h"
#include "kinds/ledger_private.h"
#include "kinds/object/txn.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/pod/pod_volume_claims.h"
#include "kinds/slurm/slurm_job.h"

enum {
    PODS_OF_PART = 64
};

/* A gpu's ledger object, as this transaction leaves it. */
struct ledger_entry {
    struct map_handle handle; /* by uuid */
    char uuid[GPU_TEXT_SIZE];
    json_t *tree;
    int64_t version; /* of the present object, or STORE_ABSENT */
    struct device_load load;
    size_t n_before; /* holders before this transaction */
};

/* A call of ledger_bind. */
struct binding {
    struct store *store;
    const struct ledger_placement *p;
    struct txn txn;
    char *part;                   /* name of the placement's part */
    json_t *entries;              /* the pods' entries in it */
    json_t *gpus;                 /* gpus of `node`, the previous pod's */
    struct ledger_entry *touched; /* ledger objects of all pods so far */
    const char *node;
    struct arena *arena; /* of devices that pods share */
    json_t *shared;      /* texts of the pod's devices that count for other pods */
};

static json_t *device_list(const struct ledger_container *c)
{
    json_t *list = json_array();
    char text[DEVICE_TEXT_SIZE];

    for (size_t i = 0; i < c->n_devices; i++) {
        device_format(&c->devices[i], text);
        (void)json_array_append_new(list, json_string(text)); /* device texts are ASCII */
    }
    return list;
}

char *ledger_devices_format(const struct ledger_pod *pod)
{
    AUTO(json_freep) json_t *devices = json_object();
    json_t *containers = json_object_at(devices, "containers");

    for (size_t i = 0; i < pod->n_containers; i++) {
        if (pod->containers[i].n_devices > 0)
            json_put(containers, pod->containers[i].name, device_list(&pod->containers[i]));
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

static bool is_in_list(const struct device *list, size_t n, const struct device *d)
{
    for (size_t i = 0; i < n; i++) {
        if (device_equal(&list[i], d))
            return true;
    }
    return false;
}

/* Does the container have its device number `i` by a claim? */
static bool is_claimed(const json_t *tree, const struct ledger_container *c, size_t i)
{
    struct str request;
    bool is_held;

    return ledger_claim_of(tree, c->name, i, &is_held, &request).size > 0;
}

/* A device that main containers of the pod share without a claim, or that one names twice; NULL:
 * none. */
static const struct device *shared_device(const json_t *tree, const struct ledger_pod *pod)
{
    for (size_t c = 0; c < pod->n_containers; c++) {
        const struct ledger_container *one = &pod->containers[c];

        if (is_init_container(tree, one->name))
            continue;
        for (size_t d = 0; d < one->n_devices; d++) {
            if (is_in_list(one->devices, d, &one->devices[d]))
                return &one->devices[d];
            for (size_t o = 0; o < c && !is_claimed(tree, one, d); o++) {
                const struct ledger_container *other = &pod->containers[o];

                if (!is_init_container(tree, other->name) &&
                    is_in_list(other->devices, other->n_devices, &one->devices[d]))
                    return &one->devices[d];
            }
        }
    }
    return NULL;
}

struct gpu ledger_gpu_of(const json_t *gpu)
{
    const char *model = json_text(gpu, "model");
    int64_t reserved_bytes = json_int(gpu, "memoryReservedBytes", 0);
    struct gpu ret = {.memory_bytes = json_int(gpu, "memoryBytes", 0)};

    (void)gpu_vendor_of(json_text(gpu, "resource"), &ret.vendor); /* absent: NVIDIA */
    (void)snprintf(ret.model, sizeof(ret.model), "%s", model ? model : "");
    if (reserved_bytes > 0 && reserved_bytes < ret.memory_bytes)
        ret.memory_bytes -= reserved_bytes;
    return ret;
}

bool ledger_find_gpu(const json_t *gpus, const char *uuid, struct gpu *ret)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        if (!text_equal(json_text(gpu, "uuid"), uuid))
            continue;
        *ret = ledger_gpu_of(gpu);
        return true;
    }
    return false;
}

size_t ledger_deal(struct arena *a, const struct pod_part *parts, size_t n_parts,
                   const struct device *devices, size_t n_devices, struct ledger_container **ret)
{
    struct ledger_container *list = arena_alloc(a, (n_parts + 1) * sizeof(*list));
    struct device *dealt;
    size_t total = 0;
    size_t n = 0;

    for (size_t i = 0; i < n_parts; i++)
        total += parts[i].count < n_devices ? parts[i].count : n_devices;
    dealt = arena_alloc(a, (total + 1) * sizeof(*dealt));
    for (size_t i = 0; i < n_parts; i++) {
        const struct pod_part *part = &parts[i];

        if (n == 0 || !text_equal(list[n - 1].name, part->container))
            list[n++] = (struct ledger_container){.name = part->container, .devices = dealt};
        for (uint32_t k = 0; k < part->count && part->first + (size_t)k < n_devices; k++) {
            *dealt++ = devices[part->first + k];
            list[n - 1].n_devices++;
        }
    }
    *ret = list;
    return n;
}

/* ---- ledger objects ---- */

json_t *ledger_entry_of(const json_t *tree)
{
    json_t *entry;
    json_t *holder;

    if (json_is_array(json_object_get(tree, "holders")))
        return json_incref((json_t *)(uintptr_t)tree); /* readers do not change it */
    entry = json_object();
    holder = json_object();
    json_put_text(entry, "node", json_text(tree, "node"));
    json_put_text(holder, "placement", json_text(tree, "placement"));
    json_put_text(holder, "pod", json_text(tree, "pod"));
    json_put_text(holder, "podUid", json_text(tree, "podUid"));
    (void)json_array_append_new(json_array_at(entry, "holders"), holder); /* cannot fail */
    return entry;
}

struct err *ledger_entry_parse(struct str bytes, json_t **ret)
{
    AUTO(json_freep) json_t *tree = NULL;

    TRY(json_parse(bytes, &tree));
    *ret = ledger_entry_of(tree);
    return NULL;
}

/* A holder's device; the older form has none, and means the whole gpu. */
struct err *ledger_holder_device(const json_t *holder, const char *uuid, struct device *ret)
{
    const char *text = json_text(holder, "device");

    if (text)
        return device_parse(text, ret);
    *ret = device_whole(uuid);
    return NULL;
}

static struct err *entry_load(struct ledger_entry *entry, const struct store_object *held,
                              const struct gpu *gpu)
{
    const json_t *holder;
    struct device d;
    size_t i;

    if (!held) {
        entry->tree = json_object();
        entry->version = STORE_ABSENT;
        return NULL;
    }
    entry->version = held->version;
    TRY(ledger_entry_parse(held->bytes, &entry->tree));
    json_array_foreach (json_object_get(entry->tree, "holders"), i, holder) {
        TRY(ledger_holder_device(holder, entry->uuid, &d));
        if (!ledger_holder_repeats(json_object_get(entry->tree, "holders"), i))
            TRY(device_load_add(&entry->load, &d, gpu));
        entry->n_before++;
    }
    return NULL;
}

/* The ledger object of the device's gpu, read when the transaction touches it first. */
static struct err *binding_entry(struct binding *b, const struct device *d, const struct gpu *gpu,
                                 struct ledger_entry **ret)
{
    struct ledger_entry *entry = NULL;

    map_find_text(handle, b->touched, d->gpu, entry);
    if (!entry) {
        entry = mem_alloc(sizeof(*entry));
        *entry = (struct ledger_entry){0};
        memcpy(entry->uuid, d->gpu, sizeof(entry->uuid));
        map_add(handle, b->touched, entry->uuid, strlen(entry->uuid), entry);
        TRY(entry_load(entry, store_get_applied(b->store, ledger_key(d->gpu)), gpu));
    }
    *ret = entry;
    return NULL;
}

/*
 * ERR_CONFLICT with the holder of a gpu that cannot be given whole; else `why` itself. Takes `why`.
 */
static struct err *not_given(const struct ledger_entry *entry, const struct device *d,
                             struct err *why)
{
    const json_t *first = json_array_get(json_object_get(entry->tree, "holders"), 0);

    if (d->kind != DEVICE_WHOLE && entry->load.kind != DEVICE_WHOLE)
        return why;
    err_free(why);
    if (entry->n_before == 0)
        return err_new(ERR_CONFLICT, "gpu %s is given to two pods of the placement", d->gpu);
    return err_new(ERR_CONFLICT, "gpu %s is held by pod %s", d->gpu, json_text(first, "pod"));
}

/* A device to take, and the claim that it is for. */
struct taking {
    const struct device *device;
    struct str claim; /* its uid; empty: none */
    bool is_held;     /* the pod shares the device with pods that have it */
};

/* Adds the holder. The device counts once for all pods that share it by one claim. */
static struct err *entry_add(struct binding *b, struct ledger_entry *entry, json_t *holder,
                             const struct taking *t, const struct gpu *gpu)
{
    json_t *holders = json_array_at(entry->tree, "holders");

    (void)json_array_append_new(holders, holder); /* cannot fail */
    if (ledger_holder_repeats(holders, json_array_size(holders) - 1)) {
        (void)json_array_append(b->shared, json_object_get(holder, "device")); /* as above */
        return NULL;
    }
    if (t->is_held)
        return err_new(ERR_CONFLICT, "the claim no longer has gpu %s", t->device->gpu);
    return device_load_add(&entry->load, t->device, gpu);
}

static struct err *binding_take_device(struct binding *b, const struct ledger_pod *pod,
                                       const struct taking *t, const struct gpu *gpu)
{
    const struct device *d = t->device;
    AUTO_FREE char *claim = t->claim.size > 0 ? mem_strndup(t->claim.at, t->claim.size) : NULL;
    AUTO_FREE char *placement = mem_format("%s/%s", b->p->ns, b->p->workload);
    AUTO_FREE char *pod_name = mem_format("%s/%s", b->p->ns, pod->name);
    char text[DEVICE_TEXT_SIZE];
    struct ledger_entry *entry = NULL;
    json_t *holder;
    struct err *e;

    TRY(binding_entry(b, d, gpu, &entry));
    device_format(d, text);
    holder = json_object();
    json_put_text(holder, "placement", placement);
    json_put_text(holder, "pod", pod_name);
    json_put_text(holder, "podUid", pod->uid);
    json_put_text(holder, "device", text);
    json_put_text(holder, "claim", claim);
    json_put_text(entry->tree, "node", pod->node);
    e = entry_add(b, entry, holder, t, gpu);
    return e ? not_given(entry, d, e) : NULL;
}

/* Does a container before the `end`th name the device too? */
static bool is_taken_before(const struct ledger_pod *pod, size_t end, const struct device *d)
{
    for (size_t c = 0; c < end; c++) {
        if (is_in_list(pod->containers[c].devices, pod->containers[c].n_devices, d))
            return true;
    }
    return false;
}

static struct err *binding_take_container(struct binding *b, const json_t *tree,
                                          const struct ledger_pod *pod, size_t c)
{
    const struct ledger_container *container = &pod->containers[c];

    for (size_t i = 0; i < container->n_devices; i++) {
        const struct device *d = &container->devices[i];
        struct taking t = {.device = d};
        struct gpu gpu = {0};
        struct str request;

        t.claim = ledger_claim_of(tree, container->name, i, &t.is_held, &request);
        if (!ledger_find_gpu(b->gpus, d->gpu, &gpu))
            return err_new(ERR_CONFLICT, "node \"%s\" has no gpu %s", pod->node, d->gpu);
        if (!is_taken_before(pod, c, d))
            TRY(binding_take_device(b, pod, &t, &gpu));
    }
    return NULL;
}

static bool has_devices(const struct ledger_pod *pod)
{
    for (size_t i = 0; i < pod->n_containers; i++)
        if (pod->containers[i].n_devices > 0)
            return true;
    return false;
}

/* Makes the transaction check that the node exists, and reads its gpus for a pod that has some. */
static struct err *binding_check_node(struct binding *b, const struct ledger_pod *pod)
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
    if (!has_devices(pod))
        return NULL;
    TRY(json_parse(o->bytes, &node));
    gpus = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    if (gpus)
        TRY(json_parse(str_of(gpus), &b->gpus));
    b->node = pod->node;
    return NULL;
}

static struct err *binding_check_volumes(const struct ledger_pod *pod, const json_t *tree)
{
    AUTO_FREE char *node = pod_volumes_node(tree);

    if (pod_volumes_wait(tree))
        return err_new(ERR_CONFLICT, "pod %s %s", pod->name, pod_volumes_wait(tree));
    if (*node && !text_equal(node, pod->node))
        return err_new(ERR_CONFLICT, "the volumes of pod %s are on node %s", pod->name, node);
    return NULL;
}

static struct err *binding_check_pod(const struct ledger_pod *pod, const json_t *tree)
{
    const struct device *shared = shared_device(tree, pod);

    if (!text_equal(json_text_at(tree, "metadata", "uid", NULL), pod->uid))
        return err_new(ERR_CONFLICT, "pod %s is gone: another pod has its name", pod->name);
    if (pod_is_deleting(tree))
        return err_new(ERR_CONFLICT, "pod %s is being deleted, cannot be assigned to a host",
                       pod->name);
    if (*pod_node(tree))
        return err_new(ERR_CONFLICT, "pod %s is already assigned to node \"%s\"", pod->name,
                       pod_node(tree));
    if (pod_is_terminal(tree))
        return err_new(ERR_CONFLICT, "pod %s has ended", pod->name);
    if (json_text_at(tree, "metadata", "annotations", SLURM_OUTDATED_ANNOTATION, NULL))
        return err_new(ERR_CONFLICT, "pod %s is of an older request of its job", pod->name);
    if (pod_claims_wait(tree))
        return err_new(ERR_CONFLICT, "pod %s %s", pod->name, pod_claims_wait(tree));
    TRY(binding_check_volumes(pod, tree));
    if (pod->claims &&
        !text_equal(pod->claims, json_text_at(tree, "metadata", "annotations", POD_CLAIMS, NULL)))
        return err_new(ERR_CONFLICT, "the claims of pod %s have other devices now", pod->name);
    if (shared)
        return err_new(ERR_CONFLICT, "gpu %s is given twice to pod %s", shared->gpu, pod->name);
    return NULL;
}

static void pod_project(const struct binding *b, const struct ledger_pod *pod, json_t *tree)
{
    json_t *metadata = json_object_at(tree, "metadata");
    AUTO_FREE char *devices = ledger_devices_format(pod);

    json_put_text(json_object_at(tree, "spec"), "nodeName", pod->node);
    if (devices)
        json_put_text(json_object_at(metadata, "annotations"), POD_DEVICES, devices);
    if (pod->nodes)
        json_put_text(json_object_at(metadata, "annotations"), SLURM_NODES_ANNOTATION, pod->nodes);
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
        json_put(container, "gpus", device_list(&pod->containers[i]));
        (void)json_array_append_new(containers, container); /* cannot fail */
    }
    account_open(entry, &(struct account_begin){tree, b->gpus, b->shared, b->p->now_ns});
    (void)json_array_append_new(b->entries, entry); /* as above */
}

static struct err *binding_add_pod(struct binding *b, const struct ledger_pod *asked)
{
    struct ledger_pod own = *asked;
    const struct ledger_pod *pod = &own;
    struct store_key key = pod_key(b->p->ns, pod->name);
    const struct store_object *o = store_get_applied(b->store, key);
    AUTO(json_freep) json_t *tree = NULL;

    if (!o)
        return err_new(ERR_CONFLICT, "pod %s is gone", pod->name);
    if (txn_has(&b->txn, key))
        return err_new(ERR_CONFLICT, "pod %s is named twice in the placement", pod->name);
    TRY(json_parse(o->bytes, &tree));
    ledger_add_held(b->arena, tree, &own);
    json_decref(b->shared);
    b->shared = json_array();
    TRY(binding_check_pod(pod, tree));
    TRY(binding_check_node(b, pod));
    for (size_t c = 0; c < pod->n_containers; c++)
        TRY(binding_take_container(b, tree, pod, c));
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
    struct ledger_entry *entry = NULL;
    struct ledger_entry *next = NULL;

    for (size_t i = 0; i < n; i++) {
        if (i % PODS_OF_PART == 0)
            begin_part(b, i / PODS_OF_PART);
        TRY(binding_add_pod(b, &b->p->pods[i]));
        if (i + 1 == n || (i + 1) % PODS_OF_PART == 0)
            TRY(put_part(b));
    }
    map_each (handle, b->touched, entry, next) {
        txn_put(&b->txn, ledger_key(entry->uuid), entry->tree, entry->version);
    }
    return txn_commit(&b->txn, b->store, done, arg, NULL);
}

struct err *ledger_bind(struct store *s, const struct ledger_placement *p, store_done_fn done,
                        void *arg)
{
    struct binding b = {.store = s, .p = p, .arena = arena_new()};
    struct ledger_entry *entry = NULL;
    struct ledger_entry *next = NULL;
    struct err *e;

    if (p->n_pods == 0)
        e = err_new(ERR_INVALID, "placement %s/%s has no pods", p->ns, p->workload);
    else
        e = bind_all(&b, done, arg);
    json_decref(b.entries);
    json_decref(b.shared);
    json_decref(b.gpus);
    free(b.part);
    map_each (handle, b.touched, entry, next) {
        map_remove(handle, b.touched, entry);
        json_decref(entry->tree);
        free(entry);
    }
    txn_done(&b.txn);
    arena_free(b.arena);
    return e;
}

char *ledger_holder(const struct store *s, const char *uuid)
{
    const struct store_object *o = store_get(s, ledger_key(uuid));
    AUTO(json_freep) json_t *entry = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const char *pod;

    if (!o)
        return NULL;
    e = ledger_entry_parse(o->bytes, &entry);
    pod = e ? NULL : json_text(json_array_get(json_object_get(entry, "holders"), 0), "pod");
    return mem_strdup(pod ? pod : "?"); /* held, even if the entry is damaged */
}

struct err *ledger_load(const struct store *s, const char *uuid, const struct gpu *gpu,
                        struct device_load *ret)
{
    const struct store_object *o = store_get_applied(s, ledger_key(uuid));
    AUTO(json_freep) json_t *entry = NULL;
    struct device_load load = {0};
    const json_t *holder;
    struct device d;
    size_t i;

    if (o)
        TRY(ledger_entry_parse(o->bytes, &entry));
    json_array_foreach (json_object_get(entry, "holders"), i, holder) {
        TRY(ledger_holder_device(holder, uuid, &d));
        if (!ledger_holder_repeats(json_object_get(entry, "holders"), i))
            TRY(device_load_add(&load, &d, gpu));
    }
    *ret = load;
    return NULL;
}

bool ledger_is_held_outside(const struct store *s, const char *uuid, const char *ns)
{
    const struct store_object *o = store_get_applied(s, ledger_key(uuid));
    AUTO(json_freep) json_t *entry = NULL;
    AUTO(err_freep) struct err *e = o ? ledger_entry_parse(o->bytes, &entry) : NULL;
    json_t *holder;
    size_t i;

    json_array_foreach (json_object_get(entry, "holders"), i, holder) {
        const char *pod = text_or_empty(json_text(holder, "pod"));
        size_t size = strlen(ns);

        if (!text_starts_with(pod, ns) || pod[size] != '/')
            return true;
    }
    return e != NULL;
}

bool ledger_is_free(const struct store *s, const char *uuid)
{
    return store_get_applied(s, ledger_key(uuid)) == NULL;
}
