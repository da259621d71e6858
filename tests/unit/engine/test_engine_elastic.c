/* test_engine_elastic.c - extras: they wait behind all others, and go before all others */

#include "engine/state.h"
#include "engine_one.h"
#include "prop.h"

/* All other workloads in the queue come first. */
static void grow_only_into_what_is_left_over(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 1, .priority = 9);
    JOB(.id = 2, .gpus = 1, .priority = 9, .is_extra = true);
    JOB(.id = 3, .gpus = 1, .priority = 9, .is_extra = true);
    JOB(.id = 4, .gpus = 2);
    CYCLE(10, "1:a(0) 4:a(2,3) 2:a(1)");
    JOB(.id = 5, .gpus = 4);
    END(4);
    CYCLE(11, ""); /* the room is for job 5 */
    JOB(.id = 6, .gpus = 2);
    CYCLE(12, "");
}

static void wait_again_in_their_place(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 3);
    JOB(.id = 1, .gpus = 1);
    JOB(.id = 2, .gpus = 1, .is_extra = true);
    JOB(.id = 3, .gpus = 1, .is_extra = true);
    CYCLE(10, "1:a(2) 2:a(0) 3:a(1)");
    OK(mete_workload_unplace(engine, 2));
    JOB(.id = 4, .gpus = 1);
    CYCLE(11, "4:a(0)");
    END(1);
    CYCLE(12, "2:a(2)");
}

/* The engine evicts an extra, not the job with the lowest priority. */
static void go_before_others_are_evicted(void **state)
{
    const struct mete_quota quota = {"gpu", 4000, 0, METE_UNLIMITED};
    struct mete_queue_view v;
    struct mete_decisions d;

    (void)state;
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "q",
                                                   .quotas = &quota,
                                                   .n_quotas = 1,
                                                   .within = METE_PREEMPT_LOWER_PRIORITY}));
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 1, .queue = "q", .priority = 5);
    JOB(.id = 2, .gpus = 1, .queue = "q", .priority = 1, .is_preemptible = true);
    JOB(.id = 3, .gpus = 2, .queue = "q", .priority = 5, .is_preemptible = true, .is_extra = true);
    CYCLE(10, "1:a(0) 2:a(1) 3:a(2,3)");
    JOB(.id = 4, .gpus = 1, .queue = "q", .priority = 3);
    mete_cycle(engine, 11 * SECOND, 0, &d);
    assert_int_equal(d.n_evictions, 1);
    assert_int_equal(d.evictions[0].workload, 3);
    assert_int_equal(d.evictions[0].by, 4);
    OK(mete_workload_unplace(engine, 3));
    assert_true(strncmp(cycle_text(engine, 12, text, sizeof(text)), "4:a(", 4) == 0);
    CYCLE(13, "");
    OK(mete_queue_view(engine, 1, &v));
    assert_int_equal(v.running, 3);
    assert_int_equal(v.waiting, 1);
    assert_int_equal(v.quotas[0].held, 3000);
}

static void wait_behind_all_and_go_before_all(void **state)
{
    const struct mete_quota quota = {"gpu", 4000, 0, METE_UNLIMITED};
    struct mete_reason r = {0};
    struct mete_decisions d;
    struct mete_queue_view v;

    (void)state;
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "q",
                                                   .quotas = &quota,
                                                   .n_quotas = 1,
                                                   .limits = {.running = 2},
                                                   .within = METE_PREEMPT_LOWER_PRIORITY}));
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 5, .gpus = 1, .queue = "q", .priority = 9, .is_preemptible = true, .is_extra = true);
    JOB(.id = 6, .gpus = 4, .queue = "q", .priority = 9, .is_extra = true);
    JOB(.id = 1, .gpus = 1, .queue = "q", .priority = 1, .is_preemptible = true);
    JOB(.id = 7, .gpus = 1, .queue = "q", .min_run_s = 1000, .is_preemptible = true,
        .is_extra = true);
    CYCLE(10, "1:a(0) 5:a(1) 7:a(2)");
    OK(mete_why(engine, 6, 11 * SECOND, &r));
    assert_string_equal(r.code_text, "QuotaExceeded");
    OK(mete_queue_view(engine, 1, &v));
    assert_int_equal(v.running, 1); /* of two; extras do not count */
    JOB(.id = 3, .gpus = 2, .queue = "q");
    mete_cycle(engine, 12 * SECOND, 0, &d);
    assert_int_equal(d.n_evictions, 1);
    assert_true(d.evictions[0].workload == 5 || d.evictions[0].workload == 7);
    OK(mete_workload_unplace(engine, d.evictions[0].workload));
    assert_true(strncmp(cycle_text(engine, 13, text, sizeof(text)), "3:a(", 4) == 0);
    CYCLE(14, ""); /* an extra evicts no workload */
}

/* Random extras and others in two queues. Extras evict nobody, and have neither a secured place nor
 * kept room: mete_engine_check. */
enum {
    JOBS = 24,
    PODS = 3,
    NODES = 3,
};

struct world {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    bool is_there[JOBS + 1];
    bool is_placed[JOBS + 1];
    bool is_extra[JOBS + 1];
    unsigned n_ended; /* extras evicted for other jobs */
};

#define HOLDS(w, condition)                                                               \
    do {                                                                                  \
        if (!(condition))                                                                 \
            fail_msg("seed %llu: not so: %s", (unsigned long long)(w)->seed, #condition); \
    } while (0)

static void put(struct world *w, uint64_t id)
{
    w->is_there[id] = true;
    w->is_placed[id] = false;
    w->is_extra[id] = prop_chance(&w->prop, 60);
    HOLDS(w, add_job(w->engine, (struct job_spec){
                                    .id = id,
                                    .gpus = (uint32_t)prop_below(&w->prop, 4),
                                    .milli = prop_chance(&w->prop, 20) ? 300 : 0,
                                    .pods = 1 + (uint32_t)prop_below(&w->prop, PODS),
                                    .queue = prop_chance(&w->prop, 50) ? "q" : "r",
                                    .user = prop_chance(&w->prop, 50) ? "ann" : "bob",
                                    .priority = (int32_t)prop_below(&w->prop, 3),
                                    .limit_s = prop_chance(&w->prop, 50) ? 20 : 0,
                                    .is_preemptible = prop_chance(&w->prop, 70),
                                    .is_extra = w->is_extra[id],
                                }) == METE_OK);
}

static void take_evictions(struct world *w, const struct mete_decisions *d)
{
    struct mete_eviction list[JOBS];
    size_t n = d->n_evictions;

    HOLDS(w, n <= JOBS);
    for (size_t i = 0; i < n; i++)
        list[i] = d->evictions[i];
    for (size_t i = 0; i < n; i++) {
        uint64_t id = list[i].workload;

        HOLDS(w, w->is_there[id] && w->is_placed[id]);
        HOLDS(w, w->is_there[list[i].by] && !w->is_extra[list[i].by]);
        HOLDS(w, mete_workload_unplace(w->engine, id) == METE_OK);
        w->is_placed[id] = false;
        w->n_ended += w->is_extra[id];
    }
}

static void run_cycle(struct world *w)
{
    struct mete_decisions d;

    mete_cycle(w->engine, ++w->now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++) {
        uint64_t id = d.placements[i].workload;

        HOLDS(w, w->is_there[id] && !w->is_placed[id]);
        w->is_placed[id] = true;
    }
    take_evictions(w, &d);
}

static void step(struct world *w)
{
    uint64_t id = 1 + prop_below(&w->prop, JOBS);
    size_t kind = prop_below(&w->prop, 100);

    if (kind < 50 && !w->is_there[id]) {
        put(w, id);
    } else if (kind < 20 && w->is_there[id]) {
        HOLDS(w, mete_workload_remove(w->engine, id) == METE_OK);
        w->is_there[id] = false;
        w->is_placed[id] = false;
    } else if (kind < 30 && w->is_placed[id]) {
        HOLDS(w, mete_workload_unplace(w->engine, id) == METE_OK);
        w->is_placed[id] = false;
    } else {
        run_cycle(w);
    }
}

static unsigned run_seed(uint64_t seed)
{
    static const char *const names[NODES] = {"n0", "n1", "n2"};
    const struct mete_quota quota = {"gpu", 8000, 8000, METE_UNLIMITED};
    static const uint32_t depths[] = {1, METE_RESERVE_NONE, METE_RESERVE_ALL};
    struct world w = {.seed = seed, .prop = {seed}, .now_s = 100};
    const char *const queues[] = {"q", "r"};

    w.engine = mete_engine_new(&(struct mete_options){.reserve_depth = depths[seed % 3]});
    for (int i = 0; i < 2 && seed % 2; i++)
        OK(mete_queue_set(w.engine,
                          &(struct mete_queue){.name = queues[i],
                                               .quotas = &quota,
                                               .n_quotas = 1,
                                               .within = METE_PREEMPT_LOWER_PRIORITY,
                                               .reclaim = METE_PREEMPT_ANY,
                                               .user_limits = {.running = seed % 4 == 1 ? 3 : 0}}));
    for (int i = 0; i < 2 && seed % 2 == 0; i++)
        OK(mete_queue_set(w.engine, &(struct mete_queue){.name = queues[i]}));
    if (seed / 6 % 2)
        OK(mete_moves_set(w.engine, &(struct mete_moves){.horizon_ns = 10000 * SECOND}));
    for (int i = 0; i < NODES; i++)
        OK(set_node(w.engine, (struct node_spec){.name = names[i], .gpus = 6}));
    for (int i = 0; i < 120; i++) {
        const char *wrong;

        step(&w);
        wrong = mete_engine_check(w.engine);
        if (wrong)
            fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
        for (uint64_t id = 1; id <= JOBS && i % 10 == 0; id++) {
            uint64_t before = engine_hash(w.engine);
            struct mete_reason r;

            if (!w.is_there[id])
                continue;
            OK(mete_why(w.engine, id, w.now_s * SECOND, &r));
            HOLDS(&w, (r.code == METE_REASON_NONE) == w.is_placed[id]);
            HOLDS(&w, engine_hash(w.engine) == before);
        }
    }
    for (int i = 0; i < 30; i++) /* all that fits has started: no further decisions */
        run_cycle(&w);
    mete_engine_free(w.engine);
    return w.n_ended;
}

static void are_evicted_and_evict_nobody(void **state)
{
    struct prop_seeds seeds = prop_seeds(100);
    unsigned n_ended = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        n_ended += run_seed(seed);
    assert_true(n_ended > 0 || seeds.end - seeds.first < 10); /* extras do end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(grow_only_into_what_is_left_over, setup, teardown),
        cmocka_unit_test_setup_teardown(wait_again_in_their_place, setup, teardown),
        cmocka_unit_test_setup_teardown(go_before_others_are_evicted, setup, teardown),
        cmocka_unit_test_setup_teardown(wait_behind_all_and_go_before_all, setup, teardown),
        cmocka_unit_test(are_evicted_and_evict_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
