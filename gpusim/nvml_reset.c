/* nvml_reset.c - the reset of a gpu: NVML has none, so the emulated nvidia-smi asks for ours */

#include "library.h"
#include "nvml_mig.h"
#include "reset.h"

FUNCTION(mete_gpusim_reset, nvmlDevice_t device)
{
    ENTER(device, g);

    if (mig_check_change() != NVML_SUCCESS)
        return NVML_ERROR_NO_PERMISSION;
    if (mig_is_in_use(g, true, 0) || gpusim_has_process(g))
        return NVML_ERROR_IN_USE;
    gpusim_reset(mig_writable(g));
    return NVML_SUCCESS;
}
