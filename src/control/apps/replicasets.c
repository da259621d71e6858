/* replicasets.c - one look at a ReplicaSet or ReplicationController: pods that are missing, pods
 * beyond, and the status */

#include <inttypes.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/apps/podsets_private.h"
#include "kinds/pod/pod_state.h"

enum {
    REPLICA_NAME_MAX = 63 - 5 /* the server adds a suffix */
};

static int64_t wanted(const struct app *a)
{
    return json_int_at(a->object, "spec", "replicas", NULL);
}

static int64_t count_live(struct app *a)
{
    struct app_part *p;
    int64_t n = 0;

    LIST_EACH (a->parts, p)
        n += app_pod_is_live(p);
    return n;
}

static json_t *replica_tree(const struct app *a)
{
    json_t *pod = app_pod_tree(a, json_at(a->object, "spec", "template", NULL));
    AUTO_FREE char *name = mem_format("%.*s-", REPLICA_NAME_MAX - 1, a->name);

    json_put_text(json_object_at(pod, "metadata"), "generateName", name);
    return pod;
}

/* At most APP_CREATES_MAX in one turn; after a failure the rest waits for the next try. */
static void make_replicas(struct app *a, int64_t n, json_t *status)
{
    int64_t left_ns = retry_left_ns(&a->create_retry, app_now_ns(a));

    if (left_ns > 0) {
        turn_poke_in(&a->item, left_ns);
        return;
    }
    if (n > APP_CREATES_MAX) {
        n = APP_CREATES_MAX;
        turn_poke(&a->item);
    }
    for (; n > 0; n--) {
        AUTO(json_freep) json_t *pod = replica_tree(a);

        if (!app_pod_make(a, pod, status))
            return;
    }
}

static void kill_replicas(struct app *a, int64_t n)
{
    VEC(struct app_part *) live = {0};
    struct app_part *p;

    LIST_EACH (a->parts, p)
        if (app_pod_is_live(p))
            vec_add(&live, p);
    app_pods_order(live.at, live.n);
    if (n > APP_CREATES_MAX) {
        n = APP_CREATES_MAX;
        turn_poke(&a->item);
    }
    for (int64_t i = 0; i < n && (size_t)i < live.n; i++) {
        AUTO_FREE char *name = mem_strdup(live.at[i]->name);

        if (!app_kill(a, live.at[i]))
            break;
        app_part_event(a, "SuccessfulDelete", "Delete", name);
    }
    vec_done(&live);
}

static void manage_replicas(struct app *a, json_t *status)
{
    int64_t more = wanted(a) - count_live(a);

    if (more > 0) {
        make_replicas(a, more, status);
    } else {
        a->create_retry = (struct retry){0};
        kill_replicas(a, -more);
    }
    if (wanted(a) == count_live(a))
        status_drop_condition(status, "ReplicaFailure");
}

/* Has the pod all labels of the template? */
static bool is_fully_labeled(const struct app *a, const json_t *pod)
{
    json_t *labels = json_at(a->object, "spec", "template", "metadata", "labels", NULL);
    const char *key;
    json_t *value;

    json_object_foreach (labels, key, value)
        if (!text_equal(json_text_at(pod, "metadata", "labels", key, NULL),
                        json_string_value(value)))
            return false;
    return true;
}

static void count_replicas(struct app *a, json_t *status)
{
    int64_t n = 0;
    int64_t labeled = 0;
    int64_t ready = 0;
    int64_t available = 0;
    int64_t leaving = 0;
    struct app_part *p;

    LIST_EACH (a->parts, p) {
        int64_t wait_ns;

        leaving += app_pod_is_leaving(p);
        if (!app_pod_is_live(p))
            continue;
        wait_ns = app_pod_wait_ns(a, p);
        n++;
        labeled += is_fully_labeled(a, p->object);
        ready += wait_ns >= 0;
        available += wait_ns == 0;
        if (wait_ns > 0)
            turn_poke_in(&a->item, wait_ns);
    }
    json_put_int(status, "replicas", n);
    status_put_count(status, "fullyLabeledReplicas", labeled);
    status_put_count(status, "readyReplicas", ready);
    status_put_count(status, "availableReplicas", available);
    json_put_int(status, "terminatingReplicas", leaving);
    json_put_int(status, "observedGeneration",
                 json_int_at(a->object, "metadata", "generation", NULL));
}

static void replicaset_look(struct app *a)
{
    json_t *status;
    int64_t wait_ns = retry_left_ns(&a->write_retry, app_now_ns(a));

    if (wait_ns > 0) {
        turn_poke_in(&a->item, wait_ns);
        return;
    }
    if (!app_claim(a))
        return;
    status = json_twin(a->status);
    if (!a->is_deleting)
        manage_replicas(a, status);
    count_replicas(a, status);
    app_write_status(a, status);
}

const struct app_kind app_replicaset = {.kind = "ReplicaSet",
                                        .api_version = "apps/v1",
                                        .resource = "replicasets.apps",
                                        .component = "replicaset-controller",
                                        .look = replicaset_look};

const struct app_kind app_replicationcontroller = {.kind = "ReplicationController",
                                                   .api_version = "v1",
                                                   .resource = "replicationcontrollers",
                                                   .component = "replication-controller",
                                                   .look = replicaset_look};
