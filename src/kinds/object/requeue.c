/* requeue.c - records of requeued pods, and the creation of pods from them */

#include "kinds/object/requeue.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/account/account.h"
#include "kinds/object/objects_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_volume_claims.h"

static struct store_key record_key(const char *ns, const char *name)
{
    return (struct store_key){.group = "mete.dev", .resource = "requeues", .ns = ns, .name = name};
}

bool pod_has_controller(const json_t *pod)
{
    const json_t *owners = json_at(pod, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++)
        if (json_bool(json_array_get(owners, i), "controller", false))
            return true;
    return false;
}

bool pod_is_requeued(const json_t *pod)
{
    return !pod_has_controller(pod) &&
           !text_equal(json_text_at(pod, "metadata", "annotations", POD_REQUEUE, NULL), "never");
}

static int64_t requeue_count(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "annotations", POD_REQUEUES, NULL);
    AUTO(err_freep) struct err *e = NULL;
    int64_t n = 0;

    if (text)
        e = num_parse_int64(str_of(text), 0, INT32_MAX - 1, &n);
    return e ? 0 : n;
}

/* The pod's manifest with the fields that its creation filled in, without the ledger's. */
static json_t *manifest_of(const json_t *pod)
{
    static const char *const kept[] = {"name", "labels", "annotations", "ownerReferences"};
    static const char *const dropped[] = {POD_DEVICES, POD_PLACEMENT, POD_USAGE, POD_CLAIMS,
                                          POD_VOLUMES};
    const json_t *was = json_object_get(pod, "metadata");
    AUTO_FREE char *requeues = mem_format("%" PRId64, requeue_count(pod) + 1);
    json_t *copy = json_object();
    json_t *metadata = json_object_at(copy, "metadata");
    json_t *annotations;

    json_put_text(copy, "apiVersion", "v1");
    json_put_text(copy, "kind", "Pod");
    for (size_t i = 0; i < COUNT(kept); i++) {
        const json_t *value = json_object_get(was, kept[i]);

        if (value)
            json_put(metadata, kept[i], json_deep_copy(value));
    }
    annotations = json_object_at(metadata, "annotations");
    for (size_t i = 0; i < COUNT(dropped); i++)
        (void)json_object_del(annotations, dropped[i]); /* may be absent */
    json_put_text(annotations, POD_REQUEUES, requeues);
    json_put(copy, "spec", json_deep_copy(json_object_get(pod, "spec")));
    (void)json_object_del(json_object_get(copy, "spec"), "nodeName"); /* as above */
    return copy;
}

static struct store_key key_of(const json_t *pod)
{
    const char *ns = json_text_at(pod, "metadata", "namespace", NULL);
    const char *name = json_text_at(pod, "metadata", "name", NULL);

    return record_key(ns ? ns : "", name ? name : "");
}

void requeue_record_in(const struct store *s, struct txn *t, const json_t *pod)
{
    const struct store_key key = key_of(pod);
    const struct store_object *o = store_get_applied(s, key);
    AUTO(json_freep) json_t *record = NULL;

    if (!pod_is_requeued(pod))
        return;
    record = json_object();
    json_put_text(record, "uid", json_text_at(pod, "metadata", "uid", NULL));
    json_put_int(record, "requeues", requeue_count(pod) + 1);
    json_put(record, "pod", manifest_of(pod));
    txn_put_owed(t, key, record, o ? o->version : STORE_ABSENT);
}

void requeue_lost_in(struct change *c)
{
    json_t *metadata = json_object_get(c->after, "metadata");
    char now[STAMP_TEXT_SIZE];

    if (!text_equal(c->request->subresource, "status") || !pod_is_over(c->after) ||
        pod_is_over(c->before) || pod_is_deleting(c->after) || !pod_is_requeued(c->after) ||
        !text_equal(json_text_at(c->after, "status", "reason", NULL), POD_GPU_LOST))
        return;
    requeue_record_in(c->objects->store, &c->txn, c->after);
    stamp_format(c->who.now_ns, now);
    json_put_text(metadata, "deletionTimestamp", now);
    json_put_int(metadata, "deletionGracePeriodSeconds", 0);
}

void requeue_forget_in(const struct store *s, struct txn *t, const json_t *pod)
{
    const struct store_key key = key_of(pod);
    const struct store_object *o = store_get_applied(s, key);

    if (o)
        txn_delete(t, key, o->version);
}

/* The callback for the durable write. */
struct told {
    store_done_fn done;
    void *arg;
};

/* Creates no pod, and deletes the record, if there is one (`key`). */
static struct err *requeue_drop(struct objects *o, const struct store_key *key, struct told told,
                                bool *ret_is_over)
{
    struct txn t = {0};
    struct err *e;

    if (key)
        txn_delete(&t, *key, STORE_ANY);
    e = txn_commit(&t, o->store, told.done, told.arg, NULL);
    txn_done(&t);
    *ret_is_over = !e;
    return e;
}

/* Is the namespace gone or being deleted? Then no object can be created in it. */
static bool is_namespace_gone(const struct objects *o, const char *ns)
{
    const struct store_object *found =
        store_get_applied(o->store, objects_key(kind_find("", "namespaces"), "", ns));
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!found)
        return true;
    e = json_parse(found->bytes, &tree);
    return !e && json_text_at(tree, "metadata", "deletionTimestamp", NULL);
}

/* Is the pod's name free? ERR_CONFLICT: the old pod is still there. `*ret`: another pod has the
 * name. */
static struct err *requeue_check_name(const struct objects *o, const struct objects_request *r,
                                      const char *name, const json_t *record, bool *ret)
{
    const struct store_object *there =
        store_get_applied(o->store, objects_key(r->kind, r->ns, name));
    AUTO(json_freep) json_t *pod = NULL;

    if (!there)
        return NULL;
    TRY(json_parse(there->bytes, &pod));
    *ret = !text_equal(json_text_at(pod, "metadata", "uid", NULL), json_text(record, "uid"));
    return *ret ? NULL : err_new(ERR_CONFLICT, "pod %s/%s is not gone yet", r->ns, name);
}

static struct err *requeue_create(struct objects *o, const struct objects_request *r, json_t *pod,
                                  const struct store_object *record, struct told told)
{
    AUTO(json_freep) json_t *made = NULL;
    struct change c;
    struct err *e;

    change_init(&c, o, r);
    txn_delete(&c.txn, record->key, record->version);
    e = change_create(&c, pod);
    if (!e)
        e = change_commit(&c, told.done, told.arg, &made);
    change_done(&c);
    return e;
}

struct err *requeue_make(struct objects *o, const char *ns, const char *name, store_done_fn done,
                         void *arg, bool *ret_is_over)
{
    const struct told told = {done, arg};
    const struct store_key key = record_key(ns, name);
    const struct objects_request r = {
        .kind = kind_find("", "pods"),
        .ns = ns,
        .who = {.user = "system:mete:control", .is_system = true, .is_admin = true, .host_uid = -1},
    };
    const struct store_object *found = store_get_applied(o->store, key);
    AUTO(json_freep) json_t *record = NULL;
    bool is_taken = false;

    if (!found)
        return requeue_drop(o, NULL, told, ret_is_over);
    *ret_is_over = false;
    TRY(json_parse(found->bytes, &record));
    TRY(requeue_check_name(o, &r, name, record, &is_taken));
    if (is_taken || is_namespace_gone(o, ns))
        return requeue_drop(o, &key, told, ret_is_over);
    TRY(requeue_create(o, &r, json_object_get(record, "pod"), found, told));
    *ret_is_over = true;
    return NULL;
}
