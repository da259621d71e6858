/* scheduler_devices.c - devices that pods ask for and have, to and from the engine */
#include "base/arena.h"
#include "control/scheduler/scheduler_private.h"

enum {
    ASKED_MAX = 64 /* devices of one pod with several kinds: limit of the engine */
};

/* More than any node has. */
#define GPUS_MAX INT64_C(16384)

/* May the engine get the devices without a list of asks? */
static bool is_plain(const struct scheduler *s, const struct gpu_asks *asked, bool is_linked)
{
    const struct gpu_ask *first = &asked->at[0];

    if (asked->n != 1 || first->claim.size > 0)
        return false;
    if (first->kind == DEVICE_WHOLE)
        return is_linked || !s->has_replicas || first->vendor != GPU_NVIDIA ||
               first->count > ASKED_MAX;
    return first->kind == DEVICE_SHARE && first->milli > 0;
}

/* The uuids in "GPU-8c1f,GPU-77". */
static const char *const *uuids_of(struct arena *a, struct str list, size_t *ret_n)
{
    size_t n = list.size > 0;
    const char **uuids;

    for (size_t i = 0; i < list.size; i++)
        n += list.at[i] == ',';
    uuids = arena_alloc(a, (n + 1) * sizeof(*uuids));
    for (size_t i = 0; i < n; i++) {
        struct str one = str_cut(&list, ',');

        uuids[i] = arena_strndup(a, one.at, one.size);
    }
    *ret_n = n;
    return uuids;
}

/*
 * The models that an ask means. The engine knows no vendors: where there are gpus of several, an
 * ask means the models of its own. A vendor without gpus has a model that no gpu has.
 */
static const char *const *models_of(const struct scheduler *s, struct arena *a,
                                    const struct gpu_ask *ask, size_t *ret_n)
{
    const struct sched_models *models =
        ask->claim.size > 0 ? &s->claim_models : &s->models[ask->vendor];
    const char **list = arena_alloc(a, (models->names.n + 1) * sizeof(*list));
    size_t n = 0;

    *ret_n = 0;
    if ((ask->claim.size > 0 && models->names.n == 0) ||
        (ask->vendor == GPU_NVIDIA && !sched_has_vendors(s)))
        return NULL;
    VEC_EACH (&models->names, name)
        list[n++] = arena_strdup(a, *name);
    if (n == 0)
        list[n++] = gpu_vendor_resource(ask->vendor);
    *ret_n = n;
    return list;
}

static struct mete_gpu_ask engine_ask(const struct scheduler *s, struct arena *a,
                                      const struct gpu_ask *ask)
{
    struct mete_gpu_ask ret = {
        .count = (uint32_t)ask->count,
        .gpu_milli = ask->milli,
        .memory_bytes = ask->bytes,
        .profile = ask->kind == DEVICE_SLICE ? ask->profile : NULL,
        .is_replica = ask->kind == DEVICE_REPLICA,
        .or_replica =
            ask->kind == DEVICE_WHOLE && ask->vendor == GPU_NVIDIA && ask->claim.size == 0,
        .starts = ask->starts,
        .is_several = ask->is_several && (ask->kind == DEVICE_WHOLE || ask->kind == DEVICE_REPLICA),
        .is_by_memory = ask->kind == DEVICE_SHARE && ask->milli == 0,
    };

    ret.uuids = uuids_of(a, ask->gpus, &ret.n_uuids);
    ret.models = models_of(s, a, ask, &ret.n_models);
    return ret;
}

bool sched_devices_ask(const struct scheduler *s, struct arena *a, const struct gpu_asks *asked,
                       struct mete_pod_set *set)
{
    int64_t count = gpu_asks_count(asked);
    struct mete_gpu_ask *list;
    struct gpu_ask *kept;

    if (asked->n == 0)
        return true;
    if (is_plain(s, asked, set->is_linked)) {
        set->gpus = (uint32_t)(count > GPUS_MAX ? GPUS_MAX : count);
        set->gpu_milli = asked->at[0].milli;
        set->gpu_memory_bytes = asked->at[0].bytes;
        set->gpu_models = models_of(s, a, &asked->at[0], &set->n_gpu_models);
        set->are_models_fixed = set->n_gpu_models > 0;
        return true;
    }
    if (asked->has_more || count > ASKED_MAX)
        return false;
    list = arena_alloc(a, asked->n * sizeof(*list));
    kept = arena_alloc(a, asked->n * sizeof(*kept)); /* holds the profiles */
    for (size_t i = 0; i < asked->n; i++) {
        kept[i] = asked->at[i];
        list[i] = engine_ask(s, a, &kept[i]);
    }
    set->asks = list;
    set->n_asks = asked->n;
    return true;
}

static bool is_ask_of(const struct mete_gpu_ask *a, const struct device *d)
{
    switch (d->kind) {
    case DEVICE_WHOLE:
        return !a->profile && !a->is_replica && a->gpu_milli == 0;
    case DEVICE_SHARE:
        return a->gpu_milli == d->milli && a->memory_bytes == d->bytes;
    case DEVICE_REPLICA:
        return a->is_replica;
    case DEVICE_SLICE:
        return text_equal(a->profile, d->profile);
    }
    return false;
}

static uint32_t ask_of(const struct mete_pod_set *set, const struct device *d)
{
    for (size_t i = 0; i < set->n_asks; i++)
        if (is_ask_of(&set->asks[i], d))
            return (uint32_t)i;
    return 0;
}

/* Makes the set ask for exactly these devices. */
static void ask_for_devices(struct arena *a, const struct sched_pod *p, struct mete_pod_set *set)
{
    struct mete_gpu_ask *list = arena_alloc(a, p->devices.n * sizeof(*list));

    set->gpus = 0;
    set->gpu_milli = 0;
    set->gpu_memory_bytes = 0;
    set->asks = list;
    set->n_asks = 0;
    VEC_EACH (&p->devices, d) {
        uint32_t i = ask_of(set, d);

        if (i < set->n_asks && is_ask_of(&list[i], d)) {
            list[i].count++;
            continue;
        }
        list[set->n_asks++] = (struct mete_gpu_ask){
            .count = 1,
            .gpu_milli = d->milli,
            .memory_bytes = d->bytes,
            .profile = d->kind == DEVICE_SLICE ? arena_strdup(a, d->profile) : NULL,
            .is_replica = d->kind == DEVICE_REPLICA,
        };
    }
}

void sched_devices_ask_again(struct arena *a, const struct sched_pod *p, struct mete_pod_set *set)
{
    bool are_whole = true;

    VEC_EACH (&p->devices, d) {
        are_whole = are_whole && d->kind == DEVICE_WHOLE;
    }
    if (!are_whole) {
        ask_for_devices(a, p, set);
        return;
    }
    if (p->devices.n > 0 && (set->n_asks > 0 || set->gpu_milli > 0)) {
        set->n_asks = 0;
        set->gpu_milli = 0;
        set->gpu_memory_bytes = 0;
    }
    if (set->gpus < p->devices.n)
        set->gpus = (uint32_t)p->devices.n; /* another scheduler's Binding gave it more */
}

void sched_devices_place(struct arena *a, const struct sched_pod *p, const struct mete_pod_set *set,
                         struct mete_pod_placement *ret)
{
    static const enum mete_device_kind as_kind[] = {
        [DEVICE_WHOLE] = METE_DEVICE_WHOLE,
        [DEVICE_SHARE] = METE_DEVICE_SHARE,
        [DEVICE_REPLICA] = METE_DEVICE_REPLICA,
        [DEVICE_SLICE] = METE_DEVICE_SLICE,
    };
    const char **gpus = arena_alloc(a, (p->devices.n + 1) * sizeof(*gpus));
    struct mete_device *devices = arena_alloc(a, (p->devices.n + 1) * sizeof(*devices));

    for (size_t i = 0; i < p->devices.n; i++) {
        const struct device *d = &p->devices.at[i];

        gpus[i] = d->gpu;
        devices[i] = (struct mete_device){
            .ask = ask_of(set, d),
            .gpu = d->gpu,
            .kind = as_kind[d->kind],
            .profile = d->kind == DEVICE_SLICE ? d->profile : NULL,
            .start = d->start,
            .slice = *d->instance ? d->instance : NULL,
        };
    }
    ret->gpus = gpus;
    ret->n_gpus = p->devices.n;
    if (set->n_asks > 0) {
        ret->devices = devices;
        ret->n_devices = p->devices.n;
    }
}

/* A device that the engine has chosen. */
static struct device chosen_device(const struct mete_device *from)
{
    struct device d = device_whole(from->gpu);

    switch (from->kind) {
    case METE_DEVICE_WHOLE:
        break;
    case METE_DEVICE_SHARE:
        d.kind = DEVICE_SHARE;
        d.milli = from->gpu_milli;
        d.bytes = from->memory_bytes > 0 ? from->memory_bytes : 1; /* memory not known */
        break;
    case METE_DEVICE_REPLICA:
        d.kind = DEVICE_REPLICA;
        d.replicas = from->replicas;
        break;
    case METE_DEVICE_SLICE:
        d.kind = DEVICE_SLICE;
        d.start = from->start;
        (void)snprintf(d.profile, sizeof(d.profile), "%s", from->profile);
        (void)snprintf(d.instance, sizeof(d.instance), "%s", from->slice ? from->slice : "");
        break;
    }
    return d;
}

size_t sched_devices_chosen(struct arena *a, const struct mete_pod_placement *p,
                            struct device **ret)
{
    struct device *list = arena_alloc(a, (p->n_gpus + 1) * sizeof(*list));

    for (size_t i = 0; i < p->n_gpus; i++)
        list[i] = i < p->n_devices ? chosen_device(&p->devices[i]) : device_whole(p->gpus[i]);
    *ret = list;
    return p->n_gpus;
}

bool sched_pod_has_device(const struct sched_pod *p, const struct device *d)
{
    VEC_EACH (&p->devices, own) {
        if (device_equal(own, d))
            return true;
    }
    return false;
}
