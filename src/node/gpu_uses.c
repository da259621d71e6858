/* gpu_uses.c - containers by their runtime's ids, and the foreign rest */

#include "node/gpu_uses.h"

#include <stdio.h>

#include "base/num.h"
#include "node/pod/pod.h"

/* Reads the attempt of "NAME-ATTEMPT"; -1: the text is of another container. */
static int64_t attempt_of(struct str text, const char *name)
{
    size_t size = strlen(name);
    int64_t attempt = -1;
    AUTO(err_freep) struct err *e = NULL;

    if (text.size <= size || memcmp(text.at, name, size) != 0 || text.at[size] != '-')
        return -1;
    e = num_parse_int64((struct str){text.at + size + 1, text.size - size - 1}, 0, INT64_MAX,
                        &attempt);
    return e ? -1 : attempt;
}

/* Finds the container with this id (container_id) in one pod. */
static bool pod_find_use(const struct pod *p, const char *id, struct container_gpu *ret)
{
    size_t size = strlen(p->uid);

    if (strncmp(id, p->uid, size) != 0 || id[size] != '-')
        return false;
    for (size_t i = 0; i < p->n_containers; i++) {
        ret->attempt = attempt_of(str_of(id + size + 1), p->containers[i].name);
        if (ret->attempt < 0)
            continue;
        (void)snprintf(ret->pod_uid, sizeof(ret->pod_uid), "%s", p->uid);          /* both fit: */
        (void)snprintf(ret->name, sizeof(ret->name), "%s", p->containers[i].name); /* check_names */
        return true;
    }
    return false;
}

/* Leaves `ret` foreign where no pod has the container. */
static void use_find_container(const struct pods *pods, const char *id, struct container_gpu *ret)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    map_each (handle, pods->pods, p, next) {
        if (*id && pod_find_use(p, id, ret))
            return;
    }
    ret->attempt = -1;
}

/* With an unknown part, the sum is unknown. */
static void add_known(int64_t *sum, int64_t more)
{
    *sum = *sum < 0 || more < 0 ? -1 : *sum + more;
}

/* The foreign record of the device; NULL: none yet. */
static struct container_gpu *find_foreign(struct node_stats *s, const char *device)
{
    VEC_EACH (&s->container_gpus, c) {
        if (!*c->pod_uid && strcmp(c->device, device) == 0)
            return c;
    }
    return NULL;
}

void gpu_uses_add(const struct pods *pods, const struct gpu_use *uses, size_t n,
                  struct node_stats *s)
{
    for (size_t i = 0; i < n; i++) {
        struct container_gpu c = {.memory_bytes = uses[i].memory_bytes,
                                  .sm_milli = uses[i].sm_milli,
                                  .n_processes = uses[i].n_processes};
        struct container_gpu *foreign = NULL;

        memcpy(c.device, uses[i].device, sizeof(c.device));
        use_find_container(pods, uses[i].id, &c);
        foreign = *c.pod_uid ? NULL : find_foreign(s, c.device);
        if (!foreign) {
            vec_add(&s->container_gpus, c);
            continue;
        }
        add_known(&foreign->memory_bytes, c.memory_bytes);
        add_known(&foreign->sm_milli, c.sm_milli);
        add_known(&foreign->n_processes, c.n_processes);
    }
}
