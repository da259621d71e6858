/*
 * ledger_check.c - the check of the invariant "a device is never given twice" on stored objects
 *
 * The check goes both ways: every holder in the ledger is a live pod, and every device of a live
 * pod has its holder. The holders of a gpu, which are one object, fit on the gpu together.
 */

#include "base/json_pool.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

struct holder {
    struct map_handle handle;
    char *uid;
    char *name; /* "ns/name" */
    char *node;
    VEC(struct device) devices;
    size_t n_confirmed; /* holders in the ledger that name the pod */
};

static void holder_free(struct holder *h)
{
    vec_done(&h->devices);
    free(h->uid);
    free(h->name);
    free(h->node);
    free(h);
}

static bool holder_has(const struct holder *h, const struct device *d)
{
    for (size_t i = 0; i < h->devices.n; i++) {
        if (device_equal(&h->devices.at[i], d))
            return true;
    }
    return false;
}

static bool holder_add_device(void *arg, const char *container, const struct device *d)
{
    struct holder *h = arg;

    (void)container;
    if (!holder_has(h, d))
        vec_add(&h->devices, *d);
    return true;
}

/* Adds a live pod with gpus to `holders`. Most other pods are skipped by their text alone. */
static struct err *add_holder(struct holder **holders, const struct store_object *o)
{
    AUTO(json_freep) json_t *pod = NULL;
    const char *uid;
    struct str devices = {0};
    struct holder *h;

    if (json_peek(o->bytes, &devices, "metadata", "annotations", POD_DEVICES, NULL) == PEEK_ABSENT)
        return NULL;
    TRY(json_parse(o->bytes, &pod));
    uid = json_text_at(pod, "metadata", "uid", NULL);
    if (pod_is_terminal(pod) || !*pod_node(pod) || !uid)
        return NULL;
    h = mem_alloc(sizeof(*h));
    h->uid = mem_strdup(uid);
    h->name = mem_format("%s/%s", o->key.ns, o->key.name);
    h->node = mem_strdup(pod_node(pod));
    pod_each_device(pod, holder_add_device, h);
    map_add(handle, *holders, h->uid, strlen(h->uid), h);
    return NULL;
}

/* Finds the gpu in the node's annotation. False: the node or the gpu is gone. */
static bool check_find_gpu(const struct store *s, const char *node, const char *uuid,
                           struct gpu *ret)
{
    const struct store_object *o =
        node ? store_get(
                   s, (struct store_key){.group = "", .resource = "nodes", .ns = "", .name = node})
             : NULL;
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(err_freep) struct err *e = o ? json_parse(o->bytes, &tree) : NULL;
    const char *text = json_text_at(tree, "metadata", "annotations", NODE_GPUS, NULL);

    if (e || !text)
        return false;
    e = json_parse(str_of(text), &gpus);
    return ledger_find_gpu(gpus, uuid, ret);
}

static struct err *check_holder(struct holder *holders, const char *uuid, const char *node,
                                const json_t *entry)
{
    const char *uid = json_text(entry, "podUid");
    struct device d = {0};
    struct holder *h = NULL;

    if (uid)
        map_find_text(handle, holders, uid, h);
    if (!h)
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held by %s, which is no live pod with gpus",
                       uuid, json_text(entry, "pod"));
    if (!text_equal(json_text(entry, "pod"), h->name))
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held by %s under the uid of pod %s", uuid,
                       json_text(entry, "pod"), h->name);
    if (!text_equal(node, h->node))
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held on node %s, its pod %s is on %s", uuid,
                       node, h->name, h->node);
    TRY(ledger_holder_device(entry, uuid, &d));
    if (!holder_has(h, &d))
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held by pod %s, which does not list it",
                       uuid, h->name);
    h->n_confirmed++;
    return NULL;
}

/* Checks that each holder is a live pod, and that all of them fit on the gpu. */
static struct err *check_entry(const struct store *s, struct holder *holders,
                               const struct store_object *o)
{
    AUTO(json_freep) json_t *entry = NULL;
    const char *uuid = o->key.name;
    struct device_load load = {0};
    struct gpu gpu = {0};
    bool is_known = false;
    const char *node;
    const json_t *holder;
    size_t i;

    TRY(ledger_entry_parse(o->bytes, &entry));
    node = json_text(entry, "node");
    json_array_foreach (json_object_get(entry, "holders"), i, holder) {
        struct device d = {0};
        struct err *e;

        TRY(check_holder(holders, uuid, node, holder));
        TRY(ledger_holder_device(holder, uuid, &d));
        if (d.kind != DEVICE_WHOLE && !is_known)
            is_known = check_find_gpu(s, node, uuid, &gpu);
        if (d.kind == DEVICE_SLICE && !is_known)
            continue; /* the gpu is gone with its node: no geometry is known */
        if (ledger_holder_repeats(json_object_get(entry, "holders"), i))
            continue;
        e = device_load_add(&load, &d, is_known ? &gpu : NULL);
        if (e) {
            AUTO(err_freep) struct err *why = e;

            return err_new(ERR_INTERNAL, "ledger: %s", err_message(why));
        }
    }
    return NULL;
}

static struct err *check_holders(struct holder *holders)
{
    for (struct holder *h = holders; h; h = h->handle.next) {
        if (h->n_confirmed < h->devices.n)
            return err_new(ERR_INTERNAL, "ledger: pod %s has %zu gpus, %zu of them in the ledger",
                           h->name, h->devices.n, h->n_confirmed);
    }
    return NULL;
}

static struct err *check_lists(const struct store *s, const struct store_list *pods,
                               const struct store_list *ledger, struct holder **holders)
{
    for (size_t i = 0; i < pods->n; i++)
        TRY(add_holder(holders, pods->at[i]));
    for (size_t i = 0; i < ledger->n; i++)
        TRY(check_entry(s, *holders, ledger->at[i]));
    return check_holders(*holders);
}

struct err *ledger_check(const struct store *s)
{
    struct store_range pod_range = {.group = "", .resource = "pods"};
    struct store_range ledger_range = {.group = "mete.dev", .resource = "ledger"};
    struct store_list pods = {0};
    struct store_list ledger = {0};
    struct holder *holders = NULL;
    struct holder *h;
    struct holder *tmp;
    struct err *e;

    TRY(store_list(s, &pod_range, NULL, NULL, 0, 0, &pods));
    e = store_list(s, &ledger_range, NULL, NULL, 0, 0, &ledger);
    if (!e) {
        e = check_lists(s, &pods, &ledger, &holders);
        store_list_done(&ledger);
    }
    store_list_done(&pods);
    map_each (handle, holders, h, tmp) {
        map_remove(handle, holders, h);
        holder_free(h);
    }
    return e;
}
