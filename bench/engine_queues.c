/*
 * engine_queues.c - what queues cost: a steady state with many of them, a gang that evicts its way
 * in, a million that wait
 *
 * One JSON line a figure. No I/O in what is timed; one core.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "mete/engine.h"

enum {
    GPUS = 8,
    QUEUES = 64,
};

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void need(enum mete_result result)
{
    if (result != METE_OK)
        abort();
}

static void say(const char *figure, size_t nodes, double value, const char *unit)
{
    printf("{\"bench\":\"engine_queues\",\"figure\":\"%s\",\"nodes\":%zu,\"value\":%.1f,\"unit\":"
           "\"%s\"}\n",
           figure, nodes, value, unit);
}

static struct mete_engine *cluster(size_t n_nodes, uint32_t reserve_depth)
{
    const struct mete_amount capacity[] = {{"cpu", 96000}, {"pods", 110}};
    struct mete_engine *e = mete_engine_new(&(struct mete_options){.reserve_depth = reserve_depth});

    for (size_t i = 0; i < n_nodes; i++) {
        struct mete_gpu gpus[GPUS];
        char uuids[GPUS][64];
        char name[32];

        (void)snprintf(name, sizeof(name), "node-%05zu", i);
        for (int k = 0; k < GPUS; k++) {
            (void)snprintf(uuids[k], sizeof(uuids[k]), "GPU-%05zu-%d", i, k);
            gpus[k] = (struct mete_gpu){
                .uuid = uuids[k], .model = "h100", .numa_node = k / 4, .is_healthy = true};
        }
        need(mete_node_set(e, &(struct mete_node){.name = name,
                                                  .capacity = capacity,
                                                  .n_capacity = 2,
                                                  .gpus = gpus,
                                                  .n_gpus = GPUS,
                                                  .is_ready = true}));
    }
    return e;
}

static void put_queue(struct mete_engine *e, const char *name, int64_t nominal_milli)
{
    const struct mete_quota quota = {"gpu", nominal_milli, METE_UNLIMITED, METE_UNLIMITED};

    need(mete_queue_set(
        e, &(struct mete_queue){
               .name = name, .quotas = &quota, .n_quotas = 1, .reclaim = METE_PREEMPT_ANY}));
}

static void add_job(struct mete_engine *e, uint64_t id, const char *queue, uint32_t pods,
                    uint32_t gpus)
{
    const struct mete_amount requests[] = {{"cpu", 1000}, {"pods", 1}};
    const struct mete_pod_set set = {
        .count = pods, .requests = requests, .n_requests = 2, .gpus = gpus};

    need(mete_workload_add(e, &(struct mete_workload){.id = id,
                                                      .name = "a/b",
                                                      .queue = queue,
                                                      .user = "ann",
                                                      .submit_ns = (int64_t)id,
                                                      .is_preemptible = true,
                                                      .pod_sets = &set,
                                                      .n_pod_sets = 1}));
}

/* Full, with jobs of all queues waiting: one ends, the one whose turn it is starts. Plans for later
 * are measured by engine_cycle. */
static void steady(size_t n_nodes, int turns)
{
    struct mete_engine *e = cluster(n_nodes, METE_RESERVE_NONE);
    char names[QUEUES][16];
    uint64_t *running = mem_alloc(n_nodes * GPUS * sizeof(*running));
    struct mete_decisions d;
    size_t n_running = 0;
    uint64_t placed = 0;
    uint64_t id = 1;
    int64_t start_ns;

    for (int i = 0; i < QUEUES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "team-%02d", i);
        put_queue(e, names[i], i % 2 ? 4000 : 0);
    }
    for (size_t i = 0; i < 2 * n_nodes * GPUS; i++, id++)
        add_job(e, id, names[id * 7 % QUEUES], 1, 1);
    mete_cycle(e, 1, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++)
        running[n_running++] = d.placements[i].workload;
    start_ns = now_ns();
    for (int i = 0; i < turns; i++, id++) {
        size_t at = (size_t)i * 7919 % n_running;

        add_job(e, id, names[id * 7 % QUEUES], 1, 1);
        need(mete_workload_remove(e, running[at]));
        mete_cycle(e, i + 2, 0, &d);
        running[at] = d.n_placements > 0 ? d.placements[0].workload : 0;
        if (d.n_placements != 1)
            abort();
        placed += d.n_placements;
    }
    say("decisions_per_second_64_queues", n_nodes,
        (double)placed * 1e9 / (double)(now_ns() - start_ns), "1/s");
    free(running);
    mete_engine_free(e);
}

/* All gpus are borrowed; a gang of 512 pods comes to take back what its queue owns. */
static void gang(size_t n_nodes)
{
    struct mete_engine *e = cluster(n_nodes, 1);
    struct mete_decisions d;
    uint64_t id = 1;
    int64_t start_ns;

    put_queue(e, "owner", (int64_t)n_nodes * GPUS * 1000);
    put_queue(e, "borrower", 0);
    for (; id <= n_nodes * GPUS; id++)
        add_job(e, id, "borrower", 1, 1);
    mete_cycle(e, 1, 0, &d);
    add_job(e, id, "owner", 512, 4);
    start_ns = now_ns();
    mete_cycle(e, 1000000000, 0, &d);
    say("gang_of_512_evicts_its_way_in", n_nodes, (double)(now_ns() - start_ns) / 1e6, "ms");
    say("evictions", n_nodes, (double)d.n_evictions, "1");
    mete_engine_free(e);
}

static void million(size_t n_nodes)
{
    enum {
        WAITING = 1000000,
        TURNS = 1000,
    };
    struct mete_engine *e = cluster(n_nodes, 1);
    size_t before = mallinfo2().uordblks;
    struct mete_decisions d;
    int64_t start_ns;

    put_queue(e, "team", 8000);
    for (uint64_t id = 1; id <= WAITING; id++)
        add_job(e, id, "team", 1, 1 + (uint32_t)(id % 8));
    say("bytes_a_waiting_workload", n_nodes,
        (double)(mallinfo2().uordblks - before) / (double)WAITING, "bytes");
    mete_cycle(e, 1, 0, &d);
    start_ns = now_ns();
    for (uint64_t i = 1; i <= TURNS; i++) {
        add_job(e, WAITING + i, "team", 1, 1);
        mete_cycle(e, 2, 0, &d);
    }
    say("submit_behind_a_million", n_nodes, (double)(now_ns() - start_ns) / 1e3 / TURNS, "us");
    mete_engine_free(e);
}

int main(void)
{
    steady(1000, 20000);
    gang(5000);
    million(1000);
    return 0;
}
