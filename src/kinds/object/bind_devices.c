/* bind_devices.c - devices of a node, chosen gpu by gpu */

#include "kinds/object/bind_devices.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/ledger.h"
#include "model/gpu.h"

enum {
    BIND_GPUS_MAX = 256, /* of a node */
    WHOLE_MILLI = 1000
};

/* A gpu of the node, and what the ledger and this pod hold of it. */
struct bind_gpu {
    int64_t index;
    const char *uuid; /* borrowed from the list, as `tree` */
    const json_t *tree;
    struct gpu facts;
    struct device_load load;
    bool is_chosen; /* for a device of this pod that is no slice */
    bool is_closed; /* shares and replicas are for pods of another namespace */
};

struct choosing {
    struct bind_gpu *gpus;
    size_t n;
    struct bind_devices *ret;
};

static int bind_gpu_compare(const void *a, const void *b)
{
    const struct bind_gpu *one = a;
    const struct bind_gpu *other = b;

    if (one->index != other->index)
        return one->index < other->index ? -1 : 1;
    return strcmp(one->uuid, other->uuid);
}

static void list_gpus(const struct store *s, const struct bind_ask *ask, struct choosing *c)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (ask->gpus, i, gpu) {
        struct bind_gpu g = {.index = json_int(gpu, "index", INT64_MAX),
                             .uuid = json_text(gpu, "uuid"),
                             .tree = gpu,
                             .facts = ledger_gpu_of(gpu)};
        AUTO(err_freep) struct err *e = NULL;

        if (!g.uuid || c->n == BIND_GPUS_MAX ||
            !text_equal(json_text(gpu, "health"), gpu_health_text(GPU_HEALTHY)))
            continue;
        g.is_closed = ask->is_fenced && ledger_is_held_outside(s, g.uuid, ask->ns);
        e = ledger_load(s, g.uuid, &g.facts, &g.load);
        if (!e) /* of a damaged entry nothing is given */
            c->gpus[c->n++] = g;
    }
    if (c->n > 1)
        qsort(c->gpus, c->n, sizeof(c->gpus[0]), bind_gpu_compare);
}

static bool is_mode(const struct bind_gpu *g, const char *mode)
{
    const char *own = json_text(g->tree, "mode");

    return text_equal(own ? own : "whole", mode);
}

/* Holds the device, if the gpu has room for it. */
static bool gpu_hold(struct bind_gpu *g, const struct device *d)
{
    AUTO(err_freep) struct err *e = device_load_add(&g->load, d, &g->facts);

    if (!e)
        g->is_chosen = d->kind != DEVICE_SLICE;
    return !e;
}

static bool gpu_replica(struct bind_gpu *g, const struct gpu_ask *ask, struct device *d)
{
    bool is_for_whole = ask->kind == DEVICE_WHOLE;
    int64_t replicas = json_int(g->tree, "replicas", 0);

    if (g->is_closed || !is_mode(g, "replicas") || replicas < 1 || replicas > DEVICE_REPLICAS_MAX ||
        (is_for_whole && json_bool(g->tree, "renamed", false)) ||
        (ask->is_several && json_bool(g->tree, "single", false)))
        return false;
    d->kind = DEVICE_REPLICA;
    d->replicas = (uint32_t)replicas;
    return gpu_hold(g, d);
}

static bool gpu_share(struct bind_gpu *g, const struct gpu_ask *ask, struct device *d)
{
    __extension__ typedef __int128 wide;
    wide memory = g->facts.memory_bytes;

    if (g->is_closed || !is_mode(g, "whole") || memory <= 0 || ask->bytes > memory)
        return false;
    d->kind = DEVICE_SHARE;
    d->milli = ask->milli;
    d->bytes = ask->bytes;
    if (ask->milli == 0)
        d->milli = (uint32_t)(((wide)ask->bytes * WHOLE_MILLI + memory - 1) / memory);
    if (ask->bytes == 0)
        d->bytes = (int64_t)(memory * ask->milli / WHOLE_MILLI);
    if (d->milli >= WHOLE_MILLI)
        d->milli = WHOLE_MILLI - 1;
    return gpu_hold(g, d);
}

static bool gpu_slice(struct bind_gpu *g, const struct gpu_ask *ask, struct device *d)
{
    json_t *slice;
    size_t i;

    if (!is_mode(g, "slices"))
        return false;
    json_array_foreach (json_object_get(g->tree, "slices"), i, slice) {
        const char *uuid = json_text(slice, "uuid");

        if (!text_equal(json_text(slice, "profile"), ask->profile) || !uuid)
            continue;
        d->kind = DEVICE_SLICE;
        d->start = (uint32_t)json_int(slice, "start", 0);
        (void)snprintf(d->profile, sizeof(d->profile), "%s", ask->profile);
        (void)snprintf(d->instance, sizeof(d->instance), "%s", uuid);
        if (gpu_hold(g, d))
            return true;
    }
    return false;
}

/* Is the gpu one of those that the ask's claim selects? */
static bool is_selected(const struct bind_gpu *g, const struct gpu_ask *ask)
{
    struct str rest = ask->gpus;

    while (rest.at && rest.size > 0)
        if (str_equal(str_cut(&rest, ','), str_of(g->uuid)))
            return true;
    return ask->gpus.size == 0;
}

static bool gpu_give(struct bind_gpu *g, const struct gpu_ask *ask, struct device *ret)
{
    *ret = device_whole(g->uuid);
    if (g->is_chosen || g->facts.vendor != ask->vendor || !is_selected(g, ask))
        return false;
    switch (ask->kind) {
    case DEVICE_WHOLE:
        return (is_mode(g, "whole") && gpu_hold(g, ret)) ||
               (ask->claim.size == 0 && gpu_replica(g, ask, ret));
    case DEVICE_SHARE:
        return gpu_share(g, ask, ret);
    case DEVICE_REPLICA:
        return gpu_replica(g, ask, ret);
    case DEVICE_SLICE:
        return gpu_slice(g, ask, ret);
    }
    return false;
}

static bool choose_one(struct choosing *c, const struct gpu_ask *ask)
{
    for (size_t i = 0; i < c->n; i++)
        if (gpu_give(&c->gpus[i], ask, &c->ret->at[c->ret->n])) {
            c->ret->n++;
            return true;
        }
    return false;
}

void bind_devices_choose(const struct store *s, const struct bind_ask *ask,
                         struct bind_devices *ret)
{
    const struct gpu_asks *asked = ask->asked;
    const size_t max = (size_t)BIND_GPUS_MAX * MIG_UNITS_MAX;
    int64_t total = gpu_asks_count(asked);
    struct choosing c = {.ret = ret};

    *ret = (struct bind_devices){.missing = asked->has_more};
    if (total == 0)
        return;
    ret->at = mem_alloc(((uint64_t)total < max ? (size_t)total : max) * sizeof(*ret->at) +
                        sizeof(*ret->at));
    c.gpus = mem_alloc(BIND_GPUS_MAX * sizeof(*c.gpus));
    list_gpus(s, ask, &c);
    for (size_t i = 0; i < asked->n && ret->missing == 0; i++) {
        int64_t n = 0;

        while (n < asked->at[i].count && ret->n < max && choose_one(&c, &asked->at[i]))
            n++;
        ret->found = n;
        ret->missing = asked->at[i].count - n;
        ret->short_of = asked->at[i];
    }
    free(c.gpus);
}

void bind_devices_done(struct bind_devices *b)
{
    free(b->at);
    *b = (struct bind_devices){0};
}
