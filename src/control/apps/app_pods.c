/* app_pods.c - the pods of ReplicaSets, StatefulSets and DaemonSets */

#include "control/apps/app_pods.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "control/made_pods.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

bool app_pod_is_live(const struct app_part *p)
{
    return !p->is_killed && !pod_is_terminal(p->object) && !pod_is_deleting(p->object);
}

bool app_pod_is_leaving(const struct app_part *p)
{
    return (p->is_killed || pod_is_deleting(p->object)) && !pod_is_terminal(p->object);
}

bool app_pod_is_ready(const struct app_part *p)
{
    return pod_is_ready(p->object);
}

/* When the pod became ready; realtime. */
static int64_t ready_since_ns(const struct app_part *p)
{
    return stamp_or(json_text(object_condition(p->object, "Ready"), "lastTransitionTime"), 0);
}

int64_t app_pod_wait_ns(const struct app *a, const struct app_part *p)
{
    int64_t seconds = json_int_at(a->object, "spec", "minReadySeconds", NULL);
    int64_t left_ns;

    if (!app_pod_is_ready(p))
        return -1;
    left_ns = ready_since_ns(p) + seconds * NS_PER_SEC - app_wall_ns(a);
    return seconds > 0 && left_ns > 0 ? left_ns : 0;
}

json_t *app_pod_tree(const struct app *a, const json_t *template)
{
    json_t *pod = json_deep_copy(template);
    json_t *metadata = json_object_at(pod, "metadata");

    json_put_text(metadata, "name", NULL);
    json_put_text(metadata, "namespace", NULL);
    app_put_owner(a, metadata);
    made_pod_put_user(pod, a->object);
    made_pod_put_queue(pod, a->object);
    return pod;
}

void app_put_failure(const struct app *a, json_t *status, const char *reason, const char *message)
{
    json_t *condition = status_condition(status, "ReplicaFailure");
    char now[STAMP_TEXT_SIZE];

    if (condition && text_equal(json_text(condition, "reason"), reason))
        return;
    status_drop_condition(status, "ReplicaFailure");
    stamp_format(app_wall_ns(a), now);
    (void)json_array_append_new(json_array_at(status, "conditions"),
                                json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", "ReplicaFailure",
                                          "status", "True", "lastTransitionTime", now, "reason",
                                          reason, "message", message)); /* fresh */
}

bool app_pod_make(struct app *a, json_t *tree, json_t *status)
{
    AUTO(err_freep) struct err *e = app_make(a, tree);
    AUTO_FREE char *message = NULL;

    if (!e) {
        a->create_retry = (struct retry){0};
        app_part_event(a, "SuccessfulCreate", "Create",
                       json_text_at(tree, "metadata", "name", NULL));
        return true;
    }
    if (err_code(e) == ERR_PENDING) {
        turn_poke_in(&a->item, PENDING_NS);
        return false;
    }
    message = mem_format("Error creating: %s", err_message(e));
    app_event(a, true, "FailedCreate", message);
    if (status)
        app_put_failure(a, status, "FailedCreate", err_message(e));
    turn_poke_in(&a->item, retry_failed(&a->create_retry, app_now_ns(a)));
    return false;
}

/* ---- which pods to delete ---- */

struct ranked {
    struct app_part *part;
    int phase; /* Pending, Unknown, Running */
    bool is_bound;
    bool is_ready;
    int64_t cost;
    size_t n_beside; /* live pods of the app on the same node */
    int64_t ready_ns;
    int64_t restarts;
    int64_t created_ns;
};

static int phase_of(const json_t *pod)
{
    const char *phase = pod_phase(pod);

    if (text_equal(phase, "Pending"))
        return 0;
    return text_equal(phase, "Running") ? 2 : 1;
}

static int64_t cost_of(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "annotations", APPS_DELETION_COST, NULL);
    int64_t cost = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), INT32_MIN, INT32_MAX, &cost)); /* else 0 */
    return cost;
}

static int compare_numbers(int64_t one, int64_t other)
{
    return one == other ? 0 : one < other ? -1 : 1;
}

static int compare_ranked(const void *one, const void *other)
{
    const struct ranked *x = one;
    const struct ranked *y = other;
    const int order[] = {
        compare_numbers(x->is_bound, y->is_bound), compare_numbers(x->phase, y->phase),
        compare_numbers(x->is_ready, y->is_ready), compare_numbers(x->cost, y->cost),
        compare_numbers((int64_t)y->n_beside, (int64_t)x->n_beside),
        /* the newest first */
        x->is_ready ? compare_numbers(y->ready_ns, x->ready_ns) : 0,
        compare_numbers(y->restarts, x->restarts), compare_numbers(y->created_ns, x->created_ns)};

    for (size_t i = 0; i < COUNT(order); i++)
        if (order[i] != 0)
            return order[i];
    return strcmp(x->part->uid, y->part->uid);
}

static int compare_nodes(const void *one, const void *other)
{
    const struct ranked *x = one;
    const struct ranked *y = other;
    int order = strcmp(pod_node(x->part->object), pod_node(y->part->object));

    return order != 0 ? order : strcmp(x->part->uid, y->part->uid);
}

static void count_beside(struct ranked *list, size_t n)
{
    if (n > 1)
        qsort(list, n, sizeof(*list), compare_nodes);
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
        const char *node = pod_node(list[begin].part->object);

        while (end < n && text_equal(pod_node(list[end].part->object), node))
            end++;
        for (size_t i = begin; i < end; i++)
            list[i].n_beside = end - begin;
    }
}

void app_pods_order(struct app_part **pods, size_t n)
{
    struct ranked *list = mem_alloc((n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++) {
        const json_t *pod = pods[i]->object;

        list[i] = (struct ranked){
            .part = pods[i],
            .phase = phase_of(pod),
            .is_bound = *pod_node(pod) != '\0',
            .is_ready = app_pod_is_ready(pods[i]),
            .cost = cost_of(pod),
            .ready_ns = ready_since_ns(pods[i]),
            .restarts = pod_progress(pod).restarts,
            .created_ns = stamp_or(json_text_at(pod, "metadata", "creationTimestamp", NULL), 0)};
    }
    count_beside(list, n);
    if (n > 1)
        qsort(list, n, sizeof(*list), compare_ranked);
    for (size_t i = 0; i < n; i++)
        pods[i] = list[i].part;
    free(list);
}
