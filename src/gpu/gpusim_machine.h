/*
 * gpusim_machine.h - an emulated machine as one file that every emulated driver maps
 *
 * `gpusim compile PROFILE.yaml FILE` makes the file. libnvidia-ml.so.1, libcuda.so.1 and nvidia-smi
 * map it. The file has a description of the machine, readings and faults that `gpusim set` changes,
 * MIG instances, and the clients: processes with a CUDA context, with their memory and their work.
 * libcuda.so.1 writes clients and needs a writable file; the others read. The libraries need only
 * libc, and parse nothing inside a container.
 *
 * The libraries find the file by METE_GPUSIM_MACHINE, else as GPUSIM_MACHINE_PATH, else as
 * `machine.bin` beside themselves.
 *
 * A gpu is visible to a process that may open /dev/nvidia<minor>: the device nodes have the major
 * number GPUSIM_DEVICE_MAJOR, which no driver owns, so an open that the cgroup allows fails with
 * ENXIO, and a denied one with EPERM. If /dev has no such node and METE_GPUSIM_ALL=1 is set (the
 * node agent, tests), all gpus are visible. A MIG device is visible to a process that may open
 * /dev/nvidia-caps/nvidia-cap<N> of its gpu instance and of its compute instance.
 *
 * Ownership. A client holds an open-file-description lock on the byte GPUSIM_LOCK_CLIENTS + slot
 * for as long as it lives; the kernel drops the lock with the process. A slot without that lock is
 * free, whatever its bytes say, so memory and work of a killed process are gone. A client also
 * holds a process-owned lock on GPUSIM_LOCK_PIDS + slot: F_GETLK tells its pid in the pid namespace
 * of the reader. A process that changes a gpu's engines or its clients' memory holds the lock
 * GPUSIM_LOCK_GPUS + index in the file (index in `gpus`).
 *
 * Readers trust no number of the file: they bound indices and sums.
 */
#pragma once

#include <stdint.h>

enum {
    GPUSIM_DEVICE_MAJOR = 384,  /* the last that Linux assigns dynamically (from 511 down) */
    GPUSIM_CONTROL_MINOR = 255, /* /dev/nvidiactl */
    GPUSIM_UVM_MINOR = 254,     /* /dev/nvidia-uvm; its tools node is 253 */
    GPUSIM_UVM_TOOLS_MINOR = 253,
    GPUSIM_CAPS_MINOR = 1000, /* the minor of nvidia-cap<N> is this + N */
    GPUSIM_CAP_CONFIG = 1,    /* N for changes of MIG instances */
    GPUSIM_GPUS_MAX = 16,
    GPUSIM_LINKS_MAX = 18,
    GPUSIM_PROCESSES_MAX = 32,
    GPUSIM_XIDS_MAX = 16,
    GPUSIM_CLIENTS_MAX = 128,
    GPUSIM_TURNS_MAX = 32,
    GPUSIM_LOADS_MAX = 8,
    GPUSIM_MIG_PROFILES_MAX = 18, /* the number of NVML's profile enum */
    GPUSIM_INSTANCES_MAX = 8,     /* gpu instances of a gpu; compute instances of a gpu */
};

#define GPUSIM_MAGIC        UINT64_C(0x316d69737570676d) /* "mgpusim1" */
#define GPUSIM_VERSION      4u
#define GPUSIM_MACHINE_PATH "/run/mete/gpu/machine.bin"
#define GPUSIM_LOCK_CLIENTS (INT64_C(1) << 30)
#define GPUSIM_LOCK_PIDS    (INT64_C(2) << 30)
#define GPUSIM_LOCK_GPUS    (INT64_C(3) << 30)
#define GPUSIM_LOAD_NS      UINT64_C(125000000) /* duration of one gpusim_load */
#define GPUSIM_WHOLE        0u                  /* engine of the whole gpu */

/* A process that `gpusim set` invents. */
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

/* The busy time within one GPUSIM_LOAD_NS of CLOCK_MONOTONIC. */
struct gpusim_load {
    uint64_t period; /* time / GPUSIM_LOAD_NS */
    uint64_t busy_ns;
};

/* From `at_ns` on, `n_active` clients shared the engine. */
struct gpusim_turn {
    uint64_t at_ns;
    uint64_t virtual_ns;
    uint32_t n_active;
    uint32_t reserved;
};

/*
 * The compute of a gpu or of a compute instance. Clients share it by time: its virtual time
 * advances at 1/n of CLOCK_MONOTONIC while n clients have work, and stands while none has. Work of
 * W ns that a client adds at virtual time V ends at virtual time V + W.
 */
struct gpusim_engine {
    uint64_t at_ns; /* the engine's last change, CLOCK_MONOTONIC */
    uint64_t virtual_ns;
    uint64_t busy_ns; /* real time with work, since the start */
    uint64_t n_turns; /* `turns` is a ring of the last ones */
    struct gpusim_turn turns[GPUSIM_TURNS_MAX];
    struct gpusim_load loads[GPUSIM_LOADS_MAX]; /* by period % GPUSIM_LOADS_MAX */
};

/* One row of a board's MIG table; `size` 0: the board has no profile with this number of NVML. */
struct gpusim_mig_profile {
    char name[32];
    uint32_t id;
    uint32_t slices; /* compute slices */
    uint32_t size;   /* memory units */
    uint32_t starts; /* bit i: may start at unit i */
    uint32_t count;  /* instances on a gpu, at most */
    uint32_t media;  /* enum mig_media */
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpegs;
    uint32_t ofas;
    uint64_t memory_mib;
};

struct gpusim_instance {
    uint32_t is_used;
    uint32_t id;
    uint32_t profile; /* index in mig_profiles */
    uint32_t start;
};

struct gpusim_compute {
    uint32_t is_used;
    uint32_t id;
    uint32_t instance; /* id of the gpu instance */
    uint32_t slices;
    uint32_t start; /* in the compute slices of the gpu instance */
    uint32_t reserved;
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
    uint64_t context_bytes; /* memory that each process's context takes */
    uint32_t multiprocessors;
    uint32_t memory_bus_bits;
    uint32_t power_limit_mw;
    uint32_t sm_clock_max_mhz;
    uint32_t memory_clock_max_mhz;
    uint32_t n_links;
    struct gpusim_link links[GPUSIM_LINKS_MAX];
    uint32_t pcie_groups[3]; /* its PCIe switch, root port, host bridge: equal if shared */
    uint32_t first_cpu;      /* the nearest CPUs, as many as n_cpus */
    uint32_t n_cpus;
    uint32_t fabric_state; /* 0: no NVSwitch fabric; 3: completed */
    uint32_t fabric_clique;
    uint8_t fabric_cluster[16];

    /* The values that `gpusim set` changes. */
    uint32_t utilization_pct; /* without the work of clients */
    uint32_t memory_utilization_pct;
    uint32_t temperature_c;
    uint32_t power_mw;
    uint32_t sm_clock_mhz;
    uint32_t memory_clock_mhz;
    uint64_t energy_mj;
    uint32_t is_lost;         /* all calls on the gpu return GPU_IS_LOST */
    uint32_t hang_ms;         /* duration of every call on the gpu; UINT32_MAX: for ever */
    uint64_t throttle;        /* bits of the clock event reasons */
    uint64_t ecc[2][2];       /* [corrected, uncorrected][volatile, aggregate] */
    uint32_t remapped[4];     /* rows: corrected, uncorrected; flags: pending, failed */
    uint32_t tensor_pct;      /* activity of the tensor cores */
    uint64_t pcie_bytes[2];   /* [sent, received] by the gpu, as the following */
    uint64_t nvlink_bytes[2]; /* copies of emulated programs count, too */
    uint64_t nvlink_errors;
    uint64_t pcie_replays;
    uint32_t n_processes;
    struct gpusim_process processes[GPUSIM_PROCESSES_MAX];
    uint64_t n_xids;                /* since the start; `xids` is a ring of the last ones */
    uint64_t xids[GPUSIM_XIDS_MAX]; /* the code; from bit 32 on the GPU instance + 1, or 0 */

    /* MIG */
    uint32_t mig_units; /* memory units; 0: no MIG */
    uint32_t mig_slices;
    uint32_t mig_needs_reset; /* a change of the mode waits for a reset */
    uint32_t mig_mode;
    uint32_t mig_mode_pending;
    struct gpusim_mig_profile mig_profiles[GPUSIM_MIG_PROFILES_MAX];
    struct gpusim_instance instances[GPUSIM_INSTANCES_MAX];
    struct gpusim_compute computes[GPUSIM_INSTANCES_MAX];

    struct gpusim_engine engines[1 + GPUSIM_INSTANCES_MAX]; /* the whole; 1 + index in computes */
};

/* The part of a client on one gpu. */
struct gpusim_use {
    uint64_t memory_bytes;
    uint64_t finish_virtual_ns; /* end of its work in the engine's virtual time */
    uint64_t busy_ns;
    uint32_t has_context;
    uint32_t engine; /* index in the gpu's engines */
    struct gpusim_load loads[GPUSIM_LOADS_MAX];
};

struct gpusim_client {
    uint32_t pid; /* in the client's own pid namespace */
    uint32_t reserved;
    struct gpusim_use uses[GPUSIM_GPUS_MAX]; /* by index in `gpus` */
};

enum gpusim_driver {
    GPUSIM_DRIVER_LOADED,
    GPUSIM_DRIVER_UNLOADED,
    GPUSIM_DRIVER_MISMATCHED, /* the library's version differs from the kernel module's */
};

struct gpusim_machine {
    uint64_t magic;
    uint32_t version;
    uint32_t size; /* size of this struct */
    char driver_version[80];
    char nvml_version[80];
    int32_t cuda_version; /* 12080 */
    uint32_t n_gpus;
    uint32_t driver;                 /* enum gpusim_driver */
    uint32_t order[GPUSIM_GPUS_MAX]; /* NVML's index i shows gpus[order[i]] */
    struct gpusim_gpu gpus[GPUSIM_GPUS_MAX];
    struct gpusim_client clients[GPUSIM_CLIENTS_MAX];
};

/* N of nvidia-cap<N> for a gpu instance, as the driver counts. */
static inline unsigned gpusim_cap_of_instance(unsigned gpu_minor, unsigned instance)
{
    return 3 + gpu_minor * 135 + instance * 9;
}

/* The same for a compute instance. */
static inline unsigned gpusim_cap_of_compute(unsigned gpu_minor, unsigned instance,
                                             unsigned compute)
{
    return gpusim_cap_of_instance(gpu_minor, instance) + 1 + compute;
}
