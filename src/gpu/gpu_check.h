/* gpu_check.h - the proof that a gpu computes: memory written and copied on the gpu, then compared
 */
#pragma once

#include "base/err.h"

/*
 * Checks the first gpu that CUDA_VISIBLE_DEVICES shows, by the driver API of libcuda.so.1; without
 * this library there is nothing to check. Blocks, and may hang in the driver: only a helper process
 * calls it. ERR_BUSY: the gpu's memory is full, or another process has the gpu for itself.
 * `library`: path; NULL: the loader's.
 */
struct err *gpu_check_run(const char *library) MUST_CHECK;
