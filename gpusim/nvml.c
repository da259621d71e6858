/*
 * nvml.c - libnvidia-ml.so.1 of an emulated machine
 *
 * What callers of the real library rely on: versions and sizes of structs, NOT_SUPPORTED for what
 * the hardware lacks, counts that are asked for with too small a buffer. Calls on one gpu may be
 * told to fail or to hang (gpusim_machine.h).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/nvml_abi.h"
#include "view.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    LEVEL_SWITCHES = 20,
    LEVEL_NUMA = 40,
    LEVEL_SYSTEM = 50
};

/* One library, one machine: NVML is a global by its interface. */
static struct view view;
static unsigned references;

/* Events not older than their registration. */
struct event_set {
    bool is_used;
    bool is_registered[GPUSIM_GPUS_MAX];
    uint64_t seen[GPUSIM_GPUS_MAX];
};

enum {
    EVENT_SETS_MAX = 16
};
static struct event_set event_sets[EVENT_SETS_MAX];

static void wait_ms(uint32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0)
        continue;
}

static int find(nvmlDevice_t device, const struct gpusim_gpu **ret)
{
    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; i < view.n; i++) {
        if (view.gpus[i] != device)
            continue;
        *ret = view.gpus[i];
        /* Looked at anew: who told it to hang may let it go. */
        for (uint64_t ms = 0; ms < view.gpus[i]->hang_ms; ms += 10)
            wait_ms(10);
        return view.gpus[i]->is_lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

/* `gpu` is the device's, or the function returns what is wrong with it. */
#define ENTER(device, gpu)                   \
    const struct gpusim_gpu *gpu = NULL;     \
    do {                                     \
        int enter_ = find((device), &(gpu)); \
        if (enter_ != NVML_SUCCESS)          \
            return enter_;                   \
    } while (0)

static int give_text(const char *text, char *out, unsigned size)
{
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) + 1 > size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

static int give(unsigned value, unsigned *out)
{
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = value;
    return NVML_SUCCESS;
}

#define FUNCTION(name, ...)       \
    EXPORT int name(__VA_ARGS__); \
    EXPORT int name(__VA_ARGS__)

FUNCTION(nvmlInitWithFlags, unsigned flags)
{
    (void)flags;
    if (!references && !view_open(&view))
        return NVML_ERROR_DRIVER_NOT_LOADED;
    references++;
    return NVML_SUCCESS;
}

FUNCTION(nvmlInit_v2, void)
{
    return nvmlInitWithFlags(0);
}

FUNCTION(nvmlInit, void)
{
    return nvmlInitWithFlags(0);
}

FUNCTION(nvmlShutdown, void)
{
    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    references--;
    if (!references)
        view_close(&view);
    return NVML_SUCCESS;
}

EXPORT const char *nvmlErrorString(int result);
EXPORT const char *nvmlErrorString(int result)
{
    switch (result) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_ERROR_UNINITIALIZED:
        return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
        return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND:
        return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
        return "Timeout";
    case NVML_ERROR_GPU_IS_LOST:
        return "GPU is lost";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return "Argument version mismatch";
    default:
        return "Unknown Error";
    }
}

/* Tells our own callers that nothing here is hardware. */
FUNCTION(mete_gpusim_version, void)
{
    return (int)GPUSIM_VERSION;
}

FUNCTION(nvmlSystemGetDriverVersion, char *out, unsigned size)
{
    return references ? give_text(view.machine->driver_version, out, size)
                      : NVML_ERROR_UNINITIALIZED;
}

FUNCTION(nvmlSystemGetNVMLVersion, char *out, unsigned size)
{
    return references ? give_text(view.machine->nvml_version, out, size) : NVML_ERROR_UNINITIALIZED;
}

FUNCTION(nvmlSystemGetCudaDriverVersion_v2, int *out)
{
    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = view.machine->cuda_version;
    return NVML_SUCCESS;
}

FUNCTION(nvmlSystemGetCudaDriverVersion, int *out)
{
    return nvmlSystemGetCudaDriverVersion_v2(out);
}

FUNCTION(nvmlSystemGetProcessName, unsigned pid, char *out, unsigned size)
{
    char path[64];
    char name[4096] = "";
    FILE *in;

    if (!out || size == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    (void)snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    in = fopen(path, "re");
    if (!in)
        return NVML_ERROR_NOT_FOUND;
    name[fread(name, 1, sizeof(name) - 1, in)] = '\0';
    (void)fclose(in);
    (void)snprintf(out, size, "%s", name);
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetCount_v2, unsigned *out)
{
    return references ? give(view.n, out) : NVML_ERROR_UNINITIALIZED;
}

FUNCTION(nvmlDeviceGetCount, unsigned *out)
{
    return nvmlDeviceGetCount_v2(out);
}

FUNCTION(nvmlDeviceGetHandleByIndex_v2, unsigned index, nvmlDevice_t *out)
{
    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    if (!out || index >= view.n)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (view.gpus[index]->is_lost)
        return NVML_ERROR_GPU_IS_LOST;
    *out = (nvmlDevice_t)(uintptr_t)view.gpus[index];
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetHandleByIndex, unsigned index, nvmlDevice_t *out)
{
    return nvmlDeviceGetHandleByIndex_v2(index, out);
}

FUNCTION(nvmlDeviceGetHandleByUUID, const char *uuid, nvmlDevice_t *out)
{
    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; uuid && i < view.n; i++) {
        if (strcmp(view.gpus[i]->uuid, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, out);
    }
    return uuid ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
}

/* "DOMAIN:BUS:DEVICE.FUNCTION" in hexadecimal of any width. */
static bool read_pci(const char *id, unsigned ret[4])
{
    static const char ends[4] = {':', ':', '.', '\0'};

    for (unsigned i = 0; i < 4; i++) {
        char *end = NULL;
        unsigned long value = strtoul(id, &end, 16);

        if (end == id || *end != ends[i] || value > UINT32_MAX)
            return false;
        ret[i] = (unsigned)value;
        id = end + 1;
    }
    return true;
}

/* Both "00000000:1B:00.0" and the shorter "0000:1b:00.0" name a function. */
FUNCTION(nvmlDeviceGetHandleByPciBusId_v2, const char *id, nvmlDevice_t *out)
{
    unsigned a[4];
    unsigned b[4];

    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    if (!id || !read_pci(id, a))
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < view.n; i++) {
        if (read_pci(view.gpus[i]->pci, b) && memcmp(a, b, sizeof(a)) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, out);
    }
    return NVML_ERROR_NOT_FOUND;
}

FUNCTION(nvmlDeviceGetHandleByPciBusId, const char *id, nvmlDevice_t *out)
{
    return nvmlDeviceGetHandleByPciBusId_v2(id, out);
}

FUNCTION(nvmlDeviceGetHandleBySerial, const char *serial, nvmlDevice_t *out)
{
    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; serial && i < view.n; i++) {
        if (strcmp(view.gpus[i]->serial, serial) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, out);
    }
    return NVML_ERROR_NOT_FOUND;
}

FUNCTION(nvmlDeviceGetIndex, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    for (unsigned i = 0; i < view.n; i++) {
        if (view.gpus[i] == g)
            return give(i, out);
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetMinorNumber, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give((unsigned)g->minor, out);
}

FUNCTION(nvmlDeviceGetName, nvmlDevice_t device, char *out, unsigned size)
{
    ENTER(device, g);

    return give_text(g->name, out, size);
}

FUNCTION(nvmlDeviceGetUUID, nvmlDevice_t device, char *out, unsigned size)
{
    ENTER(device, g);

    return give_text(g->uuid, out, size);
}

FUNCTION(nvmlDeviceGetSerial, nvmlDevice_t device, char *out, unsigned size)
{
    ENTER(device, g);

    return give_text(g->serial, out, size);
}

FUNCTION(nvmlDeviceGetVbiosVersion, nvmlDevice_t device, char *out, unsigned size)
{
    ENTER(device, g);

    (void)g;
    return give_text("emulated", out, size);
}

/* 2 is Tesla, what data centre boards reported for long. */
FUNCTION(nvmlDeviceGetBrand, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    (void)g;
    return give(2, out);
}

FUNCTION(nvmlDeviceGetArchitecture, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give((unsigned)g->architecture, out);
}

FUNCTION(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t device, int *major, int *minor)
{
    ENTER(device, g);

    if (!major || !minor)
        return NVML_ERROR_INVALID_ARGUMENT;
    *major = g->compute_major;
    *minor = g->compute_minor;
    return NVML_SUCCESS;
}

static int fill_pci(const char *id, struct nvmlPciInfo *out)
{
    unsigned part[4] = {0};

    if (!read_pci(id, part))
        return NVML_ERROR_UNKNOWN;
    out->domain = part[0];
    out->bus = part[1];
    out->device = part[2];
    (void)snprintf(out->busId, sizeof(out->busId), "%08X:%02X:%02X.%X", part[0], part[1] & 0xffu,
                   part[2] & 0xffu, part[3] & 0xfu);
    (void)snprintf(out->busIdLegacy, sizeof(out->busIdLegacy), "%04X:%02X:%02X.%X",
                   part[0] & 0xffffu, part[1] & 0xffu, part[2] & 0xffu, part[3] & 0xfu);
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetPciInfo_v3, nvmlDevice_t device, struct nvmlPciInfo *out)
{
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (struct nvmlPciInfo){.pciDeviceId = g->pci_device_id,
                                .pciSubSystemId = g->pci_subsystem_id};
    return fill_pci(g->pci, out);
}

FUNCTION(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t device, struct nvmlMemory_v2 *out)
{
    uint64_t used = 0;
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_MEMORY_V2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    for (unsigned i = 0; i < g->n_processes && i < GPUSIM_PROCESSES_MAX; i++)
        used += g->processes[i].memory_bytes;
    if (used > g->memory_bytes - g->memory_reserved_bytes)
        used = g->memory_bytes - g->memory_reserved_bytes;
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
    *out = (struct nvmlUtilization){.gpu = g->utilization_pct, .memory = g->memory_utilization_pct};
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

    return give(g->power_mw, out);
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

/* Since "driver load", that is boot: grows with the power that is set. */
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
    return is_max ? g->sm_clock_max_mhz : g->sm_clock_mhz;
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

    return give(g->utilization_pct ? 0 : 8, out);
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

static int give_link(const struct gpusim_gpu *g, unsigned link, const struct gpusim_link **ret)
{
    if (link >= NVML_LINKS_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (link >= g->n_links)
        return NVML_ERROR_NOT_SUPPORTED;
    *ret = &g->links[link];
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetNvLinkState, nvmlDevice_t device, unsigned link, unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    return result ? result : give(l->is_active, out);
}

FUNCTION(nvmlDeviceGetNvLinkVersion, nvmlDevice_t device, unsigned link, unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    return result ? result : give(g->architecture >= 9 ? 4 : 3, out);
}

FUNCTION(nvmlDeviceGetNvLinkCapability, nvmlDevice_t device, unsigned link, unsigned capability,
         unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    if (result)
        return result;
    return capability <= 5 ? give(capability != 4, out) : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetNvLinkRemoteDeviceType, nvmlDevice_t device, unsigned link, unsigned *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    return result ? result : give(l->remote_type, out);
}

FUNCTION(nvmlDeviceGetNvLinkRemotePciInfo_v2, nvmlDevice_t device, unsigned link,
         struct nvmlPciInfo *out)
{
    const struct gpusim_link *l = NULL;
    int result;
    ENTER(device, g);

    result = give_link(g, link, &l);
    if (result)
        return result;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (struct nvmlPciInfo){0};
    return fill_pci(l->remote_pci, out);
}

static bool are_linked(const struct gpusim_gpu *a, const struct gpusim_gpu *b)
{
    for (unsigned i = 0; i < a->n_links; i++) {
        if (!a->links[i].is_active)
            continue;
        if (strcmp(a->links[i].remote_pci, b->pci) == 0)
            return true;
        for (unsigned j = 0; j < b->n_links && a->links[i].remote_type == NVML_LINK_REMOTE_SWITCH;
             j++) {
            if (b->links[j].is_active &&
                strcmp(a->links[i].remote_pci, b->links[j].remote_pci) == 0)
                return true;
        }
    }
    return false;
}

static unsigned level_of(const struct gpusim_gpu *a, const struct gpusim_gpu *b)
{
    if (a->numa_node == b->numa_node)
        return LEVEL_NUMA;
    return LEVEL_SYSTEM;
}

FUNCTION(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t device, nvmlDevice_t other,
         unsigned *out)
{
    ENTER(device, a);
    ENTER(other, b);

    return give(a == b ? 0 : level_of(a, b), out);
}

FUNCTION(nvmlDeviceGetTopologyNearestGpus, nvmlDevice_t device, unsigned level, unsigned *count,
         nvmlDevice_t *out)
{
    unsigned room;
    unsigned n = 0;
    ENTER(device, g);

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    room = *count;
    for (unsigned i = 0; i < view.n; i++) {
        if (view.gpus[i] == g || level_of(g, view.gpus[i]) != level)
            continue;
        if (out && n < room)
            out[n] = (nvmlDevice_t)(uintptr_t)view.gpus[i];
        n++;
    }
    *count = n;
    return out && n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* Index 2 asks for NVLink; the others work across a PCIe root too. Status 5: not supported. */
FUNCTION(nvmlDeviceGetP2PStatus, nvmlDevice_t device, nvmlDevice_t other, unsigned index,
         unsigned *out)
{
    ENTER(device, a);
    ENTER(other, b);

    if (index > 4)
        return NVML_ERROR_INVALID_ARGUMENT;
    return give(index == 2 && !are_linked(a, b) ? 5 : 0, out);
}

static int give_processes(const struct gpusim_gpu *g, bool is_graphics, unsigned *count,
                          struct nvmlProcessInfo *out)
{
    unsigned room;
    unsigned n = 0;

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    room = out ? *count : 0;
    for (unsigned i = 0; i < g->n_processes && i < GPUSIM_PROCESSES_MAX; i++) {
        const struct gpusim_process *p = &g->processes[i];

        if ((p->is_graphics != 0) != is_graphics)
            continue;
        if (n < room)
            out[n] = (struct nvmlProcessInfo){.pid = p->pid,
                                              .usedGpuMemory = p->memory_bytes,
                                              .gpuInstanceId = UINT32_MAX,
                                              .computeInstanceId = UINT32_MAX};
        n++;
    }
    *count = n;
    return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
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

FUNCTION(nvmlDeviceGetSupportedEventTypes, nvmlDevice_t device, unsigned long long *out)
{
    ENTER(device, g);

    (void)g;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = NVML_EVENT_XID;
    return NVML_SUCCESS;
}

FUNCTION(nvmlEventSetCreate, nvmlEventSet_t *out)
{
    if (!references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; out && i < EVENT_SETS_MAX; i++) {
        if (event_sets[i].is_used)
            continue;
        event_sets[i] = (struct event_set){.is_used = true};
        *out = &event_sets[i];
        return NVML_SUCCESS;
    }
    return out ? NVML_ERROR_UNKNOWN : NVML_ERROR_INVALID_ARGUMENT;
}

static struct event_set *set_of(nvmlEventSet_t set)
{
    for (unsigned i = 0; i < EVENT_SETS_MAX; i++) {
        if (set == &event_sets[i] && event_sets[i].is_used)
            return &event_sets[i];
    }
    return NULL;
}

FUNCTION(nvmlEventSetFree, nvmlEventSet_t set)
{
    struct event_set *s = set_of(set);

    if (!s)
        return NVML_ERROR_INVALID_ARGUMENT;
    *s = (struct event_set){0};
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceRegisterEvents, nvmlDevice_t device, unsigned long long types,
         nvmlEventSet_t set)
{
    struct event_set *s = set_of(set);
    ENTER(device, g);

    if (!s)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (types & ~NVML_EVENT_XID)
        return NVML_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < view.n; i++) {
        if (view.gpus[i] != g)
            continue;
        s->is_registered[i] = true;
        s->seen[i] = g->n_xids;
    }
    return NVML_SUCCESS;
}

static bool next_event(struct event_set *s, struct nvmlEventData *out)
{
    for (unsigned i = 0; i < view.n; i++) {
        const struct gpusim_gpu *g = view.gpus[i];

        if (!s->is_registered[i] || s->seen[i] >= g->n_xids)
            continue;
        *out = (struct nvmlEventData){.device = (nvmlDevice_t)(uintptr_t)g,
                                      .eventType = NVML_EVENT_XID,
                                      .eventData = g->xids[s->seen[i] % GPUSIM_XIDS_MAX],
                                      .gpuInstanceId = UINT32_MAX,
                                      .computeInstanceId = UINT32_MAX};
        s->seen[i]++;
        return true;
    }
    return false;
}

/* The map is memory that others write: looked at every 10 ms until the time is over. */
FUNCTION(nvmlEventSetWait_v2, nvmlEventSet_t set, struct nvmlEventData *out, unsigned timeout_ms)
{
    struct event_set *s = set_of(set);
    unsigned waited_ms = 0;

    if (!s || !out)
        return NVML_ERROR_INVALID_ARGUMENT;
    while (!next_event(s, out)) {
        if (waited_ms >= timeout_ms)
            return NVML_ERROR_TIMEOUT;
        wait_ms(10);
        waited_ms += 10;
    }
    return NVML_SUCCESS;
}

FUNCTION(nvmlEventSetWait, nvmlEventSet_t set, struct nvmlEventData *out, unsigned timeout_ms)
{
    return nvmlEventSetWait_v2(set, out, timeout_ms);
}
