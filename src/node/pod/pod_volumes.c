/* pod_volumes.c - input for a pod's volumes and variables */

#include "base/mem.h"
#include "node/pod/pod.h"

struct env_input pod_env_input(const struct pod *p, const json_t *container)
{
    const struct pods_options *o = &p->set->o;

    return (struct env_input){.pod = p->object,
                              .container = container,
                              .refs = p->refs,
                              .node = o->node,
                              .labels = o->find_labels ? o->find_labels(o->arg) : NULL,
                              .host_ip = o->host->address,
                              .pod_ip = pod_address(p),
                              .cpu_milli = o->host->cpus * 1000,
                              .memory_bytes = o->host->memory_bytes,
                              .start_ns = p->start_ns,
                              .data = pod_is_host_process(p) ? o->mask_dir : NULL};
}

/* The host uid of all containers, if the manifest sets one runAsUser for all. */
static bool find_common_uid(const struct pod *p, uint32_t uid_base, uid_t *ret)
{
    const json_t *of_pod = json_at(p->object, "spec", "securityContext", "runAsUser", NULL);
    uid_t common = 0;

    for (size_t i = 0; i < p->n_containers; i++) {
        const json_t *spec = pod_container_spec(p, &p->containers[i]);
        const json_t *own = json_at(spec, "securityContext", "runAsUser", NULL);
        const json_t *asked = json_is_integer(own) ? own : of_pod;
        uid_t uid = (uid_t)json_integer_value(asked) + (container_image(spec) ? uid_base : 0);

        if (p->containers[i].is_ephemeral)
            continue;
        if (!json_is_integer(asked) || (i > 0 && uid != common))
            return false;
        common = uid;
    }
    *ret = common;
    return p->n_containers > 0;
}

/* Volumes are those of the pod's own containers: an ephemeral container changes no owner. */
struct err *pod_plan_volumes(const struct pod *p, uint32_t uid_base, struct volumes *ret)
{
    uint32_t base = pod_has_images(p, true) ? uid_base : 0;
    AUTO_FREE char *dir = mem_format("%s/pods/%s/volumes", p->set->o.dir, p->uid);
    struct volume_input in = {.env = pod_env_input(p, NULL),
                              .dir = dir,
                              .node_dir = p->set->o.dir,
                              .roots = p->set->o.host_roots,
                              .mask_dir = p->set->o.mask_dir,
                              .uid_base = base};

    in.has_common_uid = find_common_uid(p, base, &in.common_uid);
    return volume_plan(&in, ret);
}
