/* pod_mps.c - pods whose containers are clients of MPS daemons */

#include "base/mem.h"
#include "gpu/mps_process.h"
#include "gpu/mps_watch.h"
#include "node/pod/pod.h"
#include "node/spec/container_devices.h"
#include "node/spec/mps_edits.h"

/* The program of the driver. NULL: none that runs outside of a container. */
static const char *mps_program(const struct pods *set)
{
    return mps_program_find(set->o.find_driver(set->o.arg), NULL);
}

static struct mps_wish mps_wish_of(const struct pod *p, const struct gpu *g, uint32_t replicas)
{
    return (struct mps_wish){.gpu = g->uuid,
                             .ns = p->ns,
                             .memory_bytes = g->memory_bytes,
                             .clients = replicas > 0 ? replicas : 1};
}

struct err *pod_edit_mps(const struct pod *p, const struct container_devices *devices,
                         json_t *edits)
{
    const struct container_device *found = NULL;
    struct mps_client client = {0};
    struct mps_wish wish;

    VEC_EACH (&devices->all, d) {
        if (d->device.kind != DEVICE_REPLICA || !d->gpu->is_mps)
            continue;
        if (found)
            return err_new(ERR_INVALID, "a container can be a client of one MPS daemon");
        found = d;
    }
    if (!found)
        return NULL;
    if (!p->set->o.mps)
        return err_new(ERR_UNAVAILABLE, "this node starts no MPS daemons");
    wish = mps_wish_of(p, found->gpu, found->device.replicas);
    TRY(mps_watch_take(p->set->o.mps, mps_program(p->set), &wish, &client));
    mps_edits_add(&client, NULL, edits);
    return NULL;
}

/* The replica of the pod on a gpu; false: none. `uuid` NULL: on any gpu. */
static bool pod_find_replica(const struct pod *p, const char *uuid, struct device *ret)
{
    for (size_t i = 0; i < p->n_containers; i++) {
        const json_t *item = NULL;
        size_t at = 0;

        json_array_foreach (p->containers[i].gpus, at, item) {
            AUTO(err_freep) struct err *e = device_parse(json_string_value(item), ret);

            if (!e && ret->kind == DEVICE_REPLICA && (!uuid || text_equal(ret->gpu, uuid)))
                return true;
        }
    }
    return false;
}

void pods_keep_mps(const struct pods *set)
{
    VEC(struct mps_wish) wishes = {0};

    if (!set->o.mps)
        return;
    for (const struct pod *p = set->pods; p; p = p->handle.next) {
        for (size_t i = 0; i < p->n_containers && p->life != POD_ENDED; i++) {
            const json_t *item = NULL;
            size_t at = 0;

            json_array_foreach (p->containers[i].gpus, at, item) {
                bool is_known = false;
                struct device d = {0};
                AUTO(err_freep) struct err *e = device_parse(json_string_value(item), &d);
                const struct gpu *g = e || d.kind != DEVICE_REPLICA
                                          ? NULL
                                          : set->o.find_gpu(set->o.arg, d.gpu, &is_known);

                if (g)
                    vec_add(&wishes, mps_wish_of(p, g, d.replicas));
            }
        }
    }
    mps_watch_keep(set->o.mps, mps_program(set), wishes.at, wishes.n);
    vec_done(&wishes);
}

void pods_mps_changed(struct pods *set, const char *gpu, const char *ns, const char *problem)
{
    for (struct pod *p = set->pods; p; p = p->handle.next) {
        AUTO_FREE char *message = NULL;
        struct device d = {0};

        if (!text_equal(p->ns, ns) || !pod_find_replica(p, gpu, &d))
            continue;
        for (size_t i = 0; i < p->n_containers && !problem; i++)
            p->containers[i].not_before_ns = 0;
        if (!problem || !p->object || p->life != POD_ACTIVE)
            continue;
        message = mem_format("the MPS daemon of gpu %s %s and is started again: CUDA calls of its "
                             "clients fail until they end",
                             gpu, problem);
        pod_events_add(set->events, p->object, NULL, "Warning", "MpsDaemonEnded", message);
    }
    pods_gpus_changed(set);
}
