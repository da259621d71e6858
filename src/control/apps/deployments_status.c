/* deployments_status.c - the numbers and conditions of a Deployment */

#include <inttypes.h>

#include "base/mem.h"
#include "control/apps/deployments_private.h"

#define PROGRESS_SLACK_NS NS_PER_SEC /* stamps have whole seconds */

/* As Kubernetes has it: the same status and reason change nothing. */
void rollout_condition(struct rollout *r, const char *type, const char *value, const char *reason,
                       const char *message)
{
    json_t *was = status_condition(r->status, type);
    char now[STAMP_TEXT_SIZE];
    AUTO_FREE char *since = NULL;

    if (was && text_equal(json_text(was, "status"), value) &&
        text_equal(json_text(was, "reason"), reason))
        return;
    stamp_format(r->now_ns, now);
    since = mem_strdup(was && text_equal(json_text(was, "status"), value) &&
                               json_text(was, "lastTransitionTime")
                           ? json_text(was, "lastTransitionTime")
                           : now);
    status_drop_condition(r->status, type);
    (void)json_array_append_new(json_array_at(r->status, "conditions"),
                                json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "type", type, "status",
                                          value, "lastUpdateTime", now, "lastTransitionTime", since,
                                          "reason", reason, "message",
                                          message)); /* fresh: cannot fail */
}

bool rollout_has_deadline(const struct rollout *r)
{
    return json_int(r->spec, "progressDeadlineSeconds", INT32_MAX) != INT32_MAX;
}

void rollout_count(struct rollout *r)
{
    int64_t actual = 0;
    int64_t ready = 0;
    int64_t available = 0;
    int64_t leaving = 0;
    int64_t unavailable;

    VEC_EACH (&r->sets, s) {
        actual += s->actual;
        ready += json_int_at(s->part->object, "status", "readyReplicas", NULL);
        available += json_int_at(s->part->object, "status", "availableReplicas", NULL);
        leaving += s->leaving;
    }
    unavailable = rollout_replicas(r) - available;
    status_put_count(r->status, "replicas", actual);
    status_put_count(r->status, "updatedReplicas", r->fresh ? r->fresh->actual : 0);
    status_put_count(r->status, "readyReplicas", ready);
    status_put_count(r->status, "availableReplicas", available);
    status_put_count(r->status, "unavailableReplicas", unavailable);
    json_put_int(r->status, "terminatingReplicas", leaving);
    json_put_int(r->status, "observedGeneration",
                 json_int_at(r->app->object, "metadata", "generation", NULL));
    if (available >= r->limits.replicas - r->limits.unavailable)
        rollout_condition(r, "Available", "True", "MinimumReplicasAvailable",
                          "Deployment has minimum availability.");
    else
        rollout_condition(r, "Available", "False", "MinimumReplicasUnavailable",
                          "Deployment does not have minimum availability.");
}

bool rollout_is_complete(const struct rollout *r)
{
    return json_int(r->status, "updatedReplicas", 0) == r->limits.replicas &&
           json_int(r->status, "replicas", 0) == r->limits.replicas &&
           json_int(r->status, "availableReplicas", 0) == r->limits.replicas;
}

static int64_t grown(const struct rollout *r, const char *key)
{
    return json_int(r->status, key, 0) - json_int(r->app->status, key, 0);
}

static bool is_progressing(const struct rollout *r)
{
    int64_t old = grown(r, "replicas") - grown(r, "updatedReplicas");

    return grown(r, "updatedReplicas") > 0 || old < 0 || grown(r, "readyReplicas") > 0 ||
           grown(r, "availableReplicas") > 0;
}

/* The time until the deadline; 0: it has passed; -1: there is none to wait for. */
static int64_t deadline_left_ns(const struct rollout *r)
{
    const json_t *condition = status_condition(r->status, "Progressing");
    const char *reason = json_text(condition, "reason");
    int64_t at_ns;

    if (!condition || text_equal(reason, "NewReplicaSetAvailable"))
        return -1;
    if (text_equal(reason, "ProgressDeadlineExceeded"))
        return 0;
    at_ns = stamp_or(json_text(condition, "lastUpdateTime"), 0) +
            json_int(r->spec, "progressDeadlineSeconds", 0) * NS_PER_SEC;
    return at_ns < r->now_ns ? 0 : at_ns - r->now_ns + PROGRESS_SLACK_NS;
}

static char *progress_text(const struct rollout *r, const char *what)
{
    if (r->fresh)
        return mem_format("ReplicaSet \"%s\" %s", r->fresh->part->name, what);
    return mem_format("Deployment \"%s\" %s", r->app->name, what);
}

/* Progress renews the condition's lastUpdateTime, even if its reason stays. */
static void note_progress(struct rollout *r)
{
    json_t *was = status_condition(r->status, "Progressing");
    AUTO_FREE char *text = progress_text(r, "is progressing.");

    if (was)
        json_put_text(was, "reason", "");
    rollout_condition(r, "Progressing", "True", "ReplicaSetUpdated", text);
}

static bool was_complete(const struct rollout *r)
{
    const json_t *was = status_condition(r->app->status, "Progressing");

    return json_int(r->status, "replicas", 0) == json_int(r->status, "updatedReplicas", 0) &&
           text_equal(json_text(was, "reason"), "NewReplicaSetAvailable");
}

static void estimate_progress(struct rollout *r)
{
    AUTO_FREE char *done = progress_text(r, "has successfully progressed.");
    AUTO_FREE char *late = progress_text(r, "has timed out progressing.");
    int64_t left_ns;

    if (rollout_is_complete(r)) {
        rollout_condition(r, "Progressing", "True", "NewReplicaSetAvailable", done);
        return;
    }
    if (is_progressing(r))
        note_progress(r);
    left_ns = deadline_left_ns(r);
    if (left_ns == 0)
        rollout_condition(r, "Progressing", "False", "ProgressDeadlineExceeded", late);
    else if (left_ns > 0)
        turn_poke_in(&r->app->item, left_ns);
}

static const json_t *failure_of(const struct rollout_set *s)
{
    return status_condition(json_object_get(s->part->object, "status"), "ReplicaFailure");
}

/* The failure of the set in use before those of others. */
static void show_failure(struct rollout *r)
{
    const json_t *failure = r->fresh ? failure_of(r->fresh) : NULL;

    VEC_EACH (&r->sets, s)
        if (!failure)
            failure = failure_of(s);
    if (failure)
        rollout_condition(r, "ReplicaFailure", json_text(failure, "status"),
                          json_text(failure, "reason"), json_text(failure, "message"));
    else
        status_drop_condition(r->status, "ReplicaFailure");
}

void rollout_progress(struct rollout *r)
{
    if (!rollout_has_deadline(r))
        status_drop_condition(r->status, "Progressing");
    else if (!was_complete(r))
        estimate_progress(r);
    show_failure(r);
}

void rollout_pause(struct rollout *r)
{
    const char *reason = json_text(status_condition(r->status, "Progressing"), "reason");
    bool is_paused = json_bool(r->spec, "paused", false);
    bool was_paused = text_equal(reason, "DeploymentPaused");

    if (!rollout_has_deadline(r) || text_equal(reason, "ProgressDeadlineExceeded"))
        return;
    if (is_paused && !was_paused)
        rollout_condition(r, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused");
    else if (!is_paused && was_paused)
        rollout_condition(r, "Progressing", "Unknown", "DeploymentResumed",
                          "Deployment is resumed");
}
