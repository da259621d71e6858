/*
 * nvml_abi.h - the binary interface of the part of NVIDIA's management library (NVML) that Mete
 * uses
 *
 * Our own declarations of the documented layouts (LP64 Linux), for the caller (nvml_linux.c, by
 * dlopen) and for the emulated library (gpusim/). Names keep NVML's spelling, as in its manual.
 */
#pragma once

#include <stdint.h>

typedef void *nvmlDevice_t;
typedef void *nvmlEventSet_t;
typedef void *nvmlGpuInstance_t;
typedef void *nvmlComputeInstance_t;
typedef void *nvmlGpmSample_t;

enum nvml_return {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_UNKNOWN = 999,
};

enum {
    NVML_NAME_SIZE = 96,
    NVML_UUID_SIZE = 96,
    NVML_SERIAL_SIZE = 30,
    NVML_VERSION_SIZE = 80,
    NVML_LINKS_MAX = 18,
};

enum {
    NVML_TEMPERATURE_GPU = 0
};
enum {
    NVML_CLOCK_GRAPHICS = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
    NVML_CLOCK_VIDEO = 3
};
enum {
    NVML_GPU_INSTANCE_PROFILES = 18,    /* numbers of the profile query, not ids */
    NVML_COMPUTE_INSTANCE_PROFILES = 9, /* likewise */
};
enum {
    NVML_FABRIC_COMPLETED = 3
};
enum {
    NVML_TOPOLOGY_INTERNAL = 0,
    NVML_TOPOLOGY_SINGLE = 10,
    NVML_TOPOLOGY_MULTIPLE = 20,
    NVML_TOPOLOGY_HOSTBRIDGE = 30,
    NVML_TOPOLOGY_NODE = 40,
    NVML_TOPOLOGY_SYSTEM = 50
};
enum {
    NVML_LINK_REMOTE_GPU = 0,
    NVML_LINK_REMOTE_SWITCH = 2,
    NVML_LINK_REMOTE_UNKNOWN = 255
};

/* The type of a field's value. */
enum {
    NVML_VALUE_UNSIGNED = 1,
    NVML_VALUE_UNSIGNED_LONG = 2,
    NVML_VALUE_UNSIGNED_LONG_LONG = 3,
    NVML_VALUE_SIGNED_LONG_LONG = 4,
    NVML_VALUE_SIGNED = 5
};
enum {
    NVML_GPM_VERSION = 1,
    NVML_GPM_METRICS_MAX = 333
};

/* nvmlGpmMetricId_t */
enum {
    NVML_GPM_GRAPHICS_UTIL = 1,
    NVML_GPM_SM_UTIL = 2,
    NVML_GPM_ANY_TENSOR_UTIL = 5,
    NVML_GPM_DRAM_UTIL = 10
};

#define NVML_EVENT_XID                    UINT64_C(0x8)
#define NVML_CLOCKS_IDLE                  UINT64_C(0x1)
#define NVML_EVENT_UNAVAILABLE            UINT64_C(0x4000)
#define NVML_MEMORY_V2                    0x02000028u
#define NVML_GPU_INSTANCE_PROFILE_INFO_V2 0x02000098u
#define NVML_GPU_INSTANCE_PROFILE_INFO_V3 0x03000098u
#define NVML_COMPUTE_PROFILE_INFO_V2      0x02000088u
#define NVML_COMPUTE_PROFILE_INFO_V3      0x0300008cu
#define NVML_GPU_FABRIC_INFO_V2           0x02000024u
#define NVML_GPU_FABRIC_INFO_V3           0x03000028u
#define NVML_VALUE_NOT_AVAILABLE          UINT64_MAX

struct nvmlPciInfo {
    char busIdLegacy[16]; /* "0000:1B:00.0" */
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pciDeviceId; /* device << 16 | vendor */
    unsigned pciSubSystemId;
    char busId[32]; /* "00000000:1B:00.0" */
};

struct nvmlMemory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used; /* reserved included */
};

struct nvmlMemory_v2 {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
};

struct nvmlUtilization {
    unsigned gpu;    /* percent */
    unsigned memory; /* percent */
};

struct nvmlProcessInfo {
    unsigned pid;
    unsigned long long usedGpuMemory;
    unsigned gpuInstanceId;
    unsigned computeInstanceId;
};

struct nvmlProcessUtilizationSample {
    unsigned pid;
    unsigned long long timeStamp; /* microseconds */
    unsigned smUtil;              /* percent, as the other three */
    unsigned memUtil;
    unsigned encUtil;
    unsigned decUtil;
};

struct nvmlEventData {
    nvmlDevice_t device;
    unsigned long long eventType;
    unsigned long long eventData;
    unsigned gpuInstanceId;
    unsigned computeInstanceId;
};

/* In memory slices for GPU instances, in compute slices for compute instances. */
struct nvmlPlacement {
    unsigned start;
    unsigned size;
};

struct nvmlGpuInstanceProfileInfo {
    unsigned id;
    unsigned isP2pSupported;
    unsigned sliceCount;
    unsigned instanceCount;
    unsigned multiprocessorCount;
    unsigned copyEngineCount;
    unsigned decoderCount;
    unsigned encoderCount;
    unsigned jpegCount;
    unsigned ofaCount;
    unsigned long long memorySizeMB;
};

struct nvmlGpuInstanceProfileInfo_v2 {
    unsigned version;
    unsigned id;
    unsigned isP2pSupported;
    unsigned sliceCount;
    unsigned instanceCount;
    unsigned multiprocessorCount;
    unsigned copyEngineCount;
    unsigned decoderCount;
    unsigned encoderCount;
    unsigned jpegCount;
    unsigned ofaCount;
    unsigned long long memorySizeMB;
    char name[96]; /* "MIG 1g.10gb" */
};

struct nvmlGpuInstanceInfo {
    nvmlDevice_t device;
    unsigned id;
    unsigned profileId;
    struct nvmlPlacement placement;
};

struct nvmlComputeInstanceProfileInfo {
    unsigned id;
    unsigned sliceCount;
    unsigned instanceCount;
    unsigned multiprocessorCount;
    unsigned sharedCopyEngineCount;
    unsigned sharedDecoderCount;
    unsigned sharedEncoderCount;
    unsigned sharedJpegCount;
    unsigned sharedOfaCount;
};

struct nvmlComputeInstanceInfo {
    nvmlDevice_t device;
    nvmlGpuInstance_t gpuInstance;
    unsigned id;
    unsigned profileId;
    struct nvmlPlacement placement;
};

struct nvmlFieldValue {
    unsigned fieldId;
    unsigned scopeId;
    long long timestamp; /* microseconds since 1970 */
    long long latencyUsec;
    unsigned valueType;
    int nvmlReturn;
    union {
        double dVal;
        unsigned uiVal;
        unsigned long long ullVal;
    } value;
};

struct nvmlDeviceAttributes {
    unsigned multiprocessorCount;
    unsigned sharedCopyEngineCount;
    unsigned sharedDecoderCount;
    unsigned sharedEncoderCount;
    unsigned sharedJpegCount;
    unsigned sharedOfaCount;
    unsigned gpuInstanceSliceCount;
    unsigned computeInstanceSliceCount;
    unsigned long long memorySizeMB;
};

struct nvmlGpuFabricInfo {
    unsigned char clusterUuid[16];
    int status; /* nvml_return, once `state` is NVML_FABRIC_COMPLETED */
    unsigned cliqueId;
    unsigned char state;
};

/* Version 2 ends before healthSummary. */
struct nvmlGpuFabricInfo_v3 {
    unsigned version;
    unsigned char clusterUuid[16];
    int status;
    unsigned cliqueId;
    unsigned char state;
    unsigned healthMask;
    unsigned char healthSummary; /* 1: healthy */
};

struct nvmlGpmSupport {
    unsigned version;
    unsigned isSupportedDevice;
};

struct nvmlGpmMetric {
    unsigned metricId;
    int nvmlReturn;
    double value;
    const char *shortName;
    const char *longName;
    const char *unit;
};

struct nvmlGpmMetricsGet {
    unsigned version;
    unsigned numMetrics;
    nvmlGpmSample_t sample1;
    nvmlGpmSample_t sample2;
    struct nvmlGpmMetric metrics[NVML_GPM_METRICS_MAX];
};

_Static_assert(sizeof(struct nvmlPciInfo) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvmlMemory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvmlProcessInfo) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvmlProcessUtilizationSample) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct nvmlEventData) == 32, "nvmlEventData_t");
_Static_assert(sizeof(struct nvmlGpuInstanceProfileInfo) == 48, "nvmlGpuInstanceProfileInfo_t");
_Static_assert(sizeof(struct nvmlGpuInstanceProfileInfo_v2) == 152,
               "nvmlGpuInstanceProfileInfo_v2_t");
_Static_assert(sizeof(struct nvmlGpuInstanceInfo) == 24, "nvmlGpuInstanceInfo_t");
_Static_assert(sizeof(struct nvmlComputeInstanceProfileInfo) == 36,
               "nvmlComputeInstanceProfileInfo_t");
_Static_assert(sizeof(struct nvmlComputeInstanceInfo) == 32, "nvmlComputeInstanceInfo_t");
_Static_assert(sizeof(struct nvmlFieldValue) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvmlDeviceAttributes) == 40, "nvmlDeviceAttributes_t");
_Static_assert(sizeof(struct nvmlGpmMetric) == 40, "nvmlGpmMetric_t");
_Static_assert(sizeof(struct nvmlGpmMetricsGet) == 24 + 40 * NVML_GPM_METRICS_MAX,
               "nvmlGpmMetricsGet_t");
_Static_assert(sizeof(struct nvmlGpuFabricInfo) == 28, "nvmlGpuFabricInfo_t");
_Static_assert(sizeof(struct nvmlGpuFabricInfo_v3) == 40, "nvmlGpuFabricInfo_v3_t");
