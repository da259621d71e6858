/*
 * pod_gpu.c - pods whose gpus are lost
 *
 * A gpu that falls off the bus ends its pods, whose programs often fail before the next reading of
 * the gpu. So a pod that failed ends only when its gpus were read once more: the job is not blamed
 * for the gpu.
 */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"
#include "model/device.h"
#include "node/gpu_incidents.h"
#include "node/pod/pod.h"

static const int64_t JUDGE_MAX_NS = 5 * NS_PER_SEC; /* for readings or reports that do not come */

/* The gpu of a container's device; `*ret_slice`: the slice of it that the device is, or NULL. */
static const struct gpu *container_device(const struct pod *p, const struct container *c, size_t i,
                                          const struct gpu_slice **ret_slice)
{
    const char *text = json_string_value(json_array_get(c->gpus, i));
    struct device d = {0};
    AUTO(err_freep) struct err *e = device_parse(text ? text : "", &d);
    bool is_known = false;
    const struct gpu *g = e ? NULL : p->set->o.find_gpu(p->set->o.arg, d.gpu, &is_known);

    *ret_slice = NULL;
    for (size_t k = 0; g && k < g->n_slices; k++)
        if ((d.kind == DEVICE_SLICE && text_equal(g->slices[k].profile, d.profile) &&
             g->slices[k].start == d.start) ||
            text_equal(g->slices[k].uuid, d.gpu))
            *ret_slice = &g->slices[k];
    return g;
}

static const struct gpu *container_gpu(const struct pod *p, const struct container *c, size_t i)
{
    const struct gpu_slice *slice = NULL;

    return container_device(p, c, i, &slice);
}

static bool has_failed(const struct container *c)
{
    return c->state == CONTAINER_ENDED && c->end.code != 0;
}

static bool ends_pod(enum gpu_health health, const struct container *c)
{
    return health == GPU_LOST || (health == GPU_UNHEALTHY && has_failed(c));
}

/* Why the gpu, or the slice, of a container ends the pod. The caller frees it; NULL: none does. */
static char *container_lost_gpu(const struct pod *p, const struct container *c)
{
    for (size_t i = 0; i < json_array_size(c->gpus); i++) {
        const struct gpu_slice *s = NULL;
        const struct gpu *g = container_device(p, c, i, &s);

        if (g && ends_pod(g->health, c))
            return mem_format("GPU %d (%s) is %s: %s", g->index, g->uuid,
                              gpu_health_text(g->health),
                              g->health_reason[0] ? g->health_reason : "no reason given");
        if (g && s && ends_pod(s->health, c))
            return mem_format("slice %s@%u of GPU %d (%s) is %s: %s", s->profile, s->start,
                              g->index, s->uuid, gpu_health_text(s->health), s->health_reason);
    }
    return NULL;
}

void pod_decide_gpu(struct pod *p)
{
    if (p->life != POD_ACTIVE || !p->object || !p->set->o.find_gpu)
        return;
    for (size_t i = 0; i < p->n_containers; i++) {
        AUTO_FREE char *why = container_lost_gpu(p, &p->containers[i]);

        if (!why)
            continue;
        pod_end_as(p, POD_GPU_LOST, why, pod_grace_ns(p));
        return;
    }
}

/* Were the container's gpus read since `since_ns`? A gpu that does not answer is not
 * waited for. */
static bool are_gpus_read(const struct pod *p, const struct container *c, int64_t since_ns)
{
    for (size_t i = 0; i < json_array_size(c->gpus); i++) {
        const struct gpu *g = container_gpu(p, c, i);

        if (g && g->health < GPU_UNHEALTHY &&
            !p->set->o.is_gpu_read(p->set->o.arg, g->uuid, since_ns))
            return false;
    }
    return true;
}

/* Has the wait begun less than JUDGE_MAX_NS ago? */
static bool may_wait(struct pod *p)
{
    if (p->judge_ns == 0)
        p->judge_ns = pod_now_ns(p);
    return pod_now_ns(p) - p->judge_ns < JUDGE_MAX_NS;
}

bool pod_awaits_gpus(struct pod *p)
{
    if (!p->set->o.is_gpu_read || !p->object)
        return false;
    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];

        if (has_failed(c) && json_array_size(c->gpus) > 0 && may_wait(p) &&
            !are_gpus_read(p, c, p->judge_ns))
            return true;
    }
    return false;
}

/* Else the scheduler could give the same gpu to the requeued pod. */
bool pod_awaits_report(struct pod *p)
{
    return text_equal(p->evicted_as, POD_GPU_LOST) && p->set->o.is_health_told &&
           !p->set->o.is_health_told(p->set->o.arg) && may_wait(p);
}

/* ---- Events ---- */

static bool pod_holds_gpu(const struct pod *p, const char *uuid)
{
    for (size_t i = 0; i < p->n_containers; i++)
        for (size_t k = 0; k < json_array_size(p->containers[i].gpus); k++) {
            const struct gpu_slice *s = NULL;
            const struct gpu *g = container_device(p, &p->containers[i], k, &s);

            if (g && (text_equal(g->uuid, uuid) || (s && text_equal(s->uuid, uuid))))
                return true;
        }
    return false;
}

bool pods_hold_gpu(const struct pods *set, const char *uuid)
{
    for (const struct pod *p = set->pods; p; p = p->handle.next)
        if (!p->is_final_sent && pod_holds_gpu(p, uuid))
            return true;
    return false;
}

void pods_tell_gpu(const struct pods *set, const struct gpu_news *news)
{
    const char *type = news->is_warning ? "Warning" : "Normal";
    AUTO(json_freep)
    json_t *node = json_pack("{s:s, s:{s:s, s:s}}", "kind", "Node", "metadata", "name", set->o.node,
                             "uid", set->o.node);

    pod_events_add(set->events, node, NULL, type, news->reason, news->message);
    for (const struct pod *p = set->pods; p; p = p->handle.next)
        if (p->object && p->life == POD_ACTIVE && pod_holds_gpu(p, news->uuid))
            pod_events_add(set->events, p->object, NULL, type, news->reason, news->message);
}
