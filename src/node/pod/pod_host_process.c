/*
 * pod_host_process.c - pods whose streams are files of a user: processes of the host, started
 * without an OCI runtime, and batch scripts in a container
 */

#include "base/log.h"
#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_job.h"
#include "node/pod/pod.h"
#include "node/pod/refs.h"

static const char *process_text(const struct pod *p, const char *annotation)
{
    return json_text_at(p->object, "metadata", "annotations", annotation, NULL);
}

bool pod_is_host_process(const struct pod *p)
{
    return process_text(p, HOST_PROCESS_ANNOTATION) != NULL;
}

bool pod_is_batch(const struct pod *p)
{
    return process_text(p, BATCH_CONTAINER_ANNOTATION) != NULL;
}

/* Puts the node's name without its domain in the place of the marks. */
static void put_host(const struct pod *p, json_t *process, const char *key)
{
    const char *node = p->set->o.node;
    const char *at = json_text(process, key);
    const char *mark = at ? strstr(at, SLURM_HOST_MARK) : NULL;
    struct buf out = {0};
    AUTO_FREE char *path = NULL;

    if (!mark)
        return;
    for (; mark; mark = strstr(at, SLURM_HOST_MARK)) {
        buf_printf(&out, "%.*s%.*s", (int)(mark - at), at, (int)strcspn(node, "."), node);
        at = mark + strlen(SLURM_HOST_MARK);
    }
    buf_add_text(&out, at);
    path = buf_steal(&out);
    json_put_text(process, key, path);
}

/* Reads the annotation of a pod with one container, of the image `host` or of another. */
static struct err *process_read(const struct pod *p, const char *annotation, bool is_host,
                                json_t **ret)
{
    static const char *const paths[] = {"stdin", "stdout", "stderr"};
    const char *text = process_text(p, annotation);
    const json_t *containers = json_at(p->object, "spec", "containers", NULL);
    AUTO(json_freep) json_t *process = NULL;
    struct err *e = NULL;

    *ret = NULL;
    if (!text)
        return NULL;
    e = json_parse(str_of(text), &process);
    if (e)
        return err_wrap(e, "annotation %s", annotation);
    if (p->n_containers != 1 || !container_image(json_array_get(containers, 0)) != is_host)
        return err_new(ERR_INVALID, "annotation %s: the pod is not one container of %s", annotation,
                       is_host ? "the image 'host'" : "an image");
    for (size_t i = 0; i < COUNT(paths); i++)
        put_host(p, process, paths[i]);
    *ret = TAKE(process);
    return NULL;
}

/* The variables for the prolog and epilog, which run as root: of the server and the node alone. */
static void put_variables(const struct pod *p, json_t *process)
{
    const char *text = process_text(p, SLURM_ENVIRONMENT_ANNOTATION);
    const char *nodes = process_text(p, SLURM_NODES_ANNOTATION);
    const char *node = p->set->o.node;
    AUTO_FREE char *list = mem_format("SLURM_JOB_NODELIST=%s", nodes ? nodes : node);
    AUTO_FREE char *name = mem_format("SLURMD_NODENAME=%s", node);
    json_t *all = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &all) : NULL;

    if (e || !json_is_array(all)) {
        json_decref(all);
        all = json_array();
    }
    (void)json_array_append_new(all, json_string(list)); /* UTF-8: cannot fail */
    (void)json_array_append_new(all, json_string(name)); /* as above */
    json_put(process, "variables", all);
    json_put_bool(process, "hasGpus", process_text(p, POD_DEVICES) != NULL);
}

struct err *pod_host_process(const struct pod *p, json_t **ret)
{
    AUTO(json_freep) json_t *process = NULL;
    const char *script;

    TRY(process_read(p, HOST_PROCESS_ANNOTATION, true, &process));
    if (json_bool(process, "jobScript", false)) {
        script = json_text(refs_slurm_spec(p->refs, p->object), "script");
        if (!script)
            return err_new(ERR_NOT_FOUND, "the Slurm job with the script is gone");
        json_put_text(process, "script", script);
    }
    if (json_text(process, "prolog") || json_text(process, "epilog"))
        put_variables(p, process);
    *ret = TAKE(process);
    return NULL;
}

struct err *pod_batch(const struct pod *p, json_t **ret)
{
    return process_read(p, BATCH_CONTAINER_ANNOTATION, false, ret);
}

struct err *pod_batch_owner(const struct pod *p, uid_t *ret)
{
    AUTO(json_freep) json_t *batch = NULL;
    int64_t uid = 0;

    TRY(pod_batch(p, &batch));
    uid = json_int(batch, "uid", -1);
    if (batch && (uid < 0 || uid >= UINT32_MAX))
        return err_new(ERR_INVALID, "annotation %s: no uid", BATCH_CONTAINER_ANNOTATION);
    *ret = batch ? (uid_t)uid : NO_HOST_USER;
    return NULL;
}

char *pod_output_path(const struct pod *p)
{
    AUTO(json_freep) json_t *process = NULL;
    AUTO(err_freep)
    struct err *e = pod_is_batch(p) ? pod_batch(p, &process)
                                    : process_read(p, HOST_PROCESS_ANNOTATION, true, &process);
    const char *path = e ? NULL : json_text(process, "stdout");

    return path ? mem_strdup(path) : NULL;
}
