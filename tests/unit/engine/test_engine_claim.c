/* test_engine_claim.c - conservative backfill: start times hold */

#include "engine/plan/claim.h"
#include "engine_one.h"
#include "prop.h"

static int setup_plan(void **state)
{
    (void)state;
    engine = mete_engine_new(&(struct mete_options){.reserve_depth = METE_RESERVE_ALL});
    return 0;
}

/* The start of the workload's claim; 0: no claim. */
static int64_t claim_s(uint64_t id)
{
    const struct claim *c = engine_workload(engine, id)->claim;

    return c ? c->start_ns / SECOND : 0;
}

static void gives_each_its_time_in_order(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 6, .limit_s = 100);
    CYCLE(100, "1:a(0,1,2,3,4,5)");
    JOB(.id = 2, .gpus = 8, .limit_s = 100);
    JOB(.id = 3, .gpus = 4, .limit_s = 50);
    JOB(.id = 4, .gpus = 2, .limit_s = 101);
    JOB(.id = 5, .gpus = 2, .limit_s = 100);
    JOB(.id = 6, .gpus = 4, .limit_s = 50);
    CYCLE(100, "5:a(6,7)");
    assert_int_equal(claim_s(2), 200);
    assert_int_equal(claim_s(3), 300);
    assert_int_equal(claim_s(4), 300);
    assert_int_equal(claim_s(6), 350);
    END(1);
    CYCLE(110, "3:a(0,1,2,3)");
}

static void fills_holes_that_delay_nobody(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 3, .limit_s = 100);
    CYCLE(100, "1:a(0,1,2)");
    JOB(.id = 2, .gpus = 4, .limit_s = 100);
    JOB(.id = 3, .gpus = 4, .limit_s = 100);
    JOB(.id = 4, .gpus = 1, .limit_s = 101);
    CYCLE(100, "");
    assert_int_equal(claim_s(3), 300);
    assert_int_equal(claim_s(4), 400);
    JOB(.id = 5, .gpus = 1, .limit_s = 100);
    CYCLE(100, "5:a(3)");
}

static void moves_forward_when_somebody_ends_early(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 8, .limit_s = 1000);
    CYCLE(100, "1:a(0,1,2,3,4,5,6,7)");
    JOB(.id = 2, .gpus = 8, .limit_s = 1000);
    JOB(.id = 3, .gpus = 8, .limit_s = 1000);
    CYCLE(100, "");
    assert_int_equal(claim_s(3), 2100);
    END(1);
    CYCLE(131, "2:a(0,1,2,3,4,5,6,7)");
    assert_int_equal(claim_s(3), 1131);
}

static void gangs_claim_all_their_nodes_at_one_time(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    NODE(.name = "b", .gpus = 4);
    NODE(.name = "c", .gpus = 4);
    JOB(.id = 1, .gpus = 4, .limit_s = 100);
    JOB(.id = 2, .gpus = 4, .limit_s = 200);
    JOB(.id = 3, .gpus = 4, .limit_s = 300);
    CYCLE(100, "1:a(0,1,2,3) 2:b(0,1,2,3) 3:c(0,1,2,3)");
    JOB(.id = 4, .gpus = 4, .pods = 2, .limit_s = 100);
    JOB(.id = 5, .gpus = 4, .limit_s = 100);
    JOB(.id = 6, .gpus = 4, .limit_s = 200);
    CYCLE(100, "");
    assert_int_equal(claim_s(4), 300);
    assert_int_equal(claim_s(5), 200);
    assert_int_equal(claim_s(6), 400);
    END(1);
    CYCLE(200, "5:a(0,1,2,3)");
}

static void who_comes_with_more_points_goes_first(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 8, .limit_s = 100);
    CYCLE(100, "1:a(0,1,2,3,4,5,6,7)");
    JOB(.id = 2, .gpus = 8, .limit_s = 100);
    JOB(.id = 3, .gpus = 8, .limit_s = 100);
    CYCLE(100, "");
    JOB(.id = 4, .gpus = 8, .limit_s = 100, .priority = 1);
    CYCLE(101, "");
    assert_int_equal(claim_s(4), 200);
    assert_int_equal(claim_s(2), 300);
    assert_int_equal(claim_s(3), 400);
}

static void a_late_job_takes_all_claims_with_it(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 8, .limit_s = 100);
    CYCLE(100, "1:a(0,1,2,3,4,5,6,7)");
    JOB(.id = 2, .gpus = 8, .limit_s = 100);
    JOB(.id = 3, .gpus = 8, .limit_s = 100);
    CYCLE(100, "");
    CYCLE(250, "");
    assert_int_equal(claim_s(2), 250);
    END(1);
    CYCLE(260, "2:a(0,1,2,3,4,5,6,7)");
    CYCLE(350, "");
    assert_int_equal(claim_s(3), 360);
}

/* Job 4 comes when there is room before the start time of job 3, which has not searched again. The
 * room is for job 3. */
static void the_first_of_a_kind_has_its_first_time(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 8, .limit_s = 100);
    CYCLE(100, "1:a(0,1,2,3,4,5,6,7)");
    JOB(.id = 2, .gpus = 8, .limit_s = 100);
    JOB(.id = 3, .gpus = 8, .limit_s = 50);
    CYCLE(100, "");
    assert_int_equal(claim_s(3), 300);
    END(2);
    JOB(.id = 4, .gpus = 8, .limit_s = 50);
    CYCLE(110, "");
    assert_int_equal(claim_s(3), 200);
    assert_int_equal(claim_s(4), 300);
    CYCLE(130, "");
    assert_int_equal(claim_s(4), 250);
    END(1);
    CYCLE(200, "3:a(0,1,2,3,4,5,6,7)");
    assert_int_equal(claim_s(4), 250);
}

static void keeps_out_of_reservations_made_in_advance(void **state)
{
    const char *const node = "a";
    const char *const user = "bob";

    (void)state;
    NODE(.name = "a", .gpus = 8);
    OK(mete_reservation_set(engine, &(struct mete_reservation){.name = "demo",
                                                               .start_ns = 250 * SECOND,
                                                               .end_ns = 300 * SECOND,
                                                               .nodes = &node,
                                                               .n_nodes = 1,
                                                               .users = &user,
                                                               .n_users = 1}));
    JOB(.id = 1, .gpus = 8, .limit_s = 100);
    CYCLE(100, "1:a(0,1,2,3,4,5,6,7)");
    JOB(.id = 2, .gpus = 8, .limit_s = 51);
    JOB(.id = 3, .gpus = 8, .limit_s = 50);
    JOB(.id = 4, .gpus = 8, .limit_s = 10, .user = "bob");
    CYCLE(100, "");
    assert_int_equal(claim_s(2), 300);
    assert_int_equal(claim_s(3), 200);
    assert_int_equal(claim_s(4), 250);
}

static void a_queue_may_have_a_depth_of_its_own(void **state)
{
    const struct mete_queue deep = {.name = "deep", .reserve_depth = METE_RESERVE_ALL};
    const struct mete_queue none = {.name = "none", .reserve_depth = METE_RESERVE_NONE};

    (void)state;
    mete_engine_free(engine);
    engine = mete_engine_new(NULL);
    OK(mete_queue_set(engine, &deep));
    OK(mete_queue_set(engine, &none));
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 8, .limit_s = 100, .queue = "none");
    CYCLE(100, "1:a(0,1,2,3,4,5,6,7)");
    for (uint64_t id = 2; id < 5; id++)
        JOB(.id = id, .gpus = 8, .limit_s = 100, .queue = "deep");
    for (uint64_t id = 5; id < 8; id++)
        JOB(.id = id, .gpus = 8, .limit_s = 100, .queue = "none");
    for (uint64_t id = 8; id < 11; id++)
        JOB(.id = id, .gpus = 8, .limit_s = 100);
    CYCLE(100, "");
    assert_true(claim_s(2) && claim_s(3) && claim_s(4));
    assert_true(!claim_s(5) && !claim_s(6) && !claim_s(7));
    assert_true(claim_s(8) && !claim_s(9) && !claim_s(10));
}

/*
 * Random jobs run for exactly their time limit. Each waiting job starts by its first start time,
 * which is also its start time without the jobs that come later.
 */
enum {
    EARLY = 30,
    LATE = 30,
    JOBS = EARLY + LATE,
    NODES = 3,
};

static const char *const node_names[NODES] = {"n0", "n1", "n2"};

struct story {
    struct job_spec jobs[JOBS + 1];
    int64_t starts_s[JOBS + 1];
    int64_t told_s[JOBS + 1];  /* the last start time told */
    int64_t first_s[JOBS + 1]; /* the first start time told */
};

static void tell(struct story *s, struct prop *prop)
{
    for (uint64_t id = 1; id <= JOBS; id++)
        s->jobs[id] = (struct job_spec){
            .id = id,
            .gpus = 1 + (uint32_t)prop_below(prop, prop_chance(prop, 30) ? 8 : 3),
            .cpu = 1000 * (1 + (int64_t)prop_below(prop, 30)),
            .limit_s = 1 + (int64_t)prop_below(prop, prop_chance(prop, 30) ? 60 : 10),
            .pods = prop_chance(prop, 15) ? 2 : 1,
            .submit_s = id <= EARLY ? 100 + (int64_t)id / 2 : 120 + (int64_t)id / 2,
        };
}

static void note_claims(struct story *s, struct mete_engine *e, uint64_t seed)
{
    for (uint64_t id = 1; id <= JOBS; id++) {
        const struct workload *w = engine_workload(e, id);

        if (!w || !w->claim)
            continue;
        if (s->told_s[id] == 0)
            s->told_s[id] = s->first_s[id] = w->claim->start_ns / SECOND;
        if (w->claim->start_ns / SECOND > s->told_s[id])
            fail_msg("seed %llu: the claim of %llu moved from %d to %d", (unsigned long long)seed,
                     (unsigned long long)id, (int)s->told_s[id],
                     (int)(w->claim->start_ns / SECOND));
        s->told_s[id] = w->claim->start_ns / SECOND;
    }
}

static void play(struct story *s, uint64_t n_jobs, uint32_t depth, uint64_t seed)
{
    struct mete_engine *e = mete_engine_new(&(struct mete_options){.reserve_depth = depth});
    uint64_t n_ended = 0;

    e->plan_period_ns = 5 * SECOND;
    for (int i = 0; i < NODES; i++)
        OK(set_node(e, (struct node_spec){.name = node_names[i], .gpus = 8}));
    for (int64_t now_s = 100; n_ended < n_jobs; now_s++) {
        struct mete_decisions d;

        for (uint64_t id = 1; id <= n_jobs; id++) {
            if (s->jobs[id].submit_s == now_s)
                OK(add_job(e, s->jobs[id]));
            if (s->starts_s[id] && s->starts_s[id] + s->jobs[id].limit_s == now_s) {
                OK(mete_workload_remove(e, id));
                n_ended++;
            }
        }
        mete_cycle(e, now_s * SECOND, 0, &d);
        for (size_t i = 0; i < d.n_placements; i++) {
            uint64_t id = d.placements[i].workload;

            s->starts_s[id] = now_s;
            if (s->told_s[id] && now_s > s->told_s[id])
                fail_msg("seed %llu: %llu starts at %d, not by %d", (unsigned long long)seed,
                         (unsigned long long)id, (int)now_s, (int)s->told_s[id]);
        }
        note_claims(s, e, seed);
        if (mete_engine_check(e))
            fail_msg("seed %llu: %s", (unsigned long long)seed, mete_engine_check(e));
        assert_true(now_s < 10000);
    }
    mete_engine_free(e);
}

static void later_jobs_delay_no_earlier_job(void **state)
{
    struct prop_seeds seeds = prop_seeds(200);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct story *with = mem_alloc(sizeof(*with));
        struct story *without = mem_alloc(sizeof(*without));
        struct prop prop = {seed};

        tell(with, &prop);
        *without = *with;
        play(with, JOBS, METE_RESERVE_ALL, seed);
        play(without, EARLY, METE_RESERVE_ALL, seed);
        for (uint64_t id = 1; id <= EARLY; id++)
            if (with->first_s[id] != without->first_s[id] ||
                (with->first_s[id] == 0 && with->starts_s[id] != without->starts_s[id]))
                fail_msg("seed %llu: %llu is told %d, without those behind it %d",
                         (unsigned long long)seed, (unsigned long long)id, (int)with->first_s[id],
                         (int)without->first_s[id]);
        free(with);
        free(without);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_each_its_time_in_order, setup_plan, teardown),
        cmocka_unit_test_setup_teardown(fills_holes_that_delay_nobody, setup_plan, teardown),
        cmocka_unit_test_setup_teardown(moves_forward_when_somebody_ends_early, setup_plan,
                                        teardown),
        cmocka_unit_test_setup_teardown(gangs_claim_all_their_nodes_at_one_time, setup_plan,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_comes_with_more_points_goes_first, setup_plan,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_late_job_takes_all_claims_with_it, setup_plan, teardown),
        cmocka_unit_test_setup_teardown(the_first_of_a_kind_has_its_first_time, setup_plan,
                                        teardown),
        cmocka_unit_test_setup_teardown(keeps_out_of_reservations_made_in_advance, setup_plan,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_queue_may_have_a_depth_of_its_own, setup_plan, teardown),
        cmocka_unit_test(later_jobs_delay_no_earlier_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
