/* dra_prepare.c - NodePrepareResources and NodeUnprepareResources of a kubelet */

#include "kubelet/dra/dra_prepare.h"

#include "base/arena.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "kubelet/dra.pb-c.h"
#include "kubelet/grpc/grpc_message.h"
#include "kubelet/plugin_answer.h"

enum {
    CLAIMS_MAX = 1024 /* of a call */
};

struct dra_preparing;

/* A claim of a call. */
struct dra_item {
    struct dra_preparing *preparing;
    char *ns;
    char *name;
    char *uid;
    struct client_call *read; /* under way */
    struct dra_claim *claim;  /* waits until it is known whether its devices' holder is gone */
    char *holder;             /* uid of the holder that is asked for */
    struct err *failure;
};

/* A call under way. */
struct dra_preparing {
    struct dra_preparing *prev;
    struct dra_preparing *next;
    struct dra_preparer *preparer;
    struct grpc_call *call; /* NULL: the kubelet has gone */
    struct dra_item *items;
    size_t n;
    size_t left; /* items that have no answer yet */
};

struct dra_preparer {
    struct dra_preparer_options o;
    struct dra_preparing *all;
};

static void preparing_free(struct dra_preparing *p)
{
    LIST_REMOVE(p->preparer->all, p);
    for (size_t i = 0; i < p->n; i++) {
        struct dra_item *item = &p->items[i];

        if (item->read)
            client_cancel(item->read);
        dra_claim_free(item->claim);
        err_free(item->failure);
        free(item->ns);
        free(item->name);
        free(item->uid);
        free(item->holder);
    }
    free(p->items);
    free(p);
}

/* ---- answers ---- */

static Dra__Device *device_message(struct arena *a, const struct dra_result *r)
{
    Dra__Device *d = arena_alloc(a, sizeof(*d));

    dra__device__init(d);
    d->n_request_names = 1;
    d->request_names = arena_alloc(a, sizeof(*d->request_names));
    d->request_names[0] = arena_strdup(a, r->request);
    d->pool_name = arena_strdup(a, r->pool);
    d->device_name = arena_strdup(a, r->device);
    d->n_cdi_device_ids = 1;
    d->cdi_device_ids = arena_alloc(a, sizeof(*d->cdi_device_ids));
    d->cdi_device_ids[0] = arena_format(a, PLUGIN_CDI_KIND "=%s", r->uuid);
    d->share_id = arena_strdup(a, r->share);
    return d;
}

static Dra__PreparedEntry *entry_message(struct arena *a, const struct dra_item *item,
                                         const struct dra_claim *claim)
{
    Dra__PreparedEntry *entry = arena_alloc(a, sizeof(*entry));
    Dra__NodePrepareResourceResponse *value = arena_alloc(a, sizeof(*value));

    dra__prepared_entry__init(entry);
    dra__node_prepare_resource_response__init(value);
    entry->key = arena_strdup(a, item->uid);
    entry->value = value;
    if (!claim) {
        value->error = arena_format(a, "claim %s/%s: %s", item->ns, item->name,
                                    item->failure ? err_message(item->failure)
                                                  : "it was given back meanwhile");
        return entry;
    }
    value->devices = arena_alloc(a, (claim->results.n + 1) * sizeof(*value->devices));
    VEC_EACH (&claim->results, r)
        value->devices[value->n_devices++] = device_message(a, r);
    return entry;
}

static void preparing_end(struct dra_preparing *p)
{
    AUTO(arena_freep) struct arena *a = arena_new();
    Dra__NodePrepareResourcesResponse answer = DRA__NODE_PREPARE_RESOURCES_RESPONSE__INIT;

    answer.claims = arena_alloc(a, (p->n + 1) * sizeof(*answer.claims));
    for (size_t i = 0; i < p->n; i++) {
        const struct dra_item *item = &p->items[i];
        const struct dra_claim *claim =
            item->failure ? NULL : dra_store_find(p->preparer->o.store, item->uid);

        answer.claims[answer.n_claims++] = entry_message(a, item, claim);
    }
    if (p->call) {
        grpc_call_answer(p->call, &answer.base);
        grpc_call_end(p->call, NULL);
    }
    preparing_free(p);
}

/* The item has its answer; takes `e`. The call may be over then. */
static void item_end(struct dra_item *item, struct err *e)
{
    struct dra_preparing *p = item->preparing;

    item->failure = e;
    if (e)
        LOG(WARN, "claim is not prepared", S("namespace", item->ns), S("claim", item->name), E(e));
    if (--p->left == 0)
        preparing_end(p);
}

/* ---- preparation ---- */

/* Looks up the devices of a claim. */
static struct err *claim_look_up(const struct dra_preparer *p, struct dra_claim *c)
{
    VEC_EACH (&c->results, r) {
        const struct dra_device *d = dra_devices_find(p->o.devices, r->device);

        if (!d)
            return err_new(ERR_NOT_FOUND, "this node has no device %s now", r->device);
        if (d->health != GPU_HEALTHY && !r->is_admin && !r->is_tolerated)
            return err_new(ERR_UNAVAILABLE, "device %s is %s%s%s", r->device,
                           gpu_health_text(d->health), d->reason[0] ? ": " : "", d->reason);
        free(r->uuid);
        r->uuid = mem_strdup(d->uuid);
    }
    return NULL;
}

static void item_read(struct dra_item *item, const char *ns, const char *name, client_done_fn done)
{
    const struct dra_preparer *p = item->preparing->preparer;
    enum dra_version v = DRA_V1;
    AUTO(buf_done) struct buf path = {0};
    struct client_request r = {.method = "GET"};

    (void)dra_slices_version(p->o.slices, &v);
    buf_printf(&path, "/apis/resource.k8s.io/%s/namespaces/", dra_version_text(v));
    client_add_escaped(&path, str_of(ns));
    buf_add_text(&path, "/resourceclaims/");
    client_add_escaped(&path, str_of(name));
    r.path = path.at;
    client_send(p->o.client, &r, done, item, &item->read);
}

static void item_take(struct dra_item *item, bool may_ask);

/* The claim that holds the devices may have gone, or lost its allocation: they are free then. */
static void on_holder(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct dra_item *item = arg;
    struct dra_store *store = item->preparing->preparer->o.store;
    AUTO(err_freep) struct err *failure = client_error(e, reply);
    AUTO(json_freep) json_t *object = NULL;
    bool is_gone = !e && reply->status == 404;

    item->read = NULL;
    if (!failure)
        failure = json_parse(reply->body, &object);
    if (!failure)
        is_gone = !json_at(object, "status", "allocation", NULL) ||
                  !text_equal(json_text_at(object, "metadata", "uid", NULL), item->holder);
    if (is_gone) {
        LOG(WARN, "a claim has gone without the kubelet's word: its devices are free",
            S("uid", item->holder));
        err_free(dra_store_remove(store, item->holder)); /* item_take looks again */
    }
    item_take(item, false);
}

/* Gives the claim its devices, if no other claim holds them. */
static void item_take(struct dra_item *item, bool may_ask)
{
    struct dra_store *store = item->preparing->preparer->o.store;
    const char *device = NULL;
    const struct dra_claim *holder = dra_store_holder(store, item->claim, &device);

    if (holder && may_ask) {
        free(item->holder);
        item->holder = mem_strdup(holder->uid);
        item_read(item, holder->ns, holder->name, on_holder);
        return;
    }
    if (holder) {
        item_end(item, err_new(ERR_CONFLICT, "device %s is held by claim %s/%s", device, holder->ns,
                               holder->name));
        return;
    }
    LOG(INFO, "claim prepared", S("namespace", item->ns), S("claim", item->name),
        U("devices", item->claim->results.n));
    item_end(item, dra_store_add(store, TAKE(item->claim)));
}

static struct err *claim_of_reply(struct dra_item *item, const struct err *e,
                                  const struct client_reply *reply)
{
    AUTO(json_freep) json_t *object = NULL;
    const char *uid = NULL;

    TRY(client_error(e, reply));
    TRY(json_parse(reply->body, &object));
    uid = json_text_at(object, "metadata", "uid", NULL);
    if (!text_equal(uid, item->uid))
        return err_new(ERR_CONFLICT, "the claim of this name has the uid %s now, not %s",
                       text_or_empty(uid), item->uid);
    TRY(dra_claim_read(object, &item->claim));
    return claim_look_up(item->preparing->preparer, item->claim);
}

static void on_claim(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct dra_item *item = arg;
    struct err *failure = claim_of_reply(item, e, reply);

    item->read = NULL;
    if (failure)
        item_end(item, failure);
    else
        item_take(item, true);
}

static void item_begin(struct dra_item *item)
{
    const struct dra_preparer *p = item->preparing->preparer;
    enum dra_version v;

    if (dra_store_find(p->o.store, item->uid))
        item_end(item, NULL);
    else if (!dra_slices_version(p->o.slices, &v))
        item_end(item, err_new(ERR_UNAVAILABLE, "the API server has not answered yet"));
    else
        item_read(item, item->ns, item->name, on_claim);
}

/* ---- calls ---- */

static void on_kubelet_gone(void *arg, struct grpc_call *call)
{
    struct dra_preparing *p = arg;

    (void)call;
    p->call = NULL;
}

static void preparing_begin(struct dra_preparer *preparer, struct grpc_call *call,
                            const Dra__NodePrepareResourcesRequest *q)
{
    struct dra_preparing *p = mem_alloc(sizeof(*p));

    /* The count is one more than the claims: so the call is not over in the middle. */
    *p = (struct dra_preparing){.preparer = preparer,
                                .call = call,
                                .items = mem_alloc((q->n_claims + 1) * sizeof(*p->items)),
                                .n = q->n_claims,
                                .left = q->n_claims + 1};
    LIST_ADD(preparer->all, p);
    grpc_call_on_gone(call, on_kubelet_gone, p);
    for (size_t i = 0; i < p->n; i++)
        p->items[i] = (struct dra_item){.preparing = p,
                                        .ns = mem_strdup(q->claims[i]->namespace_),
                                        .name = mem_strdup(q->claims[i]->name),
                                        .uid = mem_strdup(q->claims[i]->uid)};
    for (size_t i = 0; i < p->n; i++)
        item_begin(&p->items[i]);
    if (--p->left == 0)
        preparing_end(p);
}

void dra_prepare(struct dra_preparer *p, struct grpc_call *call, struct str message)
{
    Dra__NodePrepareResourcesRequest *q = dra__node_prepare_resources_request__unpack(
        NULL, message.size, (const uint8_t *)message.at);

    if (!q)
        grpc_call_end(call, err_new(ERR_INVALID, "malformed NodePrepareResourcesRequest"));
    else if (q->n_claims > CLAIMS_MAX)
        grpc_call_end(
            call, err_new(ERR_TOO_LARGE, "%zu claims: want at most %d", q->n_claims, CLAIMS_MAX));
    else
        preparing_begin(p, call, q);
    if (q)
        dra__node_prepare_resources_request__free_unpacked(q, NULL);
}

static Dra__UnpreparedEntry *unprepare_claim(struct arena *a, struct dra_preparer *p,
                                             const Dra__Claim *claim)
{
    Dra__UnpreparedEntry *entry = arena_alloc(a, sizeof(*entry));
    Dra__NodeUnprepareResourceResponse *value = arena_alloc(a, sizeof(*value));
    AUTO(err_freep) struct err *e = dra_store_remove(p->o.store, claim->uid);

    dra__unprepared_entry__init(entry);
    dra__node_unprepare_resource_response__init(value);
    entry->key = arena_strdup(a, claim->uid);
    entry->value = value;
    if (e)
        value->error = arena_strdup(a, err_message(e));
    else
        LOG(INFO, "claim given back", S("namespace", claim->namespace_), S("claim", claim->name));
    return entry;
}

void dra_unprepare(struct dra_preparer *p, struct grpc_call *call, struct str message)
{
    AUTO(arena_freep) struct arena *a = arena_new();
    Dra__NodeUnprepareResourcesResponse answer = DRA__NODE_UNPREPARE_RESOURCES_RESPONSE__INIT;
    Dra__NodeUnprepareResourcesRequest *q = dra__node_unprepare_resources_request__unpack(
        NULL, message.size, (const uint8_t *)message.at);

    if (!q) {
        grpc_call_end(call, err_new(ERR_INVALID, "malformed NodeUnprepareResourcesRequest"));
        return;
    }
    answer.claims = arena_alloc(a, (q->n_claims + 1) * sizeof(*answer.claims));
    for (size_t i = 0; i < q->n_claims; i++)
        answer.claims[answer.n_claims++] = unprepare_claim(a, p, q->claims[i]);
    dra__node_unprepare_resources_request__free_unpacked(q, NULL);
    grpc_call_answer(call, &answer.base);
    grpc_call_end(call, NULL);
}

/* ---- outside ---- */

struct dra_preparer *dra_preparer_new(const struct dra_preparer_options *o)
{
    struct dra_preparer *p = mem_alloc(sizeof(*p));

    p->o = *o;
    return p;
}

void dra_preparer_free(struct dra_preparer *p)
{
    if (!p)
        return;
    while (p->all)
        preparing_free(p->all); /* NOLINT(clang-analyzer-unix.Malloc): utlist */
    free(p);
}
