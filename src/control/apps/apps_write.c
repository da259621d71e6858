/* apps_write.c - what the controllers of apps/v1 write: parts, claims of parts, statuses, events */

#include <inttypes.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/apps/apps_loop_private.h"
#include "control/writes.h"

int64_t app_now_ns(const struct app *a)
{
    return loop_now_ns(a->loop->options.loop);
}

int64_t app_wall_ns(const struct app *a)
{
    return loop_wall_ns(a->loop->options.loop);
}

void app_event(const struct app *a, bool is_warning, const char *reason, const char *message)
{
    events_record(a->loop->options.events, &(struct event){.kind = a->kind->kind,
                                                           .api_version = a->kind->api_version,
                                                           .ns = a->ns,
                                                           .name = a->name,
                                                           .uid = a->uid,
                                                           .is_warning = is_warning,
                                                           .reason = reason,
                                                           .message = message,
                                                           .component = a->kind->component});
}

void app_part_event(struct app *a, const char *reason, const char *verb, const char *part)
{
    bool is_named = text_equal(a->kind->kind, "StatefulSet");
    AUTO_FREE char *message =
        is_named ? mem_format("%s Pod %s in StatefulSet %s successful", verb, part, a->name)
                 : mem_format("%sd pod: %s", verb, part);

    if (a->n_events >= APP_EVENTS_BURST)
        return;
    a->n_events++;
    app_event(a, false, reason, message);
}

/* ---- several writes at once ---- */

static void writes_add(struct app_writes *w, struct cluster_write write)
{
    if (w->n == w->room)
        w->at = vec_grow(w->at, &w->room, sizeof(*w->at));
    w->at[w->n++] = write;
}

static void put_version(json_t *patch, int64_t version)
{
    AUTO_FREE char *text = mem_format("%" PRId64, version);

    json_put_text(json_object_at(patch, "metadata"), "resourceVersion", text);
}

void app_writes_patch(struct app_writes *w, const struct app_part *p, json_t *patch)
{
    put_version(patch, p->version);
    json_put_text(json_object_at(patch, "metadata"), "uid", p->uid);
    writes_add(w, (struct cluster_write){.resource = w->app->loop->options.part_resource,
                                         .ns = w->app->ns,
                                         .name = p->name,
                                         .tree = patch,
                                         .must_change = true});
}

void app_writes_create(struct app_writes *w, json_t *tree)
{
    writes_add(w, (struct cluster_write){.resource = w->app->loop->options.part_resource,
                                         .ns = w->app->ns,
                                         .tree = json_incref(tree)});
}

/* The members of `is` that differ from `was`; null for those that are gone. The list of conditions
 * is replaced whole. */
static json_t *status_changes(json_t *was, json_t *is)
{
    json_t *changes = json_object();
    const char *key;
    json_t *value;

    json_object_foreach (is, key, value) {
        if (json_object_get(was, key) && json_equal(json_object_get(was, key), value))
            continue;
        if (text_equal(key, "conditions")) {
            json_t *list = json_pack("[{s:s}]", "$patch", "replace");

            (void)json_array_extend(list, value); /* fresh: cannot fail */
            json_put(changes, key, list);
        } else {
            json_put(changes, key, json_incref(value));
        }
    }
    json_object_foreach (was, key, value)
        if (!json_object_get(is, key))
            json_put(changes, key, json_null());
    return changes;
}

void app_writes_status(struct app_writes *w, json_t *status, json_t *annotations)
{
    struct app *a = w->app;
    AUTO(json_freep) json_t *changes = status_changes(a->status, status);
    json_t *patch;

    json_decref(status);
    if (json_object_size(changes) == 0 && !annotations)
        return;
    patch = json_object();
    put_version(patch, a->version);
    if (annotations)
        json_put(json_object_at(patch, "metadata"), "annotations", annotations);
    if (json_object_size(changes) > 0)
        json_put(patch, "status", TAKE(changes));
    w->has_status = true;
    writes_add(w, (struct cluster_write){.resource = a->kind->resource,
                                         .ns = a->ns,
                                         .name = a->name,
                                         .subresource = "status",
                                         .tree = patch});
}

struct err *app_writes_commit(struct app_writes *w, int64_t *ret_version)
{
    struct turns *t = w->app->loop->turns;
    struct cluster_answer answer;

    if (w->n == 0)
        return NULL;
    answer = turns_answer(t);
    return writes_end(answer,
                      cluster_write_all(turns_cluster(t), w->at, w->n, answer, ret_version));
}

void app_writes_done(struct app_writes *w)
{
    for (size_t i = 0; i < w->n; i++)
        json_decref(w->at[i].tree);
    free(w->at);
    *w = (struct app_writes){0};
}

void app_status_written(struct app *a, json_t *status, int64_t version)
{
    json_decref(a->status);
    a->status = status;
    a->version = version;
    a->write_retry = (struct retry){0};
}

void app_write_failed(struct app *a, const struct err *e)
{
    if (err_code(e) != ERR_CONFLICT && err_code(e) != ERR_NOT_FOUND) /* else the watch tells */
        LOG(WARN, "object was not written, will be tried again", S("object", a->key), E(e));
    turn_poke_in(&a->item, retry_failed(&a->write_retry, app_now_ns(a)));
}

void app_write_status(struct app *a, json_t *status)
{
    struct app_writes w = {.app = a};
    int64_t version = 0;
    struct err *e;

    app_writes_status(&w, json_incref(status), NULL);
    e = app_writes_commit(&w, &version);
    if (e)
        app_write_failed(a, e);
    else if (w.has_status)
        app_status_written(a, json_incref(status), version);
    err_free(e);
    json_decref(status);
    app_writes_done(&w);
}

/* ---- parts ---- */

void app_put_owner(const struct app *a, json_t *metadata)
{
    json_t *owner = json_object();

    json_put_text(owner, "apiVersion", a->kind->api_version);
    json_put_text(owner, "kind", a->kind->kind);
    json_put_text(owner, "name", a->name);
    json_put_text(owner, "uid", a->uid);
    json_put_bool(owner, "controller", true);
    json_put_bool(owner, "blockOwnerDeletion", true);
    (void)json_array_append_new(json_array_at(metadata, "ownerReferences"), owner); /* fresh */
}

struct err *app_make(struct app *a, json_t *tree)
{
    struct turns *t = a->loop->turns;
    struct cluster_answer answer = turns_answer(t);

    TRY(writes_end(answer, cluster_create(turns_cluster(t), a->loop->options.part_resource, a->ns,
                                          tree, answer)));
    (void)app_add_part(a, tree);
    return NULL;
}

bool app_kill(struct app *a, struct app_part *p)
{
    struct turns *t = a->loop->turns;
    const struct cluster_target target = {
        .resource = a->loop->options.part_resource, .ns = a->ns, .name = p->name};
    struct cluster_answer answer = turns_answer(t);
    AUTO(err_freep)
    struct err *e = writes_end(answer, cluster_remove(turns_cluster(t), &target, p->uid, answer));

    p->is_killed = true;
    if (!e)
        return true;
    if (err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_CONFLICT)
        return true; /* it has gone */
    LOG(WARN, "part of an object was not deleted, will be tried again", S("object", a->key), E(e));
    p->is_killed = false;
    turn_poke_in(&a->item, retry_failed(&a->write_retry, app_now_ns(a)));
    return false;
}

/* ---- claims ---- */

/* A patch of a part's owners; the part then belongs to `to`. */
static bool claim_write(struct app *a, struct app_part *p, json_t *patch, struct app *to)
{
    struct app_writes w = {.app = a};
    int64_t version = 0;
    AUTO(err_freep) struct err *e = NULL;

    app_writes_patch(&w, p, patch);
    e = app_writes_commit(&w, &version);
    app_writes_done(&w);
    if (e) {
        app_write_failed(a, e);
        return false;
    }
    p->version = version;
    if (to || a->loop->options.is_free(p->object))
        apps_part_move(p, to);
    else
        apps_part_free(a->loop, p);
    return true;
}

static bool app_adopt(struct app *a, struct app_part *p)
{
    json_t *patch = json_object();

    app_put_owner(a, json_object_at(patch, "metadata"));
    return claim_write(a, p, patch, a);
}

static bool app_release(struct app *a, struct app_part *p)
{
    json_t *patch = json_pack("{s:{s:[{s:s,s:s}]}}", "metadata", "ownerReferences", "$patch",
                              "delete", "uid", a->uid);

    return claim_write(a, p, patch, NULL);
}

bool app_claim(struct app *a)
{
    bool is_done = true;
    struct app_part *p;

    if (a->is_deleting || !a->selector)
        return true;
    LIST_EACH (a->parts, p)
        if (!app_selects(a, p->object) && !p->is_killed)
            is_done = app_release(a, p) && is_done;
    LIST_EACH (a->place->free_parts, p)
        if (app_selects(a, p->object))
            is_done = app_adopt(a, p) && is_done;
    return is_done;
}

/* ---- statuses ---- */

json_t *status_condition(const json_t *status, const char *type)
{
    json_t *list = json_object_get(status, "conditions");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "type"), type))
            return json_array_get(list, i);
    return NULL;
}

void status_drop_condition(json_t *status, const char *type)
{
    json_t *list = json_object_get(status, "conditions");

    for (size_t i = json_array_size(list); i-- > 0;)
        if (text_equal(json_text(json_array_get(list, i), "type"), type))
            (void)json_array_remove(list, i); /* it is there */
    if (list && json_array_size(list) == 0)
        json_put_text(status, "conditions", NULL);
}

void status_put_count(json_t *status, const char *key, int64_t value)
{
    if (value > 0)
        json_put_int(status, key, value);
    else
        json_put_text(status, key, NULL);
}
