/*
 * gpu_driver.h - the hardware as a seam: NVML through dlopen (nvml_linux.c) in a helper process, or a fake in tests
 *
 * All calls block and may hang in the kernel: only the helper process makes them.
 */
#pragma once

#include "base/err.h"
#include "model/gpu.h"

struct gpu_driver;

struct gpu_driver_info {
    char driver_version[80];
    char cuda_version[16]; /* "12.8" */
    char library_path[4096]; /* of libnvidia-ml.so.1 that was loaded */
    bool is_emulated;
};

/* `library`: a path, or NULL for the loader's. ERR_NOT_FOUND: no driver on this machine. */
struct err *gpu_driver_open(const char *library, struct gpu_driver **ret) MUST_CHECK;
void gpu_driver_free(struct gpu_driver *d);
struct err *gpu_driver_info(struct gpu_driver *d, struct gpu_driver_info *ret) MUST_CHECK;
/* One bad gpu does not hide the others: it comes with its health. The caller frees `*ret`. */
struct err *gpu_driver_list(struct gpu_driver *d, struct gpu **ret, size_t *ret_count) MUST_CHECK;
struct err *gpu_driver_sample(struct gpu_driver *d, const char *uuid, struct gpu_sample *ret) MUST_CHECK;
/* Blocks up to `timeout_ms` for an event (XID, lost); `*ret_uuid` is "" when none came. */
struct err *gpu_driver_wait(struct gpu_driver *d, int timeout_ms, char ret_uuid[GPU_TEXT_SIZE], int64_t *ret_xid) MUST_CHECK;
