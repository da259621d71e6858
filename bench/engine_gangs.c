/*
 * engine_gangs.c - how fast gangs find their rack: 5,000 nodes of 8 gpus in racks of 200, 60 % full
 *
 * engine_gangs [NODES]: one JSON line a figure. No I/O in what is timed; one core. A turn is a
 * submit, a cycle that places the gang, and its end; the value is the mean of a turn.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/num.h"
#include "mete/engine.h"

enum {
    GPUS = 8,
    RACK_NODES = 200,
    BLOCK_NODES = 1000
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

static void add_node(struct mete_engine *e, size_t i)
{
    const struct mete_amount capacity[] = {
        {"cpu", 96000}, {"memory", INT64_C(1) << 40}, {"pods", 110}};
    char name[32];
    char rack[32];
    char block[32];
    char uuids[GPUS][64];
    struct mete_gpu gpus[GPUS];
    const struct mete_label labels[] = {{"rack", rack}, {"block", block}};

    (void)snprintf(name, sizeof(name), "node-%05zu", i);
    (void)snprintf(rack, sizeof(rack), "rack-%03zu", i / RACK_NODES);
    (void)snprintf(block, sizeof(block), "block-%02zu", i / BLOCK_NODES);
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
                                             .labels = labels,
                                             .n_labels = 2,
                                             .gpus = gpus,
                                             .n_gpus = GPUS,
                                             .is_ready = true}) != METE_OK)
        abort();
}

struct gang {
    uint32_t pods;
    uint32_t gpus;
    const struct mete_domain *domains;
    size_t n_domains;
};

static void add_gang(struct mete_engine *e, uint64_t id, const struct gang *g)
{
    const struct mete_amount requests[] = {
        {"cpu", 4000}, {"memory", INT64_C(8) << 30}, {"pods", 1}};
    const struct mete_pod_set set = {
        .count = g->pods, .requests = requests, .n_requests = 3, .gpus = g->gpus};

    if (mete_workload_add(e, &(struct mete_workload){.id = id,
                                                     .name = "a/b",
                                                     .submit_ns = (int64_t)id,
                                                     .pod_sets = &set,
                                                     .n_pod_sets = 1,
                                                     .domains = g->domains,
                                                     .n_domains = g->n_domains}) != METE_OK)
        abort();
}

/* Jobs of one pod all over the cluster; then some end, so that what is free is scattered. */
static uint64_t fill(struct mete_engine *e, size_t n_nodes)
{
    static const uint32_t sizes[] = {1, 1, 2, 1, 4, 1, 2, 8};
    uint64_t *ids = mem_alloc(n_nodes * GPUS * sizeof(*ids));
    uint64_t gpus = 0;
    uint64_t id = 0;
    struct mete_decisions d;
    size_t n;

    while (gpus + GPUS <= n_nodes * GPUS) {
        const struct gang one = {.pods = 1, .gpus = sizes[next_random() % 8]};

        ids[id] = id + 1;
        gpus += one.gpus;
        add_gang(e, ++id, &one);
    }
    mete_cycle(e, 1, 0, &d);
    n = id;
    for (size_t i = 0; i < id * 4 / 10; i++) {
        size_t at = next_random() % n;

        if (mete_workload_remove(e, ids[at]) != METE_OK)
            abort();
        ids[at] = ids[--n];
    }
    mete_cycle(e, 2, 0, &d);
    free(ids);
    return id + 1;
}

static void turn(struct mete_engine *e, uint64_t id, const struct gang *g, bool fits)
{
    struct mete_decisions d;

    add_gang(e, id, g);
    mete_cycle(e, (int64_t)id, 0, &d);
    if (d.n_placements != fits || mete_workload_remove(e, id) != METE_OK)
        abort();
}

static void measure(struct mete_engine *e, uint64_t *id, const char *figure, const struct gang *g,
                    bool fits)
{
    int turns = g->pods < 10 ? 2000 : g->pods < 100 ? 200 : 50;
    int64_t start_ns;

    turn(e, (*id)++, g, fits); /* the caches are there */
    start_ns = now_ns();
    for (int i = 0; i < turns; i++)
        turn(e, (*id)++, g, fits);
    printf("{\"bench\":\"engine_gangs\",\"figure\":\"%s\",\"pods\":%u,\"gpus_per_pod\":%u,"
           "\"value\":%.2f,\"unit\":\"us\"}\n",
           figure, g->pods, g->gpus, (double)(now_ns() - start_ns) / 1e3 / turns);
}

static void run(size_t n_nodes)
{
    static const struct mete_domain rack = {"rack", true};
    static const struct mete_domain both[] = {{"rack", false}, {"block", true}};
    const struct mete_options options = {.reserve_depth = METE_RESERVE_NONE};
    struct mete_engine *e = mete_engine_new(&options);
    uint64_t id;

    for (size_t i = 0; i < n_nodes; i++)
        add_node(e, i);
    id = fill(e, n_nodes);
    measure(e, &id, "gang_anywhere", &(struct gang){.pods = 3, .gpus = 1}, true);
    measure(e, &id, "gang_anywhere", &(struct gang){.pods = 64, .gpus = 1}, true);
    measure(e, &id, "gang_anywhere", &(struct gang){.pods = 512, .gpus = 1}, true);
    measure(e, &id, "gang_in_rack", &(struct gang){3, 1, &rack, 1}, true);
    measure(e, &id, "gang_in_rack", &(struct gang){64, 1, &rack, 1}, true);
    measure(e, &id, "gang_in_rack", &(struct gang){512, 1, &rack, 1}, true);
    measure(e, &id, "gang_in_rack", &(struct gang){16, 4, &rack, 1}, true);
    measure(e, &id, "gang_in_rack_else_block", &(struct gang){512, 1, both, 2}, true);
    measure(e, &id, "gang_in_rack_else_block", &(struct gang){1024, 1, both, 2}, true);
    measure(e, &id, "gang_that_fits_in_no_rack", &(struct gang){1200, 1, &rack, 1}, false);
    if (mete_engine_check(e))
        abort();
    mete_engine_free(e);
}

int main(int argc, char **argv)
{
    int64_t nodes = 5000;

    if (argc > 1) {
        struct err *e = num_parse_int64(str_of(argv[1]), BLOCK_NODES, 100000, &nodes);

        if (e) {
            (void)fprintf(stderr, "engine_gangs: %s\n", err_message(e));
            err_free(e);
            return 2;
        }
    }
    run((size_t)nodes);
    return 0;
}
