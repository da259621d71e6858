/* gpu_config.h - the file of --gpu-config: the configuration of NVIDIA's device plugin */
#pragma once

#include "gpu/sharing_config.h"

/* Reads the file; "": {0}. Logs the settings without effect. ERR_INVALID names the file and the
 * member. */
struct err *gpu_config_read(const char *path, struct sharing_config *ret) MUST_CHECK;

/* The same, without a log. */
struct err *gpu_config_check(const char *path) MUST_CHECK;
