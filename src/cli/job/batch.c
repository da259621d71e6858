/* batch.c - batch/v1 Jobs as jobs of the command line */

#include "cli/job/batch.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

static const char *meta_text(const json_t *job, const char *key)
{
    return text_or_empty(json_text_at(job, "metadata", key, NULL));
}

char *batch_path(const json_t *job)
{
    return path_format("/apis/batch/v1/namespaces/%s/jobs/%s", meta_text(job, "namespace"),
                       meta_text(job, "name"));
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
    struct job facts = job_of(job);
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
