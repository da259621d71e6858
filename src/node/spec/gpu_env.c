/* gpu_env.c - variables that number the gpus of a host process */

#include "node/spec/gpu_env.h"

#include "base/mem.h"

/* Is the gpu of device `i` that of an earlier device? Replicas may share one. */
static bool is_repeated(const struct container_devices *devices, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (devices->all.at[k].gpu == devices->all.at[i].gpu)
            return true;
    return false;
}

static void add_item(struct buf *list, const char *text)
{
    buf_printf(list, "%s%s", list->size > 0 ? "," : "", text);
}

static void put_list(json_t *env, const char *name, struct buf *list)
{
    AUTO_FREE char *text = buf_steal(list);

    if (*text)
        json_put_text(env, name, text);
}

static const char *variable_of(enum gpu_vendor vendor)
{
    switch (vendor) {
    case GPU_AMD:
        return "ROCR_VISIBLE_DEVICES";
    case GPU_INTEL_I915:
    case GPU_INTEL_XE:
        return "ZE_AFFINITY_MASK";
    case GPU_NVIDIA:
    case GPU_VENDORS:
    default:
        return "CUDA_VISIBLE_DEVICES";
    }
}

/* The numbers by which programs choose among their gpus. */
static void put_visible(const struct container_devices *devices, const char *name, json_t *env)
{
    struct buf list = {0};
    bool has_slices = false;
    int n = 0;

    VEC_EACH (&devices->all, d)
        has_slices = has_slices || (d->slice && text_equal(variable_of(d->gpu->vendor), name));
    for (size_t i = 0; i < devices->all.n; i++) {
        const struct container_device *d = &devices->all.at[i];
        char number[16];

        if (!text_equal(variable_of(d->gpu->vendor), name) ||
            (!d->slice && is_repeated(devices, i)))
            continue;
        (void)snprintf(number, sizeof(number), "%d", n++);
        add_item(&list, d->slice ? d->slice->uuid : has_slices ? d->gpu->uuid : number);
    }
    put_list(env, name, &list);
}

static void put_global(const struct container_devices *devices, json_t *env)
{
    AUTO_FREE char *count = NULL;
    struct buf global = {0};
    struct buf ordinal = {0};
    size_t n = 0;

    for (size_t i = 0; i < devices->all.n; i++) {
        const struct container_device *d = &devices->all.at[i];
        char number[16];

        n += d->slice || !is_repeated(devices, i) ? 1 : 0;
        if (is_repeated(devices, i))
            continue;
        (void)snprintf(number, sizeof(number), "%d", d->gpu->index);
        add_item(&global, number);
    }
    for (size_t i = 0; i < n; i++) {
        char number[24];

        (void)snprintf(number, sizeof(number), "%zu", i);
        add_item(&ordinal, number);
    }
    count = mem_format("%zu", n);
    put_list(env, "SLURM_JOB_GPUS", &global);
    put_list(env, "GPU_DEVICE_ORDINAL", &ordinal);
    json_put_text(env, "SLURM_GPUS_ON_NODE", count);
}

void gpu_env_put(const struct container_devices *devices, json_t *env)
{
    if (devices->all.n == 0)
        return;
    VEC_EACH (&devices->all, d)
        put_visible(devices, variable_of(d->gpu->vendor), env);
    put_global(devices, env);
}
