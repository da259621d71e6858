/*
 * ledger_check.c - the invariant "a device is never given twice", proved from what is stored
 *
 * From both sides: every entry of the ledger has its live pod, every gpu of a live pod has its
 * entry. An entry is one object a gpu, so that two pods with one gpu cannot both have theirs.
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
    VEC(char *) gpus;
    size_t n_confirmed; /* entries of the ledger that name it */
};

static void holder_free(struct holder *h)
{
    for (size_t i = 0; i < h->gpus.n; i++)
        free(h->gpus.at[i]);
    vec_done(&h->gpus);
    free(h->uid);
    free(h->name);
    free(h->node);
    free(h);
}

static bool holder_has(const struct holder *h, const char *uuid)
{
    for (size_t i = 0; i < h->gpus.n; i++) {
        if (text_equal(h->gpus.at[i], uuid))
            return true;
    }
    return false;
}

static bool add_gpu(void *arg, const char *container, const char *uuid)
{
    struct holder *h = arg;

    (void)container;
    if (!holder_has(h, uuid))
        vec_add(&h->gpus, mem_strdup(uuid));
    return true;
}

/* A live pod with gpus joins `holders`; others, the most, are told by their text. */
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
    pod_each_device(pod, add_gpu, h);
    map_add(handle, *holders, h->uid, strlen(h->uid), h);
    return NULL;
}

static struct err *check_entry(struct holder *holders, const struct store_object *o)
{
    AUTO(json_freep) json_t *entry = NULL;
    const char *uuid = o->key.name;
    struct holder *h = NULL;
    const char *uid;

    TRY(json_parse(o->bytes, &entry));
    uid = json_text(entry, "podUid");
    if (uid)
        map_find_text(handle, holders, uid, h);
    if (!h)
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held by %s, which is no live pod with gpus",
                       uuid, json_text(entry, "pod"));
    if (!text_equal(json_text(entry, "pod"), h->name))
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held by %s under the uid of pod %s", uuid,
                       json_text(entry, "pod"), h->name);
    if (!text_equal(json_text(entry, "node"), h->node))
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held on node %s, its pod %s is on %s", uuid,
                       json_text(entry, "node"), h->name, h->node);
    if (!holder_has(h, uuid))
        return err_new(ERR_INTERNAL, "ledger: gpu %s is held by pod %s, which does not list it",
                       uuid, h->name);
    h->n_confirmed++;
    return NULL;
}

static struct err *check_holders(struct holder *holders)
{
    for (struct holder *h = holders; h; h = h->handle.next) {
        if (h->n_confirmed < h->gpus.n)
            return err_new(ERR_INTERNAL, "ledger: pod %s has %zu gpus, %zu of them in the ledger",
                           h->name, h->gpus.n, h->n_confirmed);
    }
    return NULL;
}

static struct err *check_lists(const struct store_list *pods, const struct store_list *ledger,
                               struct holder **holders)
{
    for (size_t i = 0; i < pods->n; i++)
        TRY(add_holder(holders, pods->at[i]));
    for (size_t i = 0; i < ledger->n; i++)
        TRY(check_entry(*holders, ledger->at[i]));
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
        e = check_lists(&pods, &ledger, &holders);
        store_list_done(&ledger);
    }
    store_list_done(&pods);
    map_each (handle, holders, h, tmp) {
        map_remove(handle, holders, h);
        holder_free(h);
    }
    return e;
}
