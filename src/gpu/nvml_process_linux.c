/* nvml_process_linux.c - the processes on a gpu or slice, and what they use of it, by NVML */

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "gpu/nvml_private.h"

enum {
    READINGS_MAX = 4096,
    SINCE_US = 1000000 /* the first question is about the last second */
};

void nvml_process_load(struct gpu_driver *d)
{
    LOAD(d, process.compute, "nvmlDeviceGetComputeRunningProcesses_v3",
         "nvmlDeviceGetComputeRunningProcesses_v2");
    LOAD(d, process.graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3",
         "nvmlDeviceGetGraphicsRunningProcesses_v2");
    LOAD(d, process.mps, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
         "nvmlDeviceGetMPSComputeRunningProcesses_v2");
    LOAD(d, process.use, "nvmlDeviceGetProcessUtilization", NULL);
}

/* The mean of a process's readings; a process without a reading used nothing. */
static void process_add_use(struct gpu_process *p, const struct nvmlProcessUtilizationSample *all,
                            unsigned n)
{
    int64_t sum = 0;
    int64_t count = 0;

    for (unsigned i = 0; i < n; i++) {
        if (all[i].pid != p->pid)
            continue;
        sum += all[i].smUtil;
        count++;
    }
    p->sm_milli = count > 0 ? (int)(sum * 10 / count) : 0;
}

/* Returns NVML's code. */
static int processes_read_use(struct gpu_driver *d, nvmlDevice_t device,
                              unsigned long long *since_us, struct gpu_process *list, size_t n)
{
    struct nvmlProcessUtilizationSample *all = d->readings;
    unsigned long long newest = *since_us;
    unsigned n_readings = READINGS_MAX;
    int code;

    if (!all)
        all = d->readings = mem_alloc(READINGS_MAX * sizeof(*all));
    code = CALL(d->process.use, device, all, &n_readings, *since_us);
    if (code == NVML_ERROR_NOT_FOUND) /* no reading since then */
        n_readings = 0;
    else if (code != NVML_SUCCESS)
        return code;
    for (unsigned i = 0; i < n_readings; i++)
        if (all[i].timeStamp > newest)
            newest = all[i].timeStamp;
    for (size_t i = 0; i < n; i++)
        process_add_use(&list[i], all, n_readings);
    *since_us = newest;
    return NVML_SUCCESS;
}

static struct gpu_process process_of(const struct nvmlProcessInfo *p, int slice)
{
    return (struct gpu_process){.pid = p->pid,
                                .slice = slice,
                                .memory_bytes =
                                    p->usedGpuMemory > INT64_MAX ? -1 : (int64_t)p->usedGpuMemory,
                                .sm_milli = -1};
}

struct err *gpu_driver_processes(struct gpu_driver *d, unsigned index, unsigned long long *since_us,
                                 struct gpu_process *ret, size_t max, size_t *ret_count)
{
    struct nvmlProcessInfo list[GPU_PROCESSES_MAX];
    nvmlDevice_t device = NULL;
    unsigned n = GPU_PROCESSES_MAX;
    int code;

    TRY(nvml_device_at(d, index, &device));
    code = CALL(d->process.compute, device, &n, list);
    if (code != NVML_SUCCESS)
        return nvml_error(d, code, "processes");
    if (n > max)
        n = (unsigned)max;
    for (unsigned i = 0; i < n; i++)
        ret[i] = process_of(&list[i], -1);
    (void)processes_read_use(d, device, since_us, ret, n); /* a driver may not tell */
    *ret_count = n;
    return NULL;
}

/* ---- of a sample ---- */

static bool reading_has(const struct gpu_reading *r, size_t first, unsigned pid)
{
    for (size_t i = first; i < r->n_processes; i++)
        if (r->processes[i].pid == pid)
            return true;
    return false;
}

/* Adds the processes of one of NVML's lists; one process may be in several. */
static int reading_add_list(int (*call)(nvmlDevice_t, unsigned *, struct nvmlProcessInfo *),
                            nvmlDevice_t device, int slice, size_t first, struct gpu_reading *r)
{
    struct nvmlProcessInfo list[GPU_PROCESSES_MAX];
    unsigned n = GPU_PROCESSES_MAX;
    int code = CALL(call, device, &n, list);

    if (code != NVML_SUCCESS)
        return code;
    for (unsigned i = 0; i < n && r->n_processes < GPU_PROCESSES_MAX; i++)
        if (!reading_has(r, first, list[i].pid))
            r->processes[r->n_processes++] = process_of(&list[i], slice);
    return NVML_SUCCESS;
}

/* Few gpus have processes of these kinds. */
static void reading_add_others(struct gpu_driver *d, struct nvml_meter *m, nvmlDevice_t device,
                               size_t first, struct gpu_reading *r)
{
    size_t before = r->n_processes;

    (void)reading_add_list(d->process.graphics, device, -1, first, r);
    (void)reading_add_list(d->process.mps, device, -1, first, r);
    m->has_others = r->n_processes > before;
}

static unsigned long long process_now_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

int64_t nvml_processes_add(struct gpu_driver *d, struct nvml_meter *m, nvmlDevice_t device,
                           int slice, struct gpu_reading *r)
{
    const uint64_t use = UINT64_C(1) << ASK_PROCESS_USE;
    size_t first = r->n_processes;
    int code = reading_add_list(d->process.compute, device, slice, first, r);

    if (code != NVML_SUCCESS)
        return GPU_VALUE_UNKNOWN;
    if (slice < 0 && (m->has_others || m->n_samples % NVML_SLOW_ROUNDS == 0))
        reading_add_others(d, m, device, first, r);
    if (slice < 0 && r->n_processes > first && !(m->refused & use)) {
        if (m->since_us == 0)
            m->since_us = process_now_us() - SINCE_US;
        if (processes_read_use(d, device, &m->since_us, &r->processes[first],
                               r->n_processes - first) == NVML_ERROR_NOT_SUPPORTED)
            m->refused |= use;
    }
    return (int64_t)(r->n_processes - first);
}
