/* nvml_mig.h - shared by the parts of the emulated MIG: gpu instances, compute instances, devices
 */
#pragma once

#include "client.h"
#include "library.h"
#include "mig.h"

/* The gpu in whose entry a handle of an instance lies; NULL: none that is visible. */
const struct gpusim_gpu *mig_gpu_with(const void *handle);

/* Finds the gpu and the instance of a handle. */
int mig_instance_enter(nvmlGpuInstance_t handle, const struct gpusim_gpu **ret,
                       const struct gpusim_instance **ret_instance);

/* Declares the gpu and the instance of a handle, or returns the error. */
#define ENTER_INSTANCE(handle, gpu, instance)                           \
    const struct gpusim_gpu *gpu = NULL;                                \
    const struct gpusim_instance *instance = NULL;                      \
    do {                                                                \
        int enter_ = mig_instance_enter((handle), &(gpu), &(instance)); \
        if (enter_ != NVML_SUCCESS)                                     \
            return enter_;                                              \
    } while (0)

/* NVML_ERROR_NO_PERMISSION: this process may not change instances. */
int mig_check_change(void);

/* The gpu in the map; only after mig_check_change. */
struct gpusim_gpu *mig_writable(const struct gpusim_gpu *g);

/* Do processes use the gpu, or one engine of it? */
bool mig_is_in_use(const struct gpusim_gpu *g, bool is_any, unsigned engine);
