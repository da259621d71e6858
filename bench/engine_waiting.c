/* engine_waiting.c - the cost of waiting workloads: plans, cycles, memory, reasons */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/engine_bench.h"

enum {
    CLASSES = 96
};

/* Adds a job of 1, 2, 4 or 8 whole gpus, of one of CLASSES kinds. */
static void add(struct mete_engine *e, uint64_t id)
{
    static const uint32_t sizes[] = {1, 1, 2, 1, 4, 1, 2, 8};
    uint64_t kind = bench_random() % CLASSES;

    bench_add(e,
              &(struct bench_job){.id = id,
                                  .pods = 1,
                                  .gpus = sizes[kind % 8],
                                  .cpu_milli = 1000 + (int64_t)(kind / 8) * 100,
                                  .limit_ns = (int64_t)(1 + kind % 5) * 3600 * 1000 * NS_PER_MS});
}

struct turns {
    struct mete_engine *e;
    uint64_t next; /* the next id */
    uint64_t n;
    int64_t now_ns;
};

static void one_cycle(void *arg)
{
    struct turns *t = arg;
    struct mete_decisions d;

    mete_cycle(t->e, t->now_ns, 0, &d);
}

static void submits(void *arg)
{
    struct turns *t = arg;
    struct mete_decisions d;

    for (uint64_t i = 0; i < t->n; i++) {
        add(t->e, t->next++);
        mete_cycle(t->e, t->now_ns++, 0, &d);
    }
}

/* Ends the jobs that were placed first, one by one. */
static void ends(void *arg)
{
    struct turns *t = arg;
    struct mete_decisions d;

    for (uint64_t i = 1; i <= t->n; i++) {
        bench_need(mete_workload_remove(t->e, i));
        mete_cycle(t->e, t->now_ns++, 0, &d);
    }
}

/* A full cluster with 10,000 waiting jobs of all kinds, each with a start time: a submit, an end,
 * and a search for earlier start times of all. */
void bench_plan(const struct bench *b)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : 1000;
    struct turns t = {
        .e = bench_cluster(&(struct mete_options){.reserve_depth = METE_RESERVE_ALL}, nodes),
        .next = 1,
        .now_ns = 1,
        .n = 100};

    while (t.next <= nodes * GPUS)
        add(t.e, t.next++);
    one_cycle(&t);
    for (int i = 0; i < 10000; i++)
        add(t.e, t.next++);
    t.now_ns++;
    bench_say_ms("plan_for_10000_waiting", nodes, 1, bench_time(one_cycle, &t));
    bench_say_ms("plan_after_a_submit", nodes, t.n, bench_time(submits, &t));
    bench_say_ms("plan_after_an_end", nodes, t.n, bench_time(ends, &t));
    t.now_ns += 60 * INT64_C(1000) * NS_PER_MS;
    bench_say_ms("plan_improved", nodes, 1, bench_time(one_cycle, &t));
    mete_engine_free(t.e);
}

/* A full cluster with many waiting jobs: a cycle that places nothing, and a cycle after an end. */
void bench_backlog(const struct bench *b)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : 1000;
    struct turns t = {.e = bench_cluster(NULL, nodes), .next = 1, .now_ns = 1, .n = 100};

    while (t.next <= nodes * GPUS + 100000)
        add(t.e, t.next++);
    one_cycle(&t);
    bench_say_ms("submit_behind_100000", nodes, t.n, bench_time(submits, &t));
    bench_say_ms("end_before_100000", nodes, t.n, bench_time(ends, &t));
    mete_engine_free(t.e);
}

/* Sets queues with quotas, in no order of their names. */
static void set_queues(struct turns *t, bool runs)
{
    struct mete_decisions d;
    char name[32];

    for (uint64_t i = 0; i < t->n; i++) {
        const struct mete_quota quota = {"gpu", 1000, METE_UNLIMITED, METE_UNLIMITED};

        (void)snprintf(name, sizeof(name), "team-%05u", (unsigned)(i * 7919 % t->n));
        bench_need(mete_queue_set(
            t->e, &(struct mete_queue){.name = name, .quotas = &quota, .n_quotas = 1}));
        if (runs)
            mete_cycle(t->e, t->now_ns++, 0, &d);
    }
}

static void queues_at_once(void *arg)
{
    set_queues(arg, false);
}

static void queues_one_by_one(void *arg)
{
    set_queues(arg, true);
}

/* Queues that are set beside a job that runs and one that waits: all at once, and with a cycle
 * after each. --turns is their number. */
void bench_queues(const struct bench *b)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : 1;

    for (int i = 0; i < 2; i++) {
        struct turns t = {
            .e = bench_cluster(NULL, nodes), .now_ns = 1, .n = b->turns > 0 ? b->turns : 8000};

        for (uint64_t id = 1; id <= nodes + 1; id++)
            bench_add(t.e, &(struct bench_job){.id = id, .pods = 1, .gpus = GPUS});
        one_cycle(&t);
        bench_say_ms(i == 0 ? "queue_set" : "queue_set_and_a_cycle", nodes, t.n,
                     bench_time(i == 0 ? queues_at_once : queues_one_by_one, &t));
        mete_engine_free(t.e);
    }
}

static double held_bytes(void)
{
    const struct mallinfo2 m = mallinfo2();

    return (double)(m.uordblks + m.hblkhd);
}

void bench_memory(const struct bench *b)
{
    enum {
        WAITING = 1000000
    };
    const size_t nodes = b->nodes > 0 ? b->nodes : 10000;
    double before = held_bytes();
    struct turns t = {.e = bench_cluster(NULL, nodes), .next = 1, .now_ns = 1, .n = 1000};

    bench_say("bytes_of_a_node", nodes, (held_bytes() - before) / (double)nodes, "bytes");
    before = held_bytes();
    while (t.next <= WAITING)
        add(t.e, t.next++);
    bench_say("bytes_of_a_waiting_workload", nodes, (held_bytes() - before) / WAITING, "bytes");
    bench_say_ms("first_cycle_of_a_million", nodes, 1, bench_time(one_cycle, &t));
    bench_say_ms("submit_behind_a_million", nodes, t.n, bench_time(submits, &t));
    bench_say_ms("end_before_a_million", nodes, t.n, bench_time(ends, &t));
    mete_engine_free(t.e);
}

/* Asks for the reasons of `n` jobs, from `next` on. */
static void ask(void *arg)
{
    struct turns *t = arg;
    struct mete_reason r;

    for (uint64_t i = 0; i < t->n; i++)
        bench_need(mete_why(t->e, t->next + i, t->now_ns, &r));
}

static uint64_t find_waiting(struct mete_engine *e, uint32_t position)
{
    struct mete_reason r = {0};
    uint64_t id = 0;

    while (r.position != position)
        bench_need(mete_why_brief(e, ++id, 2, &r));
    return id;
}

/* Reasons of the 100th job, and of jobs so late in the order that the engine estimates no start. */
void bench_why(const struct bench *b)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : 1000;
    struct turns t = {.e = bench_cluster(NULL, nodes), .next = 1, .now_ns = 1, .n = 20};

    while (t.next <= nodes * GPUS * 2)
        add(t.e, t.next++);
    one_cycle(&t);
    t.now_ns++;
    t.next -= t.n;
    bench_say_ms("why_of_the_last", nodes, t.n, bench_time(ask, &t));
    t.n = 1;
    t.next = find_waiting(t.e, 100);
    bench_say_ms("why_of_the_100th", nodes, t.n, bench_time(ask, &t));
    mete_engine_free(t.e);
}
