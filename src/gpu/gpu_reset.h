/* gpu_reset.h - the reset of a gpu by the driver's own program (gpu_reset_linux.c) */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * Becomes the nvidia-smi of the driver root `root`, which resets the gpu; returns on failure only.
 * The program of a driver's container runs in that container's root; `is_emulated` roots have no
 * root file system of their own. ERR_NOT_FOUND: the root has no nvidia-smi.
 */
struct err *gpu_reset_exec(const char *root, bool is_emulated, const char *uuid) MUST_CHECK;
