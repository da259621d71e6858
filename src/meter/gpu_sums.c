/* gpu_sums.c - the time, energy and memory of gpus, added up */

#include "meter/meter_private.h"

void gpu_sums_add(struct gpu_sums *g, const struct gpu_time *t, const char *model,
                  const struct prices *p)
{
    amount_add(&g->held, t->held_ns);
    amount_add(&g->busy, t->busy_ns);
    amount_add(&g->idle, t->idle_ns);
    amount_add(&g->unknown, t->unknown_ns);
    g->has_times = g->has_times || t->is_known;
    if (!p)
        return;
    g->cost_micro = saturated(g->cost_micro, prices_gpu(p, model, t->held_ns));
    g->idle_cost_micro = saturated(g->idle_cost_micro, prices_gpu(p, model, t->idle_ns));
}

void gpu_sums_add_used(struct gpu_sums *g, const struct account_usage *u)
{
    if (u->gpu_energy_mj >= 0) {
        g->energy_mj = saturated(g->energy_mj, u->gpu_energy_mj);
        g->has_energy = true;
    }
    if (u->gpu_memory_peak_bytes >= 0) {
        if (u->gpu_memory_peak_bytes > g->memory_peak_bytes)
            g->memory_peak_bytes = u->gpu_memory_peak_bytes;
        g->has_memory = true;
    }
}

void gpu_sums_put(json_t *o, const struct gpu_sums *g)
{
    json_put(o, "gpuTime", amount_tree(g->held));
    json_put(o, "gpuBusyTime", g->has_times ? amount_tree(g->busy) : json_null());
    json_put(o, "gpuIdleTime", g->has_times ? amount_tree(g->idle) : json_null());
    json_put(o, "gpuUnknownTime", amount_tree(g->unknown));
    json_put(o, "gpuEnergyMillijoules", g->has_energy ? json_integer(g->energy_mj) : json_null());
    json_put(o, "gpuMemoryPeakBytes",
             g->has_memory ? json_integer(g->memory_peak_bytes) : json_null());
}
