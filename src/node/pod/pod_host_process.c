/* pod_host_process.c - pods that are a process of the host, started without an OCI runtime */

#include "base/log.h"
#include "base/mem.h"
#include "kinds/slurm/slurm_job.h"
#include "node/pod/pod.h"

static const char *process_text(const struct pod *p)
{
    return json_text_at(p->object, "metadata", "annotations", HOST_PROCESS_ANNOTATION, NULL);
}

bool pod_is_host_process(const struct pod *p)
{
    return process_text(p) != NULL;
}

struct err *pod_host_process(const struct pod *p, json_t **ret)
{
    const char *text = process_text(p);
    const json_t *containers = json_at(p->object, "spec", "containers", NULL);
    AUTO(json_freep) json_t *process = NULL;
    struct err *e = NULL;

    if (!text) {
        *ret = NULL;
        return NULL;
    }
    e = json_parse(str_of(text), &process);
    if (e)
        return err_wrap(e, "annotation " HOST_PROCESS_ANNOTATION);
    if (p->n_containers != 1 || container_image(json_array_get(containers, 0)))
        return err_new(ERR_INVALID, "annotation " HOST_PROCESS_ANNOTATION
                                    ": the pod is not one container of the image 'host'");
    *ret = TAKE(process);
    return NULL;
}

char *pod_output_path(const struct pod *p)
{
    AUTO(json_freep) json_t *process = NULL;
    AUTO(err_freep) struct err *e = pod_host_process(p, &process);
    const char *path = e ? NULL : json_text(process, "stdout");

    return path ? mem_strdup(path) : NULL;
}
