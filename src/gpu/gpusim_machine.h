/*
 * gpusim_machine.h - an emulated machine's gpus as one file that every emulated driver maps
 *
 * `gpusim compile PROFILE.yaml FILE` makes the file. libnvidia-ml.so.1 and nvidia-smi map it shared
 * and read-only. `gpusim set FILE ...` changes the file while it is mapped: a gpu gets hot, falls
 * off the bus, hangs, reports an XID, is used by a process. The library needs only libc, and parses
 * nothing inside a container.
 *
 * The library finds the file by METE_GPUSIM_MACHINE, else at GPUSIM_MACHINE_PATH.
 *
 * A gpu is visible to a process that may open /dev/nvidia<minor>: the device nodes have the major
 * number GPUSIM_DEVICE_MAJOR, which no driver owns, so an open that the cgroup allows fails with
 * ENXIO, and a denied one with EPERM. If /dev has no such node and METE_GPUSIM_ALL=1 is set (the
 * node agent, tests), all gpus are visible.
 */
#pragma once

#include <stdint.h>

enum {
    GPUSIM_DEVICE_MAJOR = 384,  /* the last that Linux assigns dynamically (from 511 down) */
    GPUSIM_CONTROL_MINOR = 255, /* /dev/nvidiactl */
    GPUSIM_UVM_MINOR = 254,     /* /dev/nvidia-uvm; its tools node is 253 */
    GPUSIM_UVM_TOOLS_MINOR = 253,
    GPUSIM_GPUS_MAX = 16,
    GPUSIM_LINKS_MAX = 18,
    GPUSIM_PROCESSES_MAX = 32,
    GPUSIM_XIDS_MAX = 16,
};

/* The machine's file in containers. */
#define GPUSIM_MACHINE_PATH "/run/mete/gpu/machine.bin"

#define GPUSIM_MAGIC   UINT64_C(0x316d69737570676d) /* "mgpusim1" */
#define GPUSIM_VERSION 1u

struct gpusim_process {
    uint32_t pid;
    uint32_t is_graphics;
    uint64_t memory_bytes;
};

struct gpusim_link {
    uint32_t is_active;
    uint32_t remote_type; /* NVML_LINK_REMOTE_* */
    char remote_pci[32];
};

struct gpusim_gpu {
    char uuid[96];
    char name[96];
    char serial[30];
    char pci[32]; /* "00000000:1B:00.0" */
    uint32_t pci_device_id;
    uint32_t pci_subsystem_id;
    int32_t minor;
    int32_t numa_node;
    int32_t compute_major;
    int32_t compute_minor;
    int32_t architecture;
    uint64_t memory_bytes;
    uint64_t memory_reserved_bytes;
    uint32_t power_limit_mw;
    uint32_t sm_clock_max_mhz;
    uint32_t memory_clock_max_mhz;
    uint32_t n_links;
    struct gpusim_link links[GPUSIM_LINKS_MAX];

    /* The values that `gpusim set` changes. */
    uint32_t utilization_pct;
    uint32_t memory_utilization_pct;
    uint32_t temperature_c;
    uint32_t power_mw;
    uint32_t sm_clock_mhz;
    uint32_t memory_clock_mhz;
    uint64_t energy_mj;
    uint32_t is_lost; /* all calls on the gpu return GPU_IS_LOST */
    uint32_t hang_ms; /* duration of every call on the gpu; UINT32_MAX: for ever */
    uint32_t n_processes;
    struct gpusim_process processes[GPUSIM_PROCESSES_MAX];
    uint64_t n_xids; /* since the start; `xids` is a ring of the last ones */
    uint64_t xids[GPUSIM_XIDS_MAX];
};

struct gpusim_machine {
    uint64_t magic;
    uint32_t version;
    uint32_t size; /* size of this struct */
    char driver_version[80];
    char nvml_version[80];
    int32_t cuda_version; /* 12080 */
    uint32_t n_gpus;
    struct gpusim_gpu gpus[GPUSIM_GPUS_MAX];
};
