/*
 * nvml_sample_linux.c - the readings of a gpu and its slices by NVML
 *
 * A call or field that the driver refuses as unsupported is not asked again until the gpu is listed
 * anew. Counters of errors and rows, which rarely move, are read in each fifth sample.
 */

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "gpu/nvml_private.h"

enum {
    ALL_LINKS = -1 /* as the scope of a field: NVML's UINT_MAX */
};

void nvml_sample_load(struct gpu_driver *d)
{
    LOAD(d, sample.utilization, "nvmlDeviceGetUtilizationRates", NULL);
    LOAD(d, sample.encoder, "nvmlDeviceGetEncoderUtilization", NULL);
    LOAD(d, sample.decoder, "nvmlDeviceGetDecoderUtilization", NULL);
    LOAD(d, sample.temperature, "nvmlDeviceGetTemperature", NULL);
    LOAD(d, sample.power, "nvmlDeviceGetPowerUsage", NULL);
    LOAD(d, sample.energy, "nvmlDeviceGetTotalEnergyConsumption", NULL);
    LOAD(d, sample.clock, "nvmlDeviceGetClockInfo", NULL);
    LOAD(d, sample.throttle, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons");
    LOAD(d, sample.fields, "nvmlDeviceGetFieldValues", NULL);
    LOAD(d, sample.gpm_support, "nvmlGpmQueryDeviceSupport", NULL);
    LOAD(d, sample.gpm_new, "nvmlGpmSampleAlloc", NULL);
    LOAD(d, sample.gpm_free, "nvmlGpmSampleFree", NULL);
    LOAD(d, sample.gpm_get, "nvmlGpmSampleGet", NULL);
    LOAD(d, sample.gpm_get_slice, "nvmlGpmMigSampleGet", NULL);
    LOAD(d, sample.gpm_metrics, "nvmlGpmMetricsGet", NULL);
}

/* ---- calls ---- */

/* Does the answer count? Notes a refusal. */
static bool meter_hear(struct nvml_meter *m, enum nvml_question q, int code)
{
    if (code == NVML_ERROR_NOT_SUPPORTED)
        m->refused |= UINT64_C(1) << q;
    return code == NVML_SUCCESS;
}

/* Asks, unless the driver refused before. */
#define ASK(m, question, pointer, ...)                                 \
    meter_hear((m), (question),                                        \
               (m)->refused >> (question)&1 ? NVML_ERROR_NOT_SUPPORTED \
                                            : CALL((pointer), __VA_ARGS__))

static void meter_read_load(struct gpu_driver *d, struct nvml_meter *m, int64_t *value)
{
    struct nvmlUtilization u = {0};
    unsigned pct = 0;
    unsigned period_us = 0;

    if (ASK(m, ASK_UTILIZATION, d->sample.utilization, m->device, &u)) {
        value[GPU_FIELD_UTILIZATION_PCT] = u.gpu;
        value[GPU_FIELD_MEMORY_UTILIZATION_PCT] = u.memory;
    }
    if (ASK(m, ASK_ENCODER, d->sample.encoder, m->device, &pct, &period_us))
        value[GPU_FIELD_ENCODER_PCT] = pct;
    if (ASK(m, ASK_DECODER, d->sample.decoder, m->device, &pct, &period_us))
        value[GPU_FIELD_DECODER_PCT] = pct;
}

static void meter_read_board(struct gpu_driver *d, struct nvml_meter *m, int64_t *value)
{
    unsigned long long wide = 0;
    unsigned v = 0;

    if (ASK(m, ASK_TEMPERATURE, d->sample.temperature, m->device, NVML_TEMPERATURE_GPU, &v))
        value[GPU_FIELD_TEMPERATURE_C] = v;
    if (ASK(m, ASK_SM_CLOCK, d->sample.clock, m->device, NVML_CLOCK_SM, &v))
        value[GPU_FIELD_SM_CLOCK_MHZ] = v;
    if (ASK(m, ASK_MEMORY_CLOCK, d->sample.clock, m->device, NVML_CLOCK_MEM, &v))
        value[GPU_FIELD_MEMORY_CLOCK_MHZ] = v;
    if (ASK(m, ASK_THROTTLE, d->sample.throttle, m->device, &wide))
        value[GPU_FIELD_THROTTLE_REASONS] = (int64_t)wide;
    if (value[GPU_FIELD_POWER_MW] < 0 && ASK(m, ASK_POWER, d->sample.power, m->device, &v))
        value[GPU_FIELD_POWER_MW] = v;
    if (value[GPU_FIELD_ENERGY_MJ] < 0 && ASK(m, ASK_ENERGY, d->sample.energy, m->device, &wide))
        value[GPU_FIELD_ENERGY_MJ] = (int64_t)wide;
}

/* ---- fields ---- */

/* A field of NVML, and the reading that it adds to. */
struct field_source {
    unsigned id;
    int scope;
    enum gpu_field field;
    int64_t factor;
    bool is_slow;
    bool is_wrapping; /* a value of 32 bits begins anew after 2^32 */
};

static const struct field_source sources[NVML_SOURCES] = {
    {185, 0, GPU_FIELD_POWER_MW, 1, false, false},
    {83, 0, GPU_FIELD_ENERGY_MJ, 1, false, false},
    {82, 0, GPU_FIELD_MEMORY_TEMPERATURE_C, 1, false, false},
    {197, 0, GPU_FIELD_PCIE_SENT_BYTES, 1, false, true},
    {198, 0, GPU_FIELD_PCIE_RECEIVED_BYTES, 1, false, true},
    {138, ALL_LINKS, GPU_FIELD_NVLINK_SENT_BYTES, 1024, false, false},
    {139, ALL_LINKS, GPU_FIELD_NVLINK_RECEIVED_BYTES, 1024, false, false},
    {38, 0, GPU_FIELD_NVLINK_ERRORS, 1, true, false}, /* flit CRC, data CRC, replay, recovery */
    {45, 0, GPU_FIELD_NVLINK_ERRORS, 1, true, false},
    {52, 0, GPU_FIELD_NVLINK_ERRORS, 1, true, false},
    {59, 0, GPU_FIELD_NVLINK_ERRORS, 1, true, false},
    {94, 0, GPU_FIELD_PCIE_REPLAYS, 1, true, false},
    {3, 0, GPU_FIELD_ECC_CORRECTED, 1, true, false},
    {4, 0, GPU_FIELD_ECC_UNCORRECTED, 1, true, false},
    {5, 0, GPU_FIELD_ECC_CORRECTED_EVER, 1, true, false},
    {6, 0, GPU_FIELD_ECC_UNCORRECTED_EVER, 1, true, false},
    {142, 0, GPU_FIELD_REMAPPED_CORRECTABLE, 1, true, false},
    {143, 0, GPU_FIELD_REMAPPED_UNCORRECTABLE, 1, true, false},
    {144, 0, GPU_FIELD_REMAP_PENDING, 1, true, false},
    {145, 0, GPU_FIELD_REMAP_FAILED, 1, true, false},
    {230, 0, GPU_FIELD_RECOVERY_ACTION, 1, true, false},
};

/* The value of an answer; -1: none that counts. */
static int64_t field_number(const struct nvmlFieldValue *v)
{
    if (v->nvmlReturn != NVML_SUCCESS)
        return -1;
    switch (v->valueType) {
    case NVML_VALUE_UNSIGNED:
        return v->value.uiVal;
    case NVML_VALUE_UNSIGNED_LONG:
    case NVML_VALUE_UNSIGNED_LONG_LONG:
    case NVML_VALUE_SIGNED_LONG_LONG:
        return v->value.ullVal > INT64_MAX ? -1 : (int64_t)v->value.ullVal;
    case NVML_VALUE_SIGNED:
        return (int)v->value.uiVal;
    default:
        return -1;
    }
}

/* Takes the answer for source `i`. */
static void meter_take_field(struct nvml_meter *m, unsigned i, const struct nvmlFieldValue *v)
{
    int64_t number = field_number(v);
    struct nvml_source *s = &m->sources[i];

    if (v->nvmlReturn == NVML_ERROR_NOT_SUPPORTED || v->nvmlReturn == NVML_ERROR_INVALID_ARGUMENT)
        s->is_refused = true;
    if (number < 0 || !sources[i].is_wrapping || v->valueType != NVML_VALUE_UNSIGNED ||
        s->value < 0) {
        s->value = number;
    } else {
        s->value += (int64_t)((uint32_t)number - s->raw);
    }
    s->raw = (uint32_t)number;
}

static void meter_ask_fields(struct gpu_driver *d, struct nvml_meter *m)
{
    struct nvmlFieldValue answers[NVML_SOURCES];
    unsigned of[NVML_SOURCES];
    bool is_slow = m->n_samples % NVML_SLOW_ROUNDS == 0;
    int n = 0;

    for (unsigned i = 0; i < NVML_SOURCES; i++) {
        if (m->sources[i].is_refused || (sources[i].is_slow && !is_slow))
            continue;
        answers[n] = (struct nvmlFieldValue){.fieldId = sources[i].id,
                                             .scopeId = (unsigned)sources[i].scope};
        of[n++] = i;
    }
    if (n == 0)
        return;
    if (!ASK(m, ASK_FIELDS, d->sample.fields, m->device, n, answers)) {
        for (int i = 0; i < n; i++)
            m->sources[of[i]].value = -1;
        return;
    }
    for (int i = 0; i < n; i++)
        meter_take_field(m, of[i], &answers[i]);
}

static void meter_read_fields(struct gpu_driver *d, struct nvml_meter *m, int64_t *value)
{
    meter_ask_fields(d, m);
    for (unsigned i = 0; i < NVML_SOURCES; i++) {
        int64_t *sum = &value[sources[i].field];
        int64_t more = m->sources[i].value;

        if (more >= 0 && more <= INT64_MAX / sources[i].factor)
            *sum = (*sum < 0 ? 0 : *sum) + more * sources[i].factor;
    }
}

/* ---- GPU performance metrics ---- */

static const struct {
    unsigned id;
    enum gpu_field field;
} gpm_sources[] = {{NVML_GPM_GRAPHICS_UTIL, GPU_FIELD_GRAPHICS_ACTIVE_MILLI},
                   {NVML_GPM_SM_UTIL, GPU_FIELD_SM_ACTIVE_MILLI},
                   {NVML_GPM_ANY_TENSOR_UTIL, GPU_FIELD_TENSOR_ACTIVE_MILLI},
                   {NVML_GPM_DRAM_UTIL, GPU_FIELD_DRAM_ACTIVE_MILLI}};

/* Finds out whether the gpu has them, and makes room for two samples. */
static bool gpm_begin(struct gpu_driver *d, struct nvml_meter *m, struct nvml_gpm *g)
{
    struct nvmlGpmSupport support = {.version = NVML_GPM_VERSION};

    if (g->samples[1])
        return true;
    if (!ASK(m, ASK_GPM, d->sample.gpm_support, m->device, &support))
        return false;
    if (!support.isSupportedDevice) {
        m->refused |= UINT64_C(1) << ASK_GPM;
        return false;
    }
    for (size_t i = 0; i < 2; i++)
        if (!g->samples[i] && CALL(d->sample.gpm_new, &g->samples[i]) != NVML_SUCCESS)
            return false;
    return true;
}

static void gpm_done(const struct gpu_driver *d, struct nvml_gpm *g)
{
    for (size_t i = 0; i < 2; i++)
        if (g->samples[i])
            (void)CALL(d->sample.gpm_free, g->samples[i]);
    *g = (struct nvml_gpm){0};
}

/* The driver's percentage, a double, in 1/1000. */
static int64_t gpm_milli(const struct nvmlGpmMetric *m)
{
    if (m->nvmlReturn != NVML_SUCCESS || !(m->value >= 0 && m->value <= 100))
        return GPU_VALUE_UNKNOWN;
    return (int64_t)(m->value * 10 + 0.5);
}

static void gpm_compare(struct gpu_driver *d, const struct nvml_gpm *g, int64_t *value)
{
    struct nvmlGpmMetricsGet request = {.version = NVML_GPM_VERSION,
                                        .numMetrics = COUNT(gpm_sources),
                                        .sample1 = g->samples[1 - g->newest],
                                        .sample2 = g->samples[g->newest]};

    for (size_t i = 0; i < COUNT(gpm_sources); i++)
        request.metrics[i].metricId = gpm_sources[i].id;
    if (CALL(d->sample.gpm_metrics, &request) != NVML_SUCCESS)
        return;
    for (size_t i = 0; i < COUNT(gpm_sources); i++)
        value[gpm_sources[i].field] = gpm_milli(&request.metrics[i]);
}

/* Reads the activity since the sample before; `instance` -1: of the whole gpu. */
static void gpm_read(struct gpu_driver *d, struct nvml_meter *m, struct nvml_gpm *g, int instance,
                     int64_t *value)
{
    enum nvml_question q = instance < 0 ? ASK_GPM_GPU : ASK_GPM_SLICE;
    unsigned next = 1 - g->newest;
    bool is_read;

    if (m->refused >> q & 1 || !gpm_begin(d, m, g))
        return;
    is_read = instance < 0 ? ASK(m, q, d->sample.gpm_get, m->device, g->samples[next])
                           : ASK(m, q, d->sample.gpm_get_slice, m->device, (unsigned)instance,
                                 g->samples[next]);
    if (!is_read) {
        g->n = 0;
        return;
    }
    g->newest = next;
    g->n++;
    if (g->n > 1)
        gpm_compare(d, g, value);
}

/* ---- a gpu ---- */

static void meter_clear(const struct gpu_driver *d, struct nvml_meter *m)
{
    gpm_done(d, &m->gpm);
    for (size_t i = 0; i < m->n_slices; i++)
        gpm_done(d, &m->slices[i].gpm);
    *m = (struct nvml_meter){0};
    for (size_t i = 0; i < NVML_SOURCES; i++)
        m->sources[i].value = -1;
}

/* The memory of the gpu at `index`, which may be another gpu than before. */
static struct nvml_meter *meter_of(struct gpu_driver *d, unsigned index, nvmlDevice_t device)
{
    struct nvml_meter **m = &d->meters[index];

    if (!*m)
        *m = mem_alloc(sizeof(**m));
    if ((*m)->device != device) {
        meter_clear(d, *m);
        (*m)->device = device;
    }
    return *m;
}

void nvml_sample_free(struct gpu_driver *d)
{
    for (size_t i = 0; i < COUNT(d->meters); i++) {
        if (d->meters[i])
            meter_clear(d, d->meters[i]);
        free(d->meters[i]);
        d->meters[i] = NULL;
    }
}

static const struct gpu_slice *slice_find(const struct gpu *g, const char *uuid)
{
    for (size_t i = 0; i < g->n_slices; i++)
        if (strcmp(g->slices[i].uuid, uuid) == 0)
            return &g->slices[i];
    return NULL;
}

/* Notes the handles of the slices. A slice keeps its last sample of performance metrics. */
static void meter_list_slices(struct gpu_driver *d, struct nvml_meter *m, const struct gpu *g)
{
    struct nvml_slice old[GPU_SLICES_MAX];
    size_t n_old = m->n_slices;
    unsigned max = 0;

    memcpy(old, m->slices, sizeof(old));
    m->n_slices = 0;
    (void)(g->n_slices > 0 && CALL(d->mig.devices_max, m->device, &max));
    for (unsigned i = 0; i < max && m->n_slices < GPU_SLICES_MAX; i++) {
        struct nvml_slice *s = &m->slices[m->n_slices];
        const struct gpu_slice *listed;

        *s = (struct nvml_slice){0};
        if (CALL(d->mig.device_at, m->device, i, &s->device) != NVML_SUCCESS ||
            d->uuid(s->device, s->uuid, sizeof(s->uuid)) != NVML_SUCCESS)
            continue;
        listed = slice_find(g, s->uuid);
        if (!listed)
            continue;
        s->instance = listed->gpu_instance;
        for (size_t k = 0; k < n_old; k++) {
            if (strcmp(old[k].uuid, s->uuid) != 0)
                continue;
            s->gpm = old[k].gpm;
            old[k].gpm = (struct nvml_gpm){0};
        }
        m->n_slices++;
    }
    for (size_t k = 0; k < n_old; k++)
        gpm_done(d, &old[k].gpm);
}

void nvml_sample_listed(struct gpu_driver *d, unsigned index, nvmlDevice_t device,
                        const struct gpu *g)
{
    struct nvml_meter *m = NULL;

    if (index >= COUNT(d->meters))
        return;
    m = meter_of(d, index, device);
    m->refused = 0;
    for (size_t i = 0; i < NVML_SOURCES; i++)
        m->sources[i].is_refused = false;
    meter_list_slices(d, m, g);
}

static int64_t sample_clock_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sample_read_memory(struct gpu_driver *d, nvmlDevice_t device, int64_t *value)
{
    struct nvml_memory memory = nvml_memory_read(d, device);

    value[GPU_FIELD_MEMORY_USED_BYTES] = memory.used;
    value[GPU_FIELD_MEMORY_FREE_BYTES] = memory.free;
    value[GPU_FIELD_MEMORY_RESERVED_BYTES] = memory.reserved;
}

/* A slice that is gone has no sample; the next list of gpus has no such slice. */
static void reading_add_slice(struct gpu_driver *d, struct nvml_meter *m, struct nvml_slice *from,
                              struct gpu_reading *r)
{
    struct gpu_sample *s = &r->slices[r->n_slices];

    *s = (struct gpu_sample)GPU_SAMPLE_UNKNOWN;
    s->at_ns = sample_clock_ns();
    memcpy(s->uuid, from->uuid, sizeof(s->uuid));
    memcpy(s->parent, r->gpu.uuid, sizeof(s->parent));
    sample_read_memory(d, from->device, s->value);
    if (s->value[GPU_FIELD_MEMORY_USED_BYTES] < 0)
        return;
    gpm_read(d, m, &from->gpm, from->instance, s->value);
    s->value[GPU_FIELD_PROCESSES] = nvml_processes_add(d, m, from->device, (int)r->n_slices, r);
    r->n_slices++;
}

struct err *gpu_driver_sample(struct gpu_driver *d, unsigned index, struct gpu_reading *ret)
{
    struct gpu_sample *s = &ret->gpu;
    nvmlDevice_t device = NULL;
    struct nvml_meter *m = NULL;
    int code;

    assert(index < COUNT(d->meters));
    TRY(nvml_device_at(d, index, &device));
    *s = (struct gpu_sample)GPU_SAMPLE_UNKNOWN;
    code = d->uuid(device, s->uuid, sizeof(s->uuid));
    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "uuid");
    m = meter_of(d, index, device);
    ret->n_slices = 0;
    ret->n_processes = 0;
    s->at_ns = sample_clock_ns();
    sample_read_memory(d, device, s->value);
    meter_read_load(d, m, s->value);
    meter_read_fields(d, m, s->value);
    meter_read_board(d, m, s->value);
    gpm_read(d, m, &m->gpm, -1, s->value);
    if (m->n_slices == 0)
        s->value[GPU_FIELD_PROCESSES] = nvml_processes_add(d, m, device, -1, ret);
    else
        s->value[GPU_FIELD_PROCESSES] = 0;
    for (size_t i = 0; i < m->n_slices; i++)
        reading_add_slice(d, m, &m->slices[i], ret);
    for (size_t i = 0; i < ret->n_slices; i++) {
        int64_t more = ret->slices[i].value[GPU_FIELD_PROCESSES];

        s->value[GPU_FIELD_PROCESSES] += more > 0 ? more : 0;
    }
    m->n_samples++;
    return NULL;
}
