/* top_local.c - from the watch of this machine's gpus to the view of `mete top` */

#include "cli/top/top_local.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gpu/gpu_watch.h"

struct top_local {
    struct loop *loop;
    struct gpu_watch *watch;
    char *node; /* name of this machine */
};

static const char *local_variable(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */

    return value && *value ? value : NULL;
}

struct err *top_local_new(struct loop *loop, struct cli *c, loop_fn on_round, void *arg,
                          struct top_local **ret)
{
    AUTO(top_local_freep) struct top_local *l = mem_alloc(sizeof(*l));
    const struct gpu_watch_options o = {.loop = loop,
                                        .self_path = c->self_path,
                                        .driver_root = local_variable("METE_DRIVER_ROOT"),
                                        .machine = local_variable("METE_GPUSIM_MACHINE"),
                                        .sys = local_variable("METE_SYSFS"),
                                        .on_change = on_round,
                                        .on_round = on_round,
                                        .arg = arg};

    l->loop = loop;
    l->node = mem_strdup("this machine");
    TRY(gpu_watch_new(&o, &l->watch));
    *ret = TAKE(l);
    return NULL;
}

void top_local_free(struct top_local *l)
{
    if (!l)
        return;
    gpu_watch_free(l->watch);
    free(l->node);
    free(l);
}

bool top_local_is_ready(const struct top_local *l)
{
    size_t n = 0;
    const struct gpu *gpus;

    if (!gpu_watch_is_ready(l->watch))
        return false;
    gpus = gpu_watch_list(l->watch, &n);
    for (size_t i = 0; i < n; i++)
        if (gpus[i].health == GPU_HEALTHY && !gpu_watch_sample(l->watch, gpus[i].uuid))
            return false;
    return true;
}

const char *top_local_problem(const struct top_local *l)
{
    size_t n = 0;

    (void)gpu_watch_list(l->watch, &n);
    return gpu_watch_is_ready(l->watch) && n == 0 ? gpu_watch_problem(l->watch) : "";
}

static enum top_state local_state(const struct gpu *g, const struct top_gpu *to, bool is_used)
{
    if (g->health == GPU_NOT_ANSWERING)
        return TOP_NO_ANSWER;
    if (g->health == GPU_DRAINED)
        return TOP_DRAINED;
    if (g->health != GPU_HEALTHY)
        return TOP_SICK;
    if (!is_used)
        return TOP_FREE;
    return to->utilization_pct == 0 ? TOP_IDLE : TOP_HELD;
}

/* Adds who uses a device: "2 processes of 1 container, 3 others". Returns whether some do. */
static bool local_add_uses(const struct top_local *l, size_t index, const char *uuid,
                           struct top_gpu *to)
{
    size_t n = 0;
    const struct gpu_use *uses = gpu_watch_uses(l->watch, index, &n);
    int64_t of_containers = 0;
    int64_t others = 0;
    size_t containers = 0;
    const char *name = "";

    for (size_t i = 0; i < n; i++) {
        if (strcmp(uses[i].device, uuid) != 0)
            continue;
        if (!*uses[i].id) {
            others += uses[i].n_processes;
            continue;
        }
        containers++;
        of_containers += uses[i].n_processes;
        name = uses[i].id;
    }
    if (containers == 1)
        (void)snprintf(to->holder, sizeof(to->holder), "%.40s", name);
    else if (containers > 1)
        (void)snprintf(to->holder, sizeof(to->holder), "%zu containers", containers);
    else if (others > 0)
        (void)snprintf(to->holder, sizeof(to->holder), "%" PRId64 " process%s", others,
                       others == 1 ? "" : "es");
    return of_containers + others > 0;
}

static void local_add(const struct top_local *l, struct top_view *v, const struct gpu *g,
                      size_t index, int64_t slice)
{
    const struct gpu_slice *part = slice >= 0 ? &g->slices[slice] : NULL;
    size_t n_slices = 0;
    const struct gpu_sample *slices = gpu_watch_slices(l->watch, index, &n_slices);
    const struct gpu_sample *s = gpu_watch_sample(l->watch, g->uuid);
    const char *uuid = part ? part->uuid : g->uuid;
    struct top_gpu to = {.index = g->index, .slice = slice, .since_ns = g->health_since_ns};
    bool is_used;

    if (part) {
        s = NULL;
        for (size_t i = 0; i < n_slices; i++)
            if (strcmp(slices[i].uuid, uuid) == 0)
                s = &slices[i];
    }
    (void)snprintf(to.node, sizeof(to.node), "%s", l->node);
    (void)snprintf(to.uuid, sizeof(to.uuid), "%.63s", uuid);
    (void)snprintf(to.model, sizeof(to.model), "%.63s", part ? part->profile : g->model);
    (void)snprintf(to.health, sizeof(to.health), "%s", gpu_health_text(g->health));
    (void)snprintf(to.reason, sizeof(to.reason), "%.150s", g->health_reason);
    to.memory_bytes = part ? part->memory_bytes : g->memory_bytes;
    to.utilization_pct = s ? s->value[GPU_FIELD_UTILIZATION_PCT] : -1;
    to.memory_used_bytes = s ? s->value[GPU_FIELD_MEMORY_USED_BYTES] : -1;
    to.temperature_c = s ? s->value[GPU_FIELD_TEMPERATURE_C] : -1;
    to.power_mw = s ? s->value[GPU_FIELD_POWER_MW] : -1;
    to.sampled_ns = s ? loop_wall_ns(l->loop) - (loop_now_ns(l->loop) - s->at_ns) : -1;
    is_used = local_add_uses(l, index, uuid, &to);
    to.state = local_state(g, &to, is_used);
    vec_add(&v->gpus, to);
}

struct top_view top_local_view(const struct top_local *l)
{
    struct top_view v = {0};
    size_t n = 0;
    const struct gpu *gpus = gpu_watch_list(l->watch, &n);

    for (size_t i = 0; i < n; i++) {
        int64_t n_slices = (int64_t)gpus[i].n_slices;

        for (int64_t k = n_slices > 0 ? 0 : -1; k < n_slices; k++)
            local_add(l, &v, &gpus[i], i, k);
    }
    top_view_end(&v, loop_wall_ns(l->loop));
    return v;
}
