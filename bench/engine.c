/*
 * engine.c - the engine's decisions per second, and its memory
 *
 * bench_engine [FIGURE] [--nodes N] [--turns N] [--pods FILE] [--values FILE] prints one line of
 * JSON for FIGURE, or for each figure. The timed parts do no I/O and use one core. bench/engine
 * runs it, with and without callgrind.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/num.h"
#include "bench/engine_bench.h"

static const struct {
    const char *name;
    bench_fn run;
} figures[] = {
    {"steady_openb", bench_steady_openb},
    {"steady_binpack", bench_steady_binpack},
    {"steady_one_class", bench_steady_one},
    {"steady_shares", bench_steady_shares},
    {"steady_slices", bench_steady_slices},
    {"steady_queues", bench_steady_queues},
    {"gangs", bench_gangs},
    {"gang_preempts", bench_gang_preempts},
    {"plan", bench_plan},
    {"backlog", bench_backlog},
    {"queues", bench_queues},
    {"memory", bench_memory},
    {"why", bench_why},
};

uint64_t bench_random(void)
{
    static uint64_t state = 42;

    state += NUM_SCATTER_STEP;
    return num_scatter(state);
}

void bench_need(enum mete_result result)
{
    if (result != METE_OK)
        abort();
}

void bench_need_not(struct err *e)
{
    if (!e)
        return;
    (void)fprintf(stderr, "bench_engine: %s\n", err_message(e));
    err_free(e);
    exit(1);
}

static void add_node(struct mete_engine *e, size_t i, bool is_flexible)
{
    const struct mete_amount capacity[] = {
        {"cpu", 128000}, {"memory", INT64_C(768) << 30}, {"pods", 110}};
    struct mete_gpu gpus[GPUS];
    char uuids[GPUS][32];
    char name[32];
    char rack[32];
    char block[32];
    const struct mete_label labels[] = {{"rack", rack}, {"block", block}};

    (void)snprintf(name, sizeof(name), "node-%05zu", i);
    (void)snprintf(rack, sizeof(rack), "rack-%03zu", i / 200);
    (void)snprintf(block, sizeof(block), "block-%02zu", i / 1000);
    for (int k = 0; k < GPUS; k++) {
        (void)snprintf(uuids[k], sizeof(uuids[k]), "GPU-%05zu-%d", i, k);
        gpus[k] = (struct mete_gpu){.uuid = uuids[k],
                                    .model = "h100",
                                    .memory_bytes = INT64_C(80) << 30,
                                    .numa_node = k / 4,
                                    .link_group = 0,
                                    .is_healthy = true,
                                    .is_flexible = is_flexible};
    }
    bench_need(mete_node_set(e, &(struct mete_node){.name = name,
                                                    .capacity = capacity,
                                                    .n_capacity = 3,
                                                    .labels = labels,
                                                    .n_labels = 2,
                                                    .gpus = gpus,
                                                    .n_gpus = GPUS,
                                                    .is_ready = true}));
}

static struct mete_engine *cluster(const struct mete_options *options, size_t nodes,
                                   bool is_flexible)
{
    struct mete_engine *e = mete_engine_new(options);

    if (!e)
        abort();
    for (size_t i = 0; i < nodes; i++)
        add_node(e, i, is_flexible);
    return e;
}

struct mete_engine *bench_cluster(const struct mete_options *options, size_t nodes)
{
    return cluster(options, nodes, false);
}

struct mete_engine *bench_flexible_cluster(const struct mete_options *options, size_t nodes)
{
    return cluster(options, nodes, true);
}

void bench_add(struct mete_engine *e, const struct bench_job *job)
{
    const struct mete_amount requests[] = {{"cpu", job->cpu_milli > 0 ? job->cpu_milli : 1000},
                                           {"memory", INT64_C(8) << 30},
                                           {"pods", 1}};
    const struct mete_gpu_ask ask = {.count = 1, .profile = job->profile};
    const struct mete_pod_set set = {.count = job->pods,
                                     .asks = job->profile ? &ask : NULL,
                                     .n_asks = job->profile ? 1 : 0,
                                     .requests = requests,
                                     .n_requests = 3,
                                     .gpus = job->gpus,
                                     .gpu_milli = job->gpu_milli,
                                     .gpu_memory_bytes = job->gpu_bytes};

    bench_need(mete_workload_add(e, &(struct mete_workload){.id = job->id,
                                                            .name = "team/job",
                                                            .queue = job->queue,
                                                            .user = "ann",
                                                            .priority = job->priority,
                                                            .submit_ns = (int64_t)job->id,
                                                            .time_limit_ns = job->limit_ns,
                                                            .is_preemptible = true,
                                                            .pod_sets = &set,
                                                            .n_pod_sets = 1,
                                                            .domains = job->domains,
                                                            .n_domains = job->n_domains}));
}

__attribute__((noinline)) int64_t bench_time(void (*run)(void *arg), void *arg)
{
    struct timespec begin;
    struct timespec end;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    run(arg);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (end.tv_sec - begin.tv_sec) * INT64_C(1000000000) + (end.tv_nsec - begin.tv_nsec);
}

void bench_say_rate(const char *figure, size_t nodes, uint64_t count, int64_t ns)
{
    printf("{\"figure\":\"%s\",\"nodes\":%zu,\"count\":%" PRIu64
           ",\"value\":%.0f,\"unit\":\"1/s\"}\n",
           figure, nodes, count, (double)count * 1e9 / (double)(ns > 0 ? ns : 1));
    (void)fflush(stdout);
}

void bench_say_ms(const char *figure, size_t nodes, uint64_t count, int64_t ns)
{
    printf("{\"figure\":\"%s\",\"nodes\":%zu,\"count\":%" PRIu64
           ",\"value\":%.4f,\"unit\":\"ms\"}\n",
           figure, nodes, count, (double)ns / NS_PER_MS / (double)count);
    (void)fflush(stdout);
}

void bench_say(const char *figure, size_t nodes, double value, const char *unit)
{
    printf("{\"figure\":\"%s\",\"nodes\":%zu,\"value\":%.1f,\"unit\":\"%s\"}\n", figure, nodes,
           value, unit);
    (void)fflush(stdout);
}

static int usage(const char *word)
{
    (void)fprintf(stderr,
                  "bench_engine: '%s': want [FIGURE] [--nodes N] [--turns N] [--pods FILE] "
                  "[--values FILE]\nfigures:",
                  word);
    for (size_t i = 0; i < COUNT(figures); i++)
        (void)fprintf(stderr, " %s", figures[i].name);
    (void)fputc('\n', stderr);
    return 2;
}

static int64_t number(const char *text)
{
    int64_t ret = 0;

    bench_need_not(num_parse_int64(str_of(text), 1, 100000000, &ret));
    return ret;
}

static bool is_figure(const char *name)
{
    for (size_t i = 0; i < COUNT(figures); i++)
        if (strcmp(figures[i].name, name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct bench b = {0};

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (is_figure(argv[i])) {
            b.figure = argv[i];
            continue;
        }
        if (!value)
            return usage(argv[i]);
        if (strcmp(argv[i], "--nodes") == 0)
            b.nodes = (size_t)number(value);
        else if (strcmp(argv[i], "--turns") == 0)
            b.turns = (uint64_t)number(value);
        else if (strcmp(argv[i], "--pods") == 0)
            b.pods = value;
        else if (strcmp(argv[i], "--values") == 0)
            b.values = value;
        else
            return usage(argv[i]);
        i++;
    }
    for (size_t i = 0; i < COUNT(figures); i++)
        if (!b.figure || strcmp(b.figure, figures[i].name) == 0)
            figures[i].run(&b);
    return 0;
}
