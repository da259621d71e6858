/* objects_update.c - update and patch: both replace the present tree by a wanted one */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"
#include "kinds/quota/admit.h"

static struct err *no_such_resource(void)
{
    return err_new(ERR_NOT_FOUND, "the server could not find the requested resource");
}

struct err *change_check_subresource(const struct change *c)
{
    const char *sub = c->request->subresource;

    if (c->kind->is_view)
        return no_such_resource();
    if (!sub || (text_equal(sub, "status") && c->kind->has_status))
        return NULL;
    if (is_of_ephemerals(c))
        return NULL;
    if (!text_equal(sub, "finalize") || !is_namespace(c->kind))
        return no_such_resource();
    if (!c->who.is_system)
        return forbidden(c, "only the garbage collector finishes a namespace");
    return NULL;
}

static void copy_member(const json_t *from, json_t *to, const char *key)
{
    json_t *value = json_object_get(from, key);

    if (value)
        json_put(to, key, json_twin(value));
    else
        json_put_text(to, key, NULL);
}

/* A write of status changes status, labels and annotations; restores all else. */
static void keep_all_but_status(struct change *c)
{
    const json_t *wanted = json_object_get(c->after, "metadata");
    json_t *after = json_twin(c->before);
    json_t *metadata = json_object_at(after, "metadata");

    if (!c->kind->is_custom) {
        copy_member(wanted, metadata, "labels");
        copy_member(wanted, metadata, "annotations");
    }
    copy_member(c->after, after, "status");
    json_decref(c->after);
    c->after = after;
}

static void keep_all_but(struct change *c, const char *member)
{
    json_t *after = json_deep_copy(c->before);

    copy_member(json_object_get(c->after, "spec"), json_object_at(after, "spec"), member);
    json_decref(c->after);
    c->after = after;
}

static void keep_what_is_not_written(struct change *c)
{
    if (text_equal(c->request->subresource, "status")) {
        keep_all_but_status(c);
        return;
    }
    if (text_equal(c->request->subresource, "finalize")) {
        keep_all_but(c, "finalizers");
        return;
    }
    if (is_of_ephemerals(c)) {
        keep_all_but(c, "ephemeralContainers");
        return;
    }
    if (c->kind->has_status)
        copy_member(c->before, c->after, "status");
    if (is_namespace(c->kind))
        copy_member(json_object_get(c->before, "spec"), json_object_at(c->after, "spec"),
                    "finalizers");
}

/* Does this write remove the last finalizer of an object whose grace is over? Then the same
 * transaction removes the object. */
static bool is_finished(const struct change *c)
{
    const json_t *metadata = json_object_get(c->after, "metadata");

    if (!json_object_get(metadata, "deletionTimestamp") || meta_has_finalizers(c, c->after) ||
        json_int(metadata, "deletionGracePeriodSeconds", 0) > 0)
        return false;
    return !is_pod(c->kind) || (meta_has_finalizers(c, c->before) && pod_is_over(c->after));
}

/* Notes who gave a node its present reason for a drain, and when. */
static void note_drain(const struct change *c)
{
    json_t *metadata = json_object_get(c->after, "metadata");
    const char *was = json_text_at(c->before, "metadata", "annotations", NODE_DRAIN_REASON, NULL);
    const char *is = json_text_at(metadata, "annotations", NODE_DRAIN_REASON, NULL);
    char now[STAMP_TEXT_SIZE];
    AUTO_FREE char *text = NULL;

    if (!is_node(c->kind) || text_equal(was, is))
        return;
    stamp_format(c->who.now_ns, now);
    text = mem_format("%s %s", now, c->who.user && !c->who.is_system ? c->who.user : "mete");
    json_put_text(json_object_at(metadata, "annotations"), NODE_DRAINED_BY, is ? text : NULL);
}

static struct err *update_rules(struct change *c)
{
    keep_what_is_not_written(c);
    batch_keep_user(c);
    TRY(meta_update(c));
    admit_keep_priority(c);
    service_keep_rules(c);
    TRY(kind_default(c->kind, c->after, &c->who));
    managed_update(c);
    TRY(kind_validate_update(c->kind, c->before, c->after, c->request->subresource));
    TRY(admit_network_topology(c));
    TRY(admit_check(c));
    TRY(meta_check_owners(c));
    if (!c->request->subresource && c->kind->validate_update)
        TRY(c->kind->validate_update(c->before, c->after, &c->who));
    TRY(service_update_rules(c));
    TRY(storage_update_rules(c));
    if (is_pod(c->kind))
        TRY(pod_update_rules(c));
    TRY(definition_update_rules(c));
    TRY(batch_update_rules(c));
    note_drain(c);
    TRY(slurm_step_update_rules(c));
    return slurm_update_rules(c);
}

struct err *change_replace(struct change *c)
{
    const struct objects_request *r = c->request;

    TRY(kind_decode(c->kind, c->after, r->validation, r->warnings));
    TRY(meta_check_body(c, c->after));
    TRY(meta_check_preconditions(c, c->after));
    managed_take(c);
    TRY(hooks_mutate(c));
    TRY(update_rules(c));
    if (is_pod(c->kind))
        requeue_lost_in(c);
    managed_put(c);
    c->is_removal = is_finished(c);
    if (r->judge)
        TRY(r->judge(r->judge_arg, c->before, c->after));
    return hooks_validate(c);
}

static struct err *change_update(struct change *c, json_t *object, store_done_fn done, void *arg,
                                 json_t **ret)
{
    TRY(change_load(c, c->request->name));
    TRY(change_check_subresource(c));
    if (!json_is_object(object))
        return err_new(ERR_BAD_REQUEST, "want a JSON object");
    c->is_put = true;
    c->after = json_incref(object);
    if (!json_text_at(c->after, "metadata", "name", NULL))
        return err_new(ERR_BAD_REQUEST, "name must be provided");
    TRY(change_replace(c));
    return change_commit(c, done, arg, ret);
}

static struct err *update_version(struct objects *o, const struct objects_request *r,
                                  json_t *object, store_done_fn done, void *arg, json_t **ret)
{
    const struct objects_request own = version_kept(r);

    TRY(version_take(r, object, false));
    TRY(objects_update(o, &own, object, done, arg, ret));
    version_give(r, ret);
    return NULL;
}

struct err *objects_update(struct objects *o, const struct objects_request *r, json_t *object,
                           store_done_fn done, void *arg, json_t **ret)
{
    struct change c;
    struct err *e;

    if (r->kind->kept_as)
        return update_version(o, r, object, done, arg, ret);
    change_init(&c, o, r);
    e = change_update(&c, object, done, arg, ret);
    change_done(&c);
    return e;
}

/* Turns the error into a cause, which kubectl shows for an invalid object. Takes `e`. */
static struct err *does_not_fit(const struct change *c, struct err *e)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(c->before, "metadata", "name", NULL);

    if (!e || err_code(e) != ERR_INVALID)
        return e;
    cause_take(&causes, PATH(NULL, "patch"), "", e);
    return causes_err_of(&causes, c->kind, name ? name : "");
}

static struct err *change_apply(const struct change *c, enum patch_type type, const json_t *patch,
                                json_t **ret)
{
    AUTO_FREE char *version = mem_format("%lld", (long long)c->version);
    AUTO(json_freep) json_t *tree = json_copy(c->before);
    json_t *metadata = json_copy(json_object_get(tree, "metadata"));

    json_put_text(metadata, "resourceVersion", version);
    json_put(tree, "metadata", metadata);
    switch (type) {
    case PATCH_STRATEGIC:
        return patch_strategic(c->kind, tree, patch, ret);
    case PATCH_JSON:
        return does_not_fit(c, patch_json(tree, patch, ret));
    case PATCH_MERGE:
        break;
    }
    return patch_merge(tree, patch, ret);
}

struct err *change_patch(struct change *c, enum patch_type type, const json_t *patch)
{
    AUTO(json_freep) json_t *patched = NULL;

    TRY(change_load(c, c->request->name));
    TRY(change_check_subresource(c));
    if (type != PATCH_JSON && !json_is_object(patch))
        return err_new(ERR_BAD_REQUEST, "want a JSON object as the patch");
    TRY(change_apply(c, type, patch, &patched));
    c->after = TAKE(patched);
    return change_replace(c);
}

/* NOLINTNEXTLINE(readability-function-size): the request, the patch and the callback make seven */
struct err *objects_patch(struct objects *o, const struct objects_request *r, enum patch_type type,
                          const json_t *patch, store_done_fn done, void *arg, json_t **ret)
{
    AUTO(json_freep) json_t *patched = NULL;
    struct change c;
    struct err *e;

    if (r->kind->kept_as) {
        TRY(version_patch(o, r, type, patch, &patched));
        return update_version(o, r, patched, done, arg, ret);
    }
    change_init(&c, o, r);
    e = change_patch(&c, type, patch);
    if (!e)
        e = change_commit(&c, done, arg, ret);
    change_done(&c);
    return e;
}

/* Versions of a definition differ in their apiVersion alone. Those of Mete's own kinds do not: a
 * part of an object cannot be converted. */
static struct err *apply_version(struct objects *o, const struct objects_request *r,
                                 const json_t *config, store_done_fn done, void *arg, json_t **ret)
{
    const struct objects_request own = version_kept(r);
    AUTO(json_freep) json_t *kept = json_deep_copy(config);

    if (!r->kind->is_custom)
        return err_new(ERR_UNIMPLEMENTED,
                       "server-side apply of %s in %s is not implemented: apply in %s",
                       r->kind->plural, r->kind->api_version, r->kind->kept_as->api_version);
    if (!text_equal(json_text(config, "apiVersion"), r->kind->api_version))
        return err_new(ERR_BAD_REQUEST, "invalid object type: %.253s, Kind=%.63s: want %s, Kind=%s",
                       text_or_empty(json_text(config, "apiVersion")),
                       text_or_empty(json_text(config, "kind")), r->kind->api_version,
                       r->kind->kind);
    kind_to_kept(r->kind, kept);
    TRY(objects_apply(o, &own, kept, done, arg, ret));
    version_give(r, ret);
    return NULL;
}

struct err *objects_apply(struct objects *o, const struct objects_request *r, const json_t *config,
                          store_done_fn done, void *arg, json_t **ret)
{
    struct change c;
    struct err *e;

    if (r->kind->kept_as)
        return apply_version(o, r, config, done, arg, ret);
    change_init(&c, o, r);
    e = change_check_subresource(&c);
    if (!e)
        e = change_apply_config(&c, config);
    if (!e)
        e = change_commit(&c, done, arg, ret);
    change_done(&c);
    return e;
}
