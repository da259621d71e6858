/* gpu_json.c - gpus and samples as JSON, for the helper's answers and the node's annotation */

#include <stdio.h>
#include <string.h>

#include "gpu/gpu_watch.h"

/* Puts a number; -1 (unknown) becomes null. */
static void put_known(json_t *o, const char *key, int64_t value)
{
    json_put(o, key, value < 0 ? json_null() : json_integer(value));
}

json_t *gpu_format_json(const struct gpu *g)
{
    json_t *o = json_object();

    json_put_text(o, "uuid", g->uuid);
    json_put_int(o, "index", g->index);
    put_known(o, "minor", g->minor);
    json_put_text(o, "product", g->product);
    json_put_text(o, "model", g->model);
    json_put_text(o, "pci", g->pci);
    json_put_text(o, "serial", g->serial);
    put_known(o, "memoryBytes", g->memory_bytes);
    put_known(o, "memoryReservedBytes", g->memory_reserved_bytes);
    put_known(o, "computeMajor", g->compute_major);
    put_known(o, "computeMinor", g->compute_minor);
    put_known(o, "numaNode", g->numa_node);
    put_known(o, "linkGroup", g->link_group);
    json_put_bool(o, "emulated", g->is_emulated);
    json_put_text(o, "health", gpu_health_text(g->health));
    if (g->health_reason[0])
        json_put_text(o, "healthReason", g->health_reason);
    return o;
}

static struct err *read_text(const json_t *o, const char *key, char *out, size_t size)
{
    const char *text = json_text(o, key);

    if (!text)
        text = "";
    if (strlen(text) >= size)
        return err_new(ERR_INVALID, "gpu: %s is longer than %zu bytes", key, size - 1);
    (void)snprintf(out, size, "%s", text);
    return NULL;
}

static struct err *read_health(const json_t *o, struct gpu *g)
{
    static const enum gpu_health all[] = {GPU_HEALTHY, GPU_UNHEALTHY, GPU_NOT_ANSWERING, GPU_LOST};
    const char *text = json_text(o, "health");

    for (size_t i = 0; text && i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(gpu_health_text(all[i]), text) == 0) {
            g->health = all[i];
            return NULL;
        }
    }
    return err_new(ERR_INVALID, "gpu: health '%s' is not known", text ? text : "");
}

struct err *gpu_parse_json(const json_t *j, struct gpu *ret)
{
    struct gpu g = {.index = (int)json_int(j, "index", -1),
                    .minor = (int)json_int(j, "minor", -1),
                    .memory_bytes = json_int(j, "memoryBytes", -1),
                    .memory_reserved_bytes = json_int(j, "memoryReservedBytes", -1),
                    .compute_major = (int)json_int(j, "computeMajor", -1),
                    .compute_minor = (int)json_int(j, "computeMinor", -1),
                    .numa_node = (int)json_int(j, "numaNode", -1),
                    .link_group = (int)json_int(j, "linkGroup", -1),
                    .is_emulated = json_bool(j, "emulated", false)};

    if (!json_is_object(j))
        return err_new(ERR_INVALID, "gpu: want an object");
    TRY(read_text(j, "uuid", g.uuid, sizeof(g.uuid)));
    TRY(read_text(j, "product", g.product, sizeof(g.product)));
    TRY(read_text(j, "model", g.model, sizeof(g.model)));
    TRY(read_text(j, "pci", g.pci, sizeof(g.pci)));
    TRY(read_text(j, "serial", g.serial, sizeof(g.serial)));
    TRY(read_text(j, "healthReason", g.health_reason, sizeof(g.health_reason)));
    TRY(read_health(j, &g));
    if (!g.uuid[0])
        return err_new(ERR_INVALID, "gpu: uuid is missing");
    *ret = g;
    return NULL;
}

json_t *gpu_sample_format_json(const struct gpu_sample *s)
{
    json_t *o = json_object();

    put_known(o, "memoryUsedBytes", s->memory_used_bytes);
    put_known(o, "utilizationPct", s->utilization_pct);
    put_known(o, "memoryUtilizationPct", s->memory_utilization_pct);
    put_known(o, "temperatureC", s->temperature_c);
    put_known(o, "powerMilliwatts", s->power_mw);
    put_known(o, "energyMillijoules", s->energy_mj);
    put_known(o, "smClockMhz", s->sm_clock_mhz);
    put_known(o, "memoryClockMhz", s->memory_clock_mhz);
    put_known(o, "processes", s->n_processes);
    return o;
}

struct gpu_sample gpu_sample_parse_json(const json_t *j)
{
    return (struct gpu_sample){.memory_used_bytes = json_int(j, "memoryUsedBytes", -1),
                               .utilization_pct = (int)json_int(j, "utilizationPct", -1),
                               .memory_utilization_pct =
                                   (int)json_int(j, "memoryUtilizationPct", -1),
                               .temperature_c = (int)json_int(j, "temperatureC", -1),
                               .power_mw = json_int(j, "powerMilliwatts", -1),
                               .energy_mj = json_int(j, "energyMillijoules", -1),
                               .sm_clock_mhz = (int)json_int(j, "smClockMhz", -1),
                               .memory_clock_mhz = (int)json_int(j, "memoryClockMhz", -1),
                               .n_processes = (int)json_int(j, "processes", -1),
                               .xid_last = -1};
}
