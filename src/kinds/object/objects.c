/* objects.c - the course of a write: load, check, commit in one transaction */

#include "kinds/object/objects.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json_pool.h"
#include "base/mem.h"
#include "base/num.h"
#include "kinds/admission/admission_context.h"
#include "kinds/kind/cause.h"
#include "kinds/ledger.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/quota/admit.h"
#include "kinds/service/service.h"

enum {
    OBJECT_BYTES_MAX = 3 << 19,
    NAME_TRIES = 8
};

struct objects *objects_new(const struct objects_options *options)
{
    struct objects *o = mem_alloc(sizeof(*o));

    o->store = options->store;
    o->loop = options->loop;
    o->random = options->random;
    o->arg = options->arg;
    o->host_roots = options->host_roots;
    o->network_tiers = options->network_tiers;
    o->find_user = options->find_user;
    o->is_member = options->is_member;
    o->find_user_arg = options->find_user_arg;
    o->service_network = options->service_network;
    if (o->service_network.bits == 0)
        err_free(ip4_net_parse(SERVICE_NETWORK, &o->service_network)); /* a constant */
    o->trees = tree_cache_new();
    o->pool = json_pool_new();
    return o;
}

void objects_free(struct objects *o)
{
    if (!o)
        return;
    pending_pods_free(o);
    tree_cache_free(o->trees);
    submit_tally_done(&o->submitted);
    json_pool_free(o->pool);
    free(o);
}

struct store *objects_store(const struct objects *o)
{
    return o->store;
}

struct loop *objects_loop(const struct objects *o)
{
    return o->loop;
}

void objects_random(const struct objects *o, void (**ret)(void *arg, void *ret, size_t size),
                    void **ret_arg)
{
    *ret = o->random;
    *ret_arg = o->arg;
}

int64_t objects_now_ns(struct objects *o)
{
    return account_now_ns(&o->clock, o->store, o->loop);
}

struct store_key objects_key(const struct kind *k, const char *ns, const char *name)
{
    const struct kind *kept = kind_kept(k);

    return (struct store_key){.group = kept->group,
                              .resource = kept->plural,
                              .ns = k->is_namespaced && ns ? ns : "",
                              .name = name};
}

bool is_pod(const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, "pods");
}

bool is_node(const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, "nodes");
}

bool is_namespace(const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, "namespaces");
}

/* "pods", "workloads.mete.dev". The caller frees it. */
static char *resource_name(const struct kind *k)
{
    return mem_format("%s%s%s", k->plural, *k->group ? "." : "", k->group);
}

struct err *objects_not_found(const struct kind *k, const char *name)
{
    AUTO_FREE char *resource = resource_name(k);

    return err_new(ERR_NOT_FOUND, "%s \"%s\" not found", resource, name);
}

static const char *change_name(const struct change *c)
{
    const char *name = json_text_at(c->after ? c->after : c->before, "metadata", "name", NULL);

    return name ? name : "";
}

struct err *conflict(const struct change *c, const char *fmt, ...)
{
    AUTO_FREE char *resource = resource_name(c->kind);
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    return err_new(ERR_CONFLICT, "Operation cannot be fulfilled on %s \"%s\": %s", resource,
                   change_name(c), text);
}

struct err *forbidden(const struct change *c, const char *fmt, ...)
{
    AUTO_FREE char *resource = resource_name(c->kind);
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    return err_new(ERR_FORBIDDEN, "%s \"%s\" is forbidden: %s", resource, change_name(c), text);
}

struct err *field_forbidden(const struct change *c, const char *field, const char *detail)
{
    AUTO(causes_done) struct causes causes = {0};

    cause_forbidden(&causes, PATH(NULL, field), detail);
    return causes_err_of(&causes, c->kind, change_name(c));
}

static void put_version(json_t *tree, const struct store_object *o)
{
    char version[24];

    (void)snprintf(version, sizeof(version), "%" PRId64, o->version);
    json_put_text(json_object_at(tree, "metadata"), "resourceVersion", version);
}

struct err *objects_decode(const struct store_object *o, json_t **ret)
{
    AUTO(json_freep) json_t *tree = NULL;

    TRY(json_parse(o->bytes, &tree));
    put_version(tree, o);
    *ret = TAKE(tree);
    return NULL;
}

/* Readers keep a tree for each object, and managedFields would be two thirds of it. */
static void strip_managers(json_t *tree)
{
    (void)json_object_del(json_object_get(tree, "metadata"), "managedFields"); /* or absent */
}

struct err *objects_decode_shared(struct objects *objects, const struct store_object *o,
                                  json_t **ret)
{
    AUTO(json_freep) json_t *tree = NULL;

    TRY(json_pool_parse(objects->pool, o->bytes, &tree));
    strip_managers(tree);
    put_version(tree, o);
    *ret = TAKE(tree);
    return NULL;
}

struct err *objects_decode_metadata(struct objects *objects, const struct store_object *o,
                                    json_t **ret)
{
    AUTO(json_freep) json_t *tree = json_object();
    json_t *metadata = NULL;
    struct str text = {0};

    if (json_peek(o->bytes, &text, "metadata", NULL) != PEEK_FOUND)
        return objects_decode_shared(objects, o, ret);
    TRY(json_pool_parse(objects->pool, text, &metadata));
    json_put(tree, "metadata", metadata);
    strip_managers(tree);
    put_version(tree, o);
    *ret = TAKE(tree);
    return NULL;
}

void objects_format(const struct store_object *o, struct buf *b)
{
    static const char opening[] = "\"metadata\":{";
    const size_t size = sizeof(opening) - 1;
    const char *at = memmem(o->bytes.at, o->bytes.size, opening, size);
    size_t head;

    if (!at) {
        buf_add(b, o->bytes.at, o->bytes.size);
        return;
    }
    head = (size_t)(at - o->bytes.at) + size;
    buf_add(b, o->bytes.at, head);
    buf_printf(b, "\"resourceVersion\":\"%" PRId64 "\"%s", o->version,
               o->bytes.at[head] == '}' ? "" : ",");
    buf_add(b, o->bytes.at + head, o->bytes.size - head);
}

void change_init(struct change *c, struct objects *o, const struct objects_request *r)
{
    *c = (struct change){.objects = o, .request = r, .kind = r->kind, .who = r->who};
    if (c->who.now_ns == 0)
        c->who.now_ns =
            r->admission ? admission_context_now_ns(r->admission) : loop_wall_ns(o->loop);
}

void change_random(const struct change *c, void *ret, size_t size)
{
    if (c->request->admission)
        admission_context_random(c->request->admission, ret, size);
    else
        c->objects->random(c->objects->arg, ret, size);
}

void change_done(struct change *c)
{
    txn_done(&c->txn);
    json_decref(c->before);
    json_decref(c->after);
    json_decref(c->charged);
    json_decref(c->given_managers);
    json_decref(c->managers);
}

struct err *change_load(struct change *c, const char *name)
{
    const struct store_object *o;

    c->key = objects_key(c->kind, c->request->ns, name);
    o = store_get_applied(c->objects->store, c->key);
    if (!o)
        return objects_not_found(c->kind, name);
    c->version = o->version;
    TRY(json_pool_parse(c->objects->pool, o->bytes, &c->before));
    if (c->kind->is_custom) /* it may have been stored when another version was */
        json_put_text(c->before, "apiVersion", kind_kept(c->kind)->api_version);
    return NULL;
}

/* Puts apiVersion, kind and metadata first: objects_format relies on it. */
static json_t *in_order(json_t *tree)
{
    static const char *const first[] = {"apiVersion", "kind", "metadata"};
    json_t *ordered = json_object();
    const char *key;
    json_t *value;

    for (size_t i = 0; i < 3; i++) {
        if (json_object_get(tree, first[i]))
            json_put(ordered, first[i], json_incref(json_object_get(tree, first[i])));
    }
    json_object_foreach (tree, key, value) {
        if (!json_object_get(ordered, key))
            json_put(ordered, key, json_incref(value));
    }
    return ordered;
}

static struct err *put_after(struct change *c)
{
    AUTO(json_freep) json_t *ordered = in_order(c->after);
    AUTO_FREE char *text = json_format(ordered);
    size_t size = strlen(text);

    if (size > OBJECT_BYTES_MAX && c->managers && !c->is_apply) {
        /* Managers are the first to go, as in Kubernetes. */
        json_decref(c->managers);
        c->managers = NULL;
        json_put_text(json_object_at(c->after, "metadata"), "managedFields", NULL);
        return put_after(c);
    }
    if (size > OBJECT_BYTES_MAX) {
        AUTO_FREE char *resource = resource_name(c->kind);

        return err_new(ERR_TOO_LARGE, "%s \"%s\" is too large: %zu bytes, at most %d", resource,
                       change_name(c), size, OBJECT_BYTES_MAX);
    }
    txn_put_text(&c->txn, c->key, TAKE(text), c->before ? c->version : STORE_ABSENT);
    return NULL;
}

static bool is_unchanged(const struct change *c)
{
    /* `before` shows a custom object in the version of today. */
    if (c->before && c->kind->is_custom &&
        !kind_reads_as_stored(kind_kept(c->kind),
                              store_get_applied(c->objects->store, c->key)->bytes, c->version))
        return false;
    return c->before && !c->is_removal && c->txn.ops.n == 0 && json_equal(c->before, c->after);
}

/* Adds to the transaction the release of the devices of a pod that ends or is removed, and the
 * accounting: rows for ends and restarts, and the states of a node's gpus. */
static void release_devices(struct change *c)
{
    struct objects *o = c->objects;
    struct account_end end = {.pod = c->after, .clock = &o->clock};

    if (is_node(c->kind))
        account_node_in(o->store, &c->txn, c->before, c->is_removal ? NULL : c->after, &o->clock,
                        objects_now_ns(o));
    if (!is_pod(c->kind) || !c->before || !*pod_node(c->before))
        return;
    end.now_ns = objects_now_ns(o);
    if (c->is_removal || (pod_is_terminal(c->after) && !pod_is_terminal(c->before)))
        ledger_release_in(o->store, &c->txn, c->before, &end);
    else
        account_restarts_in(o->store, &c->txn, c->before, &end);
}

struct err *change_stage(struct change *c, bool *ret_is_write)
{
    *ret_is_write = false;
    json_put_text(json_object_at(c->after, "metadata"), "resourceVersion", NULL);
    if (is_unchanged(c))
        return NULL;
    TRY(admit_charge(c));
    if (c->request->is_dry_run)
        return NULL;
    release_devices(c);
    if (c->is_removal)
        txn_delete(&c->txn, c->key, c->version);
    else
        TRY(put_after(c));
    *ret_is_write = true;
    return NULL;
}

void change_use_jobs(const struct change *c)
{
    int64_t next = c->job_id + (c->job_ids > 1 ? c->job_ids : 1);

    if (next > c->objects->job_next)
        c->objects->job_next = next;
}

void change_accepted(struct change *c)
{
    if (c->request->is_dry_run)
        return;
    if (c->job_id > 0)
        change_use_jobs(c);
    admit_charged(c);
}

static struct err *change_write(struct change *c, store_done_fn done, void *arg, int64_t *ret)
{
    struct txn nothing = {0};
    struct err *e;
    bool is_write = false;

    TRY(change_stage(c, &is_write));
    if (is_write)
        return txn_commit(&c->txn, c->objects->store, done, arg, ret);
    txn_check(&nothing, c->key, STORE_ANY);
    e = txn_commit(&nothing, c->objects->store, done, arg, NULL);
    txn_done(&nothing);
    return e;
}

void objects_on_slurm_job(struct objects *o, objects_accepted_fn fn, void *arg)
{
    o->on_slurm_job = fn;
    o->on_slurm_job_arg = arg;
}

/* The listener gets a tree of its own: the caller changes `after`. */
static void tell_accepted(const struct change *c)
{
    struct objects *o = c->objects;
    const struct store_object *made = NULL;
    AUTO(json_freep) json_t *job = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!o->on_slurm_job || c->version > 0 || !is_slurm_job(c->kind))
        return;
    made = store_get_applied(o->store, c->key); /* NULL: a dry run */
    e = made ? objects_decode_shared(o, made, &job) : NULL;
    if (job)
        o->on_slurm_job(o->on_slurm_job_arg, job);
}

struct err *change_commit(struct change *c, store_done_fn done, void *arg, json_t **ret)
{
    json_t *metadata = json_object_at(c->after, "metadata");
    AUTO_FREE char *text = NULL;
    int64_t revision = c->version;

    TRY(change_write(c, done, arg, &revision));
    change_accepted(c);
    tell_accepted(c);
    if (revision > 0) {
        text = mem_format("%" PRId64, revision);
        json_put_text(metadata, "resourceVersion", text);
    }
    *ret = json_incref(c->after);
    return NULL;
}

/* Checks that the namespace exists and is not being deleted, and makes the transaction fail if the
 * namespace changes first. */
static struct err *check_namespace(struct change *c)
{
    const struct kind *k = kind_find("", "namespaces");
    const char *name = c->request->ns;
    const struct store_object *o;
    AUTO(json_freep) json_t *ns = NULL;

    if (!c->kind->is_namespaced)
        return NULL;
    o = store_get_applied(c->objects->store, objects_key(k, "", name));
    if (!o)
        return objects_not_found(k, name);
    TRY(json_parse(o->bytes, &ns));
    if (json_text_at(ns, "metadata", "deletionTimestamp", NULL))
        return forbidden(c,
                         "unable to create new content in namespace %s because it is being "
                         "terminated",
                         name);
    txn_check(&c->txn, objects_key(k, "", name), o->version);
    return NULL;
}

static void namespace_create_rules(struct change *c)
{
    json_t *spec = json_object_at(c->after, "spec");

    json_put(spec, "finalizers", json_pack("[s]", "kubernetes"));
}

/* Sets the key of the new object, and makes another name if a generated one is taken. */
static struct err *check_absent(struct change *c)
{
    AUTO_FREE char *resource = NULL;
    bool is_generated = *change_name(c) == '\0';

    for (int i = 0; i < (is_generated ? NAME_TRIES : 1); i++) {
        meta_make_name(c);
        c->key = objects_key(c->kind, c->request->ns, change_name(c));
        if (*change_name(c) == '\0' || !store_get_applied(c->objects->store, c->key))
            return NULL;
        if (is_generated)
            json_put_text(json_object_at(c->after, "metadata"), "name", NULL);
    }
    resource = resource_name(c->kind);
    if (is_generated)
        return err_new(ERR_EXISTS,
                       "%s \"%s\" already exists, the server was not able to generate a unique "
                       "name for the object",
                       resource, c->key.name);
    return err_new(ERR_EXISTS, "%s \"%s\" already exists", resource, change_name(c));
}

static struct err *create_rules(struct change *c)
{
    TRY(meta_check_body(c, c->after));
    TRY(check_namespace(c));
    service_drop_reserved(c);
    TRY(kind_check_reserved(c->kind, NULL, c->after, &c->who));
    TRY(meta_create(c));
    if (c->kind->has_status && c->kind->is_custom)
        json_put_text(c->after, "status", NULL);
    else if (c->kind->has_status && !c->who.is_system)
        json_put(c->after, "status", json_object());
    if (is_namespace(c->kind))
        namespace_create_rules(c);
    return NULL;
}

struct err *change_create(struct change *c, json_t *object)
{
    const struct objects_request *r = c->request;

    TRY(kind_decode(c->kind, object, r->validation, r->warnings));
    c->after = json_incref(object);
    TRY(hooks_mutate(c));
    managed_create(c);
    TRY(create_rules(c));
    TRY(definition_create_rules(c));
    TRY(slurm_step_create_rules(c));
    TRY(check_absent(c));
    if (is_pod(c->kind))
        TRY(pod_create_rules(c));
    TRY(batch_create_rules(c));
    TRY(slurm_create_rules(c));
    TRY(admit_priority(c));
    TRY(admit_queue(c));
    TRY(storage_create_rules(c));
    TRY(ingress_create_rules(c));
    TRY(runtime_class_rules(c));
    TRY(kind_default(c->kind, c->after, &c->who));
    TRY(admit_limits(c));
    TRY(kind_validate(c->kind, c->after));
    TRY(service_create_rules(c));
    TRY(admit_network_topology(c));
    TRY(admit_check(c));
    TRY(admit_claim(c));
    managed_put(c);
    TRY(meta_check_owners(c));
    if (r->judge)
        TRY(r->judge(r->judge_arg, NULL, c->after));
    return hooks_validate(c);
}

static struct err *create_version(struct objects *o, const struct objects_request *r,
                                  json_t *object, store_done_fn done, void *arg, json_t **ret)
{
    const struct objects_request own = version_kept(r);

    TRY(version_take(r, object, true));
    TRY(objects_create(o, &own, object, done, arg, ret));
    version_give(r, ret);
    return NULL;
}

struct err *objects_create(struct objects *o, const struct objects_request *r, json_t *object,
                           store_done_fn done, void *arg, json_t **ret)
{
    struct change c;
    struct err *e;

    if (r->kind->kept_as)
        return create_version(o, r, object, done, arg, ret);
    if (pending_pod_is_for(o, r, object))
        return pending_pod_create(o, r, object, done, arg, ret);
    if (text_equal(r->subresource, "binding") && is_pod(r->kind))
        return bind_create(o, r, object, done, arg, ret);
    if (r->subresource || r->kind->is_view)
        return err_new(ERR_NOT_FOUND, "the server could not find the requested resource");
    change_init(&c, o, r);
    e = change_create(&c, object);
    if (!e)
        e = change_commit(&c, done, arg, ret);
    change_done(&c);
    return e;
}
