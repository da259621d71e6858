/* nvml_fields.c - the values of an emulated gpu that NVML gives by number */

#include <time.h>

#include "library.h"

/* In nvml_power.c. */
EXPORT int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *out);
EXPORT int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *out);

enum {
    MEMORY_WARMER = 8 /* degrees of the memory over those of the gpu */
};

static unsigned recovery_action(const struct gpusim_gpu *g)
{
    if (g->is_lost)
        return 2; /* reboot */
    return g->remapped[2] ? 1 : 0;
}

/* Fields of NVLink, which a gpu without links does not have. All errors are of flits; traffic in
 * KiB is of one link or of all (UINT32_MAX). */
static bool link_value(const struct gpusim_gpu *g, unsigned field, unsigned scope,
                       unsigned long long *ret)
{
    if (g->n_links == 0 || (scope != UINT32_MAX && scope >= g->n_links))
        return false;
    if (field == 38 || field == 45 || field == 52 || field == 59)
        *ret = field == 38 ? g->nvlink_errors : 0;
    else if (field == 138 || field == 139)
        *ret = g->nvlink_bytes[field - 138] / 1024 / (scope == UINT32_MAX ? 1 : g->n_links);
    else
        return false;
    return true;
}

/* Finds the value of a field. False: the emulation has none. */
static bool field_value(const struct gpusim_gpu *g, nvmlDevice_t device, unsigned field,
                        unsigned scope, unsigned long long *ret)
{
    unsigned value = 0;

    if (field == 1 || field == 2)
        *ret = g->memory_reserved_bytes > 0;
    else if (field >= 3 && field <= 6) /* corrected and uncorrected; volatile, then aggregate */
        *ret = g->ecc[(field - 3) % 2][(field - 3) / 2];
    else if (field == 82)
        *ret = library_degrees(g) + MEMORY_WARMER;
    else if (field == 83 || field == 191)
        return nvmlDeviceGetTotalEnergyConsumption(device, ret) == NVML_SUCCESS;
    else if (field == 94)
        *ret = g->pcie_replays;
    else if (field >= 142 && field <= 145)
        *ret = g->remapped[field - 142];
    else if (field == 197 || field == 198)
        *ret = g->pcie_bytes[field - 197];
    else if (field == 185 || field == 186) {
        if (nvmlDeviceGetPowerUsage(device, &value) != NVML_SUCCESS)
            return false;
        *ret = value;
    } else if (field == 230)
        *ret = recovery_action(g);
    else
        return link_value(g, field, scope, ret);
    return true;
}

/* Large counters have 64 bits. */
static bool is_wide(unsigned field)
{
    return (field >= 3 && field <= 6) || field == 83 || field == 191 || field == 138 ||
           field == 139 || field == 197 || field == 198;
}

FUNCTION(nvmlDeviceGetFieldValues, nvmlDevice_t device, int n, struct nvmlFieldValue *values)
{
    struct timespec now = {0};
    ENTER(device, g);

    if (n < 1 || !values)
        return NVML_ERROR_INVALID_ARGUMENT;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < n; i++) {
        struct nvmlFieldValue *v = &values[i];
        unsigned long long value = 0;

        v->timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        v->latencyUsec = 0;
        v->nvmlReturn = field_value(g, device, v->fieldId, v->scopeId, &value)
                            ? NVML_SUCCESS
                            : NVML_ERROR_NOT_SUPPORTED;
        v->valueType = is_wide(v->fieldId) ? NVML_VALUE_UNSIGNED_LONG_LONG : NVML_VALUE_UNSIGNED;
        v->value.ullVal = value;
    }
    return NVML_SUCCESS;
}
