/*
 * gpu_driver.h - the hardware: NVML through dlopen (nvml_linux.c)
 *
 * All calls block and may hang in the kernel, so only a helper process makes them (helper_linux.c).
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

/* `library`: a path, or NULL for the loader's. ERR_NOT_FOUND: no driver on this machine, saying
 * why. */
struct err *gpu_driver_open(const char *library, struct gpu_driver **ret) MUST_CHECK;
void gpu_driver_free(struct gpu_driver *d); /* accepts NULL */
static inline void gpu_driver_freep(struct gpu_driver **d)
{
    gpu_driver_free(*d);
}

struct err *gpu_driver_info(struct gpu_driver *d, struct gpu_driver_info *ret) MUST_CHECK;
struct err *gpu_driver_count(struct gpu_driver *d, unsigned *ret) MUST_CHECK;

/* One gpu; one that is lost comes with that health and what is still known. Its link group is -1.
 */
struct err *gpu_driver_read(struct gpu_driver *d, unsigned index, struct gpu *ret) MUST_CHECK;

/* True when the two reach each other by NVLink. */
bool gpu_driver_are_linked(struct gpu_driver *d, unsigned a, unsigned b);

/* ERR_UNAVAILABLE when it fell off the bus. */
struct err *gpu_driver_sample(struct gpu_driver *d, unsigned index,
                              struct gpu_sample *ret) MUST_CHECK;

/* Asks to be told of XIDs of the gpu; a gpu without such events is fine. */
void gpu_driver_subscribe(struct gpu_driver *d, unsigned index);

/* Blocks up to `timeout_ms` for an event: `*ret_uuid` is "" when none came. */
struct err *gpu_driver_wait(struct gpu_driver *d, int timeout_ms, char ret_uuid[GPU_TEXT_SIZE],
                            int64_t *ret_xid) MUST_CHECK;
