/* daemonsets.c - one look at a DaemonSet: a pod on each node that should have one */

#include <inttypes.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/apps/podsets_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

enum {
    DAEMON_NAME_MAX = 63 - 5 /* the server adds a suffix */
};

/* A node, with the set's pods for it. */
struct daemon_place {
    const struct daemon_node *node;
    struct app_part *pod; /* the oldest that lives; NULL: none */
    bool is_wanted;
    bool stays;
    bool is_held; /* a pod is there that is not over yet */
};

struct daemons {
    struct app *app;
    struct revisions *revisions;
    const char *update;              /* the revision of the present template */
    json_t *tree;                    /* a pod of no node yet */
    VEC(struct daemon_place) places; /* by the nodes' names */
    VEC(struct app_part *) strays;   /* pods of nodes that are gone, and second ones */
};

static int compare_places(const void *one, const void *other)
{
    const struct daemon_place *x = one;
    const struct daemon_place *y = other;

    return strcmp(x->node->name, y->node->name);
}

static struct daemon_place *place_of(const struct daemons *d, const char *name)
{
    const struct daemon_node node = {.name = (char *)(uintptr_t)(name ? name : "")};
    const struct daemon_place key = {.node = &node};

    if (d->places.n == 0)
        return NULL;
    return bsearch(&key, d->places.at, d->places.n, sizeof(key), compare_places);
}

static bool is_older(const struct app_part *one, const struct app_part *other)
{
    const char *x = json_text_at(one->object, "metadata", "creationTimestamp", NULL);
    const char *y = json_text_at(other->object, "metadata", "creationTimestamp", NULL);
    int order = x && y ? strcmp(x, y) : 0;

    if (*pod_node(one->object) != *pod_node(other->object))
        return *pod_node(one->object) != '\0'; /* the one that runs */
    return order != 0 ? order < 0 : strcmp(one->name, other->name) < 0;
}

static void read_pod(struct daemons *d, struct app_part *p)
{
    struct daemon_place *place = place_of(d, daemon_node_of(p->object));

    if (!place) {
        vec_add(&d->strays, p);
        return;
    }
    place->is_held = true;
    if (!app_pod_is_live(p) && !pod_is_terminal(p->object))
        return;
    if (!place->pod) {
        place->pod = p;
    } else if (is_older(p, place->pod)) {
        vec_add(&d->strays, place->pod);
        place->pod = p;
    } else {
        vec_add(&d->strays, p);
    }
}

static json_t *daemon_tree(struct app *a, const char *revision)
{
    json_t *pod = app_pod_tree(a, json_at(a->object, "spec", "template", NULL));
    json_t *metadata = json_object_at(pod, "metadata");
    AUTO_FREE char *name = mem_format("%.*s-", DAEMON_NAME_MAX - 1, a->name);

    json_put_text(metadata, "generateName", name);
    json_put_text(json_object_at(metadata, "labels"), APPS_REVISION_HASH,
                  revision_hash(a, revision));
    daemon_tolerate(pod);
    return pod;
}

static void read_daemons(struct daemons *d)
{
    struct podsets *s = apps_arg(d->app->loop);
    struct daemon_node *node;
    struct daemon_node *tmp;
    struct app_part *p;

    map_each (handle, s->nodes, node, tmp) {
        struct daemon_place place = {.node = node};

        place.is_wanted = daemon_wants_node(d->tree, node, &place.stays);
        vec_add(&d->places, place);
    }
    if (d->places.n > 1)
        qsort(d->places.at, d->places.n, sizeof(*d->places.at), compare_places);
    LIST_EACH (d->app->parts, p)
        read_pod(d, p);
}

/* ---- pods ---- */

static void daemon_kill(struct daemons *d, struct app_part *p)
{
    AUTO_FREE char *name = mem_strdup(p->name);

    if (!p->is_killed && !pod_is_deleting(p->object) && app_kill(d->app, p))
        app_part_event(d->app, "SuccessfulDelete", "Delete", name);
}

static bool may_make(struct daemons *d)
{
    int64_t left_ns = retry_left_ns(&d->app->create_retry, app_now_ns(d->app));

    if (left_ns > 0)
        turn_poke_in(&d->app->item, left_ns);
    return left_ns == 0;
}

static void daemon_make(struct daemons *d, struct daemon_place *place)
{
    AUTO(json_freep) json_t *pod = json_deep_copy(d->tree);

    daemon_pin(pod, place->node->name);
    if (app_pod_make(d->app, pod, NULL)) {
        place->pod = app_find_part(d->app, json_text_at(pod, "metadata", "name", NULL));
        place->is_held = true;
    }
}

/* A pod that ended is replaced, with a growing pause. */
static void replace_ended(struct daemons *d, struct daemon_place *place)
{
    struct app *a = d->app;
    AUTO_FREE char *message =
        mem_format("Found failed daemon pod %s/%s on node %s, will try to kill it", a->ns,
                   place->pod->name, place->node->name);

    if (place->pod->is_killed || pod_is_deleting(place->pod->object))
        return;
    app_event(a, true, "FailedDaemonPod", message);
    daemon_kill(d, place->pod);
    turn_poke_in(&a->item, retry_failed(&a->create_retry, app_now_ns(a)));
}

static void keep_places(struct daemons *d)
{
    VEC_EACH (&d->places, place) {
        if (place->pod && pod_is_terminal(place->pod->object))
            replace_ended(d, place);
        else if (place->pod && !place->is_wanted && !place->stays)
            daemon_kill(d, place->pod);
        else if (!place->is_held && place->is_wanted && may_make(d))
            daemon_make(d, place);
    }
    VEC_EACH (&d->strays, p)
        daemon_kill(d, *p);
}

/* ---- updates ---- */

static bool is_updated(const struct daemons *d, const struct app_part *p)
{
    return text_equal(json_text_at(p->object, "metadata", "labels", APPS_REVISION_HASH, NULL),
                      revision_hash(d->app, d->update));
}

static bool is_available(const struct daemons *d, const struct daemon_place *place)
{
    return place->pod && app_pod_is_live(place->pod) && app_pod_wait_ns(d->app, place->pod) == 0;
}

static int64_t count_wanted(const struct daemons *d)
{
    int64_t n = 0;

    VEC_EACH (&d->places, place)
        n += place->is_wanted;
    return n;
}

/* Old pods that are not available go at once, others as far as the limit allows. */
static void roll_daemons(struct daemons *d)
{
    const json_t *strategy = json_at(d->app->object, "spec", "updateStrategy", NULL);
    int64_t room = apps_amount(json_at(strategy, "rollingUpdate", "maxUnavailable", NULL),
                               count_wanted(d), true);

    if (!text_equal(json_text(strategy, "type"), "RollingUpdate"))
        return;
    VEC_EACH (&d->places, place)
        room -= place->is_wanted && !is_available(d, place);
    VEC_EACH (&d->places, place) {
        bool is_old = place->pod && app_pod_is_live(place->pod) && !is_updated(d, place->pod);

        if (!is_old || !place->is_wanted)
            continue;
        if (is_available(d, place) && room-- <= 0)
            continue;
        daemon_kill(d, place->pod);
    }
}

/* ---- status ---- */

static void count_daemons(struct daemons *d, json_t *status)
{
    int64_t current = 0;
    int64_t wrong = 0;
    int64_t ready = 0;
    int64_t updated = 0;
    int64_t available = 0;
    int64_t wanted = count_wanted(d);

    VEC_EACH (&d->places, place) {
        bool has_pod = place->pod && app_pod_is_live(place->pod);
        int64_t wait_ns = has_pod ? app_pod_wait_ns(d->app, place->pod) : -1;

        wrong += has_pod && !place->is_wanted;
        if (!place->is_wanted)
            continue;
        current += has_pod;
        ready += wait_ns >= 0;
        available += wait_ns == 0;
        updated += has_pod && is_updated(d, place->pod);
        if (wait_ns > 0)
            turn_poke_in(&d->app->item, wait_ns);
    }
    json_put_int(status, "currentNumberScheduled", current);
    json_put_int(status, "numberMisscheduled", wrong);
    json_put_int(status, "desiredNumberScheduled", wanted);
    json_put_int(status, "numberReady", ready);
    status_put_count(status, "updatedNumberScheduled", updated);
    status_put_count(status, "numberAvailable", available);
    status_put_count(status, "numberUnavailable", wanted - available);
    json_put_int(status, "observedGeneration",
                 json_int_at(d->app->object, "metadata", "generation", NULL));
}

static void daemonset_look(struct app *a)
{
    struct podsets *s = apps_arg(a->loop);
    struct daemons d = {.app = a, .revisions = s->revisions};
    int64_t wait_ns = retry_left_ns(&a->write_retry, app_now_ns(a));
    json_t *status;

    if (wait_ns > 0) {
        turn_poke_in(&a->item, wait_ns);
        return;
    }
    if (!app_claim(a))
        return;
    d.update = revision_of_template(s->revisions, a);
    if (!d.update)
        return;
    d.tree = daemon_tree(a, d.update);
    read_daemons(&d);
    if (!a->is_deleting) {
        keep_places(&d);
        roll_daemons(&d);
    }
    status = json_twin(a->status);
    count_daemons(&d, status);
    revisions_trim(s->revisions, a, d.update, NULL);
    app_write_status(a, status);
    json_decref(d.tree);
    vec_done(&d.places);
    vec_done(&d.strays);
}

const struct app_kind app_daemonset = {.kind = "DaemonSet",
                                       .api_version = "apps/v1",
                                       .resource = "daemonsets.apps",
                                       .component = "daemonset-controller",
                                       .look = daemonset_look};
