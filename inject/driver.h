/* driver.h - the driver's own library behind the share library */
#pragma once

#include "cuda_abi.h"

/* The driver's function of this name; NULL: this driver has none. */
void *driver_find(const char *name);

/* Calls the driver's own `name`. */
#define DRIVER(name, ...)                                      \
    ({                                                         \
        static __typeof__(&(name)) real_;                      \
        if (!real_)                                            \
            real_ = (__typeof__(&(name)))driver_find(#name);   \
        real_ ? real_(__VA_ARGS__) : CUDA_ERROR_NOT_SUPPORTED; \
    })

/* The share's index of a device, and of the device of the current context; else SHARE_NONE. */
int driver_gpu(CUdevice device);
int driver_current_gpu(void);
