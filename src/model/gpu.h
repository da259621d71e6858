/* gpu.h - one gpu, and a reading of its sensors */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/gpu_field.h"
#include "model/gpu_peers.h"

/* Sorted: the later, the worse. Only a healthy gpu is given to pods. */
enum gpu_health {
    GPU_HEALTHY,
    GPU_DRAINED,     /* by an administrator */
    GPU_SUSPECT,     /* an error may come from the gpu */
    GPU_QUARANTINED, /* memory is in use that no process holds */
    GPU_UNHEALTHY,   /* pods that fail on it are requeued */
    GPU_NOT_ANSWERING,
    GPU_LOST /* its pods end, and are requeued */
};

/* The ways to give a gpu to pods. */
enum gpu_mode {
    GPU_MODE_WHOLE,
    GPU_MODE_REPLICAS,
    GPU_MODE_SLICES
};

/* Who made a gpu. Intel's gpus are requested by the names of their kernel drivers. */
enum gpu_vendor {
    GPU_NVIDIA,
    GPU_AMD,
    GPU_INTEL_I915,
    GPU_INTEL_XE,
    GPU_VENDORS
};

enum {
    GPU_TEXT_SIZE = 96,
    GPU_PROFILE_SIZE = 32,
    GPU_REASON_SIZE = 224,
    GPU_SLICES_MAX = 16,
    GPU_NODES_MAX = 3
};

/* A device node that a container with the gpu gets: "/dev/dri/renderD128". */
struct gpu_node {
    char path[40];
    int major;
    int minor;
};

/* What only gpus of AMD have. */
struct gpu_amd {
    char gfx[16];              /* instruction set: "gfx942" */
    char compute_partition[8]; /* "SPX"; "": the gpu cannot be divided */
    char memory_partition[8];  /* "NPS1" */
    int partition;             /* number of this partition of the board; -1: the whole board */
    int compute_units;
    int simds;
};

/* A MIG instance that the driver has, with one compute instance of its full size. */
struct gpu_slice {
    char profile[GPU_PROFILE_SIZE]; /* "1g.10gb" */
    unsigned start;                 /* first memory slice */
    char uuid[GPU_TEXT_SIZE];       /* "MIG-..."; "": no compute instance */
    int gpu_instance;               /* the driver's ids; -1: unknown */
    int compute_instance;
    int64_t memory_bytes; /* this and the following: -1: unknown */
    int multiprocessors;
    int gpu_slices;     /* compute slices of the gpu instance */
    int compute_slices; /* of the compute instance */
    int copy_engines;
    int decoders;
    int encoders;
    int jpegs;
    int ofas;
    enum gpu_health health; /* its own, beside that of the gpu */
    char health_reason[GPU_REASON_SIZE];
};

/* A value. Unknown texts are "", unknown numbers -1 (GPU_UNKNOWN). A partition of an AMD gpu is a
 * gpu of its own, as its driver has it. */
struct gpu {
    enum gpu_vendor vendor;
    char uuid[GPU_TEXT_SIZE];    /* "GPU-..." */
    char product[GPU_TEXT_SIZE]; /* "NVIDIA H100 80GB HBM3" */
    char model[GPU_TEXT_SIZE];   /* short form for users and --gpus: "h100" */
    char pci[32];                /* "00000000:1B:00.0" */
    char serial[32];
    int index; /* for display only */
    int minor; /* NVIDIA: /dev/nvidia<minor>; others: /dev/dri/renderD<minor> */
    int64_t memory_bytes;
    int64_t memory_reserved_bytes; /* reserved by the driver */
    int compute_major;
    int compute_minor;
    int numa_node;
    int link_group;     /* gpus with the same number are linked by NVLink; -1: none */
    int n_links;        /* active NVLinks */
    int n_switch_links; /* of them, those to NVSwitches */
    int architecture;   /* NVML's number: 7 Ampere, 9 Hopper */
    int64_t pci_device; /* device << 16 | vendor; -1: unknown */
    int pci_class;      /* 0x030200: a compute board without display */
    int mig_mode;       /* 1 on, 0 off; -1: the gpu has no MIG */
    int mig_pending;    /* the mode after the next reset */
    int ecc_mode;       /* 1 on, 0 off */
    int ecc_pending;    /* the mode after the next reset */
    int64_t power_limit_mw;
    int power_limit_default_mw; /* and the limits that an administrator may set */
    int power_limit_min_mw;
    int power_limit_max_mw;
    int sm_clock_max_mhz;
    int memory_clock_max_mhz;
    char cpu_affinity[128];     /* the nearest CPUs: "0-31,64-95" */
    char clique[64];            /* NVLink domain of several machines: "CLUSTER-UUID.CLIQUE" */
    char fabric[16];            /* NVSwitch fabric: "completed", "in progress", ...; "": none */
    char peers[GPU_PEERS_SIZE]; /* connections to the machine's other gpus */
    bool is_emulated;
    enum gpu_health health;
    char health_reason[GPU_REASON_SIZE];
    char drained_by[GPU_TEXT_SIZE]; /* the administrator; "": unknown */
    const char *health_advice;      /* what brings it back; static; NULL: nothing to do */
    int64_t health_since_ns;        /* realtime: the begin of its incident; 0: none */
    enum gpu_mode mode;
    unsigned replicas;      /* GPU_MODE_REPLICAS: at least 2; else 0 */
    bool is_renamed;        /* replicas are requested as nvidia.com/gpu.shared only */
    bool is_single;         /* a container may request one replica at most */
    bool is_mps;            /* replicas are clients of an MPS daemon */
    bool is_flexible;       /* the scheduler may create and remove slices */
    bool keeps_mig;         /* flexible, but MIG stays on: given in slices only */
    char mode_problem[224]; /* why the gpu is not given as wanted; "": it is */
    struct gpu_slice slices[GPU_SLICES_MAX];
    size_t n_slices;
    char driver_version[32]; /* of the kernel's driver; NVIDIA: "", struct gpu_driver_info has it */
    struct gpu_node nodes[GPU_NODES_MAX]; /* NVIDIA: none, the driver root has them */
    size_t n_nodes;
    struct gpu_amd amd;
};

/* A gpu of which nothing is known but its index. */
#define GPU_UNKNOWN(i)                                                                         \
    {                                                                                          \
        .index = (i), .minor = -1, .memory_bytes = -1, .memory_reserved_bytes = -1,            \
        .compute_major = -1, .compute_minor = -1, .numa_node = -1, .link_group = -1,           \
        .n_links = -1, .n_switch_links = -1, .architecture = -1, .pci_device = -1,             \
        .pci_class = -1, .mig_mode = -1, .mig_pending = -1, .ecc_mode = -1, .ecc_pending = -1, \
        .power_limit_mw = -1, .power_limit_default_mw = -1, .power_limit_min_mw = -1,          \
        .power_limit_max_mw = -1, .sm_clock_max_mhz = -1, .memory_clock_max_mhz = -1,          \
        .amd = {.partition = -1, .compute_units = -1, .simds = -1},                            \
    }

/* The readings of a gpu or slice; GPU_VALUE_UNKNOWN: the driver does not tell. */
struct gpu_sample {
    char uuid[GPU_TEXT_SIZE];
    char parent[GPU_TEXT_SIZE]; /* uuid of the gpu of a slice; "": a gpu */
    int64_t at_ns; /* monotonic; in a message of a node (client/node_stats.h) realtime */
    int64_t value[GPU_FIELD_COUNT];
};

/* A sample of which nothing is known. */
#define GPU_SAMPLE_UNKNOWN                                           \
    {                                                                \
        .value = { [0 ... GPU_FIELD_COUNT - 1] = GPU_VALUE_UNKNOWN } \
    }

/* The short model of a product name: "NVIDIA H100 80GB HBM3" gives "h100". */
void gpu_model_of(const char *product, char ret[GPU_TEXT_SIZE]);

/* The family by compute capability, as NVIDIA's labels name it: "ampere", "hopper", ...;
 * "undefined". */
const char *gpu_family(int major, int minor);

/* Does a change of the MIG mode need a reset of the gpu? So it is before Hopper. */
bool gpu_mig_needs_reset(const struct gpu *g);

/* "nvidia", "amd", "intel". */
const char *gpu_vendor_text(enum gpu_vendor v);

/* The extended resource by which pods request gpus of the vendor: "amd.com/gpu". */
const char *gpu_vendor_resource(enum gpu_vendor v);
/* False: no resource of whole gpus. */
bool gpu_vendor_of(const char *resource, enum gpu_vendor *ret);

/* "whole", "replicas", "slices". */
const char *gpu_mode_text(enum gpu_mode m);

/* "healthy", "drained", "suspect", "quarantined", "unhealthy", "not answering", "lost". */
const char *gpu_health_text(enum gpu_health h);
/* False: not such a text, or NULL. */
bool gpu_health_parse(const char *text, enum gpu_health *ret);
