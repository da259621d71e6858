/* container_devices.c - finds a container's devices, and checks that nobody else uses them */

#include "node/spec/container_devices.h"

#include <inttypes.h>

#include "base/log.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_claims.h"

void container_devices_done(struct container_devices *d)
{
    vec_done(&d->all);
}

static const struct gpu_slice *slice_find(const struct gpu *g, const struct device *d)
{
    for (size_t i = 0; i < g->n_slices; i++)
        if (d->kind == DEVICE_WHOLE
                ? text_equal(g->slices[i].uuid, d->gpu)
                : g->slices[i].start == d->start && text_equal(g->slices[i].profile, d->profile) &&
                      (!d->instance[0] || text_equal(g->slices[i].uuid, d->instance)))
            return &g->slices[i];
    return NULL;
}

static struct err *device_find(const struct pods *set, const char *text,
                               struct container_device *ret)
{
    bool is_known = false;
    bool is_slice = false;

    TRY(device_parse(text, &ret->device));
    ret->gpu = set->o.find_gpu(set->o.arg, ret->device.gpu, &is_known);
    if (!ret->gpu && !is_known)
        return err_new(ERR_UNAVAILABLE, "the gpus of this machine are not known yet");
    if (!ret->gpu)
        return err_new(ERR_UNAVAILABLE, "gpu %s is not on this machine", ret->device.gpu);
    if (ret->gpu->health == GPU_LOST || ret->gpu->minor < 0)
        return err_new(ERR_UNAVAILABLE, "gpu %s is lost: %s", ret->device.gpu,
                       ret->gpu->health_reason);
    /* The MIG strategy `single` gives a slice as a gpu with the MIG device's uuid. */
    is_slice = ret->device.kind == DEVICE_SLICE || !text_equal(ret->device.gpu, ret->gpu->uuid);
    if (!is_slice && ret->gpu->mig_mode == 1)
        return err_new(ERR_UNAVAILABLE, "gpu %s is still divided into MIG instances",
                       ret->device.gpu);
    if (!is_slice)
        return NULL;
    ret->slice = slice_find(ret->gpu, &ret->device);
    if (!ret->slice && ret->device.kind == DEVICE_WHOLE)
        return err_new(ERR_UNAVAILABLE, "MIG instance %s is not on this machine", ret->device.gpu);
    if (!ret->slice || !ret->slice->uuid[0])
        return err_new(ERR_UNAVAILABLE, "gpu %s has no MIG instance %s at %" PRIu32,
                       ret->device.gpu, ret->device.profile, ret->device.start);
    return NULL;
}

/* A device that containers share by a claim. */
struct shared_device {
    struct str claim; /* its uid, borrowed from a pod */
    struct device device;
};

/* The parts of a gpu that containers hold. */
struct gpu_use {
    struct device_load load;
    VEC(struct shared_device) shared;
};

static void gpu_use_done(struct gpu_use *u)
{
    vec_done(&u->shared);
}

/* Notes a device of a claim. True: another container has it by the same claim. */
static bool is_shared(struct gpu_use *u, struct str claim, const struct device *d)
{
    if (claim.size == 0)
        return false;
    VEC_EACH (&u->shared, s) {
        if (str_equal(s->claim, claim) && device_equal(&s->device, d))
            return true;
    }
    vec_add(&u->shared, (struct shared_device){claim, *d});
    return false;
}

/* Adds the parts of a gpu that one container holds to `use`; a conflict names its pod. A device
 * that containers share by a claim counts once. */
static struct err *load_container(struct gpu_use *use, const struct pod *p,
                                  const struct container *c, const struct gpu *g)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (c->gpus, i, item) {
        const char *text = json_string_value(item);
        struct device d = {0};
        struct err *e = text ? device_parse(text, &d) : NULL;
        struct str request = {0};
        bool is_held = false;

        if (text && !e && text_equal(d.gpu, g->uuid) &&
            !is_shared(use, ledger_claim_of(p->object, c->name, i, &is_held, &request), &d))
            e = device_load_add(&use->load, &d, g);
        if (e)
            return err_wrap(e, "pod %s/%s", p->ns, p->name);
    }
    return NULL;
}

/* Do the containers that run, and this one, exclude each other on the gpu? */
static struct err *devices_check_gpu(const struct pod *p, const struct container *c,
                                     const struct gpu *g)
{
    AUTO(gpu_use_done) struct gpu_use use = {0};

    TRY(load_container(&use, p, c, g));
    for (const struct pod *other = p->set->pods; other; other = other->handle.next) {
        for (size_t i = 0; i < other->n_containers; i++) {
            const struct container *its = &other->containers[i];
            struct err *e =
                its == c || !container_is_live(its) ? NULL : load_container(&use, other, its, g);

            if (!e)
                continue;
            LOG(ERROR, "gpu is still in use by another pod", S("gpu", g->uuid), S("pod", p->name),
                S("holder", other->name), E(e));
            err_free(e);
            return err_new(ERR_CONFLICT, "gpu %s is still in use by pod %s/%s", g->uuid, other->ns,
                           other->name);
        }
    }
    return NULL;
}

/* Adds the devices that the container sees for monitoring, whoever holds them. */
static struct err *devices_add_seen(const struct pod *p, const json_t *container,
                                    struct container_devices *found)
{
    struct str rest = {0};
    struct pod_claim line;

    while (pod_next_claim(p->object, &rest, &line)) {
        struct str seen = container_has_claim(container, &line) ? line.seen : (struct str){0};

        while (seen.size > 0) {
            struct str part = str_cut(&seen, ';');
            AUTO_FREE char *text = mem_strndup(part.at, part.size);
            struct container_device d = {0};

            if (found->all.n == CONTAINER_DEVICES_MAX)
                return err_new(ERR_INVALID, "container sees over %d devices",
                               CONTAINER_DEVICES_MAX);
            TRY(device_find(p->set, text, &d));
            vec_add(&found->all, d);
        }
    }
    return NULL;
}

struct err *container_devices_find(const struct pod *p, const struct container *asking,
                                   struct container_devices *ret)
{
    const struct container *c = container_target(p, asking);
    const struct gpu_asks asks = container_gpu_asks(p->object, pod_container_spec(p, c));
    AUTO(container_devices_done) struct container_devices found = {0};
    const int64_t asked =
        gpu_asks_count(&asks) + (int64_t)container_held_count(p->object, pod_container_spec(p, c));
    const json_t *item = NULL;
    size_t i = 0;

    if (json_array_size(c->gpus) > CONTAINER_DEVICES_MAX ||
        (int64_t)json_array_size(c->gpus) != asked)
        return err_new(ERR_INVALID, "container asks for %" PRId64 " gpus and was given %zu", asked,
                       json_array_size(c->gpus));
    json_array_foreach (c->gpus, i, item) {
        struct container_device d = {0};

        TRY(device_find(p->set, json_is_string(item) ? json_string_value(item) : "", &d));
        vec_add(&found.all, d);
    }
    VEC_EACH (&found.all, d)
        TRY(devices_check_gpu(p, c, d->gpu));
    TRY(devices_add_seen(p, pod_container_spec(p, c), &found));
    *ret = found;
    found = (struct container_devices){0};
    return NULL;
}
