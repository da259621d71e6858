/*
 * admit_quota.c - quotas charged and released in the transactions that use and free
 *
 * Every change of a namespace's usage writes the quota object too, under its version. So no two
 * changes can both take the last of a quota, and status.used is the usage at each revision. A
 * namespace without quotas costs one lookup in the store's index.
 */

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/object/tree_cache.h"
#include "kinds/quota/admit.h"
#include "kinds/quota/quota.h"
#include "kinds/quota/quota_count.h"

enum {
    QUOTAS_MAX = 64 /* in a namespace: each is written with every pod */
};

static struct store_range range_of(const struct change *c)
{
    return (struct store_range){.group = "", .resource = "resourcequotas", .ns = c->request->ns};
}

static bool is_quota(const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, "resourcequotas");
}

/* Writes of a quota */

static size_t count_others(const struct change *c)
{
    const struct store_range range = range_of(c);
    const struct store_object *o = NULL;
    size_t n = 0;

    while (n < QUOTAS_MAX &&
           (o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL)))
        n++;
    return n;
}

static bool has_same_keys(const json_t *a, json_t *b)
{
    const char *key;
    json_t *value;

    json_object_foreach (b, key, value) {
        if (!json_object_get(a, key))
            return false;
    }
    return json_object_size(a) == json_object_size(b);
}

static bool is_same_member(const json_t *a, const json_t *b, const char *key)
{
    const json_t *one = json_object_get(a, key);
    const json_t *other = json_object_get(b, key);

    return one == other || (one && other && json_equal(one, other));
}

/* Do both specs count the same usage, so that status.used stays? */
static bool counts_the_same(const json_t *before, const json_t *after)
{
    const json_t *was = json_object_get(before, "spec");
    const json_t *is = json_object_get(after, "spec");

    return is_same_member(was, is, "scopes") && is_same_member(was, is, "scopeSelector") &&
           has_same_keys(json_object_get(was, "hard"), json_object_get(is, "hard"));
}

/* Warns about keys that Kubernetes ignores, and that count here as another name. */
static void warn_of_names(const struct change *c)
{
    const char *resource;
    json_t *value;

    json_object_foreach (json_at(c->after, "spec", "hard", NULL), resource, value) {
        const char *extended = quota_extended(resource);
        AUTO_FREE char *text = NULL;

        if (!c->request->warnings || !extended || text_starts_with(resource, "requests."))
            continue;
        text = mem_format("spec.hard[%s]: counts as requests.%s, the name that Kubernetes counts",
                          resource, extended);
        (void)json_array_append_new(c->request->warnings, json_string(text)); /* names are ASCII */
    }
}

/* Sets the status, which clients cannot write: hard is the spec's, used is kept or counted. */
static struct err *quota_settle(struct change *c)
{
    const struct quota_counting q = {
        .store = c->objects->store, .ns = c->request->ns, .quota = c->after};
    const json_t *known = json_at(c->before, "status", "used", NULL);
    json_t *hard = json_at(c->after, "spec", "hard", NULL);
    AUTO(json_freep) json_t *used = NULL;
    json_t *status;

    if (text_equal(c->request->subresource, "status"))
        return forbidden(c, "the status of a quota is computed by the server");
    if (!c->before && count_others(c) >= QUOTAS_MAX)
        return forbidden(c, "namespace %s has %d quotas, and can have no more", c->request->ns,
                         (int)QUOTAS_MAX);
    warn_of_names(c);
    if (c->before && known && counts_the_same(c->before, c->after))
        used = json_deep_copy(known);
    else
        TRY(quota_count(&q, &used));
    status = json_object();
    json_put(status, "hard", hard ? json_deep_copy(hard) : json_object());
    json_put(status, "used", TAKE(used));
    json_put(c->after, "status", status);
    return NULL;
}

/* Charges to quotas */

static const char *name_of(const json_t *quota)
{
    return json_text_at(quota, "metadata", "name", NULL);
}

struct excess {
    const char *resource;
    struct quantity requested;
    struct quantity used;
    struct quantity hard;
};

/* A quota, and the change under its scopes. */
struct charge {
    struct change *change;
    json_t *quota;  /* shared: not changed */
    bool did_count; /* the object before the change is covered */
    bool will_count;
    json_t *used; /* usage after the change; NULL: unchanged */
    VEC(struct excess) excesses;
};

static void charge_done(struct charge *g)
{
    json_decref(g->used);
    vec_done(&g->excesses);
}

static void charge_resource(struct charge *g, const char *resource, const json_t *limit)
{
    const struct change *c = g->change;
    struct quantity none = {0};
    struct quantity was = g->did_count ? quota_usage(c->kind, c->before, resource) : none;
    struct quantity is = g->will_count ? quota_usage(c->kind, c->after, resource) : none;
    struct quantity delta = {.milli = is.milli - was.milli, /* both are >= 0 */
                             .form = is.milli > 0 ? is.form : was.form};
    struct quantity used = quota_amount(json_at(g->quota, "status", "used", resource, NULL));
    struct quantity hard = quota_amount(limit);
    struct quantity next = used;
    bool is_counted = quota_add(&next, delta);

    if (delta.milli == 0)
        return;
    if (delta.milli > 0 && (!is_counted || next.milli > hard.milli)) {
        vec_add(&g->excesses, (struct excess){resource, delta, used, hard});
        return;
    }
    if (!g->used)
        g->used = json_copy(json_at(g->quota, "status", "used", NULL));
    json_put(g->used, resource, quota_amount_json(next));
}

static int compare_excess(const void *a, const void *b)
{
    return strcmp(((const struct excess *)a)->resource, ((const struct excess *)b)->resource);
}

static void add_pair(struct buf *out, const char *resource, struct quantity q)
{
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(q, text);
    buf_printf(out, "%s%s=%s", out->size > 0 ? "," : "", resource, text);
}

static struct err *quota_exceeded(struct charge *g)
{
    AUTO(buf_done) struct buf requested = {0};
    AUTO(buf_done) struct buf used = {0};
    AUTO(buf_done) struct buf hard = {0};

    qsort(g->excesses.at, g->excesses.n, sizeof(g->excesses.at[0]), compare_excess);
    VEC_EACH (&g->excesses, x) {
        add_pair(&requested, x->resource, x->requested);
        add_pair(&used, x->resource, x->used);
        add_pair(&hard, x->resource, x->hard);
    }
    return forbidden(g->change, "exceeded quota: %s, requested: %s, used: %s, limited: %s",
                     name_of(g->quota), requested.at, used.at, hard.at);
}

/* Adds the quota with its new usage to the transaction. */
static void quota_put_used(struct charge *g, const struct store_object *o)
{
    struct change *c = g->change;
    json_t *quota = json_copy(g->quota);
    json_t *status = json_copy(json_object_get(g->quota, "status"));

    json_put(status, "used", TAKE(g->used));
    json_put(quota, "status", status);
    txn_put(&c->txn, o->key, quota, o->version);
    if (!c->charged)
        c->charged = json_array();
    (void)json_array_append_new(c->charged, quota); /* a fresh object: cannot fail */
}

static struct err *charge_all(struct charge *g, const struct store_object *o)
{
    const char *resource;
    json_t *value;

    json_object_foreach (json_at(g->quota, "spec", "hard", NULL), resource, value)
        charge_resource(g, resource, value);
    if (g->excesses.n > 0)
        return quota_exceeded(g);
    if (g->used)
        quota_put_used(g, o);
    return NULL;
}

static struct err *charge_one(struct change *c, const struct store_object *o)
{
    AUTO(json_freep) json_t *quota = NULL;
    struct charge g = {.change = c};
    struct err *e = NULL;

    TRY(tree_cache_get(c->objects->trees, o, &quota));
    g.quota = quota;
    g.did_count = c->before && quota_covers(quota, c->kind, c->before);
    g.will_count = !c->is_removal && quota_covers(quota, c->kind, c->after);
    if (g.did_count || g.will_count)
        e = charge_all(&g, o);
    charge_done(&g);
    return e;
}

/* A new pod must have requests or limits for the resources that the quota limits. */
static struct err *check_said(struct change *c, const struct store_object *o)
{
    AUTO(json_freep) json_t *quota = NULL;
    AUTO_FREE char *missing = NULL;

    TRY(tree_cache_get(c->objects->trees, o, &quota));
    if (quota_covers(quota, c->kind, c->after))
        missing = quota_missing(quota, c->after);
    if (missing)
        return forbidden(c, "failed quota: %s: %s", name_of(quota), missing);
    return NULL;
}

static bool is_itself(const struct change *c, const struct store_object *o)
{
    return is_quota(c->kind) && text_equal(o->key.name, c->key.name);
}

static struct err *each_quota(struct change *c,
                              struct err *(*fn)(struct change *c, const struct store_object *o))
{
    const struct store_range range = range_of(c);
    const struct store_object *o = NULL;

    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        if (!is_itself(c, o))
            TRY(fn(c, o));
    }
    return NULL;
}

struct err *admit_charge(struct change *c)
{
    if (!c->kind->is_namespaced || quota_ignores(c->kind))
        return NULL;
    if (is_quota(c->kind) && !c->is_removal)
        TRY(quota_settle(c));
    if (c->before && !c->is_removal && !is_pod(c->kind) &&
        !text_equal(c->kind->plural, "services") &&
        !text_equal(c->kind->plural, "persistentvolumeclaims"))
        return NULL; /* the count of objects stays */
    if (is_pod(c->kind) && !c->before)
        TRY(each_quota(c, check_said));
    return each_quota(c, charge_one);
}

void admit_charged(struct change *c)
{
    struct store_key key = {.group = "", .resource = "resourcequotas", .ns = c->request->ns};

    for (size_t i = 0; i < json_array_size(c->charged); i++) {
        json_t *quota = json_array_get(c->charged, i);

        key.name = name_of(quota);
        tree_cache_put(c->objects->trees, store_get_applied(c->objects->store, key), quota);
    }
}
