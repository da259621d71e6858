/* batch.c - batch/v1 Jobs as jobs of the command line */

#include "cli/job/batch.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/job/job.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

static const char *meta_text(const json_t *job, const char *key)
{
    return text_or_empty(json_text_at(job, "metadata", key, NULL));
}

bool batch_is(const json_t *object)
{
    return text_equal(json_text(object, "kind"), "Job") &&
           text_equal(json_text(object, "apiVersion"), "batch/v1");
}

char *batch_path(const json_t *job)
{
    return path_format("/apis/batch/v1/namespaces/%s/jobs/%s", meta_text(job, "namespace"),
                       meta_text(job, "name"));
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

struct job batch_of(const json_t *job)
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

static struct err *find_by_id(struct session *s, const char *path, const char *id, json_t **ret)
{
    AUTO_FREE char *query =
        path_format("%s?labelSelector=mete.dev%%2Fjob-id%%3D%s&limit=1", path, id);
    AUTO(json_freep) json_t *list = NULL;

    TRY(session_get(s, query, &list));
    *ret = json_incref(json_array_get(json_at(list, "items", NULL), 0));
    return NULL;
}

struct err *batch_find_id(struct session *s, const char *id, json_t **ret)
{
    AUTO_FREE char *own = path_format("/apis/batch/v1/namespaces/%s/jobs", session_namespace(s));
    struct err *e = find_by_id(s, "/apis/batch/v1/jobs", id, ret);

    if (!e || err_code(e) != ERR_FORBIDDEN)
        return e;
    err_free(e);
    return find_by_id(s, own, id, ret);
}

struct err *batch_find_name(struct session *s, const char *name, json_t **ret)
{
    struct buf path = {0};
    struct err *e;

    buf_printf(&path, "/apis/batch/v1/namespaces/%s/jobs/", session_namespace(s));
    client_add_escaped(&path, str_of(name));
    e = session_get(s, path.at, ret);
    buf_done(&path);
    return e;
}

struct err *batch_pods(struct session *s, const json_t *job, const char *fields, json_t **ret)
{
    AUTO_FREE char *path = path_format(
        "/api/v1/namespaces/%s/pods?labelSelector=batch.kubernetes.io%%2Fcontroller-uid%%3D%s%s%s",
        meta_text(job, "namespace"), meta_text(job, "uid"), fields ? "&fieldSelector=" : "",
        fields ? fields : "");
    const struct list_query q = {.path = path};
    struct list_result list = {0};

    TRY(session_list(s, &q, &list));
    *ret = json_incref(json_object_get(list.first, "items"));
    json_decref(list.first);
    return NULL;
}

struct err *batch_pod(struct session *s, const json_t *job, json_t **ret)
{
    AUTO(json_freep) json_t *pods = NULL;
    struct job facts = batch_of(job);
    json_t *active = NULL;
    size_t n_active = 0;
    json_t *pod;
    size_t i;

    TRY(batch_pods(s, job, NULL, &pods));
    json_array_foreach (pods, i, pod) {
        if (pod_is_terminal(pod))
            continue;
        active = pod;
        n_active++;
    }
    if (json_array_size(pods) == 1)
        active = json_array_get(pods, 0);
    else if (n_active != 1)
        active = NULL;
    if (active) {
        *ret = json_incref(active);
        return NULL;
    }
    if (json_array_size(pods) == 0)
        return err_new(ERR_NOT_FOUND, "job %s %s has no pods: it is %s", facts.id, facts.name,
                       facts.state);
    return err_new(ERR_BAD_REQUEST, "job %s %s has %zu pods: name one pod, for example pod/%s",
                   facts.id, facts.name, json_array_size(pods),
                   meta_text(json_array_get(pods, 0), "name"));
}
