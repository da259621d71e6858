/* gpu.h - one physical gpu, and a reading of its sensors */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gpu_health {
    GPU_HEALTHY,
    GPU_UNHEALTHY,
    GPU_NOT_ANSWERING,
    GPU_LOST
};

enum {
    GPU_TEXT_SIZE = 96
};

/* A value. Unknown texts are "", unknown numbers -1. */
struct gpu {
    char uuid[GPU_TEXT_SIZE];    /* "GPU-..." */
    char product[GPU_TEXT_SIZE]; /* "NVIDIA H100 80GB HBM3" */
    char model[GPU_TEXT_SIZE];   /* short form for users and --gpus: "h100" */
    char pci[32];                /* "00000000:1B:00.0" */
    char serial[32];
    int index; /* for display only */
    int minor; /* /dev/nvidia<minor> */
    int64_t memory_bytes;
    int64_t memory_reserved_bytes; /* reserved by the driver */
    int compute_major;
    int compute_minor;
    int numa_node;
    int link_group; /* gpus with the same number are linked by NVLink; -1: none */
    bool is_emulated;
    enum gpu_health health;
    char health_reason[128];
};

/* A reading; -1: unknown. */
struct gpu_sample {
    char uuid[GPU_TEXT_SIZE];
    int64_t at_ns; /* monotonic */
    int64_t memory_used_bytes;
    int utilization_pct;
    int memory_utilization_pct;
    int temperature_c;
    int64_t power_mw;
    int64_t energy_mj;
    int sm_clock_mhz;
    int memory_clock_mhz;
    int64_t xid_last;
    int n_processes;
};

/* The short model of a product name: "NVIDIA H100 80GB HBM3" gives "h100". */
void gpu_model_of(const char *product, char ret[GPU_TEXT_SIZE]);

/* "healthy", "unhealthy", "not answering", "lost". */
const char *gpu_health_text(enum gpu_health h);
