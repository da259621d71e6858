/* nvml_private.h - the driver's functions, shared by the files nvml_*_linux.c */
#pragma once

#include "gpu/gpu_driver.h"
#include "gpu/nvml_abi.h"

/* nvml_inventory_linux.c */
struct nvml_inventory_calls {
    int (*architecture)(nvmlDevice_t, unsigned *);
    int (*ecc)(nvmlDevice_t, unsigned *current, unsigned *pending);
    int (*power_limit)(nvmlDevice_t, unsigned *);
    int (*power_default)(nvmlDevice_t, unsigned *);
    int (*power_range)(nvmlDevice_t, unsigned *least, unsigned *most);
    int (*max_clock)(nvmlDevice_t, unsigned, unsigned *);
    int (*cpu_affinity)(nvmlDevice_t, unsigned words, unsigned long *);
};

/* nvml_links_linux.c */
struct nvml_links_calls {
    int (*fabric)(nvmlDevice_t, struct nvmlGpuFabricInfo *);
    int (*state)(nvmlDevice_t, unsigned link, unsigned *);
    int (*remote_type)(nvmlDevice_t, unsigned link, unsigned *);
    int (*remote_pci)(nvmlDevice_t, unsigned link, struct nvmlPciInfo *);
    int (*ancestor)(nvmlDevice_t, nvmlDevice_t, unsigned *);
    int (*p2p)(nvmlDevice_t, nvmlDevice_t, unsigned index, unsigned *);
};

/* nvml_mig_linux.c */
struct nvml_mig_calls {
    int (*mode)(nvmlDevice_t, unsigned *current, unsigned *pending);
    int (*set_mode)(nvmlDevice_t, unsigned mode, int *activation);
    int (*profile)(nvmlDevice_t, unsigned number, struct nvmlGpuInstanceProfileInfo *);
    int (*profile_v)(nvmlDevice_t, unsigned number, struct nvmlGpuInstanceProfileInfo_v2 *);
    int (*create)(nvmlDevice_t, unsigned id, const struct nvmlPlacement *, nvmlGpuInstance_t *);
    int (*destroy)(nvmlGpuInstance_t);
    int (*list)(nvmlDevice_t, unsigned id, nvmlGpuInstance_t *, unsigned *count);
    int (*by_id)(nvmlDevice_t, unsigned id, nvmlGpuInstance_t *);
    int (*info)(nvmlGpuInstance_t, struct nvmlGpuInstanceInfo *);
    int (*compute_profile)(nvmlGpuInstance_t, unsigned number, unsigned engine,
                           struct nvmlComputeInstanceProfileInfo *);
    int (*compute_create)(nvmlGpuInstance_t, unsigned id, nvmlComputeInstance_t *);
    int (*compute_list)(nvmlGpuInstance_t, unsigned id, nvmlComputeInstance_t *, unsigned *count);
    int (*compute_destroy)(nvmlComputeInstance_t);
    int (*devices_max)(nvmlDevice_t, unsigned *);
    int (*device_at)(nvmlDevice_t, unsigned index, nvmlDevice_t *);
    int (*gpu_instance)(nvmlDevice_t, unsigned *);
    int (*compute_instance)(nvmlDevice_t, unsigned *);
    int (*attributes)(nvmlDevice_t, struct nvmlDeviceAttributes *);
};

/* nvml_sample_linux.c */
struct nvml_sample_calls {
    int (*utilization)(nvmlDevice_t, struct nvmlUtilization *);
    int (*encoder)(nvmlDevice_t, unsigned *pct, unsigned *period_us);
    int (*decoder)(nvmlDevice_t, unsigned *pct, unsigned *period_us);
    int (*temperature)(nvmlDevice_t, unsigned, unsigned *);
    int (*power)(nvmlDevice_t, unsigned *);
    int (*energy)(nvmlDevice_t, unsigned long long *);
    int (*clock)(nvmlDevice_t, unsigned, unsigned *);
    int (*throttle)(nvmlDevice_t, unsigned long long *);
    int (*fields)(nvmlDevice_t, int n, struct nvmlFieldValue *);
    int (*gpm_support)(nvmlDevice_t, struct nvmlGpmSupport *);
    int (*gpm_new)(nvmlGpmSample_t *);
    int (*gpm_free)(nvmlGpmSample_t);
    int (*gpm_get)(nvmlDevice_t, nvmlGpmSample_t);
    int (*gpm_get_slice)(nvmlDevice_t, unsigned gpu_instance, nvmlGpmSample_t);
    int (*gpm_metrics)(struct nvmlGpmMetricsGet *);
};

/* nvml_process_linux.c */
struct nvml_process_calls {
    int (*compute)(nvmlDevice_t, unsigned *, struct nvmlProcessInfo *);
    int (*graphics)(nvmlDevice_t, unsigned *, struct nvmlProcessInfo *);
    int (*mps)(nvmlDevice_t, unsigned *, struct nvmlProcessInfo *);
    int (*use)(nvmlDevice_t, struct nvmlProcessUtilizationSample *, unsigned *, unsigned long long);
};

/* ---- what the sampler remembers of a gpu ---- */

enum {
    NVML_METERS_MAX = 64,
    NVML_SLOW_ROUNDS = 5, /* what rarely changes is read in each so many samples */
    NVML_SOURCES = 21     /* fields that are read */
};

/* Questions that a driver may refuse for a gpu. */
enum nvml_question {
    ASK_UTILIZATION,
    ASK_ENCODER,
    ASK_DECODER,
    ASK_TEMPERATURE,
    ASK_POWER,
    ASK_ENERGY,
    ASK_SM_CLOCK,
    ASK_MEMORY_CLOCK,
    ASK_THROTTLE,
    ASK_FIELDS,
    ASK_GPM,
    ASK_GPM_GPU,
    ASK_GPM_SLICE,
    ASK_PROCESS_USE
};

/* One field of nvmlDeviceGetFieldValues. */
struct nvml_source {
    int64_t value; /* -1: unknown */
    uint32_t raw;  /* the last value of 32 bits */
    bool is_refused;
};

/* The last two samples of GPU performance metrics. */
struct nvml_gpm {
    nvmlGpmSample_t samples[2]; /* NULL: not allocated */
    unsigned newest;
    unsigned n; /* samples in a row */
};

struct nvml_slice {
    nvmlDevice_t device;
    char uuid[GPU_TEXT_SIZE];
    int instance; /* id of the gpu instance */
    struct nvml_gpm gpm;
};

struct nvml_meter {
    nvmlDevice_t device;
    uint64_t refused; /* bit i: enum nvml_question */
    uint64_t n_samples;
    struct nvml_source sources[NVML_SOURCES];
    bool has_others;             /* processes of graphics or of MPS */
    unsigned long long since_us; /* the newest reading of a process's compute */
    struct nvml_gpm gpm;
    struct nvml_slice slices[GPU_SLICES_MAX];
    size_t n_slices;
};

/* Bytes; -1: unknown. */
struct nvml_memory {
    int64_t total;
    int64_t reserved;
    int64_t used;
    int64_t free;
};

enum {
    SUBSCRIBED_MAX = 64
};

/* A gpu with a subscription. Its UUID is kept because NVML no longer gives it when a lost gpu's
 * last event comes. */
struct subscribed {
    nvmlDevice_t device;
    char uuid[GPU_TEXT_SIZE];
};

struct gpu_driver {
    void *library;
    nvmlEventSet_t events;
    struct subscribed subscribed[SUBSCRIBED_MAX];
    size_t n_subscribed;
    bool is_initialised;

    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*driver_version)(char *, unsigned);
    int (*cuda_version)(int *);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, nvmlDevice_t *);
    int (*name)(nvmlDevice_t, char *, unsigned);
    int (*uuid)(nvmlDevice_t, char *, unsigned);
    int (*serial)(nvmlDevice_t, char *, unsigned);
    int (*minor)(nvmlDevice_t, unsigned *);
    int (*pci)(nvmlDevice_t, struct nvmlPciInfo *);
    int (*compute)(nvmlDevice_t, int *, int *);
    int (*memory_v2)(nvmlDevice_t, struct nvmlMemory_v2 *);
    int (*memory)(nvmlDevice_t, struct nvmlMemory *);
    int (*numa)(nvmlDevice_t, unsigned *);
    int (*event_types)(nvmlDevice_t, unsigned long long *);
    int (*event_set)(nvmlEventSet_t *);
    int (*event_register)(nvmlDevice_t, unsigned long long, nvmlEventSet_t);
    int (*event_wait)(nvmlEventSet_t, struct nvmlEventData *, unsigned);
    struct nvml_inventory_calls inventory;
    struct nvml_links_calls links;
    struct nvml_mig_calls mig;
    struct nvml_sample_calls sample;
    struct nvml_process_calls process;

    struct nvml_meter *meters[NVML_METERS_MAX];    /* by index; NULL: not listed yet */
    struct nvmlProcessUtilizationSample *readings; /* room for one call; NULL: none yet */
};

/* The function of the driver, by its newest name or an older one; NULL: the driver lacks it. */
void *nvml_symbol(const struct gpu_driver *d, const char *newest, const char *older);

/* Converts dlsym's object pointer to a function pointer as POSIX allows, without a cast that ISO C
 * forbids. */
#define LOAD(d, member, newest, older) \
    (*(void **)&(d)->member = nvml_symbol((d), (newest), (older)))

/* Calls the function, if the driver has it. */
#define CALL(pointer, ...) ((pointer) ? (pointer)(__VA_ARGS__) : NVML_ERROR_NOT_SUPPORTED)

/* The error of a call's result. */
struct err *nvml_error(const struct gpu_driver *d, int code, const char *what) MUST_CHECK;

struct err *nvml_device_at(struct gpu_driver *d, unsigned index, nvmlDevice_t *ret) MUST_CHECK;

void nvml_inventory_load(struct gpu_driver *d);
void nvml_links_load(struct gpu_driver *d);
void nvml_mig_load(struct gpu_driver *d);
void nvml_sample_load(struct gpu_driver *d);
void nvml_process_load(struct gpu_driver *d);

/* Read properties of a gpu that the driver may lack. */
void nvml_inventory_read(struct gpu_driver *d, nvmlDevice_t device, const struct nvmlPciInfo *pci,
                         struct gpu *g);
void nvml_links_read(struct gpu_driver *d, nvmlDevice_t device, struct gpu *g);
void nvml_mig_read(struct gpu_driver *d, nvmlDevice_t device, struct gpu *g);

struct nvml_memory nvml_memory_read(struct gpu_driver *d, nvmlDevice_t device);

/* The gpu was listed: its slices may have changed, and it is asked again what it refused. */
void nvml_sample_listed(struct gpu_driver *d, unsigned index, nvmlDevice_t device,
                        const struct gpu *g);
void nvml_sample_free(struct gpu_driver *d);

/* Adds the processes of a gpu (`slice` -1) or slice to a reading. Returns their number. */
int64_t nvml_processes_add(struct gpu_driver *d, struct nvml_meter *m, nvmlDevice_t device,
                           int slice, struct gpu_reading *r);
