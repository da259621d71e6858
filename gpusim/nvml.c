/*
 * nvml.c - libnvidia-ml.so.1 of an emulated machine: init and shutdown, the system, the list of
 * gpus
 *
 * As in the real library, structs have versions and sizes, missing features return NOT_SUPPORTED,
 * and too small a buffer returns the needed count. Calls on a gpu can be made to fail or to hang
 * (gpusim_machine.h).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "library.h"

enum {
    PCI_ID_SIZE = 32
};

struct view library_view;
unsigned library_references;

void library_wait_ms(uint32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0)
        continue;
}

/* The error of all calls while the emulated kernel module is gone, or another one. */
static int driver_fault(void)
{
    switch (library_view.machine->driver) {
    case GPUSIM_DRIVER_UNLOADED:
        return NVML_ERROR_DRIVER_NOT_LOADED;
    case GPUSIM_DRIVER_MISMATCHED:
        return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    default:
        return NVML_SUCCESS;
    }
}

int library_find(nvmlDevice_t device, const struct gpusim_gpu **ret)
{
    int fault;

    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    fault = driver_fault();
    if (fault != NVML_SUCCESS)
        return fault;
    for (unsigned i = 0; i < library_view.n; i++) {
        if (library_view.gpus[i] != device)
            continue;
        *ret = library_view.gpus[i];
        /* Read again: `gpusim set` may end the hang. */
        for (uint64_t ms = 0; ms < library_view.gpus[i]->hang_ms; ms += 10)
            library_wait_ms(10);
        return library_view.gpus[i]->is_lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

int give_text(const char *text, char *out, unsigned size)
{
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strnlen(text, size) == size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    (void)snprintf(out, size, "%s", text);
    return NVML_SUCCESS;
}

int give(unsigned value, unsigned *out)
{
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = value;
    return NVML_SUCCESS;
}

bool pci_read(const char *id, unsigned ret[4])
{
    static const char ends[4] = {':', ':', '.', '\0'};

    char copy[PCI_ID_SIZE];

    (void)snprintf(copy, sizeof(copy), "%.31s", id);
    id = copy;
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

int pci_fill(const char *id, struct nvmlPciInfo *out)
{
    unsigned part[4] = {0};

    if (!pci_read(id, part))
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

FUNCTION(nvmlInitWithFlags, unsigned flags)
{
    int fault;

    (void)flags;
    if (!library_references) {
        if (!view_open(&library_view))
            return NVML_ERROR_DRIVER_NOT_LOADED;
        fault = driver_fault();
        if (fault != NVML_SUCCESS) {
            view_close(&library_view);
            return fault;
        }
    }
    library_references++;
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
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    library_references--;
    if (!library_references)
        view_close(&library_view);
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
    case NVML_ERROR_RESET_REQUIRED:
        return "GPU requires reset";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "Driver/library version mismatch";
    case NVML_ERROR_IN_USE:
        return "In use by another client";
    case NVML_ERROR_INSUFFICIENT_RESOURCES:
        return "Insufficient Resources";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return "Argument version mismatch";
    default:
        return "Unknown Error";
    }
}

/* Tells Mete that the gpus are emulated. */
FUNCTION(mete_gpusim_version, void)
{
    return (int)GPUSIM_VERSION;
}

FUNCTION(nvmlSystemGetDriverVersion, char *out, unsigned size)
{
    return library_references ? give_text(library_view.machine->driver_version, out, size)
                              : NVML_ERROR_UNINITIALIZED;
}

FUNCTION(nvmlSystemGetNVMLVersion, char *out, unsigned size)
{
    return library_references ? give_text(library_view.machine->nvml_version, out, size)
                              : NVML_ERROR_UNINITIALIZED;
}

FUNCTION(nvmlSystemGetCudaDriverVersion_v2, int *out)
{
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = library_view.machine->cuda_version;
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
    return library_references ? give(library_view.n, out) : NVML_ERROR_UNINITIALIZED;
}

FUNCTION(nvmlDeviceGetCount, unsigned *out)
{
    return nvmlDeviceGetCount_v2(out);
}

FUNCTION(nvmlDeviceGetHandleByIndex_v2, unsigned index, nvmlDevice_t *out)
{
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    if (!out || index >= library_view.n)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (library_view.gpus[index]->is_lost)
        return NVML_ERROR_GPU_IS_LOST;
    *out = (nvmlDevice_t)(uintptr_t)library_view.gpus[index];
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetHandleByIndex, unsigned index, nvmlDevice_t *out)
{
    return nvmlDeviceGetHandleByIndex_v2(index, out);
}

FUNCTION(nvmlDeviceGetHandleByUUID, const char *uuid, nvmlDevice_t *out)
{
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; uuid && i < library_view.n; i++) {
        if (strcmp(library_view.gpus[i]->uuid, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, out);
    }
    return uuid ? library_find_mig(uuid, out) : NVML_ERROR_INVALID_ARGUMENT;
}

/* Accepts "00000000:1B:00.0" and the shorter "0000:1b:00.0". */
FUNCTION(nvmlDeviceGetHandleByPciBusId_v2, const char *id, nvmlDevice_t *out)
{
    unsigned a[4];
    unsigned b[4];

    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    if (!id || !pci_read(id, a))
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < library_view.n; i++) {
        if (pci_read(library_view.gpus[i]->pci, b) && memcmp(a, b, sizeof(a)) == 0)
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
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; serial && i < library_view.n; i++) {
        if (strcmp(library_view.gpus[i]->serial, serial) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, out);
    }
    return NVML_ERROR_NOT_FOUND;
}

FUNCTION(nvmlDeviceGetIndex, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    for (unsigned i = 0; i < library_view.n; i++) {
        if (library_view.gpus[i] == g)
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
    if (library_is_mig(device))
        return mig_name(device, out, size);
    ENTER(device, g);

    return give_text(g->name, out, size);
}

FUNCTION(nvmlDeviceGetUUID, nvmlDevice_t device, char *out, unsigned size)
{
    if (library_is_mig(device))
        return mig_uuid(device, out, size);
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

enum {
    BRAND_TESLA = 2,
    BRAND_NVIDIA_RTX = 13,
    BRAND_NVIDIA = 14
};

/* Boards have the brand that their name begins with. */
FUNCTION(nvmlDeviceGetBrand, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    if (strncmp(g->name, "Tesla ", 6) == 0)
        return give(BRAND_TESLA, out);
    return give(strncmp(g->name, "NVIDIA RTX ", 11) == 0 ? BRAND_NVIDIA_RTX : BRAND_NVIDIA, out);
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

FUNCTION(nvmlDeviceGetPciInfo_v3, nvmlDevice_t device, struct nvmlPciInfo *out)
{
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = (struct nvmlPciInfo){.pciDeviceId = g->pci_device_id,
                                .pciSubSystemId = g->pci_subsystem_id};
    return pci_fill(g->pci, out);
}
