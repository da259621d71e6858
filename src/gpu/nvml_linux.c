/*
 * nvml_linux.c - the driver's gpus by NVML
 *
 * Each function is looked up by its newest symbol first. A missing symbol means "not supported by
 * this driver".
 */

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "gpu/gpu_driver.h"
#include "gpu/nvml_private.h"

enum {
    XID_UNKNOWN = 999
};

void *nvml_symbol(const struct gpu_driver *d, const char *newest, const char *older)
{
    void *found = dlsym(d->library, newest);

    return found || !older ? found : dlsym(d->library, older);
}

static void load_symbols(struct gpu_driver *d)
{
    LOAD(d, init, "nvmlInit_v2", NULL);
    LOAD(d, shutdown, "nvmlShutdown", NULL);
    LOAD(d, error_string, "nvmlErrorString", NULL);
    LOAD(d, driver_version, "nvmlSystemGetDriverVersion", NULL);
    LOAD(d, cuda_version, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion");
    LOAD(d, count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
    LOAD(d, by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
    LOAD(d, name, "nvmlDeviceGetName", NULL);
    LOAD(d, uuid, "nvmlDeviceGetUUID", NULL);
    LOAD(d, serial, "nvmlDeviceGetSerial", NULL);
    LOAD(d, minor, "nvmlDeviceGetMinorNumber", NULL);
    LOAD(d, pci, "nvmlDeviceGetPciInfo_v3", NULL);
    LOAD(d, compute, "nvmlDeviceGetCudaComputeCapability", NULL);
    LOAD(d, memory_v2, "nvmlDeviceGetMemoryInfo_v2", NULL);
    LOAD(d, memory, "nvmlDeviceGetMemoryInfo", NULL);
    LOAD(d, numa, "nvmlDeviceGetNumaNodeId", NULL);
    LOAD(d, event_types, "nvmlDeviceGetSupportedEventTypes", NULL);
    LOAD(d, event_set, "nvmlEventSetCreate", NULL);
    LOAD(d, event_register, "nvmlDeviceRegisterEvents", NULL);
    LOAD(d, event_wait, "nvmlEventSetWait_v2", NULL);
    nvml_inventory_load(d);
    nvml_links_load(d);
    nvml_mig_load(d);
    nvml_sample_load(d);
    nvml_process_load(d);
}

struct err *nvml_error(const struct gpu_driver *d, int code, const char *what)
{
    const char *text = d->error_string ? d->error_string(code) : "unknown error";
    enum err_code kind = ERR_INTERNAL;

    if (code == NVML_ERROR_GPU_IS_LOST)
        kind = ERR_UNAVAILABLE;
    if (code == NVML_ERROR_DRIVER_NOT_LOADED || code == NVML_ERROR_UNINITIALIZED ||
        code == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
        kind = ERR_NOT_FOUND;
    return err_new(kind, "nvml: %s: %s (%d)", what, text, code);
}

struct err *gpu_driver_open(const char *library, struct gpu_driver **ret)
{
    AUTO(gpu_driver_freep) struct gpu_driver *d = mem_alloc(sizeof(*d));
    int code;

    d->library = dlopen(library ? library : "libnvidia-ml.so.1", RTLD_LAZY | RTLD_GLOBAL);
    if (!d->library)
        return err_new(ERR_NOT_FOUND, "no nvidia driver here: %s",
                       dlerror()); /* NOLINT(concurrency-mt-unsafe): one thread */
    load_symbols(d);
    if (!d->init || !d->shutdown || !d->count || !d->by_index || !d->uuid || !d->name)
        return err_new(ERR_INTERNAL, "%s is not a usable libnvidia-ml.so.1",
                       library ? library : "what was loaded");
    code = d->init();
    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "init");
    d->is_initialised = true;
    *ret = TAKE(d);
    return NULL;
}

void gpu_driver_free(struct gpu_driver *d)
{
    if (!d)
        return;
    nvml_sample_free(d);
    free(d->readings);
    if (d->is_initialised)
        (void)d->shutdown();
    if (d->library)
        (void)dlclose(d->library);
    free(d);
}

struct err *gpu_driver_info(struct gpu_driver *d, struct gpu_driver_info *ret)
{
    struct gpu_driver_info info = {.is_emulated = dlsym(d->library, "mete_gpusim_version") != NULL};
    int cuda = 0;
    int code = CALL(d->driver_version, info.driver_version, sizeof(info.driver_version));

    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "driver version");
    if (CALL(d->cuda_version, &cuda) == NVML_SUCCESS)
        (void)snprintf(info.cuda_version, sizeof(info.cuda_version), "%d.%d", cuda / 1000,
                       cuda % 1000 / 10);
    *ret = info;
    return NULL;
}

struct err *gpu_driver_count(struct gpu_driver *d, unsigned *ret)
{
    int code = d->count(ret);

    return code == NVML_SUCCESS ? NULL : nvml_error(d, code, "count");
}

struct err *nvml_device_at(struct gpu_driver *d, unsigned index, nvmlDevice_t *ret)
{
    int code = d->by_index(index, ret);

    return code == NVML_SUCCESS ? NULL : nvml_error(d, code, "handle by index");
}

/* Reads the NUMA node from PCI's sysfs; NVML reports it only for gpus that are NUMA nodes
 * themselves. */
static int numa_of(struct gpu_driver *d, nvmlDevice_t device, const struct nvmlPciInfo *pci)
{
    AUTO(buf_done) struct buf text = {.cap = 64};
    AUTO(err_freep) struct err *e = NULL;
    char path[128];
    unsigned node = 0;
    int64_t value = -1;

    (void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.0/numa_node",
                   pci->domain, pci->bus, pci->device);
    e = file_read(path, text.cap, &text);
    if (!e) {
        struct str rest = {.at = text.at, .size = text.size};

        e = num_parse_int64(str_cut(&rest, '\n'), -1, 4096, &value);
        return e ? -1 : (int)value;
    }
    return CALL(d->numa, device, &node) == NVML_SUCCESS ? (int)node : -1;
}

struct nvml_memory nvml_memory_read(struct gpu_driver *d, nvmlDevice_t device)
{
    struct nvmlMemory_v2 v2 = {.version = NVML_MEMORY_V2};
    struct nvmlMemory v1 = {0};

    if (CALL(d->memory_v2, device, &v2) == NVML_SUCCESS)
        return (struct nvml_memory){.total = (int64_t)v2.total,
                                    .reserved = (int64_t)v2.reserved,
                                    .used = (int64_t)v2.used,
                                    .free = (int64_t)v2.free};
    if (CALL(d->memory, device, &v1) == NVML_SUCCESS)
        return (struct nvml_memory){.total = (int64_t)v1.total,
                                    .reserved = -1,
                                    .used = (int64_t)v1.used,
                                    .free = (int64_t)v1.free};
    return (struct nvml_memory){-1, -1, -1, -1};
}

struct err *gpu_driver_read(struct gpu_driver *d, unsigned index, struct gpu *ret)
{
    struct gpu g = GPU_UNKNOWN((int)index);
    struct nvmlPciInfo pci = {0};
    nvmlDevice_t device = NULL;
    struct nvml_memory memory;
    unsigned minor = 0;
    int code;

    g.is_emulated = dlsym(d->library, "mete_gpusim_version") != NULL;
    TRY(nvml_device_at(d, index, &device));
    code = d->uuid(device, g.uuid, sizeof(g.uuid));
    if (code == NVML_SUCCESS)
        code = d->name(device, g.product, sizeof(g.product));
    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "uuid and name");
    gpu_model_of(g.product, g.model);
    if (CALL(d->minor, device, &minor) == NVML_SUCCESS)
        g.minor = (int)minor;
    (void)CALL(d->serial, device, g.serial, sizeof(g.serial)); /* some boards have none */
    if (CALL(d->pci, device, &pci) == NVML_SUCCESS) {
        memcpy(g.pci, pci.busId, sizeof(g.pci) - 1);
        g.numa_node = numa_of(d, device, &pci);
    }
    if (CALL(d->compute, device, &g.compute_major, &g.compute_minor) != NVML_SUCCESS) {
        g.compute_major = -1;
        g.compute_minor = -1;
    }
    memory = nvml_memory_read(d, device);
    g.memory_bytes = memory.total;
    g.memory_reserved_bytes = memory.reserved;
    nvml_inventory_read(d, device, &pci, &g);
    nvml_links_read(d, device, &g);
    nvml_mig_read(d, device, &g);
    nvml_sample_listed(d, index, device, &g);
    *ret = g;
    return NULL;
}

struct err *gpu_driver_uuid(struct gpu_driver *d, unsigned index, char ret[GPU_TEXT_SIZE])
{
    nvmlDevice_t device = NULL;
    int code;

    TRY(nvml_device_at(d, index, &device));
    code = d->uuid(device, ret, GPU_TEXT_SIZE);
    return code == NVML_SUCCESS ? NULL : nvml_error(d, code, "uuid");
}

static void remember_uuid(struct gpu_driver *d, nvmlDevice_t device)
{
    struct subscribed *s = &d->subscribed[d->n_subscribed];

    if (d->n_subscribed < SUBSCRIBED_MAX &&
        d->uuid(device, s->uuid, sizeof(s->uuid)) == NVML_SUCCESS) {
        s->device = device;
        d->n_subscribed++;
    }
}

void gpu_driver_subscribe(struct gpu_driver *d, unsigned index)
{
    nvmlDevice_t device = NULL;
    unsigned long long supported = 0;

    if (!d->events && CALL(d->event_set, &d->events) != NVML_SUCCESS)
        return;
    if (d->by_index(index, &device) != NVML_SUCCESS ||
        CALL(d->event_types, device, &supported) != NVML_SUCCESS)
        return;
    /* An unsupported bit would fail the whole registration. */
    supported &= NVML_EVENT_XID | NVML_EVENT_UNAVAILABLE;
    if (supported && CALL(d->event_register, device, supported, d->events) == NVML_SUCCESS)
        remember_uuid(d, device);
}

static int uuid_of_event(struct gpu_driver *d, nvmlDevice_t device, char ret[GPU_TEXT_SIZE])
{
    for (size_t i = 0; i < d->n_subscribed; i++) {
        if (d->subscribed[i].device == device) {
            memcpy(ret, d->subscribed[i].uuid, GPU_TEXT_SIZE);
            return NVML_SUCCESS;
        }
    }
    return d->uuid(device, ret, GPU_TEXT_SIZE);
}

struct err *gpu_driver_wait(struct gpu_driver *d, int timeout_ms, struct gpu_driver_event *ret)
{
    struct nvmlEventData event = {.gpuInstanceId = UINT32_MAX};
    int code;

    *ret = (struct gpu_driver_event){.xid = -1, .instance = -1};
    code = d->events ? CALL(d->event_wait, d->events, &event, (unsigned)timeout_ms)
                     : NVML_ERROR_NOT_SUPPORTED;
    if (code == NVML_ERROR_TIMEOUT)
        return NULL;
    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "event wait");
    ret->xid = event.eventType == NVML_EVENT_XID ? (int64_t)event.eventData : XID_UNKNOWN;
    if (event.gpuInstanceId < INT32_MAX)
        ret->instance = (int)event.gpuInstanceId;
    code = uuid_of_event(d, event.device, ret->uuid);
    return code == NVML_SUCCESS ? NULL : nvml_error(d, code, "uuid of an event");
}
