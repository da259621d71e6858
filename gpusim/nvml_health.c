/* nvml_health.c - ECC, row remapping, throttling, limits and board of an emulated gpu */

#include "library.h"

enum {
    ECC_TYPES = 2,
    ECC_COUNTERS = 2,
    LOCATION_DRAM = 2,
    LOCATIONS = 8
};

/* ---- memory errors ---- */

/* Boards with reserved memory have ECC, always on. */
FUNCTION(nvmlDeviceGetEccMode, nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    ENTER(device, g);

    if (!current || !pending)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (g->memory_reserved_bytes == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *current = 1;
    *pending = 1;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetDefaultEccMode, nvmlDevice_t device, unsigned *out)
{
    unsigned pending = 0;

    return out ? nvmlDeviceGetEccMode(device, out, &pending) : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetTotalEccErrors, nvmlDevice_t device, unsigned type, unsigned counter,
         unsigned long long *out)
{
    ENTER(device, g);

    if (!out || type >= ECC_TYPES || counter >= ECC_COUNTERS)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = g->ecc[type][counter];
    return NVML_SUCCESS;
}

/* All emulated errors are of the device memory. */
FUNCTION(nvmlDeviceGetMemoryErrorCounter, nvmlDevice_t device, unsigned type, unsigned counter,
         unsigned location, unsigned long long *out)
{
    ENTER(device, g);

    if (!out || type >= ECC_TYPES || counter >= ECC_COUNTERS || location >= LOCATIONS)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = location == LOCATION_DRAM ? g->ecc[type][counter] : 0;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetRemappedRows, nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
         unsigned *is_pending, unsigned *has_failed)
{
    ENTER(device, g);

    if (!corrected || !uncorrected || !is_pending || !has_failed)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (g->mig_mode || g->architecture < 7)
        return NVML_ERROR_NOT_SUPPORTED;
    *corrected = g->remapped[0];
    *uncorrected = g->remapped[1];
    *is_pending = g->remapped[2];
    *has_failed = g->remapped[3];
    return NVML_SUCCESS;
}

/* ---- throttling and limits ---- */

FUNCTION(nvmlDeviceGetCurrentClocksEventReasons, nvmlDevice_t device, unsigned long long *out)
{
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = g->throttle;
    if (g->throttle == 0 && library_load_of(g) == 0 && g->utilization_pct == 0)
        *out = NVML_CLOCKS_IDLE;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDevice_t device, unsigned long long *out)
{
    return nvmlDeviceGetCurrentClocksEventReasons(device, out);
}

FUNCTION(nvmlDeviceGetSupportedClocksEventReasons, nvmlDevice_t device, unsigned long long *out)
{
    ENTER(device, g);

    (void)g;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = 0x1ff;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetSupportedClocksThrottleReasons, nvmlDevice_t device, unsigned long long *out)
{
    return nvmlDeviceGetSupportedClocksEventReasons(device, out);
}

/* Shutdown, slowdown, memory and gpu in degrees; the acoustic ones are of boards with fans. */
FUNCTION(nvmlDeviceGetTemperatureThreshold, nvmlDevice_t device, unsigned threshold, unsigned *out)
{
    static const unsigned degrees[] = {95, 92, 95, 87};
    ENTER(device, g);

    (void)g;
    if (threshold > 7)
        return NVML_ERROR_INVALID_ARGUMENT;
    return threshold < sizeof(degrees) / sizeof(degrees[0]) ? give(degrees[threshold], out)
                                                            : NVML_ERROR_NOT_SUPPORTED;
}

FUNCTION(nvmlDeviceGetPowerManagementMode, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    (void)g;
    return give(1, out);
}

FUNCTION(nvmlDeviceGetPowerManagementLimitConstraints, nvmlDevice_t device, unsigned *least,
         unsigned *most)
{
    ENTER(device, g);

    if (!least || !most)
        return NVML_ERROR_INVALID_ARGUMENT;
    *least = g->power_limit_mw / 7 * 2;
    *most = g->power_limit_mw;
    return NVML_SUCCESS;
}

/* ---- video engines: no emulated program uses them ---- */

static int give_idle_engine(nvmlDevice_t device, unsigned *out, unsigned *period_us)
{
    ENTER(device, g);

    if (!out || !period_us)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    *out = 0;
    *period_us = 100000;
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceGetEncoderUtilization, nvmlDevice_t device, unsigned *out, unsigned *period_us)
{
    return give_idle_engine(device, out, period_us);
}

FUNCTION(nvmlDeviceGetDecoderUtilization, nvmlDevice_t device, unsigned *out, unsigned *period_us)
{
    return give_idle_engine(device, out, period_us);
}

FUNCTION(nvmlDeviceGetJpgUtilization, nvmlDevice_t device, unsigned *out, unsigned *period_us)
{
    return give_idle_engine(device, out, period_us);
}

FUNCTION(nvmlDeviceGetOfaUtilization, nvmlDevice_t device, unsigned *out, unsigned *period_us)
{
    return give_idle_engine(device, out, period_us);
}

/* ---- the board ---- */

#define BOARD_NUMBER(name, number)                     \
    FUNCTION(name, nvmlDevice_t device, unsigned *out) \
    {                                                  \
        ENTER(device, g);                              \
                                                       \
        (void)g;                                       \
        return give(number, out);                      \
    }

BOARD_NUMBER(nvmlDeviceGetDisplayMode, 0)
BOARD_NUMBER(nvmlDeviceGetDisplayActive, 0)
BOARD_NUMBER(nvmlDeviceGetVirtualizationMode, 0)
BOARD_NUMBER(nvmlDeviceGetMultiGpuBoard, 0)
BOARD_NUMBER(nvmlDeviceGetPcieReplayCounter, (unsigned)g->pcie_replays)
BOARD_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)
BOARD_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 16)

FUNCTION(nvmlDeviceGetPcieThroughput, nvmlDevice_t device, unsigned counter, unsigned *out)
{
    return counter <= 1 ? nvmlDeviceGetDisplayMode(device, out) : NVML_ERROR_INVALID_ARGUMENT;
}

FUNCTION(nvmlDeviceGetMaxPcieLinkGeneration, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give(g->compute_major >= 9 ? 5 : g->compute_major >= 8 ? 4 : 3, out);
}

FUNCTION(nvmlDeviceGetCurrPcieLinkGeneration, nvmlDevice_t device, unsigned *out)
{
    return nvmlDeviceGetMaxPcieLinkGeneration(device, out);
}

FUNCTION(nvmlDeviceGetMemoryBusWidth, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give(g->memory_bus_bits, out);
}

FUNCTION(nvmlDeviceGetNumGpuCores, nvmlDevice_t device, unsigned *out)
{
    bool is_large;
    ENTER(device, g);

    is_large = g->compute_major >= 9 || (g->compute_major == 8 && g->compute_minor > 0);
    return give(g->multiprocessors * (is_large ? 128 : 64), out);
}
