/* job_facts.c - pods and Jobs as jobs of people */

#include "kinds/job/job_facts.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

/* ---- batch/v1 Jobs ---- */

static const char *meta_text(const json_t *job, const char *key)
{
    return text_or_empty(json_text_at(job, "metadata", key, NULL));
}

bool batch_is(const json_t *object)
{
    return text_equal(json_text(object, "kind"), "Job") &&
           text_equal(json_text(object, "apiVersion"), "batch/v1");
}

static bool has_condition(const json_t *job, const char *type)
{
    return text_equal(json_text(object_condition(job, type), "status"), "True");
}

static const char *batch_state(const json_t *job)
{
    const json_t *status = json_object_get(job, "status");

    if (has_condition(job, "Complete"))
        return "finished";
    if (has_condition(job, "Failed"))
        return "failed";
    if (json_text_at(job, "metadata", "deletionTimestamp", NULL) ||
        has_condition(job, "FailureTarget") || has_condition(job, "SuccessCriteriaMet"))
        return "ending";
    if (has_condition(job, "Suspended"))
        return "suspended";
    return json_int(status, "ready", 0) > 0 ? "running" : "waiting";
}

static void add_part(char *text, size_t size, int64_t n, const char *what)
{
    size_t used = strlen(text);

    if (n > 0)
        (void)snprintf(text + used, size - used, "%s%" PRId64 " %s", used > 0 ? ", " : "", n, what);
}

/* "3 of 4 done, 1 running" */
static void read_progress(const json_t *job, struct job *ret)
{
    const json_t *status = json_object_get(job, "status");
    const json_t *completions = json_at(job, "spec", "completions", NULL);
    int64_t needed = completions ? json_integer_value(completions) : 1;
    int64_t active = json_int(status, "active", 0);
    int64_t ready = json_int(status, "ready", 0);

    (void)snprintf(ret->progress, sizeof(ret->progress), "%" PRId64 " of %" PRId64 " done",
                   json_int(status, "succeeded", 0), needed);
    add_part(ret->progress, sizeof(ret->progress), ready, "running");
    add_part(ret->progress, sizeof(ret->progress), active - ready, "waiting");
    add_part(ret->progress, sizeof(ret->progress), json_int(status, "terminating", 0), "ending");
    add_part(ret->progress, sizeof(ret->progress), json_int(status, "failed", 0), "failed");
}

static struct job batch_of(const json_t *job)
{
    const json_t *failed = object_condition(job, "Failed");
    const json_t *status = json_object_get(job, "status");
    const char *ended = json_text(status, "completionTime");
    struct job ret = {
        .id = text_or_empty(json_text_at(job, "metadata", "labels", POD_JOB_ID, NULL)),
        .name = meta_text(job, "name"),
        .ns = meta_text(job, "namespace"),
        .user = text_or_empty(json_text_at(job, "metadata", "annotations", POD_USER, NULL)),
        .node = "",
        .state = batch_state(job),
        .reason = has_condition(job, "Failed") ? text_or_empty(json_text(failed, "message")) : "",
        .asks = pod_gpu_asks(json_at(job, "spec", "template", NULL)),
        .exit_code = -1,
        .created_ns = stamp_or(json_text_at(job, "metadata", "creationTimestamp", NULL), 0),
        .started_ns = stamp_or(json_text(status, "startTime"), 0),
        .ended_ns = stamp_or(ended ? ended : json_text(failed, "lastTransitionTime"), 0),
    };

    ret.is_ended = text_equal(ret.state, "finished") || text_equal(ret.state, "failed");
    if (!ret.is_ended)
        gpu_asks_multiply(&ret.asks, json_int(status, "active", 0));
    read_progress(job, &ret);
    return ret;
}

/* ---- pods ---- */

static const json_t *terminated(const json_t *status)
{
    return json_at(status, "state", "terminated", NULL);
}

/* Returns the status of the first container that failed, else of the first container: its exit code
 * is the job's. */
static const json_t *telling_status(const json_t *pod)
{
    const json_t *statuses = json_at(pod, "status", "containerStatuses", NULL);
    json_t *status;
    size_t i;

    json_array_foreach (statuses, i, status)
        if (terminated(status) && json_int(terminated(status), "exitCode", 0) != 0)
            return status;
    return json_array_get(statuses, 0);
}

/* -1: the container has not ended. */
static int64_t exit_code_of(const json_t *pod)
{
    const json_t *end = terminated(telling_status(pod));

    return end ? json_int(end, "exitCode", -1) : -1;
}

static void read_times(const json_t *pod, struct job *job)
{
    const json_t *statuses = json_at(pod, "status", "containerStatuses", NULL);
    json_t *status;
    size_t i;

    job->created_ns = stamp_or(json_text_at(pod, "metadata", "creationTimestamp", NULL), 0);
    json_array_foreach (statuses, i, status) {
        int64_t running_ns =
            stamp_or(json_text_at(status, "state", "running", "startedAt", NULL), 0);
        int64_t started_ns =
            running_ns ? running_ns : stamp_or(json_text(terminated(status), "startedAt"), 0);
        int64_t ended_ns = stamp_or(json_text(terminated(status), "finishedAt"), 0);

        if (started_ns && (job->started_ns == 0 || started_ns < job->started_ns))
            job->started_ns = started_ns;
        if (ended_ns > job->ended_ns)
            job->ended_ns = ended_ns;
    }
}

static const char *waiting_reason(const json_t *pod)
{
    const json_t *statuses = json_at(pod, "status", "containerStatuses", NULL);
    const json_t *condition = object_condition(pod, "PodScheduled");
    json_t *status;
    size_t i;

    if (condition && text_equal(json_text(condition, "status"), "False"))
        return text_or_empty(json_text(condition, "message"));
    json_array_foreach (statuses, i, status) {
        const char *message = json_text_at(status, "state", "waiting", "message", NULL);
        const char *reason = json_text_at(status, "state", "waiting", "reason", NULL);

        if (message && message[0])
            return message;
        if (reason && !text_equal(reason, "ContainerCreating") &&
            !text_equal(reason, "PodInitializing"))
            return reason;
    }
    return text_or_empty(json_text_at(pod, "status", "message", NULL));
}

static const char *end_reason(const json_t *pod)
{
    const char *message = json_text_at(pod, "status", "message", NULL);
    const char *reason = json_text_at(pod, "status", "reason", NULL);
    const char *ended = json_text(terminated(telling_status(pod)), "reason");

    if (message && message[0])
        return message;
    if (reason && reason[0])
        return reason;
    return ended && !text_equal(ended, "Completed") && !text_equal(ended, "Error") ? ended : "";
}

static const char *job_state(const json_t *pod)
{
    const char *phase = text_or_empty(json_text_at(pod, "status", "phase", NULL));

    if (text_equal(phase, "Succeeded"))
        return "finished";
    if (text_equal(phase, "Failed"))
        return "failed";
    if (pod_is_deleting(pod))
        return "ending";
    if (text_equal(phase, "Running"))
        return "running";
    return pod_node(pod)[0] ? "starting" : "waiting";
}

struct job job_of(const json_t *pod)
{
    struct job job = {
        .id = text_or_empty(json_text_at(pod, "metadata", "labels", POD_JOB_ID, NULL)),
        .name = text_or_empty(json_text_at(pod, "metadata", "name", NULL)),
        .ns = text_or_empty(json_text_at(pod, "metadata", "namespace", NULL)),
        .user = text_or_empty(json_text_at(pod, "metadata", "annotations", POD_USER, NULL)),
        .node = pod_node(pod),
        .state = job_state(pod),
        .asks = pod_gpu_asks(pod),
        .exit_code = exit_code_of(pod),
        .is_ended = pod_is_terminal(pod),
    };

    if (batch_is(pod))
        return batch_of(pod);
    read_times(pod, &job);
    job.reason = job.is_ended ? end_reason(pod) : waiting_reason(pod);
    return job;
}

json_t *job_gpus_cell(const struct job *job)
{
    AUTO_FREE char *text = gpu_asks_format(&job->asks);

    if (job->asks.n == 0)
        return json_integer(0);
    if (job->asks.n == 1 && job->asks.at[0].kind == DEVICE_WHOLE)
        return json_integer(job->asks.at[0].count);
    return json_string(text);
}
