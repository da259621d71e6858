/* nvml_readings.c - readings of an emulated gpu: memory, load, clocks, processes */

#include "engine.h"
#include "library.h"

static unsigned greater(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

FUNCTION(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t device, struct nvmlMemory_v2 *out)
{
    uint64_t used = 0;

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_MEMORY_V2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (library_is_mig(device))
        return mig_memory(device, out);
    ENTER(device, g);
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
    if (g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    *out = (struct nvmlUtilization){.gpu = greater(g->utilization_pct, library_load_of(g)),
                                    .memory = g->memory_utilization_pct};
    return NVML_SUCCESS;
}

static unsigned clock_of(const struct gpusim_gpu *g, unsigned type, bool is_max)
{
    if (type == NVML_CLOCK_MEM)
        return is_max ? g->memory_clock_max_mhz : g->memory_clock_mhz;
    if (!is_max && g->throttle & ~NVML_CLOCKS_IDLE)
        return g->sm_clock_mhz;
    return is_max || library_load_of(g) > 0 ? g->sm_clock_max_mhz : g->sm_clock_mhz;
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

/* No program sets clocks of applications, so they are the board's own. */
FUNCTION(nvmlDeviceGetApplicationsClock, nvmlDevice_t device, unsigned type, unsigned *out)
{
    return nvmlDeviceGetMaxClockInfo(device, type, out);
}

FUNCTION(nvmlDeviceGetDefaultApplicationsClock, nvmlDevice_t device, unsigned type, unsigned *out)
{
    return nvmlDeviceGetMaxClockInfo(device, type, out);
}

FUNCTION(nvmlDeviceGetMaxCustomerBoostClock, nvmlDevice_t device, unsigned type, unsigned *out)
{
    return nvmlDeviceGetMaxClockInfo(device, type, out);
}

/* `id`: 0 the present clock, 1 of applications, 2 its default, 3 the highest that can be set. */
FUNCTION(nvmlDeviceGetClock, nvmlDevice_t device, unsigned type, unsigned id, unsigned *out)
{
    if (id > 3)
        return NVML_ERROR_INVALID_ARGUMENT;
    return id == 0 ? nvmlDeviceGetClockInfo(device, type, out)
                   : nvmlDeviceGetMaxClockInfo(device, type, out);
}

FUNCTION(nvmlDeviceGetPerformanceState, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give(g->utilization_pct || library_load_of(g) ? 0 : 8, out);
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

/* A list that a caller made room for; `n` may pass `room`. */
struct process_list {
    struct nvmlProcessInfo *out;
    unsigned room;
    unsigned n;
};

/* `compute` is NULL for a process on the whole gpu. */
static void add_process(struct process_list *list, unsigned pid, uint64_t memory_bytes,
                        const struct gpusim_compute *compute)
{
    if (list->n < list->room)
        list->out[list->n] =
            (struct nvmlProcessInfo){.pid = pid,
                                     .usedGpuMemory = memory_bytes,
                                     .gpuInstanceId = compute ? compute->instance : UINT32_MAX,
                                     .computeInstanceId = compute ? compute->id : UINT32_MAX};
    list->n++;
}

/* Adds the clients on one engine of the gpu, or on all. */
static void add_clients(struct process_list *list, const struct gpusim_gpu *g, bool is_any,
                        unsigned engine)
{
    unsigned gpu = view_index(&library_view, g);

    for (unsigned i = 0; i < GPUSIM_CLIENTS_MAX; i++) {
        const struct gpusim_use *u = &library_view.machine->clients[i].uses[gpu];
        unsigned of = u->engine <= GPUSIM_INSTANCES_MAX ? u->engine : GPUSIM_WHOLE;

        if ((is_any || of == engine) && client_uses(&library_view, i, gpu))
            add_process(list, client_pid(&library_view, i), u->memory_bytes,
                        of == GPUSIM_WHOLE ? NULL : &g->computes[of - 1]);
    }
}

static int give_list(const struct process_list *list, unsigned *count)
{
    *count = list->n;
    return list->n > list->room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static int give_processes(const struct gpusim_gpu *g, bool is_graphics, unsigned *count,
                          struct nvmlProcessInfo *out)
{
    struct process_list list = {.out = out};

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    list.room = out ? *count : 0;
    for (unsigned i = 0; i < g->n_processes && i < GPUSIM_PROCESSES_MAX; i++) {
        if ((g->processes[i].is_graphics != 0) == is_graphics)
            add_process(&list, g->processes[i].pid, g->processes[i].memory_bytes, NULL);
    }
    if (!is_graphics)
        add_clients(&list, g, true, 0);
    return give_list(&list, count);
}

static int give_processes_of_mig(nvmlDevice_t device, unsigned *count, struct nvmlProcessInfo *out)
{
    struct process_list list = {.out = out};
    const struct gpusim_gpu *g = NULL;
    unsigned engine = 0;
    int result = mig_gpu(device, &g, &engine);

    if (result != NVML_SUCCESS || !count)
        return count ? result : NVML_ERROR_INVALID_ARGUMENT;
    list.room = out ? *count : 0;
    add_clients(&list, g, false, engine);
    return give_list(&list, count);
}

FUNCTION(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t device, unsigned *count,
         struct nvmlProcessInfo *out)
{
    if (library_is_mig(device))
        return give_processes_of_mig(device, count, out);
    ENTER(device, g);

    return give_processes(g, false, count, out);
}

/* The oldest version has entries without instances. */
struct process_v1 {
    unsigned pid;
    unsigned long long usedGpuMemory;
};

FUNCTION(nvmlDeviceGetComputeRunningProcesses, nvmlDevice_t device, unsigned *count,
         struct process_v1 *out)
{
    struct nvmlProcessInfo all[GPUSIM_CLIENTS_MAX + GPUSIM_PROCESSES_MAX];
    unsigned n = sizeof(all) / sizeof(all[0]);
    int result = count ? nvmlDeviceGetComputeRunningProcesses_v3(device, &n, all)
                       : NVML_ERROR_INVALID_ARGUMENT;

    if (result != NVML_SUCCESS)
        return result;
    if (n > *count || !out)
        result = n > 0 ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
    for (unsigned i = 0; result == NVML_SUCCESS && i < n; i++)
        out[i] = (struct process_v1){.pid = all[i].pid, .usedGpuMemory = all[i].usedGpuMemory};
    *count = n;
    return result;
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

FUNCTION(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlDevice_t device, unsigned *count,
         struct nvmlProcessInfo *out)
{
    return nvmlDeviceGetMPSComputeRunningProcesses_v3(device, count, out);
}
