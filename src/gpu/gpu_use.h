/*
 * gpu_use.h - what the containers use of a gpu and its slices, from the driver's list of processes
 *
 * A process belongs to the container whose cgroup it is in: the container with the runtime's id ID
 * has the cgroup /mete/ID. All other processes are foreign; they count together.
 */
#pragma once

#include "base/json.h"
#include "gpu/gpu_driver.h"

enum {
    GPU_USE_ID_SIZE = 192
};

/* The container of a process. */
struct gpu_process_home {
    bool is_gone;
    bool is_mps_server;       /* of a daemon of Mete: works for its clients */
    char id[GPU_USE_ID_SIZE]; /* of the container; "": foreign */
};

typedef void (*gpu_home_fn)(unsigned pid, struct gpu_process_home *ret);

/* One container on one device. */
struct gpu_use {
    char device[GPU_TEXT_SIZE]; /* uuid of the gpu or slice */
    char id[GPU_USE_ID_SIZE];   /* of the container; "": foreign processes */
    int64_t memory_bytes;       /* -1: the driver does not tell, as the following */
    int64_t sm_milli;           /* busy time of the device's compute for it, in 1/1000 */
    int64_t n_processes;
};

/* Finds "/mete/ID" in the text of /proc/PID/cgroup. False: the process is in no container. */
bool gpu_use_id(const char *text, char ret[GPU_USE_ID_SIZE]);

/*
 * Adds up the processes of a reading by container and device, into `ret` with room for
 * GPU_PROCESSES_MAX. The only container on a device has all of the device's compute where the
 * driver tells no more. Returns the number of uses.
 */
size_t gpu_uses_of(const struct gpu_reading *r, gpu_home_fn home, struct gpu_use *ret);

/* The busy time of a device's compute, in 1/1000; -1: unknown. */
int64_t gpu_sample_busy_milli(const struct gpu_sample *s);

/* Reads /proc (gpu_use_linux.c). */
void gpu_use_home(unsigned pid, struct gpu_process_home *ret);

/* A use as an object of JSON, and back; unknown numbers are null. */
json_t *gpu_use_format_json(const struct gpu_use *u);
struct gpu_use gpu_use_parse_json(const json_t *j);
