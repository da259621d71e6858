/*
 * engine_steady.c - the steady state: pods come and end on a full cluster
 *
 * The cluster is filled to 90 % of its gpu; then, in turn, a pod comes and others end. A decision
 * is a pod that was placed or did not fit, with the release of its gpus.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "bench/engine_bench.h"
#include "sim/openb_engine.h"
#include "sim/trace_file.h"
#include "sim/value_table.h"

enum {
    FULL_MILLI = 900, /* of each gpu */
    FULL_MILLI_SLICES = 750,
    NODES = 5000,
    TURNS = 100000,
    QUEUES = 64
};

struct live {
    uint64_t id;
    int64_t milli;
};

struct steady {
    struct mete_engine *e;
    struct live *live;
    size_t n_live;
    size_t live_room;
    uint64_t id;
    int64_t used;
    int64_t full;
    int64_t full_milli; /* 0: FULL_MILLI */
    uint64_t turns;
    uint64_t failed;
    /* Submits a pod. Returns its gpu in 1/1000, negative if the pod was not placed. */
    int64_t (*come)(struct steady *s);
    const struct openb *trace;
};

static void come(struct steady *s)
{
    int64_t milli = s->come(s);

    if (milli < 0) {
        s->failed++;
        return;
    }
    if (s->n_live == s->live_room) {
        s->live_room = s->live_room * 2 + 1024;
        s->live = mem_realloc(s->live, s->live_room * sizeof(*s->live));
    }
    s->live[s->n_live++] = (struct live){s->id, milli};
    s->used += milli;
}

static void end_one(struct steady *s)
{
    size_t i = bench_random() % s->n_live;

    bench_need(mete_workload_remove(s->e, s->live[i].id));
    s->used -= s->live[i].milli;
    s->live[i] = s->live[--s->n_live];
}

static void turn(struct steady *s)
{
    come(s);
    while (s->used > s->full)
        end_one(s);
}

static void turns(void *arg)
{
    struct steady *s = arg;

    for (uint64_t i = 0; i < s->turns; i++)
        turn(s);
}

static void measure(struct steady *s, const char *figure, size_t nodes, uint64_t n_turns)
{
    int64_t ns;

    s->full = (int64_t)nodes * GPUS * (s->full_milli > 0 ? s->full_milli : FULL_MILLI);
    while (s->used < s->full)
        come(s);
    for (s->turns = n_turns / 10; s->turns > 0; s->turns--)
        turn(s);
    s->turns = n_turns;
    s->failed = 0;
    ns = bench_time(turns, s);
    bench_say_rate(figure, nodes, n_turns, ns);
    if (s->failed > n_turns / 4)
        abort(); /* not a steady state */
    mete_engine_free(s->e);
    free(s->live);
}

/* Writes 96 kinds of pods like those of an openb trace, for runs without a trace. */
static void make_pods(struct buf *to)
{
    static const unsigned milli[] = {1000, 1000, 1000, 100, 200, 300, 500, 650};
    static const unsigned cpus[] = {2000, 4000, 6000, 8000, 11400, 16000};

    buf_add_text(to, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n");
    for (unsigned i = 0; i < 8000; i++) {
        uint64_t r = bench_random();
        unsigned cpu = cpus[r % 6];
        unsigned gpus = r >> 8 & 7 ? 1 : 1U << (r >> 16 & 3);
        unsigned share = gpus > 1 ? 1000 : milli[r >> 24 & 7];

        if ((r >> 32) % 8 == 0)
            gpus = share = 0;
        buf_printf(to, "p%u,%u,%u,%u,%u,\n", i, cpu * (gpus > 1 ? gpus : 1),
                   cpu * (unsigned)(2 + (r >> 40 & 1)), gpus, share);
    }
}

static struct openb *read_trace(const struct bench *b, size_t nodes)
{
    struct openb *o = openb_new();
    struct buf text = {0};

    buf_add_text(&text, "sn,cpu_milli,memory_mib,gpu,model\n");
    for (size_t i = 0; i < nodes; i++)
        buf_printf(&text, "n%zu,128000,786432,%d,G2\n", i, GPUS);
    bench_need_not(openb_read_nodes(o, "nodes", (struct str){text.at, text.size}));
    buf_done(&text);
    text = (struct buf){0};
    if (b->pods)
        bench_need_not(trace_file_read(b->pods, &text));
    else
        make_pods(&text);
    bench_need_not(
        openb_read_pods(o, b->pods ? b->pods : "pods", (struct str){text.at, text.size}));
    buf_done(&text);
    return o;
}

static void set_values(const struct bench *b, struct mete_engine *e)
{
    struct buf text = {0};
    AUTO(value_table_freep) struct value_table *table = NULL;
    struct mete_values values;

    if (!b->values)
        return;
    bench_need_not(trace_file_read(b->values, &text));
    bench_need_not(value_table_parse(b->values, (struct str){text.at, text.size}, &table));
    values = value_table_view(table);
    bench_need(mete_values_set(e, &values));
    buf_done(&text);
}

static int64_t come_openb(struct steady *s)
{
    const struct openb_pod *p = &openb_pods(s->trace)[bench_random() % openb_pod_count(s->trace)];
    bool is_placed = false;

    s->id++;
    bench_need_not(openb_engine_try(s->e, p, s->id, (int64_t)s->id, &is_placed));
    return is_placed ? (int64_t)p->gpus * p->gpu_milli : -1;
}

static void steady_openb(const struct bench *b, const char *policy, const char *figure)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : NODES;
    AUTO(openb_freep) struct openb *o = read_trace(b, nodes);
    AUTO_FREE uint32_t *ranks = mem_alloc(nodes * sizeof(*ranks));
    const struct openb_list list = {.items = ranks, .n = nodes};
    const struct mete_options options = {.policy = policy, .reserve_depth = METE_RESERVE_NONE};
    struct steady s = {.trace = o, .come = come_openb};

    for (uint32_t i = 0; i < nodes; i++)
        ranks[i] = i;
    bench_need_not(openb_engine_new(o, &options, &list, &s.e));
    set_values(b, s.e);
    measure(&s, figure, nodes, b->turns > 0 ? b->turns : TURNS);
}

void bench_steady_openb(const struct bench *b)
{
    steady_openb(b, "mete", "steady_openb_mete");
}

void bench_steady_binpack(const struct bench *b)
{
    steady_openb(b, "binpack", "steady_openb_binpack");
}

/* As openb_engine_try, for a bench_job. */
static int64_t try(struct steady *s, struct bench_job job)
{
    struct mete_decisions d;

    job.id = ++s->id;
    job.pods = 1;
    bench_add(s->e, &job);
    mete_cycle(s->e, (int64_t)job.id, 0, &d);
    if (d.n_placements > 0)
        return (int64_t)job.gpus * (job.gpu_milli > 0 ? job.gpu_milli : 1000);
    bench_need(mete_workload_remove(s->e, job.id));
    return -1;
}

static int64_t come_whole(struct steady *s)
{
    return try(s, (struct bench_job){.gpus = 1});
}

/* A share of a fifth, a third, a half or three quarters, with memory in proportion or in bytes. */
static int64_t come_share(struct steady *s)
{
    static const uint32_t milli[] = {200, 333, 500, 750};
    uint64_t r = bench_random();
    uint32_t share = milli[r % 4];

    return try(s, (struct bench_job){
                      .gpus = 1, .gpu_milli = share, .gpu_bytes = r & 16 ? 0 : (INT64_C(8) << 30)});
}

/* Slices of an H100, in the mix of a cluster of notebooks and small services. A full gpu has
 * unusable parts: 3g and 3g leave a slice of compute. So FULL_MILLI_SLICES is smaller. */
static int64_t come_slice(struct steady *s)
{
    static const struct {
        const char *profile;
        int64_t milli;
    } kinds[] = {{"1g.10gb", 142}, {"1g.10gb", 142}, {"1g.10gb", 142}, {"1g.20gb", 142},
                 {"2g.20gb", 285}, {"2g.20gb", 285}, {"3g.40gb", 428}, {"4g.40gb", 571}};
    uint64_t i = bench_random() % (COUNT(kinds));

    return try(s, (struct bench_job){.profile = kinds[i].profile}) < 0 ? -1 : kinds[i].milli;
}

void bench_steady_slices(const struct bench *b)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : NODES;
    struct steady s = {.e = bench_flexible_cluster(
                           &(struct mete_options){.reserve_depth = METE_RESERVE_NONE}, nodes),
                       .full_milli = FULL_MILLI_SLICES,
                       .come = come_slice};

    measure(&s, "steady_slices", nodes, b->turns > 0 ? b->turns : TURNS);
}

static void steady(const struct bench *b, const char *figure, int64_t (*fn)(struct steady *s))
{
    const size_t nodes = b->nodes > 0 ? b->nodes : NODES;
    struct steady s = {
        .e = bench_cluster(&(struct mete_options){.reserve_depth = METE_RESERVE_NONE}, nodes),
        .come = fn};

    measure(&s, figure, nodes, b->turns > 0 ? b->turns : TURNS);
}

void bench_steady_one(const struct bench *b)
{
    steady(b, "steady_one_class", come_whole);
}

void bench_steady_shares(const struct bench *b)
{
    steady(b, "steady_shares", come_share);
}

/* A full cluster with waiting jobs in all queues: a job ends, and the next one in turn starts. */
struct queues {
    struct mete_engine *e;
    char names[QUEUES][16];
    uint64_t *running;
    size_t n_running;
    uint64_t id;
    uint64_t turns;
};

static void add_to_queue(struct queues *s)
{
    s->id++;
    bench_add(s->e, &(struct bench_job){
                        .id = s->id, .queue = s->names[s->id * 7 % QUEUES], .pods = 1, .gpus = 1});
}

static void queue_turns(void *arg)
{
    struct queues *s = arg;
    struct mete_decisions d;

    for (uint64_t i = 0; i < s->turns; i++) {
        uint64_t *at = &s->running[i * 7919 % s->n_running];

        add_to_queue(s);
        bench_need(mete_workload_remove(s->e, *at));
        mete_cycle(s->e, (int64_t)i + 2, 0, &d);
        if (d.n_placements != 1)
            abort();
        *at = d.placements[0].workload;
    }
}

void bench_steady_queues(const struct bench *b)
{
    const size_t nodes = b->nodes > 0 ? b->nodes : 1000;
    struct queues s = {
        .e = bench_cluster(&(struct mete_options){.reserve_depth = METE_RESERVE_NONE}, nodes),
        .turns = b->turns > 0 ? b->turns : 20000};
    struct mete_decisions d;

    for (int i = 0; i < QUEUES; i++) {
        const struct mete_quota quota = {"gpu", i % 2 ? 4000 : 0, METE_UNLIMITED, METE_UNLIMITED};

        (void)snprintf(s.names[i], sizeof(s.names[i]), "team-%02d", i);
        bench_need(mete_queue_set(s.e, &(struct mete_queue){.name = s.names[i],
                                                            .quotas = &quota,
                                                            .n_quotas = 1,
                                                            .reclaim = METE_PREEMPT_ANY}));
    }
    for (size_t i = 0; i < 2 * nodes * GPUS; i++)
        add_to_queue(&s);
    mete_cycle(s.e, 1, 0, &d);
    s.running = mem_alloc((d.n_placements + 1) * sizeof(*s.running));
    for (size_t i = 0; i < d.n_placements; i++)
        s.running[s.n_running++] = d.placements[i].workload;
    bench_say_rate("steady_64_queues", nodes, s.turns, bench_time(queue_turns, &s));
    free(s.running);
    mete_engine_free(s.e);
}
