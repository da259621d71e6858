/* statefulsets.c - one look at a StatefulSet: pods in the order of their ordinals */

#include <inttypes.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "control/apps/podsets_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

enum {
    ORDINALS_MAX = 10000 /* looked at in one turn */
};

struct ordinals {
    struct app *app;
    const json_t *spec;
    struct revisions *revisions;
    struct set_claims *claims;
    int64_t start;
    int64_t n;
    struct app_part **at;             /* by ordinal, from `start`; NULL: no pod */
    VEC(struct app_part *) condemned; /* beyond; the largest first */
    bool is_ordered;
    const char *update; /* the revision of the present template */
    char *current;
    json_t *status;
};

/* The ordinal in the name of a pod; -1: another name. */
static int64_t ordinal_of(const struct app *a, const struct app_part *p)
{
    size_t size = strlen(a->name);
    int64_t ordinal = -1;

    if (strncmp(p->name, a->name, size) == 0 && p->name[size] == '-')
        err_free(num_parse_int64(str_of(p->name + size + 1), 0, INT32_MAX, &ordinal)); /* or -1 */
    return ordinal;
}

static int compare_condemned(const void *one, const void *other)
{
    const struct app_part *x = *(struct app_part *const *)one;
    const struct app_part *y = *(struct app_part *const *)other;
    int64_t x_ordinal = ordinal_of(x->app, x);
    int64_t y_ordinal = ordinal_of(y->app, y);

    if (x_ordinal != y_ordinal)
        return x_ordinal > y_ordinal ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void read_ordinals(struct ordinals *o)
{
    struct app *a = o->app;
    struct app_part *p;

    o->at = mem_alloc((size_t)(o->n + 1) * sizeof(struct app_part *));
    LIST_EACH (a->parts, p) {
        int64_t i = ordinal_of(a, p) - o->start;

        if (i >= 0 && i < o->n)
            o->at[i] = p;
        else
            vec_add(&o->condemned, p);
    }
    if (o->condemned.n > 1)
        qsort(o->condemned.at, o->condemned.n, sizeof(struct app_part *), compare_condemned);
}

static bool is_leaving(const struct app_part *p)
{
    return p->is_killed || pod_is_deleting(p->object);
}

static bool is_healthy(const struct ordinals *o, const struct app_part *p)
{
    return app_pod_is_live(p) && app_pod_wait_ns(o->app, p) == 0;
}

static const char *revision_of(const struct app_part *p)
{
    return json_text_at(p->object, "metadata", "labels", APPS_REVISION_HASH, NULL);
}

static int64_t partition_of(const struct ordinals *o)
{
    return json_int_at(o->spec, "updateStrategy", "rollingUpdate", "partition", NULL);
}

/* ---- pods ---- */

/* A pod below the partition, or of a set that is not rolled, keeps the current revision. */
static const char *revision_for(const struct ordinals *o, int64_t i)
{
    bool is_rolling =
        text_equal(json_text_at(o->spec, "updateStrategy", "type", NULL), "RollingUpdate");
    int64_t kept =
        is_rolling ? partition_of(o) - o->start : json_int(o->status, "currentReplicas", 0);

    return i < kept ? o->current : o->update;
}

static json_t *ordinal_tree(const struct ordinals *o, int64_t i)
{
    const struct app *a = o->app;
    const char *revision = revision_for(o, i);
    const json_t *template = revision_template(o->revisions, a, revision);
    json_t *pod;
    json_t *metadata;
    json_t *spec;
    const char *service = json_text(o->spec, "serviceName");
    AUTO_FREE char *ordinal = mem_format("%" PRId64, o->start + i);
    AUTO_FREE char *name = mem_format("%s-%s", a->name, ordinal);
    AUTO_FREE char *prefix = mem_format("%s-", a->name);

    if (!template) {
        template = json_object_get(o->spec, "template");
        revision = o->update;
    }
    pod = app_pod_tree(a, template);
    metadata = json_object_at(pod, "metadata");
    spec = json_object_at(pod, "spec");
    json_put_text(pod, "$patch", NULL);
    json_put_text(metadata, "name", name);
    json_put_text(metadata, "generateName", prefix);
    json_put_text(json_object_at(metadata, "labels"), APPS_REVISION_HASH, revision);
    json_put_text(json_object_at(metadata, "labels"), "statefulset.kubernetes.io/pod-name", name);
    json_put_text(json_object_at(metadata, "labels"), "apps.kubernetes.io/pod-index", ordinal);
    json_put_text(spec, "hostname", name);
    set_claims_mount(a, spec, name);
    if (service && *service)
        json_put_text(spec, "subdomain", service);
    return pod;
}

static bool ordinal_make(struct ordinals *o, int64_t i)
{
    struct app *a = o->app;
    int64_t left_ns = retry_left_ns(&a->create_retry, app_now_ns(a));
    AUTO(json_freep) json_t *pod = NULL;

    if (left_ns > 0) {
        turn_poke_in(&a->item, left_ns);
        return false;
    }
    pod = ordinal_tree(o, i);
    if (!set_claims_make(o->claims, a, json_text_at(pod, "metadata", "name", NULL)))
        return false;
    if (!app_pod_make(a, pod, NULL))
        return false;
    o->at[i] = app_find_part(a, json_text_at(pod, "metadata", "name", NULL));
    return true;
}

static void ordinal_kill(struct ordinals *o, struct app_part *p)
{
    AUTO_FREE char *name = mem_strdup(p->name);

    if (app_kill(o->app, p))
        app_part_event(o->app, "SuccessfulDelete", "Delete", name);
}

/* False: a pod must come to rest before the next one. */
static bool keep_ordinal(struct ordinals *o, int64_t i)
{
    struct app_part *p = o->at[i];

    if (!p)
        return ordinal_make(o, i) && !o->is_ordered;
    if (pod_is_terminal(p->object) && !is_leaving(p)) {
        ordinal_kill(o, p); /* it comes again under its name */
        return false;
    }
    if (!set_claims_own(o->claims, o->app, p, true))
        return false;
    return !o->is_ordered || is_healthy(o, p);
}

static bool keep_ordinals(struct ordinals *o)
{
    bool is_calm = true;

    for (int64_t i = 0; i < o->n; i++) {
        bool is_next = keep_ordinal(o, i);

        is_calm = is_calm && is_next;
        if (!is_next && o->is_ordered)
            return false;
    }
    return is_calm;
}

static bool drop_condemned(struct ordinals *o)
{
    VEC_EACH (&o->condemned, at) {
        if (!is_leaving(*at) && set_claims_own(o->claims, o->app, *at, false))
            ordinal_kill(o, *at);
        if (o->is_ordered)
            return false; /* until it is gone */
    }
    return o->condemned.n == 0;
}

/* A single pod at a time gets the present template, the last ordinal first. */
static void roll_ordinals(struct ordinals *o)
{
    for (int64_t i = o->n - 1; i >= 0 && o->start + i >= partition_of(o); i--) {
        struct app_part *p = o->at[i];

        if (!p || is_leaving(p))
            return;
        if (!text_equal(revision_of(p), o->update)) {
            ordinal_kill(o, p);
            return;
        }
        if (!is_healthy(o, p))
            return;
    }
}

/* ---- status ---- */

static void count_one(struct ordinals *o, const struct app_part *p, int64_t counts[5])
{
    int64_t wait_ns;

    if (is_leaving(p) && !app_pod_is_leaving(p))
        return; /* it has ended */
    counts[0]++;
    if (!app_pod_is_live(p))
        return;
    wait_ns = app_pod_wait_ns(o->app, p);
    counts[1] += wait_ns >= 0;
    counts[2] += wait_ns == 0;
    counts[3] += text_equal(revision_of(p), o->current);
    counts[4] += text_equal(revision_of(p), o->update);
    if (wait_ns > 0)
        turn_poke_in(&o->app->item, wait_ns);
}

static void count_ordinals(struct ordinals *o)
{
    int64_t counts[5] = {0};
    struct app_part *p;
    bool is_rolled;

    LIST_EACH (o->app->parts, p)
        count_one(o, p, counts);
    is_rolled = counts[4] == counts[0] && counts[0] == o->n && counts[1] == o->n;
    if (is_rolled && !text_equal(o->current, o->update)) {
        free(o->current);
        o->current = mem_strdup(o->update);
        counts[3] = counts[4];
    }
    json_put_int(o->status, "replicas", counts[0]);
    status_put_count(o->status, "readyReplicas", counts[1]);
    json_put_int(o->status, "availableReplicas", counts[2]);
    status_put_count(o->status, "currentReplicas", counts[3]);
    status_put_count(o->status, "updatedReplicas", counts[4]);
    json_put_text(o->status, "currentRevision", o->current);
    json_put_text(o->status, "updateRevision", o->update);
    if (!json_object_get(o->status, "collisionCount"))
        json_put_int(o->status, "collisionCount", 0);
    json_put_int(o->status, "observedGeneration",
                 json_int_at(o->app->object, "metadata", "generation", NULL));
}

static void manage_ordinals(struct ordinals *o)
{
    bool is_calm = keep_ordinals(o);

    if (o->is_ordered && !is_calm)
        return;
    if (!drop_condemned(o) && o->is_ordered)
        return;
    if (text_equal(json_text_at(o->spec, "updateStrategy", "type", NULL), "RollingUpdate"))
        roll_ordinals(o);
}

static void statefulset_look(struct app *a)
{
    struct podsets *s = apps_arg(a->loop);
    const json_t *spec = json_object_get(a->object, "spec");
    int64_t n = json_int(spec, "replicas", 0);
    struct ordinals o = {.app = a,
                         .spec = spec,
                         .revisions = s->revisions,
                         .claims = s->claims,
                         .start = json_int_at(spec, "ordinals", "start", NULL),
                         .n = n < ORDINALS_MAX ? n : ORDINALS_MAX};
    int64_t wait_ns = retry_left_ns(&a->write_retry, app_now_ns(a));
    const char *current = json_text_filled(a->status, "currentRevision");

    if (wait_ns > 0) {
        turn_poke_in(&a->item, wait_ns);
        return;
    }
    if (!app_claim(a))
        return;
    o.update = revision_of_template(s->revisions, a);
    if (!o.update)
        return;
    o.current = mem_strdup(current ? current : o.update);
    o.is_ordered = !text_equal(json_text(spec, "podManagementPolicy"), "Parallel");
    o.status = json_twin(a->status);
    read_ordinals(&o);
    if (!a->is_deleting)
        manage_ordinals(&o);
    count_ordinals(&o);
    revisions_trim(s->revisions, a, o.current, o.update);
    app_write_status(a, o.status);
    free(o.at);
    vec_done(&o.condemned);
    free(o.current);
}

const struct app_kind app_statefulset = {.kind = "StatefulSet",
                                         .api_version = "apps/v1",
                                         .resource = "statefulsets.apps",
                                         .component = "statefulset-controller",
                                         .look = statefulset_look};
