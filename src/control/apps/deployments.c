/* deployments.c - one look at a Deployment, and its writes in one transaction */

#include <inttypes.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/apps/deployments_private.h"

enum {
    HISTORY_MAX = INT32_MAX /* no limit */
};

struct deployments {
    struct apps_loop *loop;
};

static bool is_rolling(const struct rollout *r)
{
    return text_equal(json_text_at(r->spec, "strategy", "type", NULL), "RollingUpdate");
}

static void rollout_init(struct rollout *r, struct app *a)
{
    const json_t *spec = json_object_get(a->object, "spec");

    *r = (struct rollout){.app = a,
                          .spec = spec,
                          .limits = apps_limits_of(spec),
                          .status = json_twin(a->status),
                          .now_ns = app_wall_ns(a)};
    rollout_read(r);
}

static void rollout_done(struct rollout *r)
{
    VEC_EACH (&r->sets, s)
        json_decref(s->annotations);
    VEC_EACH (&r->told, text)
        free(*text);
    vec_done(&r->sets);
    vec_done(&r->told);
    json_decref(r->status);
    json_decref(r->annotations);
    json_decref(r->made);
}

/* ---- writes ---- */

static bool is_changed(const struct rollout_set *s)
{
    return s->replicas != s->was || s->annotations || s->is_touched;
}

static json_t *set_patch(const struct rollout *r, const struct rollout_set *s)
{
    json_t *patch = json_object();

    if (s->annotations)
        json_put(json_object_at(patch, "metadata"), "annotations", json_deep_copy(s->annotations));
    if (s->replicas != s->was)
        json_put_int(json_object_at(patch, "spec"), "replicas", s->replicas);
    if (s->is_touched)
        json_put_int(json_object_at(patch, "spec"), "minReadySeconds",
                     json_int(r->spec, "minReadySeconds", 0));
    return patch;
}

/* The set as written, until its watch event comes. */
static void set_written(struct rollout_set *s, int64_t version)
{
    struct app_part *p = s->part;
    json_t *object = json_twin(p->object);
    json_t *metadata = json_object_at(object, "metadata");

    if (s->annotations)
        (void)json_object_update(json_object_at(metadata, "annotations"), s->annotations);
    if (s->replicas != s->was || s->is_touched)
        json_put_int(metadata, "generation", json_int(metadata, "generation", 0) + 1);
    json_put_int(json_object_at(object, "spec"), "replicas", s->replicas);
    json_decref(p->object);
    p->object = object;
    p->version = version;
}

static void rollout_written(struct rollout *r, bool has_status, int64_t version)
{
    struct app *a = r->app;

    VEC_EACH (&r->sets, s)
        if (is_changed(s))
            set_written(s, version);
    if (r->made)
        app_add_part(a, r->made)->version = version;
    if (r->annotations) {
        json_t *object = json_twin(a->object);
        json_t *map = json_object_at(json_object_at(object, "metadata"), "annotations");

        (void)json_object_update(map, r->annotations); /* fresh: cannot fail */
        json_decref(a->object);
        a->object = object;
    }
    if (has_status)
        app_status_written(a, json_incref(r->status), version);
    VEC_EACH (&r->told, text)
        app_event(a, false, "ScalingReplicaSet", *text);
    turn_poke(&a->item); /* the next step may be due */
}

/* The name of the new set is taken: another template has the same hash. */
static void rollout_collides(struct rollout *r)
{
    json_t *status = json_twin(r->app->status);

    json_put_int(status, "collisionCount", json_int(status, "collisionCount", 0) + 1);
    app_write_status(r->app, status);
}

static void rollout_refused(struct rollout *r, const struct err *e)
{
    AUTO_FREE char *message = NULL;

    if (r->made && err_code(e) == ERR_EXISTS) {
        rollout_collides(r);
        return;
    }
    if (!r->made || err_code(e) == ERR_CONFLICT) {
        app_write_failed(r->app, e);
        return;
    }
    message = mem_format("Failed to create new replica set \"%s\": %s",
                         json_text_at(r->made, "metadata", "name", NULL), err_message(e));
    app_event(r->app, true, "ReplicaSetCreateError", message);
    json_decref(r->status);
    r->status = json_twin(r->app->status);
    if (rollout_has_deadline(r))
        rollout_condition(r, "Progressing", "False", "ReplicaSetCreateError", message);
    json_put_int(r->status, "observedGeneration",
                 json_int_at(r->app->object, "metadata", "generation", NULL));
    app_write_status(r->app, json_incref(r->status));
    turn_poke_in(&r->app->item, retry_failed(&r->app->create_retry, app_now_ns(r->app)));
}

static void rollout_write(struct rollout *r)
{
    struct app_writes w = {.app = r->app};
    AUTO(err_freep) struct err *e = NULL;
    int64_t version = 0;

    if (r->made)
        app_writes_create(&w, r->made);
    VEC_EACH (&r->sets, s)
        if (is_changed(s))
            app_writes_patch(&w, s->part, set_patch(r, s));
    app_writes_status(&w, json_incref(r->status), json_incref(r->annotations));
    e = app_writes_commit(&w, &version);
    if (e)
        rollout_refused(r, e);
    else if (w.n > 0)
        rollout_written(r, w.has_status, version);
    app_writes_done(&w);
}

/* ---- history ---- */

static int compare_revisions(const void *one, const void *other)
{
    const struct rollout_set *x = *(struct rollout_set *const *)one;
    const struct rollout_set *y = *(struct rollout_set *const *)other;

    if (x->revision != y->revision)
        return x->revision < y->revision ? -1 : 1;
    return x < y ? -1 : x > y; /* in one array, the oldest first */
}

/* Deletes the oldest empty sets beyond the limit. */
static void drop_history(struct rollout *r)
{
    int64_t limit = json_int(r->spec, "revisionHistoryLimit", HISTORY_MAX);
    VEC(struct rollout_set *) old = {0};

    VEC_EACH (&r->sets, s)
        if (s != r->fresh)
            vec_add(&old, s);
    if (old.n > 1)
        qsort(old.at, old.n, sizeof(*old.at), compare_revisions);
    for (size_t i = 0; limit < HISTORY_MAX && (int64_t)(old.n - i) > limit && i < old.n; i++) {
        struct rollout_set *s = old.at[i];

        if (s->replicas == 0 && s->actual == 0 && s->is_observed)
            (void)app_kill(r->app, s->part); /* a failure is tried again */
    }
    vec_done(&old);
}

/* ---- the look ---- */

static void roll_all_at_once(struct rollout *r)
{
    bool is_busy = false; /* old pods exist */

    VEC_EACH (&r->sets, s) {
        if (s == r->fresh)
            continue;
        is_busy = is_busy || s->replicas > 0 || s->actual > 0 || s->leaving > 0 || !s->is_observed;
        if (s->replicas > 0)
            rollout_set_replicas(r, s, 0);
    }
    if (is_busy)
        return;
    rollout_make(r);
    if (r->fresh)
        rollout_set_replicas(r, r->fresh, r->limits.replicas);
}

static void roll(struct rollout *r)
{
    if (!is_rolling(r)) {
        roll_all_at_once(r);
        return;
    }
    rollout_make(r);
    if (r->fresh)
        rollout_roll(r);
}

/*
 * Have all sets counted their pods since their last change? The status of a set may be older than
 * pods that it has deleted or made meanwhile.
 */
static bool is_settled(const struct rollout *r)
{
    VEC_EACH (&r->sets, s)
        if (!s->is_observed)
            return false;
    return true;
}

static void rollout_decide(struct rollout *r)
{
    bool is_scaling = json_bool(r->spec, "paused", false) || rollout_is_scaled(r);

    rollout_renew(r);
    rollout_pause(r);
    if (is_settled(r)) {
        if (is_scaling)
            rollout_scale(r);
        else
            roll(r);
    }
    rollout_count(r);
    if (!is_scaling)
        rollout_progress(r);
}

/* Waits after a failed creation. */
static bool is_waiting(struct app *a)
{
    int64_t write_ns = retry_left_ns(&a->write_retry, app_now_ns(a));
    int64_t create_ns = retry_left_ns(&a->create_retry, app_now_ns(a));
    int64_t wait_ns = write_ns > create_ns ? write_ns : create_ns;

    if (wait_ns > 0)
        turn_poke_in(&a->item, wait_ns);
    return wait_ns > 0;
}

static void deployment_look(struct app *a)
{
    struct rollout r;

    if (!a->selector || is_waiting(a) || !app_claim(a))
        return;
    rollout_init(&r, a);
    if (a->is_deleting)
        rollout_count(&r);
    else
        rollout_decide(&r);
    rollout_write(&r);
    if (!a->is_deleting && (json_bool(r.spec, "paused", false) || rollout_is_complete(&r)))
        drop_history(&r);
    rollout_done(&r);
}

static const struct app_kind app_deployment = {.kind = "Deployment",
                                               .api_version = "apps/v1",
                                               .resource = "deployments.apps",
                                               .component = "deployment-controller",
                                               .look = deployment_look};

/* ---- the loop ---- */

static void put_deployment(void *arg, const char *ns, const char *name, const json_t *object)
{
    (void)ns;
    (void)name;
    apps_put(arg, &app_deployment, object);
}

static void remove_deployment(void *arg, const char *ns, const char *name, const json_t *last)
{
    (void)last;
    apps_remove(arg, &app_deployment, ns, name);
}

static void put_set(void *arg, const char *ns, const char *name, const json_t *object)
{
    apps_put_part(arg, ns, name, object);
}

static void remove_set(void *arg, const char *ns, const char *name, const json_t *last)
{
    apps_remove_part(arg, ns, name, last);
}

static bool is_free(const json_t *set)
{
    return json_text_at(set, "metadata", "deletionTimestamp", NULL) == NULL;
}

static const struct turns_source deployment_sources[] = {
    {"apps", "deployments", put_deployment, remove_deployment},
    {"apps", "replicasets", put_set, remove_set},
};

struct err *deployments_new(const struct deployments_options *o, struct deployments **ret)
{
    struct deployments *s = mem_alloc(sizeof(*s));
    const struct apps_options apps = {.loop = o->loop,
                                      .cluster = o->cluster,
                                      .events = o->events,
                                      .name = "deployments",
                                      .sources = deployment_sources,
                                      .n_sources = COUNT(deployment_sources),
                                      .part_resource = "replicasets.apps",
                                      .is_free = is_free,
                                      .arg = s};
    struct err *e = apps_loop_new(&apps, &s->loop);

    if (e) {
        free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void deployments_free(struct deployments *s)
{
    if (!s)
        return;
    apps_loop_free(s->loop);
    free(s);
}
