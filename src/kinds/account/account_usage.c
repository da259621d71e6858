/* account_usage.c - usages of attempts: in JSON, and added up */

#include <stddef.h>

#include "kinds/account/account.h"

/* The members of a usage, with their names in JSON. */
static const struct {
    const char *name;
    size_t offset; /* of an int64_t */
} usage_fields[] = {
    {"cpuNs", offsetof(struct account_usage, cpu_ns)},
    {"memoryKibSeconds", offsetof(struct account_usage, memory_kib_seconds)},
    {"memoryPeakBytes", offsetof(struct account_usage, memory_peak_bytes)},
    {"gpuBusyNs", offsetof(struct account_usage, gpu_busy_ns)},
    {"gpuIdleNs", offsetof(struct account_usage, gpu_idle_ns)},
    {"gpuEnergyMj", offsetof(struct account_usage, gpu_energy_mj)},
    {"gpuMemoryPeakBytes", offsetof(struct account_usage, gpu_memory_peak_bytes)},
};

static int64_t *usage_at(struct account_usage *u, size_t i)
{
    return (int64_t *)(void *)((char *)u + usage_fields[i].offset);
}

static int64_t usage_value(const struct account_usage *u, size_t i)
{
    return *(const int64_t *)(const void *)((const char *)u + usage_fields[i].offset);
}

void account_usage_format(json_t *o, const struct account_usage *u)
{
    for (size_t i = 0; i < COUNT(usage_fields); i++) {
        int64_t value = usage_value(u, i);

        if (value >= 0)
            json_put_int(o, usage_fields[i].name, value);
    }
}

struct account_usage account_usage_parse(const json_t *o)
{
    struct account_usage u = ACCOUNT_USAGE_UNKNOWN;

    for (size_t i = 0; i < COUNT(usage_fields); i++) {
        int64_t value = json_int(o, usage_fields[i].name, -1);

        *usage_at(&u, i) = value < 0 ? -1 : value;
    }
    return u;
}

void account_usage_add(struct account_usage *sum, const struct account_usage *more)
{
    for (size_t i = 0; i < COUNT(usage_fields); i++) {
        int64_t *to = usage_at(sum, i);
        int64_t value = usage_value(more, i);

        if (value < 0)
            continue;
        if (*to < 0)
            *to = 0;
        if (__builtin_add_overflow(*to, value, to))
            *to = INT64_MAX;
    }
}
