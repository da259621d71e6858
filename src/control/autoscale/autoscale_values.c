/* autoscale_values.c - what a pod uses, by the last samples of its node */

#include "base/mem.h"
#include "client/node_stats.h"
#include "control/autoscale/autoscale_private.h"
#include "kinds/pod/pod_state.h"

enum {
    MIB = 1 << 20,
    NANO_IN_MILLI = 1000000
};

int64_t autoscale_load_of(const struct autoscale_samples *s, const json_t *pod,
                          const char *container, bool is_cpu, int64_t *ret_at_ns,
                          int64_t *ret_window_ns)
{
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);
    const struct container_sample *c;
    int64_t sum = -1;

    for (size_t i = 0;
         s->container_load && (c = s->container_load(s->arg, pod_node(pod), uid, i, ret_at_ns));
         i++) {
        int64_t value = is_cpu ? c->load.cpu_nano : c->load.memory_bytes;

        if (container && !text_equal(c->name, container))
            continue;
        if (value < 0)
            return -1;
        value = is_cpu ? (value + NANO_IN_MILLI - 1) / NANO_IN_MILLI : value * 1000;
        sum = (sum < 0 ? 0 : sum) + value;
        *ret_window_ns = c->load.window_ns < 0 ? 0 : c->load.window_ns;
    }
    return sum;
}

/* ---- GPUs ---- */

/* Readings of a pod's GPUs, by the names and in the units of dcgm-exporter. */
static const struct gpu_metric {
    const char *name;
    enum gpu_field field;
    int64_t scale; /* thousandths of the metric's unit in `per` units of the field */
    int64_t per;
    bool is_memory; /* the GPUs' sum counts; else their mean */
} gpu_metrics[] = {
    {"DCGM_FI_DEV_GPU_UTIL", GPU_FIELD_UTILIZATION_PCT, 1000, 1, false},
    {"DCGM_FI_DEV_FB_USED", GPU_FIELD_MEMORY_USED_BYTES, 1000, MIB, true},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", GPU_FIELD_GRAPHICS_ACTIVE_MILLI, 1, 1, false},
};

static const struct gpu_metric *gpu_metric_find(const char *name)
{
    for (size_t i = 0; i < COUNT(gpu_metrics); i++)
        if (text_equal(gpu_metrics[i].name, name))
            return &gpu_metrics[i];
    return NULL;
}

bool autoscale_gpu_is_known(const char *name)
{
    return gpu_metric_find(name) != NULL;
}

struct gpu_sum {
    const struct autoscale_samples *samples;
    const struct gpu_metric *metric;
    const char *node;
    const char *uid;
    int64_t value;
    int64_t n;
    bool is_unknown;
};

/* The part of a shared gpu that the pod uses; a share's compute counts in parts of the share. */
static int64_t own_part(const struct gpu_sum *s, const struct device *d)
{
    const struct container_gpu *c;
    int64_t milli = d->kind == DEVICE_SHARE && d->milli > 0 ? d->milli : 1000;
    int64_t sum = 0;

    for (size_t i = 0; s->samples->container_gpu &&
                       (c = s->samples->container_gpu(s->samples->arg, s->node, d->gpu, i));
         i++) {
        int64_t value = s->metric->is_memory ? c->memory_bytes : c->sm_milli;

        if (!text_equal(c->pod_uid, s->uid))
            continue;
        if (value < 0)
            return -1;
        sum += value;
    }
    if (s->metric->is_memory)
        return sum;
    sum = sum * 1000 / milli;
    return s->metric->field == GPU_FIELD_UTILIZATION_PCT ? sum / 10 : sum;
}

/* The reading of a device; -1: unknown. A slice tells its busy part by its engine alone. */
static int64_t device_value(const struct gpu_sum *s, const struct device *d)
{
    bool is_shared = d->kind == DEVICE_SHARE || d->kind == DEVICE_REPLICA;
    const char *uuid = d->kind == DEVICE_SLICE ? d->instance : d->gpu;
    int64_t at_ns = 0;
    const struct gpu_sample *sample =
        s->samples->gpu_sample && *uuid
            ? s->samples->gpu_sample(s->samples->arg, s->node, uuid, &at_ns)
            : NULL;
    int64_t value = sample ? sample->value[s->metric->field] : GPU_VALUE_UNKNOWN;
    int64_t active = sample ? sample->value[GPU_FIELD_GRAPHICS_ACTIVE_MILLI] : GPU_VALUE_UNKNOWN;

    if (sample && is_shared)
        return own_part(s, d);
    if (value < 0 && s->metric->field == GPU_FIELD_UTILIZATION_PCT && active >= 0)
        return active / 10;
    return value;
}

static bool add_device(void *arg, const char *container, const struct device *d)
{
    struct gpu_sum *s = arg;
    int64_t value = device_value(s, d);

    (void)container;
    s->is_unknown = value < 0;
    s->value += value;
    s->n++;
    return !s->is_unknown;
}

int64_t autoscale_gpu_of(const struct autoscale_samples *s, const json_t *pod, const char *name)
{
    struct gpu_sum sum = {.samples = s,
                          .metric = gpu_metric_find(name),
                          .node = pod_node(pod),
                          .uid = json_text_at(pod, "metadata", "uid", NULL)};

    if (!sum.metric)
        return -1;
    pod_each_device(pod, add_device, &sum);
    if (sum.is_unknown || sum.n == 0)
        return -1;
    if (!sum.metric->is_memory)
        sum.value /= sum.n;
    return (int64_t)((__int128)sum.value * sum.metric->scale / sum.metric->per);
}
