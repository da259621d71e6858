/*
 * replay_engine.c - the policies "engine", "easy" and "conservative"
 *
 * The real engine decides. "engine" takes its order by size, from estimates only, with evictions of
 * later workloads. "easy" and "conservative" take submit times with backfill; estimates serve as
 * time limits, which are not enforced. A job of up to a node's gpus is one pod; a larger job is a
 * gang of whole nodes and a pod for the rest. A preempted job keeps its progress, and pays.
 */

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/queue/sizes.h"
#include "mete/engine.h"
#include "sim/replay_private.h"

enum {
    NODE_NAME_SIZE = 16,
    PERIOD_S = 300 /* time between looks for jobs that outlived their estimates */
};

/* The state of a job. */
struct known_workload {
    int64_t estimate_s;
    int64_t ran_s; /* in earlier runs */
    struct replay_run run;
};

struct live_workload {
    struct replay *r;
    struct mete_engine *engine;
    struct known_workload *known;
    enum replay_policy policy;
    int64_t now_s;
};

static void replay_engine_add_node(struct live_workload *l, uint32_t index)
{
    const uint32_t n_gpus = l->r->options->gpus_per_node;
    struct mete_gpu *gpus = mem_alloc(n_gpus * sizeof(*gpus));
    char(*uuids)[2 * NODE_NAME_SIZE] = mem_alloc(n_gpus * sizeof(*uuids));
    char name[NODE_NAME_SIZE];
    enum mete_result result;

    (void)snprintf(name, sizeof(name), "node-%04" PRIu32, index);
    for (uint32_t i = 0; i < n_gpus; i++) {
        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s/%02" PRIu32, name, i);
        gpus[i] = (struct mete_gpu){.uuid = uuids[i],
                                    .model = "gpu",
                                    .numa_node = -1,
                                    .link_group = -1,
                                    .is_healthy = true};
    }
    result = mete_node_set(
        l->engine,
        &(struct mete_node){.name = name, .gpus = gpus, .n_gpus = n_gpus, .is_ready = true});
    assert(result == METE_OK);
    (void)result;
    free(gpus);
    free(uuids);
}

size_t replay_pod_sets(uint32_t gpus, uint32_t most, struct mete_pod_set ret[2])
{
    const uint32_t whole = gpus > most && most > 0 ? gpus / most : 0;
    const uint32_t rest = gpus - whole * most;
    size_t n = 0;

    if (whole > 0)
        ret[n++] = (struct mete_pod_set){.name = "nodes", .count = whole, .gpus = most};
    if (rest > 0)
        ret[n++] = (struct mete_pod_set){.name = "rest", .count = 1, .gpus = rest};
    return n;
}

static void live_submit(struct live_workload *l, uint32_t job)
{
    const struct sim_job *j = &l->r->options->jobs[job];
    const bool by_size = l->policy == REPLAY_ENGINE;
    struct mete_pod_set sets[2];
    const size_t n = replay_pod_sets(j->gpus, l->r->options->gpus_per_node, sets);
    enum mete_result result;

    l->known[job] =
        (struct known_workload){.estimate_s = j->estimate_s, .run.remain_s = j->duration_s};
    result =
        mete_workload_add(l->engine, &(struct mete_workload){
                                         .id = (uint64_t)job + 1,
                                         .name = "job",
                                         .submit_ns = replay_ns(j->submit_s),
                                         .is_preemptible = true,
                                         .estimate_ns = replay_ns(j->estimate_s),
                                         .time_limit_ns = by_size ? 0 : replay_ns(j->estimate_s),
                                         .pod_sets = sets,
                                         .n_pod_sets = n,
                                     });
    assert(result == METE_OK);
    (void)result;
}

static void on_end(void *arg, uint32_t job)
{
    struct live_workload *l = arg;

    (void)mete_workload_remove(l->engine,
                               (uint64_t)job + 1); /* the job runs in the engine: never fails */
}

static void live_preempt(struct live_workload *l, uint32_t job)
{
    struct known_workload *k = &l->known[job];
    int64_t estimate_s;

    k->ran_s += replay_preempt(l->r, job, &k->run, l->now_s);
    (void)mete_workload_unplace(l->engine,
                                (uint64_t)job + 1); /* the job runs in the engine: never fails */
    estimate_s = sizes_estimate(k->estimate_s, k->ran_s, 60);
    if (estimate_s == k->estimate_s)
        return;
    k->estimate_s = estimate_s;
    (void)mete_workload_estimate(
        l->engine, (uint64_t)job + 1,
        replay_ns(estimate_s)); /* the job waits in the engine: never fails */
}

/* Runs cycles until the engine decides nothing more. Victims end at once. */
static void live_decide(struct live_workload *l)
{
    VEC(uint32_t) evicted = {0};
    struct mete_decisions d = {.n_placements = 1};

    while (d.n_placements > 0 || evicted.n > 0) {
        VEC_EACH (&evicted, job) {
            live_preempt(l, *job);
        }
        vec_clear(&evicted);
        mete_cycle(l->engine, replay_ns(l->now_s), 0, &d);
        for (size_t i = 0; i < d.n_placements; i++) {
            const uint32_t job = (uint32_t)(d.placements[i].workload - 1);

            l->known[job].run.began_s = l->now_s;
            replay_note_start(l->r, job, l->now_s, l->known[job].run.remain_s);
        }
        for (size_t i = 0; i < d.n_evictions; i++)
            vec_add(&evicted, (uint32_t)(d.evictions[i].workload - 1));
    }
    vec_done(&evicted);
}

static uint32_t depth_of(enum replay_policy policy)
{
    if (policy == REPLAY_ENGINE)
        return METE_RESERVE_NONE;
    return policy == REPLAY_EASY ? 1 : METE_RESERVE_ALL;
}

/* Sets the engine's order by size, with evictions. */
static void order_by_size(struct live_workload *l)
{
    const struct mete_fairness fairness = {.by_size = true, .period_ns = PERIOD_S * NS_PER_SEC};
    const struct mete_queue queue = {.name = "default", .within = METE_PREEMPT_LATER};
    enum mete_result result = mete_fairness_set(l->engine, &fairness);

    assert(result == METE_OK);
    result = mete_queue_set(l->engine, &queue);
    assert(result == METE_OK);
    (void)result;
}

static void live_set_up(struct live_workload *l)
{
    const struct mete_options options = {.reserve_depth = depth_of(l->policy)};

    l->engine = mete_engine_new(&options);
    if (l->policy == REPLAY_ENGINE)
        order_by_size(l);
    for (uint32_t i = 0; i < l->r->options->nodes; i++)
        replay_engine_add_node(l, i);
}

void replay_engine(struct replay *r, enum replay_policy policy)
{
    struct live_workload l = {
        .r = r, .policy = policy, .known = mem_alloc(r->options->n * sizeof(*l.known))};

    live_set_up(&l);
    while (r->ended < r->options->n) {
        const int64_t end_s = replay_next_end(r);

        l.now_s = replay_next_arrival(r) < end_s ? replay_next_arrival(r) : end_s;
        replay_release(r, l.now_s, on_end, &l);
        for (; replay_next_arrival(r) == l.now_s; r->arrived++)
            live_submit(&l, (uint32_t)r->arrived);
        live_decide(&l);
    }
    mete_engine_free(l.engine);
    free(l.known);
}
