/* jobs.c - pods and Jobs as jobs of the command line */

#include "cli/job/jobs.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "cli/job/batch.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "model/gpu_set.h"

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
