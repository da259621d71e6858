/*
 * engine_gangs.c - gangs: placed anywhere, in one rack, or by evictions
 *
 * The cluster has 5,000 nodes in racks of 200 and is 60 % full. Gangs find room anywhere or in one
 * rack; another gang evicts some of 40,000 pods. A turn is a submit, a cycle that places the gang,
 * and its end.
 */

#include <stdlib.h>

#include "base/mem.h"
#include "bench/engine_bench.h"

enum {
    NODES = 5000
};

struct gang {
    const char *figure;
    uint64_t turns;
    uint32_t pods;
    uint32_t gpus;
    const struct mete_domain *domains;
    size_t n_domains;
    bool fits_not;
};

struct turns {
    struct mete_engine *e;
    struct bench_job job;
    const struct gang *gang;
    uint64_t n;
};

static void run(void *arg)
{
    struct turns *t = arg;

    for (uint64_t i = 0; i < t->n; i++) {
        struct mete_decisions d;

        t->job.id++;
        bench_add(t->e, &t->job);
        mete_cycle(t->e, (int64_t)t->job.id, 0, &d);
        if ((d.n_placements == 1) == t->gang->fits_not)
            abort();
        bench_need(mete_workload_remove(t->e, t->job.id));
    }
}

/* Fills the cluster with jobs of one pod and ends some of them, so that the free gpus are
 * scattered. */
static uint64_t fill(struct mete_engine *e, size_t nodes)
{
    static const uint32_t sizes[] = {1, 1, 2, 1, 4, 1, 2, 8};
    AUTO_FREE uint64_t *ids = mem_alloc(nodes * GPUS * sizeof(*ids));
    uint64_t gpus = 0;
    uint64_t id = 0;
    struct mete_decisions d;
    size_t n;

    while (gpus + GPUS <= nodes * GPUS) {
        uint32_t size = sizes[bench_random() % 8];

        ids[id] = id + 1;
        gpus += size;
        bench_add(e, &(struct bench_job){.id = ++id, .pods = 1, .gpus = size});
    }
    mete_cycle(e, 1, 0, &d);
    n = id;
    for (size_t i = 0; i < id * 4 / 10; i++) {
        size_t at = bench_random() % n;

        bench_need(mete_workload_remove(e, ids[at]));
        ids[at] = ids[--n];
    }
    mete_cycle(e, 2, 0, &d);
    return id + 1;
}

void bench_gangs(const struct bench *b)
{
    static const struct mete_domain rack = {"rack", true};
    static const struct mete_domain both[] = {{"rack", false}, {"block", true}};
    static const struct gang gangs[] = {
        {"gang_of_3", 2000, 3, 1, NULL, 0, false},
        {"gang_of_64", 200, 64, 1, NULL, 0, false},
        {"gang_of_512", 50, 512, 1, NULL, 0, false},
        {"gang_of_3_in_rack", 2000, 3, 1, &rack, 1, false},
        {"gang_of_64_in_rack", 200, 64, 1, &rack, 1, false},
        {"gang_of_512_in_rack", 50, 512, 1, &rack, 1, false},
        {"gang_of_1024_in_rack_else_block", 50, 1024, 1, both, 2, false},
        {"gang_of_1200_that_fits_in_no_rack", 50, 1200, 1, &rack, 1, true},
    };
    const size_t nodes = b->nodes > 0 ? b->nodes : NODES;
    struct turns t = {
        .e = bench_cluster(&(struct mete_options){.reserve_depth = METE_RESERVE_NONE}, nodes)};

    t.job.id = fill(t.e, nodes);
    for (size_t i = 0; i < COUNT(gangs); i++) {
        t.gang = &gangs[i];
        t.job.pods = t.gang->pods;
        t.job.gpus = t.gang->gpus;
        t.job.domains = t.gang->domains;
        t.job.n_domains = t.gang->n_domains;
        t.n = 1;
        run(&t); /* fills the caches */
        t.n = b->turns > 0 ? b->turns : t.gang->turns;
        bench_say_ms(t.gang->figure, nodes, t.n, bench_time(run, &t));
    }
    mete_engine_free(t.e);
}

static void put_queue(struct mete_engine *e, const char *name, int64_t nominal_milli)
{
    const struct mete_quota quota = {"gpu", nominal_milli, METE_UNLIMITED, METE_UNLIMITED};

    bench_need(mete_queue_set(
        e, &(struct mete_queue){
               .name = name, .quotas = &quota, .n_quotas = 1, .reclaim = METE_PREEMPT_ANY}));
}

struct preemption {
    struct mete_engine *e;
    size_t evictions;
};

static void preempt(void *arg)
{
    const struct preemption *p = arg;
    struct mete_decisions d;

    mete_cycle(p->e, INT64_C(1000) * NS_PER_MS, 0, &d);
    if (d.n_evictions != p->evictions)
        abort();
}

/* All gpus are borrowed; a gang of 512 pods reclaims its queue's nominal quota. */
static void gang_preempts(const struct bench *b, const char *figure, const struct bench_job *gang)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : NODES;
    struct preemption p = {bench_cluster(NULL, nodes), (size_t)gang->pods * gang->gpus};
    struct bench_job job = *gang;
    struct mete_decisions d;
    uint64_t id = 1;

    put_queue(p.e, "owner", (int64_t)nodes * GPUS * 1000);
    put_queue(p.e, "borrower", 0);
    for (; id <= nodes * GPUS; id++)
        bench_add(p.e, &(struct bench_job){.id = id, .queue = "borrower", .pods = 1, .gpus = 1});
    mete_cycle(p.e, 1, 0, &d);
    job.id = id;
    job.queue = "owner";
    bench_add(p.e, &job);
    bench_say_ms(figure, nodes, 1, bench_time(preempt, &p));
    mete_engine_free(p.e);
}

static void keep_room(void *arg)
{
    struct mete_decisions d;

    mete_cycle(arg, INT64_C(1000) * NS_PER_MS, 0, &d);
    if (d.n_placements != 0)
        abort();
}

/* All gpus are held by jobs with time limits; a gang of 512 pods gets a backfill reservation. */
static void gang_keeps_room(const struct bench *b, const char *figure, const struct bench_job *gang)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : NODES;
    struct mete_engine *e = bench_cluster(NULL, nodes);
    struct bench_job job = *gang;
    struct mete_decisions d;

    for (job.id = 1; job.id <= nodes * GPUS; job.id++)
        bench_add(e, &(struct bench_job){.id = job.id,
                                         .pods = 1,
                                         .gpus = 1,
                                         .limit_ns = (int64_t)(1000 + bench_random() % 100000) *
                                                     NS_PER_MS * 1000});
    mete_cycle(e, 1, 0, &d);
    bench_add(e, &job);
    bench_say_ms(figure, nodes, 1, bench_time(keep_room, e));
    mete_engine_free(e);
}

void bench_gang_preempts(const struct bench *b)
{
    static const struct mete_domain rack = {"rack", true};

    gang_preempts(b, "gang_of_512_preempts", &(struct bench_job){.pods = 512, .gpus = 4});
    gang_preempts(b, "gang_of_512_preempts_in_rack",
                  &(struct bench_job){.pods = 512, .gpus = 2, .domains = &rack, .n_domains = 1});
    gang_keeps_room(b, "gang_of_512_keeps_room", &(struct bench_job){.pods = 512, .gpus = 2});
    gang_keeps_room(b, "gang_of_512_keeps_room_in_rack",
                    &(struct bench_job){.pods = 512, .gpus = 2, .domains = &rack, .n_domains = 1});
}
