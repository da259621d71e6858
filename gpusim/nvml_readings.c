/* nvml_readings.c - readings of an emulated gpu: memory, load, power, clocks, processes */

#include <time.h>

#include "engine.h"
#include "library.h"

/* Busy percent of the gpu's engine over the last second, by the work of clients. */
static unsigned load_of(const struct gpusim_gpu *g)
{
    struct engine e;
    uint64_t now_ns = clock_ns();

    engine_load(&e, &library_view, view_index(&library_view, g), GPUSIM_WHOLE);
    engine_advance(&e, now_ns);
    return loads_pct(e.state.loads, now_ns);
}

static unsigned greater(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

FUNCTION(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t device, struct nvmlMemory_v2 *out)
{
    uint64_t used = 0;
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_MEMORY_V2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    used = gpu_memory_used(&library_view, view_index(&library_view, g));
    out->total = g->memory_bytes;
    out->reserved = g->memory_reserved_bytes;
    out->used = used;
    out->free = g->memory_bytes - g->memory_reserved_bytes - used;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, struct nvmlMemory *out)
{
    struct nvmlMemory_v2 v2 = {.version = NVML_MEMORY_V2};
    int result;

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    result = nvmlDeviceGetMemoryInfo_v2(device, &v2);
    if (result == NVML_SUCCESS)
        *out =
            (struct nvmlMemory){.total = v2.total, .free = v2.free, .used = v2.used + v2.reserved};
    return result;
}

FUNCTION(nvmlDeviceGetBAR1MemoryInfo, nvmlDevice_t device, struct nvmlMemory *out)
{
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    /* nvmlBAR1Memory_t has the same three members. */
    *out = (struct nvmlMemory){.total = g->memory_bytes, .free = g->memory_bytes};
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetUtilizationRates, nvmlDevice_t device, struct nvmlUtilization *out)
{
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (struct nvmlUtilization){.gpu = greater(g->utilization_pct, load_of(g)),
                                    .memory = g->memory_utilization_pct};
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetTemperature, nvmlDevice_t device, unsigned sensor, unsigned *out)
{
    ENTER(device, g);

    return sensor == NVML_TEMPERATURE_GPU ? give(g->temperature_c, out)
                                          : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetPowerUsage, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    /* Work of clients adds up to nine tenths of what the limit leaves. */
    return give(g->power_mw + (g->power_limit_mw > g->power_mw
                                   ? (g->power_limit_mw - g->power_mw) / 1000 * 9 * load_of(g)
                                   : 0),
                out);
}

FUNCTION(nvmlDeviceGetEnforcedPowerLimit, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give(g->power_limit_mw, out);
}

FUNCTION(nvmlDeviceGetPowerManagementLimit, nvmlDevice_t device, unsigned *out)
{
    return nvmlDeviceGetEnforcedPowerLimit(device, out);
}

FUNCTION(nvmlDeviceGetPowerManagementDefaultLimit, nvmlDevice_t device, unsigned *out)
{
    return nvmlDeviceGetEnforcedPowerLimit(device, out);
}

/* The energy since "driver load" (boot): grows by the present power. */
FUNCTION(nvmlDeviceGetTotalEnergyConsumption, nvmlDevice_t device, unsigned long long *out)
{
    struct timespec now = {0};
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    *out = g->energy_mj + (uint64_t)g->power_mw * (uint64_t)now.tv_sec;
    return NVML_SUCCESS;
}

static unsigned clock_of(const struct gpusim_gpu *g, unsigned type, bool is_max)
{
    if (type == NVML_CLOCK_MEM)
        return is_max ? g->memory_clock_max_mhz : g->memory_clock_mhz;
    return is_max || load_of(g) > 0 ? g->sm_clock_max_mhz : g->sm_clock_mhz;
}

FUNCTION(nvmlDeviceGetClockInfo, nvmlDevice_t device, unsigned type, unsigned *out)
{
    ENTER(device, g);

    return type <= NVML_CLOCK_VIDEO ? give(clock_of(g, type, false), out)
                                    : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetMaxClockInfo, nvmlDevice_t device, unsigned type, unsigned *out)
{
    ENTER(device, g);

    return type <= NVML_CLOCK_VIDEO ? give(clock_of(g, type, true), out)
                                    : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetPerformanceState, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give(g->utilization_pct || load_of(g) ? 0 : 8, out);
}

FUNCTION(nvmlDeviceGetPersistenceMode, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    (void)g;
    return give(1, out);
}

FUNCTION(nvmlDeviceGetComputeMode, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    (void)g;
    return give(0, out);
}

FUNCTION(nvmlDeviceGetNumaNodeId, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return g->numa_node >= 0 ? give((unsigned)g->numa_node, out) : NVML_ERROR_NOT_SUPPORTED;
}

FUNCTION(nvmlDeviceGetMigMode, nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    ENTER(device, g);

    (void)g;
    if (!current || !pending)
        return NVML_ERROR_INVALID_ARGUMENT;
    *current = 0;
    *pending = 0;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetMaxMigDeviceCount, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    (void)g;
    return give(0, out);
}

FUNCTION(nvmlDeviceIsMigDeviceHandle, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    (void)g;
    return give(0, out);
}

FUNCTION(nvmlDeviceGetMigDeviceHandleByIndex, nvmlDevice_t device, unsigned index,
         nvmlDevice_t *out)
{
    ENTER(device, g);

    (void)g;
    (void)index;
    return out ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
}

/* A list that a caller made room for; `n` may pass `room`. */
struct process_list {
    struct nvmlProcessInfo *out;
    unsigned room;
    unsigned n;
};

static void add_process(struct process_list *list, unsigned pid, uint64_t memory_bytes)
{
    if (list->n < list->room)
        list->out[list->n] = (struct nvmlProcessInfo){.pid = pid,
                                                      .usedGpuMemory = memory_bytes,
                                                      .gpuInstanceId = UINT32_MAX,
                                                      .computeInstanceId = UINT32_MAX};
    list->n++;
}

static int give_processes(const struct gpusim_gpu *g, bool is_graphics, unsigned *count,
                          struct nvmlProcessInfo *out)
{
    unsigned gpu = view_index(&library_view, g);
    struct process_list list = {.out = out};

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    list.room = out ? *count : 0;
    for (unsigned i = 0; i < g->n_processes && i < GPUSIM_PROCESSES_MAX; i++) {
        if ((g->processes[i].is_graphics != 0) == is_graphics)
            add_process(&list, g->processes[i].pid, g->processes[i].memory_bytes);
    }
    for (unsigned i = 0; i < GPUSIM_CLIENTS_MAX && !is_graphics; i++) {
        if (client_uses(&library_view, i, gpu))
            add_process(&list, client_pid(&library_view, i),
                        library_view.machine->clients[i].uses[gpu].memory_bytes);
    }
    *count = list.n;
    return list.n > list.room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t device, unsigned *count,
         struct nvmlProcessInfo *out)
{
    ENTER(device, g);

    return give_processes(g, false, count, out);
}

FUNCTION(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDevice_t device, unsigned *count,
         struct nvmlProcessInfo *out)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, out);
}

FUNCTION(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t device, unsigned *count,
         struct nvmlProcessInfo *out)
{
    ENTER(device, g);

    return give_processes(g, true, count, out);
}

FUNCTION(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlDevice_t device, unsigned *count,
         struct nvmlProcessInfo *out)
{
    return nvmlDeviceGetGraphicsRunningProcesses_v3(device, count, out);
}

FUNCTION(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlDevice_t device, unsigned *count,
         struct nvmlProcessInfo *out)
{
    ENTER(device, g);

    (void)g;
    (void)out;
    return give(0, count);
}
