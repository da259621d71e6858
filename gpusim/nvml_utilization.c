/* nvml_utilization.c - compute of each process on an emulated gpu */

#include "engine.h"
#include "library.h"

FUNCTION(nvmlDeviceGetProcessUtilization, nvmlDevice_t device,
         struct nvmlProcessUtilizationSample *out, unsigned *count, unsigned long long since_us)
{
    struct engine e;
    uint64_t now_ns = clock_ns();
    unsigned room;
    unsigned n = 0;
    ENTER(device, g);

    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    room = out ? *count : 0;
    engine_load(&e, &library_view, view_index(&library_view, g), GPUSIM_WHOLE);
    engine_advance(&e, now_ns);
    for (unsigned i = 0; i < e.n; i++) {
        if (i < room)
            out[i] =
                (struct nvmlProcessUtilizationSample){.pid = client_pid(&library_view, e.slots[i]),
                                                      .timeStamp = now_ns / 1000,
                                                      .smUtil = loads_pct(e.uses[i].loads, now_ns)};
        n++;
    }
    *count = n;
    if (n > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    return n == 0 || since_us >= now_ns / 1000 ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}
