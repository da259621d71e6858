/*
 * nvml_power.c - the work of an emulated gpu, and what follows from it: power, energy, temperature
 *
 * Work takes WORK_PARTS / 4 of the power limit, and heats the gpu by WORK_DEGREES.
 */

#include <time.h>

#include "engine.h"
#include "library.h"

enum {
    WORK_PARTS = 3,
    WORK_DEGREES = 40
};

/* ---- work ---- */

static void engine_now(struct engine *e, const struct gpusim_gpu *g, unsigned engine)
{
    uint64_t now_ns = clock_ns();

    engine_load(e, &library_view, view_index(&library_view, g), engine);
    engine_advance(e, now_ns);
}

/* The part of a number for a compute instance's part of the gpu. */
static uint64_t part_of_compute(const struct gpusim_gpu *g, unsigned compute, uint64_t whole)
{
    return g->mig_slices > 0 ? whole * g->computes[compute].slices / g->mig_slices : 0;
}

unsigned library_load_of(const struct gpusim_gpu *g)
{
    struct engine e;
    uint64_t load = 0;

    if (!g->mig_mode) {
        engine_now(&e, g, GPUSIM_WHOLE);
        return loads_pct(e.state.loads, clock_ns());
    }
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        if (!g->computes[i].is_used)
            continue;
        engine_now(&e, g, 1 + i);
        load += part_of_compute(g, i, (uint64_t)loads_pct(e.state.loads, clock_ns()) * 100);
    }
    return (unsigned)(load + 50) / 100;
}

static uint64_t work_mw(const struct gpusim_gpu *g)
{
    return (uint64_t)g->power_limit_mw * WORK_PARTS / 4;
}

/* The energy that a busy time of the whole gpu takes, beyond that of the idle gpu. */
static uint64_t work_mj(const struct gpusim_gpu *g, uint64_t busy_ns)
{
    return work_mw(g) * (busy_ns / 1000000) / 1000;
}

uint64_t library_compute_mj(const struct gpusim_gpu *g, unsigned compute)
{
    struct engine e;

    engine_now(&e, g, 1 + compute);
    return work_mj(g, part_of_compute(g, compute, e.state.busy_ns));
}

/* ---- power ---- */

FUNCTION(nvmlDeviceGetPowerUsage, nvmlDevice_t device, unsigned *out)
{
    uint64_t power_mw;
    ENTER(device, g);

    power_mw = g->power_mw + work_mw(g) * library_load_of(g) / 100;
    return give(power_mw < g->power_limit_mw || g->power_mw >= g->power_limit_mw
                    ? (unsigned)power_mw
                    : g->power_limit_mw,
                out);
}

FUNCTION(nvmlDeviceGetEnforcedPowerLimit, nvmlDevice_t device, unsigned *out)
{
    ENTER(device, g);

    return give(g->power_limit_mw, out);
}

FUNCTION(nvmlDeviceGetPowerManagementLimit, nvmlDevice_t device, unsigned *out)
{
    return nvmlDeviceGetEnforcedPowerLimit(device, out);
}

FUNCTION(nvmlDeviceGetPowerManagementDefaultLimit, nvmlDevice_t device, unsigned *out)
{
    return nvmlDeviceGetEnforcedPowerLimit(device, out);
}

/*
 * The energy since boot: of the present power without work, and of all work. `energy_mj` makes up
 * for changes of that power, and keeps the work of compute instances that are gone.
 */
FUNCTION(nvmlDeviceGetTotalEnergyConsumption, nvmlDevice_t device, unsigned long long *out)
{
    struct engine e;
    struct timespec now = {0};
    uint64_t now_ms;
    ENTER(device, g);

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    engine_now(&e, g, GPUSIM_WHOLE);
    *out = g->energy_mj + g->power_mw * now_ms / 1000 + work_mj(g, e.state.busy_ns);
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++)
        if (g->computes[i].is_used)
            *out += library_compute_mj(g, i);
    return NVML_SUCCESS;
}

/* ---- temperature ---- */

unsigned library_degrees(const struct gpusim_gpu *g)
{
    return g->temperature_c + WORK_DEGREES * library_load_of(g) / 100;
}

FUNCTION(nvmlDeviceGetTemperature, nvmlDevice_t device, unsigned sensor, unsigned *out)
{
    ENTER(device, g);

    return sensor == NVML_TEMPERATURE_GPU ? give(library_degrees(g), out)
                                          : NVML_ERROR_INVALID_ARGUMENT;
}

/* Version, sensor, degrees. */
struct temperature {
    unsigned version;
    unsigned sensor;
    int degrees;
};

FUNCTION(nvmlDeviceGetTemperatureV, nvmlDevice_t device, struct temperature *out)
{
    ENTER(device, g);

    if (!out || out->sensor != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != 0x0100000c)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    out->degrees = (int)library_degrees(g);
    return NVML_SUCCESS;
}
