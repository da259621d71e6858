/* usage.c - sums of usage samples */

#include "node/runtime/usage.h"

#include "base/stamp.h"

static int64_t saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Adds `bytes` of memory over `for_ns`. */
static void add_memory(struct usage *u, int64_t bytes, int64_t for_ns)
{
    int64_t kib_ms;

    if (bytes < 0 || for_ns <= 0)
        return;
    if (u->total.memory_kib_seconds < 0)
        u->total.memory_kib_seconds = 0;
    if (__builtin_mul_overflow((bytes + 1023) / 1024, for_ns / NS_PER_MS, &kib_ms))
        kib_ms = INT64_MAX;
    kib_ms = saturated(kib_ms, u->kib_ms);
    u->total.memory_kib_seconds = saturated(u->total.memory_kib_seconds, kib_ms / 1000);
    u->kib_ms = kib_ms % 1000;
}

static void take_totals(struct usage *u, const struct cgroup_stats *s)
{
    int64_t peak = s->memory_peak_bytes > s->memory_bytes ? s->memory_peak_bytes : s->memory_bytes;

    if (s->cpu_ns > u->total.cpu_ns)
        u->total.cpu_ns = s->cpu_ns;
    if (peak > u->total.memory_peak_bytes)
        u->total.memory_peak_bytes = peak;
}

/* Computes the rate; `cpu_ns` is the CPU time at the sample before. */
static void take_rate(struct usage *u, int64_t cpu_ns, int64_t window_ns)
{
    int64_t used_ns = u->total.cpu_ns - cpu_ns;
    int64_t window_us = window_ns / 1000;

    u->rate_nano = -1;
    u->window_ns = window_ns;
    if (u->total.cpu_ns < 0 || cpu_ns < 0 || used_ns < 0 || window_us <= 0 ||
        used_ns > INT64_MAX / 1000000)
        return;
    u->rate_nano = used_ns * 1000000 / window_us;
}

void usage_add(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns)
{
    int64_t before_ns = u->is_known ? u->sampled_ns : began_ns;
    int64_t cpu_ns = u->is_known ? u->total.cpu_ns : 0;
    int64_t memory_bytes = u->is_known ? u->memory_bytes : s->memory_bytes;

    take_totals(u, s);
    add_memory(u, memory_bytes, now_ns - before_ns);
    take_rate(u, cpu_ns, now_ns - before_ns);
    u->memory_bytes = s->memory_bytes;
    u->sampled_ns = now_ns;
    u->is_known = true;
}

void usage_end(struct usage *u, const struct cgroup_stats *s, int64_t began_ns, int64_t now_ns)
{
    int64_t before_ns = u->is_known ? u->sampled_ns : began_ns;
    bool was_known = u->is_known;

    take_totals(u, s);
    add_memory(u, was_known ? u->memory_bytes : u->total.memory_peak_bytes, now_ns - before_ns);
    u->sampled_ns = now_ns;
    u->is_known = true;
}

void usage_add_gpus(struct usage *u, const struct gpu_used *g)
{
    const struct account_usage more = {.cpu_ns = -1,
                                       .memory_kib_seconds = -1,
                                       .memory_peak_bytes = -1,
                                       .gpu_busy_ns = g->busy_ns,
                                       .gpu_idle_ns = g->idle_ns,
                                       .gpu_energy_mj = g->energy_mj,
                                       .gpu_memory_peak_bytes = -1};

    account_usage_add(&u->total, &more);
    if (g->memory_bytes > u->total.gpu_memory_peak_bytes)
        u->total.gpu_memory_peak_bytes = g->memory_bytes;
    if (!g->is_judged)
        return;
    if (g->is_busy || u->gpu_idle_for_ns < 0)
        u->gpu_idle_for_ns = 0;
    if (!g->is_busy)
        u->gpu_idle_for_ns = saturated(u->gpu_idle_for_ns, g->ns);
}

char *usage_format(const struct usage *u)
{
    AUTO(json_freep) json_t *j = json_object();

    account_usage_format(j, &u->total);
    json_put_int(j, "gpuIdleForNs", u->gpu_idle_for_ns);
    if (u->is_known) {
        json_put_int(j, "kibMs", u->kib_ms);
        json_put_int(j, "memoryBytes", u->memory_bytes);
        json_put_int(j, "sampledNs", u->sampled_ns);
    }
    return json_format(j);
}

void usage_parse(struct str text, struct usage *ret)
{
    AUTO(json_freep) json_t *j = NULL;
    AUTO(err_freep) struct err *e = json_parse(text, &j);

    *ret = USAGE_UNKNOWN;
    if (e)
        return;
    ret->total = account_usage_parse(j);
    ret->gpu_idle_for_ns = json_int(j, "gpuIdleForNs", -1);
    if (!json_is_integer(json_object_get(j, "sampledNs")))
        return;
    ret->is_known = true;
    ret->kib_ms = json_int(j, "kibMs", 0);
    ret->memory_bytes = json_int(j, "memoryBytes", -1);
    ret->sampled_ns = json_int(j, "sampledNs", 0);
}
