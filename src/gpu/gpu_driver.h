/*
 * gpu_driver.h - the driver's gpus by NVML, loaded by dlopen (nvml_linux.c)
 *
 * All functions block and may hang in the kernel, so only helper processes call them
 * (helper_linux.c).
 */
#pragma once

#include "base/err.h"
#include "model/gpu.h"

struct gpu_driver;

struct gpu_driver_info {
    char driver_version[80];
    char cuda_version[16]; /* "12.8" */
    bool is_emulated;
};

/* Opens the library at the path `library`; NULL: the loader's. ERR_NOT_FOUND: no driver on this
 * machine; the message says why. */
struct err *gpu_driver_open(const char *library, struct gpu_driver **ret) MUST_CHECK;
void gpu_driver_free(struct gpu_driver *d); /* accepts NULL */
static inline void gpu_driver_freep(struct gpu_driver **d)
{
    gpu_driver_free(*d);
}

struct err *gpu_driver_info(struct gpu_driver *d, struct gpu_driver_info *ret) MUST_CHECK;
struct err *gpu_driver_count(struct gpu_driver *d, unsigned *ret) MUST_CHECK;

/* Reads one gpu; its link group is -1, and its peers are unknown. ERR_UNAVAILABLE: the gpu is lost.
 */
struct err *gpu_driver_read(struct gpu_driver *d, unsigned index, struct gpu *ret) MUST_CHECK;

/* Switches MIG on or off. ERR_CONFLICT: a program uses the gpu. ERR_UNAVAILABLE: the gpu needs a
 * reset first. */
struct err *gpu_driver_set_mig(struct gpu_driver *d, unsigned index, bool is_on) MUST_CHECK;

/* Creates a slice of `size` memory slices: a GPU instance at `start` and its compute instance; both
 * or none. */
struct err *gpu_driver_create_slice(struct gpu_driver *d, unsigned index, const char *profile,
                                    unsigned start, unsigned size) MUST_CHECK;

/* Destroys a GPU instance and its compute instances; an unknown instance counts as destroyed.
 * ERR_CONFLICT: a process uses the instance. */
struct err *gpu_driver_destroy_slice(struct gpu_driver *d, unsigned index,
                                     unsigned gpu_instance) MUST_CHECK;

/* Are the two gpus connected by NVLink? */
bool gpu_driver_are_linked(struct gpu_driver *d, unsigned a, unsigned b);

/* The connection between two gpus: "NV18", "PIX", ... (gpu_peers.h); "": the driver does not say.
 */
void gpu_driver_connection(struct gpu_driver *d, unsigned a, unsigned b,
                           char ret[GPU_CONNECTION_SIZE]);

/* A process on a gpu, by its pid in the namespace of the caller. */
struct gpu_process {
    unsigned pid;
    int slice;            /* index in a reading's slices; -1: on the gpu itself */
    int64_t memory_bytes; /* -1: the driver does not tell */
    int sm_milli; /* compute since the call before, in 1/1000; -1: the driver does not tell */
};

enum {
    GPU_PROCESSES_MAX = 256
};

/* A gpu, its slices and their processes at one moment. */
struct gpu_reading {
    struct gpu_sample gpu;
    struct gpu_sample slices[GPU_SLICES_MAX];
    size_t n_slices;
    struct gpu_process processes[GPU_PROCESSES_MAX];
    size_t n_processes;
};

/* Reads the present values of a gpu and of the slices that gpu_driver_read found. ERR_UNAVAILABLE:
 * the gpu fell off the bus. */
struct err *gpu_driver_sample(struct gpu_driver *d, unsigned index,
                              struct gpu_reading *ret) MUST_CHECK;

/*
 * Lists up to `max` processes of a gpu. `*since_us` is the driver's time of the newest reading of
 * compute; begin with 0.
 */
struct err *gpu_driver_processes(struct gpu_driver *d, unsigned index, unsigned long long *since_us,
                                 struct gpu_process *ret, size_t max, size_t *ret_count) MUST_CHECK;

/* Reads the uuid alone. */
struct err *gpu_driver_uuid(struct gpu_driver *d, unsigned index,
                            char ret[GPU_TEXT_SIZE]) MUST_CHECK;

/* Subscribes to the XIDs of the gpu; ignores gpus without such events. */
void gpu_driver_subscribe(struct gpu_driver *d, unsigned index);

struct gpu_driver_event {
    char uuid[GPU_TEXT_SIZE]; /* of the gpu; "": no event */
    int64_t xid;
    int instance; /* id of the GPU instance that the event names; -1: none */
};

/* Blocks up to `timeout_ms` for an event. */
struct err *gpu_driver_wait(struct gpu_driver *d, int timeout_ms,
                            struct gpu_driver_event *ret) MUST_CHECK;
