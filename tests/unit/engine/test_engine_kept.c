/*
 * test_engine_kept.c - room that is kept is free in time
 *
 * A small case; then random jobs that end at their limits, on random nodes: a job with a backfill
 * reservation starts by the reservation's time. A failing seed is printed; PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/plan/backfill.h"
#include "engine/state.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    NODES = 4,
    JOBS = 30,
    GPUS = 8,
    FIRST_S = 100
};

/* Two of four gpus have room for the share beside the shares of job 1, all the time. */
static void a_share_waits_for_gpus_that_it_could_not_have_before(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    struct mete_decisions d;

    (void)state;
    assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 4}), METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 1, .gpus = 2, .milli = 600, .limit_s = 10}),
                     METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 2, .gpus = 2, .limit_s = 80}), METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 3, .gpus = 3, .milli = 400, .limit_s = 10}),
                     METE_OK);
    mete_cycle(e, 100 * SECOND, 0, &d);
    assert_int_equal(d.n_placements, 2);
    assert_int_equal(backfill_of(e, engine_workload(e, 3))->start_ns, 180 * SECOND);
    mete_engine_free(e);
}

struct model {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    struct job_spec jobs[JOBS + 1];
    int64_t end_s[JOBS + 1];     /* 0: not started */
    int64_t latest_ns[JOBS + 1]; /* the job starts by this time */
    size_t n_kept;
};

static const char *const names[NODES] = {"n0", "n1", "n2", "n3"};
static const char *const models[] = {"h100", "a100"};

/* Link groups of 1, 2, 4 or 8, from which some gpus are missing. */
static void add_random_node(struct model *m, const char *name)
{
    const struct mete_amount capacity[] = {{"cpu", 8000 * (1 + (int64_t)prop_below(&m->prop, 4))},
                                           {"pods", 16}};
    struct mete_gpu gpus[GPUS];
    char uuids[GPUS][16];
    int size = 1 << prop_below(&m->prop, 4);
    bool is_mixed = prop_chance(&m->prop, 30);

    for (int i = 0; i < GPUS; i++) {
        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s-%d", name, i);
        gpus[i] = (struct mete_gpu){.uuid = uuids[i],
                                    .model = models[is_mixed && i >= GPUS / 2],
                                    .memory_bytes = INT64_C(80) << 30,
                                    .numa_node = i / 4,
                                    .link_group = prop_chance(&m->prop, 15) ? -1 : i / size,
                                    .is_healthy = prop_chance(&m->prop, 95)};
    }
    CHECK(m, mete_node_set(m->engine, &(struct mete_node){.name = name,
                                                          .capacity = capacity,
                                                          .n_capacity = 2,
                                                          .gpus = gpus,
                                                          .n_gpus = GPUS,
                                                          .is_ready = true}) == METE_OK);
}

static void add_random_job(struct model *m, uint64_t id)
{
    struct job_spec *job = &m->jobs[id];

    *job = (struct job_spec){
        .id = id,
        .gpus = (uint32_t)prop_below(&m->prop, 6),
        .cpu = 500 << prop_below(&m->prop, 5),
        .pods = prop_chance(&m->prop, 25) ? 2 + (uint32_t)prop_below(&m->prop, 2) : 1,
        .model = prop_chance(&m->prop, 30) ? models[prop_below(&m->prop, 2)] : NULL,
        .limit_s = 10 * (1 + (int64_t)prop_below(&m->prop, 9)),
    };
    job->is_linked = job->gpus > 0 && prop_chance(&m->prop, 40);
    if (job->gpus > 0 && !job->is_linked && prop_chance(&m->prop, 40)) {
        job->milli = 100 * (1 + (uint32_t)prop_below(&m->prop, 9));
        job->gpu_bytes =
            prop_chance(&m->prop, 30) ? INT64_C(10) << (30 + prop_below(&m->prop, 3)) : 0;
    }
    m->latest_ns[id] = NEVER_NS;
    CHECK(m, add_job(m->engine, *job) == METE_OK);
}

static void note_start(struct model *m, uint64_t id, int64_t now_s)
{
    if (m->latest_ns[id] < now_s * SECOND)
        fail_msg("seed %llu: room was kept for job %llu from %lld s on, it starts at %lld s",
                 (unsigned long long)m->seed, (unsigned long long)id,
                 (long long)(m->latest_ns[id] / SECOND), (long long)now_s);
    m->end_s[id] = now_s + m->jobs[id].limit_s;
}

static void cycle(struct model *m, int64_t now_s)
{
    struct mete_engine *e = m->engine;
    struct mete_decisions d;

    for (uint64_t id = 1; id <= JOBS; id++)
        if (m->end_s[id] == now_s)
            CHECK(m, mete_workload_remove(e, id) == METE_OK);
    mete_cycle(e, now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++)
        note_start(m, d.placements[i].workload, now_s);
    VEC_EACH (&e->backfills, r) {
        int64_t *latest_ns = &m->latest_ns[(*r)->owner->key.id];

        m->n_kept += (*r)->start_ns != NEVER_NS;
        *latest_ns = (*r)->start_ns < *latest_ns ? (*r)->start_ns : *latest_ns;
    }
    if (mete_engine_check(e))
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, mete_engine_check(e));
}

/* INT64_MAX: nothing runs. */
static int64_t next_end_s(const struct model *m, int64_t now_s)
{
    int64_t next_s = INT64_MAX;

    for (int id = 1; id <= JOBS; id++)
        if (m->end_s[id] > now_s && m->end_s[id] < next_s)
            next_s = m->end_s[id];
    return next_s;
}

static void starts_by_the_time_from_which_room_is_kept(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);
    size_t n_kept = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct model m = {.prop = {seed}, .seed = seed};

        m.engine = mete_engine_new(NULL);
        for (int i = 0; i < NODES; i++)
            add_random_node(&m, names[i]);
        for (uint64_t id = 1; id <= JOBS; id++)
            add_random_job(&m, id);
        for (int64_t now_s = FIRST_S; now_s < INT64_MAX; now_s = next_end_s(&m, now_s))
            cycle(&m, now_s);
        n_kept += m.n_kept;
        mete_engine_free(m.engine);
    }
    assert_true(n_kept > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_waits_for_gpus_that_it_could_not_have_before),
        cmocka_unit_test(starts_by_the_time_from_which_room_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
