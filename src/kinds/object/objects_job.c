/*
 * objects_job.c - rules of kinds that make pods from a template: user, job number, selector
 *
 * The writer of a template answers for its pods: the rules of pods are checked when the template is
 * written. The controllers, which may do anything, later make pods from it.
 */

#include "kinds/job/job.h"
#include "kinds/object/objects_private.h"
#include "kinds/pod/pod_state.h"

static bool is_batch(const struct kind *k, const char *plural)
{
    return text_equal(k->group, "batch") && text_equal(k->plural, plural);
}

static void put_missing(json_t *map, const char *key, const char *value)
{
    if (!json_object_get(map, key))
        json_put_text(map, key, value);
}

static void put_labels(json_t *metadata, const json_t *template)
{
    json_t *labels = json_at(template, "metadata", "labels", NULL);

    if (json_object_size(json_object_get(metadata, "labels")) == 0 && json_object_size(labels) > 0)
        json_put(metadata, "labels", json_deep_copy(labels));
}

/* Sets selector and labels as Kubernetes does. The job's validation checks values that are there
 * already. */
static void put_selector(json_t *spec, const json_t *metadata)
{
    json_t *template = json_object_at(spec, "template");
    json_t *labels = json_object_at(json_object_at(template, "metadata"), "labels");
    const char *uid = json_text(metadata, "uid");
    const char *name = json_text(metadata, "name");

    if (json_bool(spec, "manualSelector", false))
        return;
    put_missing(labels, JOB_UID_LABEL, uid);
    put_missing(labels, JOB_UID_LABEL_OLD, uid);
    put_missing(labels, JOB_NAME_LABEL, name);
    put_missing(labels, JOB_NAME_LABEL_OLD, name);
    put_missing(json_object_at(json_object_at(spec, "selector"), "matchLabels"), JOB_UID_LABEL,
                uid);
}

static struct err *create_job(struct change *c)
{
    json_t *metadata = json_object_at(c->after, "metadata");
    json_t *spec = json_object_at(c->after, "spec");
    json_t *template = json_object_at(spec, "template");

    TRY(pod_template_rules(c, template));
    put_labels(metadata, template);
    put_selector(spec, metadata);
    put_user(c);
    return put_job_id(c);
}

/* Kinds whose template may change. */
static bool has_template(const struct kind *k)
{
    return is_batch(k, "cronjobs") ||
           (*k->group == '\0' && text_equal(k->plural, "replicationcontrollers")) ||
           (text_equal(k->group, "apps") && !text_equal(k->plural, "controllerrevisions"));
}

static json_t *template_of(const json_t *object)
{
    json_t *of_job = json_at(object, "spec", "jobTemplate", "spec", "template", NULL);

    return of_job ? of_job : json_at(object, "spec", "template", NULL);
}

static struct err *create_templated(struct change *c)
{
    json_t *template = template_of(c->after);

    if (template)
        TRY(pod_template_rules(c, template));
    put_user(c);
    return NULL;
}

struct err *batch_create_rules(struct change *c)
{
    if (is_batch(c->kind, "jobs"))
        return create_job(c);
    if (has_template(c->kind))
        return create_templated(c);
    return NULL;
}

/* The user who changes the template answers for its pods from then on. */
static struct err *update_templated(struct change *c)
{
    json_t *annotations = json_object_at(json_object_at(c->after, "metadata"), "annotations");
    const json_t *was = template_of(c->before);
    json_t *is = template_of(c->after);

    if (c->who.is_system || !is || json_equal(was, is))
        return NULL;
    TRY(pod_template_rules(c, is));
    json_put_text(annotations, POD_USER, c->who.user ? c->who.user : "");
    return NULL;
}

struct err *batch_update_rules(struct change *c)
{
    if (has_template(c->kind))
        return update_templated(c);
    return NULL;
}

void batch_keep_user(struct change *c)
{
    const char *user = json_text_at(c->before, "metadata", "annotations", POD_USER, NULL);
    json_t *metadata = json_object_get(c->after, "metadata");

    if (!c->who.is_system && has_template(c->kind) && user)
        json_put_text(json_object_at(metadata, "annotations"), POD_USER, user);
}
