/*
 * test_engine_size.c - the order by size, and evictions of later workloads
 *
 * A failing seed is printed; PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/queue/queue.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

#define HOUR INT64_C(3600)

enum {
    NODES = 3,
    GPUS = 4,
    JOBS = 30,
};

static struct mete_engine *by_size(enum mete_preempt within)
{
    const struct mete_options options = {.reserve_depth = METE_RESERVE_NONE};
    struct mete_engine *e = mete_engine_new(&options);

    assert_int_equal(
        mete_fairness_set(e, &(struct mete_fairness){.by_size = true, .period_ns = SECOND}),
        METE_OK);
    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "default", .within = within}),
                     METE_OK);
    return e;
}

/* Starts the waiting jobs one at a time, and writes their ids in the order of starts. */
static const char *order_text(struct mete_engine *e, char *text, size_t size)
{
    size_t used = 0;

    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 1});
    text[0] = '\0';
    for (int64_t now_s = 2000;; now_s++) {
        struct mete_decisions d;

        mete_cycle(e, now_s * SECOND, 0, &d);
        if (d.n_placements == 0)
            return text;
        assert_int_equal(d.n_placements, 1);
        used += (size_t)snprintf(text + used, size - used, "%s%u", used > 0 ? " " : "",
                                 (unsigned)d.placements[0].workload);
        (void)mete_workload_remove(e, d.placements[0].workload);
    }
}

/* Two short jobs beside five jobs of an hour are less than a sixteenth of the work. */
static void small_ones_come_first(void **state)
{
    struct mete_engine *e = by_size(METE_PREEMPT_NEVER);
    char text[256];

    (void)state;
    for (uint64_t id = 1; id <= 5; id++)
        (void)add_job(e, (struct job_spec){.id = id, .gpus = 1, .estimate_s = HOUR});
    (void)add_job(e, (struct job_spec){.id = 6, .gpus = 1, .estimate_s = 60});
    (void)add_job(e, (struct job_spec){.id = 7, .gpus = 1, .estimate_s = 30});
    (void)add_job(e, (struct job_spec){.id = 8, .gpus = 1}); /* no estimate: by submit time */
    (void)add_job(e, (struct job_spec){.id = 9, .gpus = 1, .estimate_s = 30, .priority = -1});
    assert_string_equal(order_text(e, text, sizeof(text)), "7 6 8 1 2 3 4 5 9");
    mete_engine_free(e);
}

static void the_largest_of_a_hundred_is_last(void **state)
{
    struct mete_engine *e = by_size(METE_PREEMPT_NEVER);
    char text[1024];

    (void)state;
    (void)add_job(e, (struct job_spec){.id = 1, .gpus = 1, .estimate_s = 900 * HOUR});
    for (uint64_t id = 2; id <= 120; id++)
        (void)add_job(e, (struct job_spec){.id = id, .gpus = 1, .estimate_s = 10 * HOUR});
    (void)mete_workload_estimate(e, 1, 900 * HOUR * SECOND); /* a new estimate */
    assert_non_null(strstr(order_text(e, text, sizeof(text)), "119 120 1"));
    mete_engine_free(e);
}

/* A job with an estimate of a minute runs for two hours: it is evicted for a smaller job. */
static void who_is_late_steps_back(void **state)
{
    struct mete_engine *e = by_size(METE_PREEMPT_LATER);
    char text[256];

    (void)state;
    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 1});
    for (uint64_t id = 10; id < 20; id++) /* of another kind: they only set the usual size */
        (void)add_job(e, (struct job_spec){.id = id, .gpus = 2, .estimate_s = HOUR});
    (void)add_job(e,
                  (struct job_spec){.id = 1, .gpus = 1, .estimate_s = 60, .is_preemptible = true});
    assert_string_equal(cycle_text(e, 100, text, sizeof(text)), "1:n0(0)");
    (void)add_job(e, (struct job_spec){.id = 2, .gpus = 1, .estimate_s = 70, .submit_s = 110});
    assert_string_equal(cycle_text(e, 120, text, sizeof(text)), "");
    assert_string_equal(cycle_text(e, 100 + 2 * HOUR, text, sizeof(text)), "1 for 2");
    assert_null(mete_engine_check(e));
    (void)mete_workload_unplace(e, 1);
    assert_string_equal(cycle_text(e, 101 + 2 * HOUR, text, sizeof(text)), "2:n0(0)");
    mete_engine_free(e);
}

static void refuses_what_makes_no_sense(void **state)
{
    struct mete_engine *e = by_size(METE_PREEMPT_LATER);

    (void)state;
    assert_int_equal(add_job(e, (struct job_spec){.id = 1, .estimate_s = -1}), METE_INVALID);
    assert_int_equal(mete_workload_estimate(e, 1, 1), METE_NOT_FOUND);
    assert_int_equal(add_job(e, (struct job_spec){.id = 1}), METE_OK);
    assert_int_equal(mete_workload_estimate(e, 1, -1), METE_INVALID);
    assert_int_equal(
        mete_queue_set(e, &(struct mete_queue){.name = "q", .reclaim = METE_PREEMPT_LATER}),
        METE_INVALID);
    mete_engine_free(e);
}

struct world {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    bool is_there[JOBS + 1];
    bool is_placed[JOBS + 1];
    bool is_evicted[JOBS + 1];
};

static void run_cycle(struct world *w)
{
    struct mete_decisions d;
    const char *wrong;

    mete_cycle(w->engine, w->now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++)
        w->is_placed[d.placements[i].workload] = true;
    for (size_t i = 0; i < d.n_evictions; i++) {
        const struct workload *victim = engine_workload(w->engine, d.evictions[i].workload);
        const struct workload *by = engine_workload(w->engine, d.evictions[i].by);

        CHECK(w, w->is_placed[d.evictions[i].workload] && !w->is_evicted[d.evictions[i].workload]);
        CHECK(w, victim->priority <= by->priority && order_before(&by->key, &victim->key));
        w->is_evicted[d.evictions[i].workload] = true;
    }
    wrong = mete_engine_check(w->engine);
    if (wrong)
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, wrong);
}

static void step(struct world *w)
{
    uint64_t id = 1 + prop_below(&w->prop, JOBS);

    if (w->is_there[id]) {
        if (prop_chance(&w->prop, 50))
            return;
        CHECK(w, mete_workload_remove(w->engine, id) == METE_OK);
        w->is_there[id] = w->is_placed[id] = w->is_evicted[id] = false;
        return;
    }
    CHECK(w, add_job(w->engine, (struct job_spec){
                                    .id = id,
                                    .gpus = 1 + (uint32_t)prop_below(&w->prop, 4),
                                    .pods = prop_chance(&w->prop, 20) ? 2 : 0,
                                    .priority = (int32_t)prop_below(&w->prop, 2),
                                    .submit_s = w->now_s,
                                    .estimate_s = (int64_t)1 << prop_below(&w->prop, 18),
                                    .is_preemptible = prop_chance(&w->prop, 90),
                                }) == METE_OK);
    w->is_there[id] = true;
}

/* Without new jobs, ends or time the engine comes to rest. */
static void come_to_rest(struct world *w)
{
    bool is_done = false;

    for (int rounds = 0; !is_done; rounds++) {
        CHECK(w, rounds < 200);
        is_done = true;
        run_cycle(w);
        for (uint64_t id = 1; id <= JOBS; id++) {
            if (!w->is_evicted[id])
                continue;
            CHECK(w, mete_workload_unplace(w->engine, id) == METE_OK);
            w->is_placed[id] = w->is_evicted[id] = is_done = false;
        }
    }
}

static void evictions_of_later_ones_end(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct world w = {.seed = seed, .prop = {seed}, .now_s = 1000};

        w.engine = by_size(METE_PREEMPT_LATER);
        for (int i = 0; i < NODES; i++)
            CHECK(&w, set_node(w.engine,
                               (struct node_spec){.name = (const char *[]){"n0", "n1", "n2"}[i],
                                                  .gpus = GPUS}) == METE_OK);
        for (int i = 0; i < 30; i++) {
            for (size_t k = prop_below(&w.prop, 5); k > 0; k--)
                step(&w);
            w.now_s += (int64_t)prop_below(&w.prop, 5000);
            come_to_rest(&w);
        }
        mete_engine_free(w.engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_come_first),
        cmocka_unit_test(the_largest_of_a_hundred_is_last),
        cmocka_unit_test(who_is_late_steps_back),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(evictions_of_later_ones_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
