/*
 * engine_cycle.c - how fast the engine decides: 1,000 nodes of 8 gpus, 90 % full, jobs ending and
 * coming
 *
 * engine_cycle [NODES]: one JSON line a figure. No I/O in what is timed; one core.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/num.h"
#include "mete/engine.h"

enum {
    GPUS = 8
};

static uint64_t random_state = 42;

/* splitmix64 */
static uint64_t next_random(void)
{
    uint64_t x = random_state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct mete_engine *cluster(size_t n_nodes)
{
    const struct mete_amount capacity[] = {
        {"cpu", 96000}, {"memory", INT64_C(1) << 40}, {"pods", 110}};
    struct mete_engine *e = mete_engine_new(NULL);

    for (size_t i = 0; i < n_nodes; i++) {
        char name[32];
        char uuids[GPUS][64];
        struct mete_gpu gpus[GPUS];

        (void)snprintf(name, sizeof(name), "node-%05zu", i);
        for (int k = 0; k < GPUS; k++) {
            (void)snprintf(uuids[k], sizeof(uuids[k]), "GPU-%05zu-%d", i, k);
            gpus[k] = (struct mete_gpu){.uuid = uuids[k],
                                        .model = "h100",
                                        .numa_node = k / 4,
                                        .link_group = 0,
                                        .is_healthy = true};
        }
        if (mete_node_set(e, &(struct mete_node){.name = name,
                                                 .capacity = capacity,
                                                 .n_capacity = 3,
                                                 .gpus = gpus,
                                                 .n_gpus = GPUS,
                                                 .is_ready = true}) != METE_OK)
            abort();
    }
    return e;
}

/* `kinds` different requests, whole gpus 1, 1, 2, 4 or 8. */
static uint32_t add_job(struct mete_engine *e, uint64_t id, size_t kinds)
{
    static const uint32_t sizes[] = {1, 1, 2, 1, 4, 1, 2, 8};
    size_t kind = next_random() % kinds;
    const struct mete_amount requests[] = {
        {"cpu", 1000 + (int64_t)(kind / 8) * 100}, {"memory", INT64_C(8) << 30}, {"pods", 1}};
    const struct mete_pod_set set = {
        .count = 1, .requests = requests, .n_requests = 3, .gpus = sizes[kind % 8]};
    const struct mete_workload w = {
        .id = id, .name = "a/b", .submit_ns = (int64_t)id, .pod_sets = &set, .n_pod_sets = 1};

    if (mete_workload_add(e, &w) != METE_OK)
        abort();
    return set.gpus;
}

struct running {
    uint64_t *ids;
    uint32_t *gpus; /* by id */
    size_t n;
    uint64_t next_id;
    uint64_t held;
    uint64_t placed;
};

static void cycle(struct mete_engine *e, struct running *r)
{
    struct mete_decisions d;

    mete_cycle(e, (int64_t)r->next_id, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++) {
        r->ids[r->n++] = d.placements[i].workload;
        r->held += r->gpus[d.placements[i].workload];
    }
    r->placed += d.n_placements;
}

static void end_one(struct mete_engine *e, struct running *r)
{
    size_t i = next_random() % r->n;

    r->held -= r->gpus[r->ids[i]];
    if (mete_workload_remove(e, r->ids[i]) != METE_OK)
        abort();
    r->ids[i] = r->ids[--r->n];
}

/* Fills to 90 %, then ends and starts jobs one by one: each turn is a submit, a cycle, and ends. */
static void steady(size_t n_nodes, size_t kinds, uint64_t turns)
{
    uint64_t full = n_nodes * GPUS * 9 / 10;
    struct mete_engine *e = cluster(n_nodes);
    struct running r = {.next_id = 1};
    int64_t start_ns;
    double seconds;

    r.ids = mem_alloc((n_nodes * GPUS + turns + 1) * sizeof(*r.ids));
    r.gpus = mem_alloc((n_nodes * GPUS + 2 * turns + 2) * sizeof(*r.gpus));
    while (r.held < full) {
        r.gpus[r.next_id] = add_job(e, r.next_id, kinds);
        r.next_id++;
        cycle(e, &r);
    }
    r.placed = 0;
    start_ns = now_ns();
    for (uint64_t i = 0; i < turns; i++) {
        r.gpus[r.next_id] = add_job(e, r.next_id, kinds);
        r.next_id++;
        cycle(e, &r);
        while (r.held > full)
            end_one(e, &r);
    }
    seconds = (double)(now_ns() - start_ns) / 1e9;
    printf("{\"bench\":\"engine_cycle\",\"figure\":\"decisions_per_second\",\"nodes\":%zu,\"gpus_"
           "per_node\":%d,"
           "\"kinds\":%zu,\"full_pct\":90,\"decisions\":%" PRIu64
           ",\"value\":%.0f,\"unit\":\"1/s\"}\n",
           n_nodes, GPUS, kinds, r.placed, (double)r.placed / seconds);
    if (mete_engine_check(e))
        abort();
    mete_engine_free(e);
    free(r.ids);
    free(r.gpus);
}

/* A full cluster, many waiting: what a cycle costs that places nothing, and one after a job ended.
 */
static void backlog(size_t n_nodes, size_t waiting, size_t kinds)
{
    struct mete_engine *e = cluster(n_nodes);
    struct mete_decisions d;
    int64_t start_ns;
    uint64_t id = 1;

    for (size_t i = 0; i < n_nodes * GPUS + waiting; i++)
        (void)add_job(e, id++, kinds);
    mete_cycle(e, 1, 0, &d);
    start_ns = now_ns();
    for (int i = 0; i < 100; i++) {
        (void)add_job(e, id++, kinds);
        mete_cycle(e, 2, 0, &d);
    }
    printf("{\"bench\":\"engine_cycle\",\"figure\":\"submit_to_full_cluster\",\"nodes\":%zu,"
           "\"waiting\":%zu,"
           "\"kinds\":%zu,\"value\":%.1f,\"unit\":\"us\"}\n",
           n_nodes, waiting, kinds, (double)(now_ns() - start_ns) / 1e3 / 100);
    start_ns = now_ns();
    for (uint64_t k = 1; k <= 100; k++) {
        (void)mete_workload_remove(e, k);
        mete_cycle(e, 3, 0, &d);
    }
    printf(
        "{\"bench\":\"engine_cycle\",\"figure\":\"end_with_backlog\",\"nodes\":%zu,\"waiting\":%zu,"
        "\"kinds\":%zu,\"value\":%.1f,\"unit\":\"us\"}\n",
        n_nodes, waiting, kinds, (double)(now_ns() - start_ns) / 1e3 / 100);
    mete_engine_free(e);
}

static void why(size_t n_nodes)
{
    struct mete_engine *e = cluster(n_nodes);
    struct mete_decisions d;
    struct mete_reason r;
    int64_t start_ns;
    uint64_t id = 1;

    for (size_t i = 0; i < n_nodes * GPUS * 2; i++)
        (void)add_job(e, id++, 8);
    mete_cycle(e, 1, 0, &d);
    start_ns = now_ns();
    for (uint64_t k = 0; k < 20; k++)
        (void)mete_why(e, id - 1 - k, 2, &r);
    printf("{\"bench\":\"engine_cycle\",\"figure\":\"why\",\"nodes\":%zu,\"value\":%.1f,\"unit\":"
           "\"us\"}\n",
           n_nodes, (double)(now_ns() - start_ns) / 1e3 / 20);
    mete_engine_free(e);
}

int main(int argc, char **argv)
{
    int64_t nodes = 1000;

    if (argc > 1) {
        struct err *e = num_parse_int64(str_of(argv[1]), 1, 100000, &nodes);

        if (e) {
            (void)fprintf(stderr, "engine_cycle: %s\n", err_message(e));
            err_free(e);
            return 2;
        }
    }
    steady((size_t)nodes, 1, 300000);
    steady((size_t)nodes, 8, 300000);
    steady((size_t)nodes, 96, 300000);
    backlog((size_t)nodes, 10000, 8);
    backlog((size_t)nodes, 100000, 96);
    why((size_t)nodes);
    return 0;
}
