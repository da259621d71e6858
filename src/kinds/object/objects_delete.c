/*
 * objects_delete.c - deletion: grace, finalizers, and the proof that a pod is over
 *
 * Only its node may remove a pod (grace 0 from a system identity), unless the pod has ended: the
 * removal releases the pod's gpus, which must not happen while its containers may still run. So a
 * user's `--force --grace-period=0` makes the node kill at once; the pod does not vanish.
 */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"
#include "kinds/quota/admit.h"

enum {
    GRACE_MAX_SECONDS = 31536000
};

struct deletion {
    struct change *c;
    const struct delete_options *options;
    int64_t grace; /* seconds */
};

static struct err *check_namespace_may_go(const struct change *c)
{
    static const char *const kept[] = {"default", "kube-system", "kube-public", "kube-node-lease"};
    const char *name = c->key.name;

    for (size_t i = 0; is_namespace(c->kind) && i < COUNT(kept); i++) {
        if (text_equal(name, kept[i]))
            return forbidden(c, "this namespace may not be deleted");
    }
    return NULL;
}

static struct err *check_preconditions(const struct deletion *d)
{
    const struct change *c = d->c;
    const char *uid = json_text_at(c->before, "metadata", "uid", NULL);

    if (d->options->if_uid && !text_equal(d->options->if_uid, uid))
        return conflict(c,
                        "the UID in the precondition (%.128s) does not match the UID in record "
                        "(%s). The object might have been deleted and then recreated",
                        d->options->if_uid, uid);
    if (d->options->if_version != 0 && d->options->if_version != c->version)
        return conflict(c,
                        "the ResourceVersion in the precondition (%lld) does not match the "
                        "ResourceVersion in record (%lld). The object might have been modified",
                        (long long)d->options->if_version, (long long)c->version);
    return NULL;
}

/* Sets or removes a finalizer of the garbage collector. */
static void set_finalizer(json_t *metadata, const char *name, bool is_wanted)
{
    json_t *list = json_object_get(metadata, "finalizers");
    json_t *result = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);

        if (!text_equal(json_string_value(item), name))
            (void)json_array_append(result, item); /* a valid item: cannot fail */
    }
    if (is_wanted)
        (void)json_array_append_new(result, json_string(name)); /* as above */
    if (json_array_size(result) > 0) {
        json_put(metadata, "finalizers", result);
        return;
    }
    json_decref(result);
    json_put_text(metadata, "finalizers", NULL);
}

static struct err *set_propagation(const struct deletion *d)
{
    const char *policy = d->options->propagation ? d->options->propagation : "Background";
    json_t *metadata = json_object_get(d->c->after, "metadata");
    bool is_foreground = text_equal(policy, "Foreground");
    bool is_orphan = text_equal(policy, "Orphan");

    if (!is_foreground && !is_orphan && !text_equal(policy, "Background"))
        return err_new(ERR_INVALID,
                       "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported "
                       "value: \"%.64s\": supported values: \"Foreground\", \"Background\", "
                       "\"Orphan\"",
                       policy);
    /* A deletion under way keeps its finalizers, unless the request names a policy. */
    if (!d->options->propagation && pod_is_deleting(d->c->before))
        return NULL;
    set_finalizer(metadata, "foregroundDeletion", is_foreground);
    set_finalizer(metadata, "orphan", is_orphan);
    return NULL;
}

/* May the caller remove the object now, or must the caller wait for its node? */
static bool may_go_at_once(const struct deletion *d)
{
    const struct change *c = d->c;

    if (!is_pod(c->kind) || pod_is_over(c->before))
        return true;
    return c->who.is_system && d->options->grace_seconds == 0;
}

static int64_t choose_grace(const struct deletion *d)
{
    const struct change *c = d->c;
    int64_t asked = d->options->grace_seconds;

    if (c->kind->grace_seconds == 0 || may_go_at_once(d))
        return 0;
    if (asked >= 0)
        return asked < GRACE_MAX_SECONDS ? asked : GRACE_MAX_SECONDS;
    if (is_pod(c->kind))
        return json_int(json_object_get(c->before, "spec"), "terminationGracePeriodSeconds",
                        c->kind->grace_seconds);
    return c->kind->grace_seconds;
}

static void put_deletion(json_t *metadata, int64_t begun_ns, int64_t grace)
{
    char at[STAMP_TEXT_SIZE];

    stamp_format(begun_ns + grace * NS_PER_SEC, at);
    json_put_text(metadata, "deletionTimestamp", at);
    json_put_int(metadata, "deletionGracePeriodSeconds", grace);
}

static void begin_deletion(const struct deletion *d, json_t *metadata)
{
    int64_t generation = json_int(metadata, "generation", 0);

    put_deletion(metadata, d->c->who.now_ns, d->grace);
    if (generation > 0)
        json_put_int(metadata, "generation", generation + 1);
}

/* A second deletion can only shorten the grace, counted from the time of the first. */
static void shorten_deletion(const struct deletion *d, json_t *metadata)
{
    int64_t grace = json_int(metadata, "deletionGracePeriodSeconds", 0);
    int64_t at_ns =
        stamp_or(json_text(metadata, "deletionTimestamp"), d->c->who.now_ns + grace * NS_PER_SEC);

    if (d->grace >= grace || (d->options->grace_seconds < 0 && d->grace > 0))
        return;
    put_deletion(metadata, at_ns - grace * NS_PER_SEC, d->grace);
}

/* Sets the phase of a pod whose node reported its end, and that only finalizers keep. */
static void end_pod(const struct change *c)
{
    json_t *status;

    if (!is_pod(c->kind) || pod_is_over(c->after))
        return;
    status = json_object_at(c->after, "status");
    json_put_text(status, "phase", "Failed");
    json_put_text(status, "reason", "Deleted");
    json_put_text(status, "message", "the pod was deleted and its containers are gone");
}

static void deletion_mark(const struct deletion *d)
{
    json_t *metadata = json_object_get(d->c->after, "metadata");

    if (json_object_get(metadata, "deletionTimestamp"))
        shorten_deletion(d, metadata);
    else
        begin_deletion(d, metadata);
    if (is_namespace(d->c->kind))
        json_put_text(json_object_at(d->c->after, "status"), "phase", "Terminating");
    if (d->options->disruption && !(d->options->is_requeued && pod_is_deleting(d->c->before)))
        (void)object_set_condition(d->c->after, "DisruptionTarget", "True", d->options->disruption,
                                   d->options->disruption_message, d->c->who.now_ns);
    if (d->grace == 0 && may_go_at_once(d))
        end_pod(d->c);
}

/* Writes or deletes the record of a requeue. A user who deletes a pod that is being requeued
 * cancels the requeue. */
static void note_return(const struct deletion *d)
{
    struct change *c = d->c;

    if (!is_pod(c->kind))
        return;
    if (!d->options->is_requeued) {
        if (!c->who.is_system)
            requeue_forget_in(c->objects->store, &c->txn, c->before);
        return;
    }
    if (!pod_is_deleting(c->before) && !pod_is_over(c->before))
        requeue_record_in(c->objects->store, &c->txn, c->before);
}

static struct err *deletion_run(struct deletion *d, store_done_fn done, void *arg, json_t **ret)
{
    struct change *c = d->c;

    TRY(change_load(c, c->request->name));
    TRY(check_namespace_may_go(c));
    TRY(check_preconditions(d));
    TRY(admit_removal(c));
    TRY(slurm_delete_rules(c));
    TRY(slurm_step_delete_rules(c));
    TRY(slurm_partition_delete_rules(c));
    if (!d->options->disruption)
        TRY(hooks_delete(c));
    c->after = json_deep_copy(c->before);
    TRY(set_propagation(d));
    definition_delete_rules(c);
    note_return(d);
    d->grace = choose_grace(d);
    c->is_removal = d->grace == 0 && may_go_at_once(d) && !meta_has_finalizers(c, c->after);
    if (!c->is_removal)
        deletion_mark(d);
    return change_commit(c, done, arg, ret);
}

/* NOLINTNEXTLINE(readability-function-size): request, options and callback make seven */
struct err *objects_delete(struct objects *o, const struct objects_request *r,
                           const struct delete_options *options, store_done_fn done, void *arg,
                           json_t **ret, bool *ret_is_gone)
{
    struct objects_request request = r->kind->kept_as ? version_kept(r) : *r;
    struct deletion d = {.options = options};
    struct change c;
    struct err *e;

    if (r->subresource || r->kind->is_view)
        return err_new(ERR_NOT_FOUND, "the server could not find the requested resource");
    request.is_dry_run = r->is_dry_run || options->is_dry_run;
    change_init(&c, o, &request);
    d.c = &c;
    e = deletion_run(&d, done, arg, ret);
    if (!e)
        *ret_is_gone = c.is_removal;
    if (!e && r->kind->kept_as)
        version_give(r, ret);
    change_done(&c);
    return e;
}
