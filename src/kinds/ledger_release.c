/* ledger_release.c - devices that ended pods leave, and devices that pods of one claim keep */

#include "base/mem.h"
#include "kinds/account/account.h"
#include "kinds/ledger.h"
#include "kinds/ledger_private.h"
#include "kinds/object/txn.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

struct release {
    struct store *store;
    struct txn *txn;
    const char *uid;
    const struct account_end *end;
    json_t *left; /* [{"pod","podUid","device"}]: pods that keep devices which counted for this pod
                   */
};

/* Notes the pod that the holder's device counts for from now on: the next one of the same claim. */
static void release_note_next(const struct release *r, const json_t *holders, size_t i)
{
    const json_t *own = json_array_get(holders, i);
    const char *claim = json_text(own, "claim");

    for (size_t k = i + 1; claim && k < json_array_size(holders); k++) {
        json_t *next = json_array_get(holders, k);

        if (text_equal(json_text(next, "claim"), claim) &&
            text_equal(json_text(next, "device"), json_text(own, "device"))) {
            (void)json_array_append(r->left, next); /* cannot fail */
            return;
        }
    }
}

/* Removes the pod's holders from the gpu's ledger object, and the object with its last holder. */
static bool release_gpu(void *arg, const char *container, const struct device *d)
{
    struct release *r = arg;
    const struct store_object *o = store_get_applied(r->store, ledger_key(d->gpu));
    AUTO(json_freep) json_t *entry = NULL;
    AUTO(err_freep) struct err *e = NULL;
    json_t *holders;
    size_t before;

    (void)container;
    if (!o || txn_has(r->txn, ledger_key(d->gpu)))
        return true;
    e = ledger_entry_parse(o->bytes, &entry);
    if (e)
        return true; /* ledger_check reports it */
    holders = json_object_get(entry, "holders");
    before = json_array_size(holders);
    for (size_t i = before; i-- > 0;) {
        if (!text_equal(json_text(json_array_get(holders, i), "podUid"), r->uid))
            continue;
        if (!ledger_holder_repeats(holders, i))
            release_note_next(r, holders, i);
        (void)json_array_remove(holders, i); /* `i` is in range */
    }
    if (json_array_size(holders) == 0)
        txn_delete(r->txn, ledger_key(d->gpu), o->version);
    else if (json_array_size(holders) < before)
        txn_put_owed(r->txn, ledger_key(d->gpu), entry, o->version);
    return true;
}

/* ---- placements ---- */

/* Moves the noted devices of pods in `placement` from the attempt `from` to theirs. Returns the
 * number of these devices. */
static size_t release_move_devices(const struct release *r, json_t *placement, const json_t *from,
                                   int64_t now_ns)
{
    json_t *pods = json_object_get(placement, "pods");
    const json_t *next;
    json_t *pod;
    size_t n = 0;
    size_t i;
    size_t k;

    json_array_foreach (r->left, i, next)
        json_array_foreach (pods, k, pod) {
            if (!text_equal(json_text(pod, "uid"), json_text(next, "podUid")))
                continue;
            account_move_device(from, pod, json_text(next, "device"), now_ns);
            n++;
        }
    return n;
}

/* The part of a placement that has the holder's pod; NULL: the pod is gone. The caller's. */
static char *placement_of_holder(const struct release *r, const json_t *holder, const char *ns)
{
    const char *name = strchr(text_or_empty(json_text(holder, "pod")), '/');
    const struct store_object *o = name ? store_get_applied(r->store, pod_key(ns, name + 1)) : NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(err_freep) struct err *e = o ? json_parse(o->bytes, &pod) : NULL;
    const char *part = json_text_at(pod, "metadata", "annotations", POD_PLACEMENT, NULL);

    if (!o || e)
        return NULL;
    return mem_strdup(part ? part : name + 1);
}

/* Moves devices to pods of other placements. Claims are shared within a namespace. */
static void release_move_out(const struct release *r, const char *ns, const json_t *from,
                             int64_t now_ns)
{
    const json_t *next;
    size_t i;

    json_array_foreach (r->left, i, next) {
        AUTO_FREE char *part = placement_of_holder(r, next, ns);
        struct store_key key = placement_key(ns, part);
        const struct store_object *o = part ? store_get_applied(r->store, key) : NULL;
        AUTO(json_freep) json_t *placement = NULL;
        AUTO(err_freep) struct err *e = NULL;

        if (!o || txn_has(r->txn, key))
            continue;
        e = json_parse(o->bytes, &placement);
        if (!e && release_move_devices(r, placement, from, now_ns) > 0)
            txn_put_owed(r->txn, key, placement, o->version);
    }
}

/* Removes the pod from its placement, and the placement with its last pod. */
static void leave_placement(const struct release *r, const char *ns, const char *name)
{
    struct store_key key = placement_key(ns, name);
    const struct store_object *o = store_get_applied(r->store, key);
    AUTO(json_freep) json_t *placement = NULL;
    AUTO(err_freep) struct err *e = NULL;
    AUTO(json_freep) json_t *own = NULL;
    const char *workload;
    int64_t to_ns = 0;
    json_t *pods;

    if (!o)
        return;
    e = json_parse(o->bytes, &placement);
    if (e)
        return; /* ledger_check reports it */
    workload = json_text(placement, "workload");
    pods = json_array_at(placement, "pods");
    for (size_t i = json_array_size(pods); i-- > 0;) {
        json_t *entry = json_array_get(pods, i);

        if (own || !text_equal(json_text(entry, "uid"), r->uid))
            continue;
        own = json_incref(entry);
        to_ns = account_close(r->txn, ns, workload ? workload : name, entry, r->end);
        (void)json_array_remove(pods, i); /* `i` is in range */
    }
    if (!own)
        return;
    (void)release_move_devices(r, placement, own, to_ns);
    if (json_array_size(pods) == 0)
        txn_delete(r->txn, key, o->version);
    else
        txn_put(r->txn, key, placement, o->version);
    release_move_out(r, ns, own, to_ns);
}

void ledger_release_in(struct store *s, struct txn *t, const json_t *pod,
                       const struct account_end *end)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    struct release r = {.store = s, .txn = t, .uid = json_text(metadata, "uid"), .end = end};
    AUTO(json_freep) json_t *left = NULL;
    const char *placement = json_text_at(metadata, "annotations", POD_PLACEMENT, NULL);

    if (!*pod_node(pod))
        return;
    left = json_array();
    r.left = left;
    pod_each_device(pod, release_gpu, &r);
    leave_placement(&r, json_text(metadata, "namespace"),
                    placement ? placement : json_text(metadata, "name"));
}
