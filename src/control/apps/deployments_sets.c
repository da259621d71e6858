/* deployments_sets.c - the ReplicaSets of a Deployment: revisions, annotations, creation */

#include <inttypes.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "control/apps/deployments_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

enum {
    HISTORY_TEXT_MAX = 2000
};

static int64_t number_of(const json_t *object, const char *annotation, int64_t fallback)
{
    const char *text = json_text_at(object, "metadata", "annotations", annotation, NULL);
    int64_t value = fallback;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &value)); /* else the fallback */
    return value;
}

static int64_t at_most(int64_t value, int64_t max)
{
    return value < max ? value : max;
}

static struct rollout_set set_of(struct app_part *p)
{
    const json_t *status = json_object_get(p->object, "status");
    int64_t was = json_int_at(p->object, "spec", "replicas", NULL);
    int64_t actual = json_int(status, "replicas", 0);

    return (struct rollout_set){
        .part = p,
        .was = was,
        .replicas = was,
        .held = was > actual ? was : actual,
        .actual = actual,
        .ready = json_int(status, "readyReplicas", 0),
        .available = at_most(json_int(status, "availableReplicas", 0), was),
        .leaving = json_int(status, "terminatingReplicas", 0),
        .is_observed = json_int(status, "observedGeneration", 0) >=
                       json_int_at(p->object, "metadata", "generation", NULL),
        .revision = number_of(p->object, APPS_REVISION, 0),
        .desired = number_of(p->object, APPS_DESIRED, -1),
        .max_replicas = number_of(p->object, APPS_MAX_REPLICAS, -1),
        .created_ns = stamp_or(json_text_at(p->object, "metadata", "creationTimestamp", NULL), 0)};
}

static int compare_sets(const void *one, const void *other)
{
    const struct rollout_set *x = one;
    const struct rollout_set *y = other;

    if (x->created_ns != y->created_ns)
        return x->created_ns < y->created_ns ? -1 : 1;
    return strcmp(x->part->name, y->part->name);
}

void rollout_read(struct rollout *r)
{
    const json_t *template = json_object_get(r->spec, "template");
    struct app_part *p;

    LIST_EACH (r->app->parts, p)
        if (!p->is_killed && !pod_is_deleting(p->object))
            vec_add(&r->sets, set_of(p));
    if (r->sets.n > 1)
        qsort(r->sets.at, r->sets.n, sizeof(*r->sets.at), compare_sets);
    VEC_EACH (&r->sets, s)
        if (!r->fresh &&
            apps_is_same_template(json_at(s->part->object, "spec", "template", NULL), template))
            r->fresh = s;
}

/* ---- annotations ---- */

static bool is_kept_apart(const char *key)
{
    static const char *const keys[] = {APPS_LAST_APPLIED,     APPS_REVISION,
                                       APPS_REVISION_HISTORY, APPS_DESIRED,
                                       APPS_MAX_REPLICAS,     "deprecated.deployment.rollback.to"};

    for (size_t i = 0; i < COUNT(keys); i++)
        if (text_equal(key, keys[i]))
            return true;
    return false;
}

static void put_number(json_t *map, const char *key, int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    json_put_text(map, key, text);
}

static json_t *changes_of(struct rollout_set *s)
{
    if (!s->annotations)
        s->annotations = json_object();
    return s->annotations;
}

/* The Deployment's annotations go to the set in use, and come back by a rollback. */
static void copy_annotations(const struct rollout *r, struct rollout_set *s)
{
    json_t *theirs = json_at(r->app->object, "metadata", "annotations", NULL);
    const char *key;
    json_t *value;

    json_object_foreach (theirs, key, value) {
        const char *own = json_text_at(s->part->object, "metadata", "annotations", key, NULL);

        if (!is_kept_apart(key) && !text_equal(own, json_string_value(value)))
            json_put_text(changes_of(s), key, json_string_value(value));
    }
}

static int64_t newest_old_revision(const struct rollout *r)
{
    int64_t newest = 0;

    VEC_EACH (&r->sets, s)
        if (s != r->fresh && s->revision > newest)
            newest = s->revision;
    return newest;
}

/* The numbers that the set had before: "1,3". Old ones are dropped from a long text. */
static void add_history(struct rollout_set *s)
{
    const char *was =
        json_text_at(s->part->object, "metadata", "annotations", APPS_REVISION_HISTORY, NULL);
    AUTO_FREE char *text = was && *was ? mem_format("%s,%" PRId64, was, s->revision)
                                       : mem_format("%" PRId64, s->revision);
    const char *from = text;

    while (strlen(from) > HISTORY_TEXT_MAX && strchr(from, ','))
        from = strchr(from, ',') + 1;
    json_put_text(changes_of(s), APPS_REVISION_HISTORY, from);
}

static void renew_revision(struct rollout *r, struct rollout_set *s)
{
    int64_t revision = newest_old_revision(r) + 1;

    if (s->revision >= revision)
        return;
    if (s->revision > 0)
        add_history(s);
    put_number(changes_of(s), APPS_REVISION, revision);
    s->revision = revision;
}

void rollout_renew(struct rollout *r)
{
    struct rollout_set *s = r->fresh;

    if (!s)
        return;
    copy_annotations(r, s);
    renew_revision(r, s);
    s->is_touched = json_int_at(s->part->object, "spec", "minReadySeconds", NULL) !=
                    json_int(r->spec, "minReadySeconds", 0);
    if (number_of(r->app->object, APPS_REVISION, -1) != s->revision) {
        r->annotations = json_object();
        put_number(r->annotations, APPS_REVISION, s->revision);
    }
    if (!status_condition(r->status, "Progressing") && rollout_has_deadline(r)) {
        AUTO_FREE char *message = mem_format("Found new replica set \"%s\"", s->part->name);

        rollout_condition(r, "Progressing", "True", "FoundNewReplicaSet", message);
    }
}

/* ---- creation ---- */

static void put_set_annotations(const struct rollout *r, json_t *metadata)
{
    json_t *annotations = json_object_at(metadata, "annotations");
    json_t *theirs = json_at(r->app->object, "metadata", "annotations", NULL);
    const char *key;
    json_t *value;

    json_object_foreach (theirs, key, value)
        if (!is_kept_apart(key))
            json_put(annotations, key, json_incref(value));
    put_number(annotations, APPS_REVISION, newest_old_revision(r) + 1);
    put_number(annotations, APPS_DESIRED, r->limits.replicas);
    put_number(annotations, APPS_MAX_REPLICAS, r->limits.replicas + r->limits.surge);
}

/* The queue of the Deployment is that of its pods, unless the template names one. */
static void put_queue(const struct rollout *r, json_t *labels)
{
    const char *queue = queue_of(r->app->object);

    if (queue && !json_text(labels, QUEUE_LABEL))
        json_put_text(labels, QUEUE_LABEL, queue);
}

static json_t *set_tree(const struct rollout *r, const char *hash)
{
    const json_t *template = json_object_get(r->spec, "template");
    json_t *set = json_object();
    json_t *metadata = json_object_at(set, "metadata");
    json_t *spec = json_object_at(set, "spec");
    json_t *labels;
    AUTO_FREE char *name = mem_format("%s-%s", r->app->name, hash);

    json_put_text(metadata, "name", name);
    json_put(spec, "template", json_deep_copy(template));
    labels = json_object_at(json_object_at(json_object_at(spec, "template"), "metadata"), "labels");
    json_put_text(labels, APPS_TEMPLATE_HASH, hash);
    json_put(metadata, "labels", json_deep_copy(labels));
    put_queue(r, json_object_get(metadata, "labels"));
    put_set_annotations(r, metadata);
    app_put_owner(r->app, metadata);
    json_put(spec, "selector", json_deep_copy(json_object_get(r->spec, "selector")));
    json_put_text(json_object_at(json_object_get(spec, "selector"), "matchLabels"),
                  APPS_TEMPLATE_HASH, hash);
    json_put_int(spec, "replicas", rollout_fresh_replicas(r));
    if (json_int(r->spec, "minReadySeconds", 0) > 0)
        json_put_int(spec, "minReadySeconds", json_int(r->spec, "minReadySeconds", 0));
    return set;
}

void rollout_make(struct rollout *r)
{
    const json_t *collisions = json_object_get(r->status, "collisionCount");
    char hash[APPS_HASH_SIZE];
    AUTO_FREE char *message = NULL;

    if (r->fresh)
        return;
    apps_hash(json_object_get(r->spec, "template"),
              collisions ? json_integer_value(collisions) : -1, hash);
    r->made = set_tree(r, hash);
    r->annotations = json_object();
    put_number(r->annotations, APPS_REVISION, newest_old_revision(r) + 1);
    message = mem_format("Created new replica set \"%s\"",
                         json_text_at(r->made, "metadata", "name", NULL));
    if (rollout_has_deadline(r))
        rollout_condition(r, "Progressing", "True", "NewReplicaSetCreated", message);
    if (json_int_at(r->made, "spec", "replicas", NULL) > 0)
        vec_add(&r->told, mem_format("Scaled up replica set %s from 0 to %" PRId64,
                                     json_text_at(r->made, "metadata", "name", NULL),
                                     json_int_at(r->made, "spec", "replicas", NULL)));
}
