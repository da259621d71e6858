/* jobs.c - pods and Jobs as jobs of the command line */

#include "cli/job/jobs.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "cli/job/batch.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "model/gpu_set.h"

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

char *job_path(const json_t *pod)
{
    if (batch_is(pod))
        return batch_path(pod);
    return path_format("/api/v1/namespaces/%s/pods/%s",
                       text_or_empty(json_text_at(pod, "metadata", "namespace", NULL)),
                       text_or_empty(json_text_at(pod, "metadata", "name", NULL)));
}

static bool is_number(const char *word)
{
    return word[0] && strspn(word, "0123456789") == strlen(word) && strlen(word) < 20;
}

static struct err *find_by_id(struct session *s, const char *path, const char *id, json_t **ret)
{
    AUTO_FREE char *query = path_format("%s?labelSelector="
                                        "mete.dev%%2Fjob-id%%3D%s&limit=2",
                                        path, id);
    AUTO(json_freep) json_t *list = NULL;

    TRY(session_get(s, query, &list));
    *ret = json_incref(json_array_get(json_at(list, "items", NULL), 0));
    if (!*ret)
        return err_new(ERR_NOT_FOUND, "there is no job %s", id);
    return NULL;
}

/* Job numbers are unique over all namespaces; a user who may not list all namespaces searches one.
 */
static struct err *find_id(struct session *s, const char *id, json_t **ret)
{
    AUTO_FREE char *own = path_format("/api/v1/namespaces/%s/pods", session_namespace(s));
    struct err *e = find_by_id(s, "/api/v1/pods", id, ret);

    if (!e || err_code(e) != ERR_FORBIDDEN)
        return e;
    err_free(e);
    return find_by_id(s, own, id, ret);
}

static struct err *find_name(struct session *s, const char *name, json_t **ret)
{
    struct buf path = {0};
    struct err *e;

    buf_printf(&path, "/api/v1/namespaces/%s/pods/", session_namespace(s));
    client_add_escaped(&path, str_of(name));
    e = session_get(s, path.at, ret);
    buf_done(&path);
    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return err_new(ERR_NOT_FOUND, "there is no job \"%s\" in namespace %s", name,
                       session_namespace(s));
    }
    return e;
}

/* The pods of a Job have the Job's number, too: the Job is searched first. */
static struct err *find_whole_id(struct session *s, const char *id, json_t **ret)
{
    TRY(batch_find_id(s, id, ret));
    return *ret ? NULL : find_id(s, id, ret);
}

static struct err *find_whole_name(struct session *s, const char *name, json_t **ret)
{
    struct err *e = find_name(s, name, ret);
    AUTO(err_freep) struct err *other = NULL;

    if (!e || err_code(e) != ERR_NOT_FOUND)
        return e;
    other = batch_find_name(s, name, ret);
    if (other)
        return e;
    err_free(e);
    return NULL;
}

struct err *job_find_whole(struct session *s, const char *word, json_t **ret)
{
    if (text_starts_with(word, "pod/"))
        return find_name(s, word + strlen("pod/"), ret);
    if (text_starts_with(word, "job/"))
        return batch_find_name(s, word + strlen("job/"), ret);
    if (is_number(word))
        return find_whole_id(s, word, ret);
    return find_whole_name(s, word, ret);
}

struct err *job_find(struct session *s, const char *word, json_t **ret)
{
    AUTO(json_freep) json_t *found = NULL;

    TRY(job_find_whole(s, word, &found));
    if (batch_is(found))
        return batch_pod(s, found, ret);
    *ret = TAKE(found);
    return NULL;
}

struct indices {
    const json_t *gpus;
    struct gpu_set set;
    bool is_any;
};

static bool add_index(void *arg, const char *container, const struct device *d)
{
    struct indices *x = arg;
    json_t *gpu;
    size_t i;

    (void)container;
    json_array_foreach (x->gpus, i, gpu) {
        const char *own = json_text_at(gpu, "spec", "uuid", NULL);
        int64_t index = json_int_at(gpu, "spec", "index", NULL);

        if (!text_equal(own ? own : json_text_at(gpu, "metadata", "name", NULL), d->gpu) ||
            index < 0 || index >= (int64_t)GPU_SET_MAX)
            continue;
        gpu_set_add(&x->set, (unsigned)index);
        x->is_any = true;
    }
    return true;
}

char *job_gpu_indices(const json_t *pod, const json_t *gpus)
{
    struct indices x = {.gpus = json_at(gpus, "items", NULL)};

    pod_each_device(pod, add_index, &x);
    return x.is_any ? gpu_set_format(&x.set) : NULL;
}

void elapsed_format(int64_t ns, char ret[STAMP_TEXT_SIZE])
{
    if (ns >= 0 && ns < 10 * NS_PER_SEC)
        (void)snprintf(ret, STAMP_TEXT_SIZE, "%" PRId64 ".%" PRId64 " s", ns / NS_PER_SEC,
                       ns / (NS_PER_SEC / 10) % 10);
    else
        stamp_format_age(ns, ret);
}
