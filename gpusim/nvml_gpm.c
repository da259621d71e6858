/*
 * nvml_gpm.c - GPU performance metrics: the busy part of the time between two samples
 *
 * Boards from Hopper on have them. In MIG mode they are the only source of utilization: of a gpu
 * instance, or of the whole gpu as its instances' parts. What `gpusim set` says of the gpu is the
 * least that it shows.
 */

#include <stdlib.h>

#include "engine.h"
#include "library.h"
#include "mig.h"

enum {
    ARCHITECTURE_HOPPER = 9
};

struct gpm_sample {
    uint64_t at_ns; /* 0: nothing is in it */
    uint64_t busy_ns;
    unsigned busy_pct; /* without clients, as the following */
    unsigned tensor_pct;
    unsigned dram_pct;
};

static bool has_gpm(const struct gpusim_gpu *g)
{
    return g->architecture >= ARCHITECTURE_HOPPER;
}

FUNCTION(nvmlGpmQueryDeviceSupport, nvmlDevice_t device, struct nvmlGpmSupport *out)
{
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_GPM_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    out->isSupportedDevice = has_gpm(g);
    return NVML_SUCCESS;
}

FUNCTION(nvmlGpmSampleAlloc, struct gpm_sample **out)
{
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = calloc(1, sizeof(**out));
    return *out ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

FUNCTION(nvmlGpmSampleFree, struct gpm_sample *sample)
{
    free(sample);
    return sample ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* The busy time of an engine since the start. */
static uint64_t busy_of(const struct gpusim_gpu *g, unsigned engine, uint64_t now_ns)
{
    struct engine e;

    engine_load(&e, &library_view, view_index(&library_view, g), engine);
    engine_advance(&e, now_ns);
    return e.state.busy_ns;
}

/* The busy time of the compute instances of a gpu instance, or of all, by their part of `slices`.
 */
static uint64_t busy_of_computes(const struct gpusim_gpu *g, bool is_any, unsigned instance,
                                 unsigned slices, uint64_t now_ns)
{
    uint64_t busy_ns = 0;

    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        const struct gpusim_compute *c = &g->computes[i];

        if (c->is_used && (is_any || c->instance == instance))
            busy_ns += busy_of(g, 1 + i, now_ns) / slices * c->slices;
    }
    return busy_ns;
}

FUNCTION(nvmlGpmSampleGet, nvmlDevice_t device, struct gpm_sample *sample)
{
    uint64_t now_ns = clock_ns();
    ENTER(device, g);

    if (!sample)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!has_gpm(g))
        return NVML_ERROR_NOT_SUPPORTED;
    *sample = (struct gpm_sample){.at_ns = now_ns,
                                  .busy_pct = g->utilization_pct,
                                  .tensor_pct = g->tensor_pct,
                                  .dram_pct = g->memory_utilization_pct};
    if (g->mig_mode && g->mig_slices > 0)
        sample->busy_ns = busy_of_computes(g, true, 0, g->mig_slices, now_ns);
    else
        sample->busy_ns = busy_of(g, GPUSIM_WHOLE, now_ns);
    return NVML_SUCCESS;
}

FUNCTION(nvmlGpmMigSampleGet, nvmlDevice_t device, unsigned instance, struct gpm_sample *sample)
{
    const struct gpusim_mig_profile *p;
    uint64_t now_ns = clock_ns();
    ENTER(device, g);

    p = instance_profile(g, instance);
    if (!sample || !p)
        return sample ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
    if (!has_gpm(g) || !g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    *sample =
        (struct gpm_sample){.at_ns = now_ns,
                            .busy_ns = busy_of_computes(g, false, instance, p->slices, now_ns),
                            .tensor_pct = g->tensor_pct,
                            .dram_pct = g->memory_utilization_pct};
    return NVML_SUCCESS;
}

/* Emulated kernels keep the tensor pipe busy for half of their time, the memory for a quarter. 0:
 * the metric is not supported. */
static unsigned gpm_divisor(unsigned id)
{
    switch (id) {
    case NVML_GPM_GRAPHICS_UTIL:
    case NVML_GPM_SM_UTIL:
        return 1;
    case NVML_GPM_ANY_TENSOR_UTIL:
        return 2;
    case NVML_GPM_DRAM_UTIL:
        return 4;
    default:
        return 0;
    }
}

/* What the gpu shows without clients. */
static unsigned least_pct(const struct gpm_sample *s, unsigned id)
{
    switch (id) {
    case NVML_GPM_ANY_TENSOR_UTIL:
        return s->tensor_pct;
    case NVML_GPM_DRAM_UTIL:
        return s->dram_pct;
    default:
        return s->busy_pct;
    }
}

FUNCTION(nvmlGpmMetricsGet, struct nvmlGpmMetricsGet *request)
{
    const struct gpm_sample *first = request ? request->sample1 : NULL;
    const struct gpm_sample *second = request ? request->sample2 : NULL;
    uint64_t time_ns;
    uint64_t busy_ns;

    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    if (!request || request->numMetrics > NVML_GPM_METRICS_MAX || !first || !second)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (request->version != NVML_GPM_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (first->at_ns == 0 || second->at_ns <= first->at_ns || second->busy_ns < first->busy_ns)
        return NVML_ERROR_INVALID_ARGUMENT;
    time_ns = second->at_ns - first->at_ns;
    busy_ns = second->busy_ns - first->busy_ns;
    for (unsigned i = 0; i < request->numMetrics; i++) {
        struct nvmlGpmMetric *m = &request->metrics[i];
        unsigned divisor = gpm_divisor(m->metricId);

        m->nvmlReturn = divisor > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        m->value = divisor > 0 ? (double)busy_ns * 100 / (double)time_ns / divisor : 0;
        if (divisor > 0 && m->value < least_pct(second, m->metricId))
            m->value = least_pct(second, m->metricId);
    }
    return NVML_SUCCESS;
}
