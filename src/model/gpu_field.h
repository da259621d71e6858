/*
 * gpu_field.h - the readings of a gpu or slice: one table drives driver, JSON, frames, history and
 * metrics
 *
 * A reading is an int64 in the unit of its field; -1: unknown. A gauge is the value at one moment,
 * a counter only grows until the driver is loaded anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_VALUE_UNKNOWN (-1)

enum gpu_field {
    GPU_FIELD_UTILIZATION_PCT,
    GPU_FIELD_MEMORY_UTILIZATION_PCT,
    GPU_FIELD_ENCODER_PCT,
    GPU_FIELD_DECODER_PCT,
    GPU_FIELD_SM_ACTIVE_MILLI,     /* 1/1000: some warp is on a multiprocessor */
    GPU_FIELD_TENSOR_ACTIVE_MILLI, /* 1/1000: the tensor pipe works */
    GPU_FIELD_DRAM_ACTIVE_MILLI,   /* 1/1000: the memory interface works */
    GPU_FIELD_GRAPHICS_ACTIVE_MILLI,
    GPU_FIELD_MEMORY_USED_BYTES,
    GPU_FIELD_MEMORY_FREE_BYTES,
    GPU_FIELD_MEMORY_RESERVED_BYTES,
    GPU_FIELD_TEMPERATURE_C,
    GPU_FIELD_MEMORY_TEMPERATURE_C,
    GPU_FIELD_POWER_MW,
    GPU_FIELD_ENERGY_MJ, /* counter */
    GPU_FIELD_SM_CLOCK_MHZ,
    GPU_FIELD_MEMORY_CLOCK_MHZ,
    GPU_FIELD_THROTTLE_REASONS, /* bits of nvmlDeviceGetCurrentClocksEventReasons */
    GPU_FIELD_PCIE_SENT_BYTES,  /* counter, as the following */
    GPU_FIELD_PCIE_RECEIVED_BYTES,
    GPU_FIELD_PCIE_REPLAYS,
    GPU_FIELD_NVLINK_SENT_BYTES,
    GPU_FIELD_NVLINK_RECEIVED_BYTES,
    GPU_FIELD_NVLINK_ERRORS,
    GPU_FIELD_ECC_CORRECTED, /* volatile: since the driver was loaded */
    GPU_FIELD_ECC_UNCORRECTED,
    GPU_FIELD_ECC_CORRECTED_EVER, /* aggregate: over the life of the gpu */
    GPU_FIELD_ECC_UNCORRECTED_EVER,
    GPU_FIELD_REMAPPED_CORRECTABLE,
    GPU_FIELD_REMAPPED_UNCORRECTABLE,
    GPU_FIELD_REMAP_PENDING,   /* gauge, 0 or 1: active after the next reset */
    GPU_FIELD_REMAP_FAILED,    /* gauge, 0 or 1 */
    GPU_FIELD_RECOVERY_ACTION, /* gauge: NVML_FI_DEV_GET_GPU_RECOVERY_ACTION */
    GPU_FIELD_XID_LAST,        /* gauge; 0: none since the start */
    GPU_FIELD_PROCESSES,       /* gauge */
    GPU_FIELD_COUNT
};

struct gpu_field_info {
    const char *name; /* member in JSON, with its unit: "memoryUsedBytes" */
    bool is_counter;
};

extern const struct gpu_field_info gpu_fields[GPU_FIELD_COUNT];
