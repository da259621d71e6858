/*
 * test_engine_move.c - moves against fragmentation
 *
 * Small cases; then random clusters full of small jobs, with larger jobs waiting. A failing seed is
 * printed; PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/state.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    NODES = 4,
    GPUS = 4,
    JOBS = 40,
};

static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3"};

/* Two nodes of four gpus, each half held: no node has four free gpus. Job 1 saved its work at
 * `saved_s`. */
static struct mete_engine *halves(const struct mete_moves *moves, int64_t limit_s, int64_t saved_s)
{
    struct mete_engine *e = mete_engine_new(NULL);

    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "default"}), METE_OK);
    assert_int_equal(mete_moves_set(e, moves), METE_OK);
    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 4});
    (void)set_node(e, (struct node_spec){.name = "n1", .gpus = 4});
    for (uint64_t id = 1; id <= 2; id++)
        assert_int_equal(restore_job(e,
                                     (struct job_spec){.id = id,
                                                       .gpus = 2,
                                                       .restored_on = id == 1 ? "n0" : "n1",
                                                       .is_preemptible = true,
                                                       .limit_s = limit_s,
                                                       .checkpoint_s = id == 1 ? saved_s : 0},
                                     100),
                         METE_OK);
    return e;
}

static void moves_where_it_pays(void **state)
{
    struct mete_engine *e = halves(&(struct mete_moves){.horizon_ns = 3600 * SECOND}, 0, 0);
    char text[256];

    (void)state;
    (void)add_job(e, (struct job_spec){.id = 3, .gpus = 4});
    assert_string_equal(cycle_text(e, 1000, text, sizeof(text)), "1 for 3");
    assert_null(mete_engine_check(e));
    (void)add_job(e, (struct job_spec){.id = 4, .gpus = 2, .priority = 5});
    assert_string_equal(cycle_text(e, 1001, text, sizeof(text)), ""); /* the room is for job 3 */
    assert_int_equal(mete_workload_unplace(e, 1), METE_OK);
    assert_string_equal(cycle_text(e, 1002, text, sizeof(text)), "3:n0(0,1,2,3) 1:n1(2,3)");
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

/* Job 3 with 4 gpus waits for at most horizon_s; 2 gpus lose 900 s of work and the restart. */
static void weighs_the_wait_against_the_lost_work(void **state)
{
    static const struct {
        int64_t horizon_s;
        int64_t restart_s;
        int64_t limit_s;      /* of the running jobs */
        int64_t checkpoint_s; /* of job 1 */
        const char *text;
    } cases[] = {
        {451, 0, 0, 0, "1 for 3"},     {450, 0, 0, 0, ""},
        {460, 30, 0, 0, ""},           {3600, 0, 1300, 0, ""}, /* the running jobs end in 400 s */
        {3600, 0, 1400, 0, "1 for 3"}, {3600, 0, 1300, 950, "1 for 3"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mete_engine *e =
            halves(&(struct mete_moves){.horizon_ns = cases[i].horizon_s * SECOND,
                                        .restart_ns = cases[i].restart_s * SECOND},
                   cases[i].limit_s, cases[i].checkpoint_s);
        char text[256];

        (void)add_job(e, (struct job_spec){.id = 3, .gpus = 4});
        assert_string_equal(cycle_text(e, 1000, text, sizeof(text)), cases[i].text);
        mete_engine_free(e);
    }
}

static void says_what_would_have_to_move(void **state)
{
    struct mete_engine *e = halves(&(struct mete_moves){0}, 0, 0);
    uint64_t before;
    struct mete_reason r;
    bool is_said = false;
    char text[256];

    (void)state;
    (void)add_job(e, (struct job_spec){.id = 3, .gpus = 4});
    assert_string_equal(cycle_text(e, 1000, text, sizeof(text)), ""); /* moves are off */
    before = engine_hash(e);
    assert_int_equal(mete_why(e, 3, 1000 * SECOND, &r), METE_OK);
    for (size_t i = 0; i < r.n_would_start_if; i++)
        is_said = is_said || strcmp(r.would_start_if[i], "job 1 moves to n1") == 0;
    assert_true(is_said);
    assert_int_equal(engine_hash(e), before);
    mete_engine_free(e);
}

static void leaves_alone_whom_it_may_not_move(void **state)
{
    struct mete_engine *e = halves(&(struct mete_moves){.horizon_ns = 86400 * SECOND}, 0, 0);
    char text[256];

    (void)state;
    (void)add_job(e, (struct job_spec){.id = 3, .gpus = 4, .priority = -1});
    assert_string_equal(cycle_text(e, 1000, text, sizeof(text)),
                        ""); /* the running jobs' priority is higher */
    (void)mete_workload_remove(e, 3);
    (void)add_job(e, (struct job_spec){.id = 4, .gpus = 5});
    assert_string_equal(cycle_text(e, 1001, text, sizeof(text)), "");
    mete_engine_free(e);
}

/* Job 2 is evicted for job 3, and its room on n1 is kept. So job 1 does not move there for job 4,
 * though both would fit: job 4 would take the room on n1, and job 3 would have to wait again. */
static void moves_nobody_to_where_room_is_kept(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    char text[256];

    (void)state;
    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "default",
                                                            .within = METE_PREEMPT_LOWER_PRIORITY}),
                     METE_OK);
    assert_int_equal(mete_moves_set(e, &(struct mete_moves){.horizon_ns = 86400 * SECOND}),
                     METE_OK);
    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 4});
    (void)set_node(e, (struct node_spec){.name = "n1", .gpus = 5});
    for (uint64_t id = 1; id <= 2; id++)
        assert_int_equal(restore_job(e,
                                     (struct job_spec){.id = id,
                                                       .gpus = id == 1 ? 2 : 3,
                                                       .restored_on = id == 1 ? "n0" : "n1",
                                                       .priority = id == 1,
                                                       .is_preemptible = true},
                                     100),
                         METE_OK);
    (void)add_job(e, (struct job_spec){.id = 3, .gpus = 3, .priority = 1});
    (void)add_job(e, (struct job_spec){.id = 4, .gpus = 4, .priority = 1});
    assert_string_equal(cycle_text(e, 1000, text, sizeof(text)), "2 for 3");
    assert_int_equal(mete_workload_unplace(e, 2), METE_OK);
    assert_string_equal(cycle_text(e, 1001, text, sizeof(text)), "3:n1(0,1,2) 1 for 4");
    assert_int_equal(mete_workload_unplace(e, 1), METE_OK);
    assert_string_equal(cycle_text(e, 1002, text, sizeof(text)), "4:n0(0,1,2,3) 1:n1(3,4)");
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

/* Job 1 has ended and job 2 has not: job 1 waits for its place on n2, though it could evict job 5.
 */
static void who_moves_evicts_nobody(void **state)
{
    const struct mete_quota quota = {"gpu", 8000, 0, METE_UNLIMITED};
    const struct mete_quota nothing = {"gpu", 0, METE_UNLIMITED, METE_UNLIMITED};
    struct mete_engine *e = mete_engine_new(NULL);
    char text[256];

    (void)state;
    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "a",
                                                            .quotas = &quota,
                                                            .n_quotas = 1,
                                                            .reclaim = METE_PREEMPT_ANY}),
                     METE_OK);
    assert_int_equal(
        mete_queue_set(e, &(struct mete_queue){.name = "b", .quotas = &nothing, .n_quotas = 1}),
        METE_OK);
    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "c"}), METE_OK);
    assert_int_equal(mete_moves_set(e, &(struct mete_moves){.horizon_ns = 86400 * SECOND}),
                     METE_OK);
    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 4, .model = "h100"});
    (void)set_node(e, (struct node_spec){.name = "n1", .gpus = 4, .model = "h100"});
    (void)set_node(e, (struct node_spec){.name = "n2", .gpus = 4, .model = "t4"});
    (void)set_node(e, (struct node_spec){.name = "n3", .gpus = 4, .model = "t4"});
    for (uint64_t id = 1; id <= 2; id++)
        assert_int_equal(restore_job(e,
                                     (struct job_spec){.id = id,
                                                       .gpus = 2,
                                                       .queue = "a",
                                                       .restored_on = id == 1 ? "n0" : "n1",
                                                       .is_preemptible = true},
                                     100),
                         METE_OK);
    assert_int_equal(restore_job(e,
                                 (struct job_spec){.id = 5,
                                                   .gpus = 4,
                                                   .queue = "b",
                                                   .restored_on = "n3",
                                                   .is_preemptible = true,
                                                   .priority = 1},
                                 100),
                     METE_OK);
    (void)add_job(e,
                  (struct job_spec){.id = 3, .gpus = 4, .pods = 2, .model = "h100", .queue = "c"});
    assert_string_equal(cycle_text(e, 1000, text, sizeof(text)), "1 for 3 2 for 3");
    assert_int_equal(mete_workload_unplace(e, 1), METE_OK);
    assert_string_equal(cycle_text(e, 1001, text, sizeof(text)), "");
    assert_int_equal(mete_workload_unplace(e, 2), METE_OK);
    assert_string_equal(cycle_text(e, 1002, text, sizeof(text)),
                        "3:n0(0,1,2,3) 3:n1(0,1,2,3) 1:n2(0,1) 2:n2(2,3)");
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

static struct mete_engine *with_moves(void)
{
    struct mete_engine *e = mete_engine_new(NULL);

    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "default"}), METE_OK);
    assert_int_equal(mete_moves_set(e, &(struct mete_moves){.horizon_ns = 86400 * SECOND}),
                     METE_OK);
    return e;
}

/* Job 1 should move for job 4, but starts by itself in new room; later it moves for job 5. */
static void who_found_a_place_may_be_moved_again(void **state)
{
    struct mete_engine *e = with_moves();
    char text[256];

    (void)state;
    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 4});
    (void)set_node(e, (struct node_spec){.name = "n2", .gpus = 2});
    for (uint64_t id = 1; id <= 2; id++)
        assert_int_equal(restore_job(e,
                                     (struct job_spec){.id = id,
                                                       .gpus = 1,
                                                       .restored_on = "n0",
                                                       .restored_at = id == 2,
                                                       .is_preemptible = true},
                                     100),
                         METE_OK);
    (void)add_job(e, (struct job_spec){.id = 4, .gpus = 4});
    assert_string_equal(cycle_text(e, 1000, text, sizeof(text)), "1 for 4 2 for 4");
    assert_int_equal(mete_workload_unplace(e, 1), METE_OK);
    (void)set_node(e, (struct node_spec){.name = "n5", .gpus = 3});
    assert_string_equal(cycle_text(e, 1001, text, sizeof(text)), "1:n5(2)");
    (void)set_node(e, (struct node_spec){.name = "n6", .gpus = 1});
    (void)add_job(e, (struct job_spec){.id = 5, .gpus = 3});
    assert_string_equal(cycle_text(e, 9002, text, sizeof(text)), "1 for 5");
    assert_int_equal(mete_workload_unplace(e, 1), METE_OK);
    assert_string_equal(cycle_text(e, 9003, text, sizeof(text)), "5:n5(0,1,2) 1:n6(0)");
    assert_null(mete_engine_check(e));
    assert_int_equal(mete_workload_unplace(e, 2), METE_OK);
    assert_string_equal(cycle_text(e, 9004, text, sizeof(text)), "4:n0(0,1,2,3) 2:n2(0)");
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

/* Job 1 ends while it and its two extras should move for job 4. */
static void extras_that_move_may_end(void **state)
{
    struct mete_engine *e = with_moves();
    struct mete_decisions d;
    char text[256];

    (void)state;
    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 4});
    for (uint64_t id = 1; id <= 3; id++)
        (void)add_job(
            e, (struct job_spec){.id = id, .gpus = 1, .is_preemptible = true, .is_extra = id > 1});
    (void)cycle_text(e, 100, text, sizeof(text));
    (void)set_node(e, (struct node_spec){.name = "n2", .gpus = 3});
    (void)add_job(e, (struct job_spec){.id = 4, .gpus = 4});
    mete_cycle(e, 1000 * SECOND, 0, &d);
    assert_int_equal(d.n_evictions, 3);
    assert_int_equal(mete_workload_unplace(e, 2), METE_OK);
    assert_int_equal(mete_workload_remove(e, 3), METE_OK);
    assert_null(mete_engine_check(e));
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    assert_null(mete_engine_check(e));
    assert_string_equal(cycle_text(e, 1001, text, sizeof(text)), "4:n0(0,1,2,3) 2:n2(2)");
    mete_engine_free(e);
}

struct world {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    size_t n_moves;
    bool is_there[JOBS + 1];
    bool is_placed[JOBS + 1];
    bool is_moved[JOBS + 1];
};

static void run_cycle(struct world *w)
{
    struct mete_decisions d;
    const char *wrong;

    w->now_s++;
    mete_cycle(w->engine, w->now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++)
        w->is_placed[d.placements[i].workload] = true;
    for (size_t i = 0; i < d.n_evictions; i++) {
        CHECK(w, d.evictions[i].reason == METE_EVICTED_MOVE);
        w->is_moved[d.evictions[i].workload] = true;
        w->n_moves++;
    }
    wrong = mete_engine_check(w->engine);
    if (wrong)
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, wrong);
}

/* Unplaces all moved jobs, and runs a cycle, which starts their preemptors and then the moved jobs.
 */
static void carry_out(struct world *w)
{
    bool moved[JOBS + 1];

    memcpy(moved, w->is_moved, sizeof(moved));
    memset(w->is_moved, 0, sizeof(w->is_moved));
    for (uint64_t id = 1; id <= JOBS; id++)
        if (moved[id]) {
            CHECK(w, mete_workload_unplace(w->engine, id) == METE_OK);
            w->is_placed[id] = false;
        }
    run_cycle(w);
    for (uint64_t id = 1; id <= JOBS; id++)
        CHECK(w, !moved[id] || w->is_placed[id]);
}

static void step(struct world *w)
{
    uint64_t id = 1 + prop_below(&w->prop, JOBS);

    if (w->is_placed[id] || (w->is_there[id] && prop_chance(&w->prop, 20))) {
        CHECK(w, mete_workload_remove(w->engine, id) == METE_OK);
        w->is_there[id] = w->is_placed[id] = false;
    } else if (!w->is_there[id]) {
        bool is_small = prop_chance(&w->prop, 75);

        CHECK(w,
              add_job(w->engine, (struct job_spec){
                                     .id = id,
                                     .gpus = is_small ? 1 : 2 + (uint32_t)prop_below(&w->prop, 3),
                                     .pods = !is_small && prop_chance(&w->prop, 30) ? 2 : 0,
                                     .priority = (int32_t)prop_below(&w->prop, 2),
                                     .submit_s = w->now_s,
                                     .is_preemptible = prop_chance(&w->prop, 90),
                                     .limit_s = prop_chance(&w->prop, 30)
                                                    ? 1 + (int64_t)prop_below(&w->prop, 500)
                                                    : 0,
                                 }) == METE_OK);
        w->is_there[id] = true;
    }
}

static size_t run_seed(uint64_t seed)
{
    const struct mete_options options = {.policy = seed % 2 ? "spread" : NULL};
    struct world w = {.seed = seed, .prop = {seed}, .now_s = 1000};

    w.engine = mete_engine_new(&options);
    CHECK(&w, mete_queue_set(w.engine, &(struct mete_queue){.name = "default"}) == METE_OK);
    CHECK(&w,
          mete_moves_set(w.engine, &(struct mete_moves){.horizon_ns = 10000 * SECOND}) == METE_OK);
    for (int i = 0; i < NODES; i++)
        CHECK(&w, set_node(w.engine, (struct node_spec){.name = node_names[i], .gpus = GPUS}) ==
                      METE_OK);
    for (int i = 0; i < 60; i++) {
        for (size_t k = prop_below(&w.prop, 4); k > 0; k--)
            step(&w);
        run_cycle(&w);
        for (int k = 0; memchr(w.is_moved, true, sizeof(w.is_moved)); k++) {
            CHECK(&w, k < 50); /* moves come to an end */
            carry_out(&w);
        }
    }
    mete_engine_free(w.engine);
    return w.n_moves;
}

static void all_who_move_run_again_at_once(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);
    size_t n_moves = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        n_moves += run_seed(seed);
    if (seeds.end - seeds.first >= 100)
        assert_true(n_moves > seeds.end - seeds.first); /* moves do happen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_where_it_pays),
        cmocka_unit_test(weighs_the_wait_against_the_lost_work),
        cmocka_unit_test(says_what_would_have_to_move),
        cmocka_unit_test(leaves_alone_whom_it_may_not_move),
        cmocka_unit_test(moves_nobody_to_where_room_is_kept),
        cmocka_unit_test(who_moves_evicts_nobody),
        cmocka_unit_test(who_found_a_place_may_be_moved_again),
        cmocka_unit_test(extras_that_move_may_end),
        cmocka_unit_test(all_who_move_run_again_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
