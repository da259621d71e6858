/* nvml_utilization.c - compute of each process on an emulated gpu */

#include <time.h>

#include "engine.h"
#include "library.h"

/* NVML's time stamps are microseconds since 1970. */
static unsigned long long stamp_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

FUNCTION(nvmlDeviceGetProcessUtilization, nvmlDevice_t device,
         struct nvmlProcessUtilizationSample *out, unsigned *count, unsigned long long since_us)
{
    struct engine e;
    uint64_t now_ns = clock_ns();
    unsigned long long now_us = stamp_us();
    unsigned room;
    unsigned n = 0;
    ENTER(device, g);

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    room = out ? *count : 0;
    engine_load(&e, &library_view, view_index(&library_view, g), GPUSIM_WHOLE);
    engine_advance(&e, now_ns);
    for (unsigned i = 0; i < e.n; i++) {
        if (i < room)
            out[i] =
                (struct nvmlProcessUtilizationSample){.pid = client_pid(&library_view, e.slots[i]),
                                                      .timeStamp = now_us,
                                                      .smUtil = loads_pct(e.uses[i].loads, now_ns)};
        n++;
    }
    *count = n;
    if (n > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    return n == 0 || since_us >= now_us ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}
