/* test_engine_foresee.c - estimated starts: their basis, and how often they hold */

#include <inttypes.h>

#include "engine/state.h"
#include "engine_one.h"
#include "prop.h"

static struct mete_reason why(struct mete_engine *e, uint64_t id, int64_t now_s)
{
    struct mete_reason r = {0};
    uint64_t before = engine_hash(e);

    OK(mete_why(e, id, now_s * SECOND, &r));
    assert_true(engine_hash(e) == before);
    return r;
}

static void says_when_by_the_time_limits_of_those_before(void **state)
{
    struct mete_reason r;

    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 8, .limit_s = 100);
    JOB(.id = 2, .gpus = 8, .limit_s = 50);
    JOB(.id = 3, .gpus = 8, .limit_s = 50);
    JOB(.id = 4, .gpus = 8);
    JOB(.id = 5, .gpus = 8);
    CYCLE(1000, "1:a(0,1,2,3,4,5,6,7)");
    r = why(engine, 3, 1010);
    assert_int_equal(r.estimate_from_ns / SECOND, 1010);
    assert_int_equal(r.estimate_to_ns / SECOND, 1150 + 28);
    assert_string_equal(r.estimate_basis, "time limits of running jobs");
    assert_int_equal(why(engine, 4, 1010).estimate_to_ns / SECOND, 1200 + 38);
    r = why(engine, 5, 1010); /* job 4 has no time limit */
    assert_int_equal(r.estimate_to_ns, 0);
    assert_null(r.estimate_basis);
    CYCLE(1020, "");
}

static void takes_the_first_of_those_that_may_be_free_at_any_moment(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 1, .label = "ssd");
    NODE(.name = "b", .gpus = 1);
    JOB(.id = 1, .gpus = 1, .limit_s = 100, .label = "ssd");
    JOB(.id = 2, .gpus = 1, .limit_s = 50);
    CYCLE(1000, "1:a(0) 2:b(0)");
    JOB(.id = 3, .gpus = 1, .limit_s = 100);
    JOB(.id = 4, .gpus = 1, .limit_s = 100, .label = "ssd");
    CYCLE(1001, "");
    assert_int_equal(why(engine, 4, 1200).estimate_to_ns / SECOND,
                     1300 + 20); /* after job 3, on node a */
}

static void says_when_a_reservation_begins(void **state)
{
    const char *const node = "a";
    const char *const user = "bob";
    struct mete_reason r;

    (void)state;
    NODE(.name = "a", .gpus = 8);
    OK(mete_reservation_set(engine, &(struct mete_reservation){.name = "demo",
                                                               .start_ns = 2000 * SECOND,
                                                               .end_ns = 3000 * SECOND,
                                                               .nodes = &node,
                                                               .n_nodes = 1,
                                                               .users = &user,
                                                               .n_users = 1}));
    JOB(.id = 1, .gpus = 8, .user = "bob", .reservation = "demo", .limit_s = 100);
    CYCLE(1000, "");
    r = why(engine, 1, 1000);
    assert_int_equal(r.estimate_from_ns / SECOND, 2000);
    assert_int_equal(r.estimate_to_ns / SECOND, 2000);
    assert_string_equal(r.estimate_basis, "reservation");
    JOB(.id = 2, .gpus = 1, .limit_s = 1001);
    CYCLE(1000, "");
    assert_int_equal(why(engine, 2, 1000).estimate_to_ns / SECOND, 3000);
}

/* The engine learns from ended jobs what part of their limits nine in ten jobs use. */
static void learns_how_much_of_the_limits_is_used(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    for (uint64_t id = 1; id <= 40; id++) {
        JOB(.id = id, .gpus = 8, .limit_s = 100);
        (void)cycle_text(engine, 1000 + (int64_t)id * 50, text, sizeof(text));
        (void)cycle_text(engine, 1050 + (int64_t)id * 50, text, sizeof(text));
        OK(mete_workload_remove(engine, id));
    }
    JOB(.id = 50, .gpus = 8, .limit_s = 6400);
    JOB(.id = 51, .gpus = 8, .limit_s = 100);
    CYCLE(10000, "50:a(0,1,2,3,4,5,6,7)");
    assert_int_equal(why(engine, 51, 10000).estimate_from_ns / SECOND, 10000 + 3100);
    assert_int_equal(why(engine, 51, 10000).estimate_to_ns / SECOND, 10000 + 6400);
}

/*
 * A synthetic trace has heavy-tailed run times, limits of 1 to 10 times these, and for a while more
 * requests than gpus. The estimate at a job's submission holds for four in five jobs.
 */
enum {
    JOBS = 600,
    NODES = 4,
};

struct tally {
    unsigned said;
    unsigned held;
    unsigned waited;
    unsigned early;
    unsigned late;
};

struct play {
    struct mete_engine *engine;
    struct job_spec jobs[JOBS + 1];
    int64_t run_s[JOBS + 1];
    int64_t start_s[JOBS + 1];
    int64_t from_s[JOBS + 1];
    int64_t to_s[JOBS + 1];
};

static void make_trace(struct play *p, struct prop *prop)
{
    int64_t now_s = 1000;

    for (uint64_t id = 1; id <= JOBS; id++) {
        int64_t run_s = 10 << prop_below(prop, 9);

        now_s += (int64_t)prop_below(prop, 120);
        p->run_s[id] = run_s + (int64_t)prop_below(prop, (uint64_t)run_s);
        p->jobs[id] = (struct job_spec){
            .id = id,
            .gpus = 1u << prop_below(prop, 4),
            .submit_s = now_s,
            .limit_s = p->run_s[id] * (1 + (int64_t)prop_below(prop, 10)),
        };
    }
}

static void play_second(struct play *p, int64_t now_s, struct tally *t, unsigned *n_ended)
{
    struct mete_decisions d;
    bool is_event = false;

    for (uint64_t id = 1; id <= JOBS; id++)
        if (p->start_s[id] > 0 && p->start_s[id] + p->run_s[id] == now_s) {
            OK(mete_workload_remove(p->engine, id));
            ++*n_ended;
            is_event = true;
        }
    for (uint64_t id = 1; id <= JOBS; id++)
        if (p->jobs[id].submit_s == now_s) {
            OK(add_job(p->engine, p->jobs[id]));
            is_event = true;
        }
    if (!is_event && now_s % 10 != 0)
        return;
    mete_cycle(p->engine, now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++) {
        uint64_t id = d.placements[i].workload;

        p->start_s[id] = now_s;
        if (p->to_s[id] == 0)
            continue;
        t->said++;
        t->early += now_s < p->from_s[id];
        t->late += now_s > p->to_s[id] + 10;
        t->held += now_s >= p->from_s[id] && now_s <= p->to_s[id] + 10;
    }
    for (uint64_t id = 1; id <= JOBS; id++)
        if (p->jobs[id].submit_s == now_s && p->start_s[id] == 0) {
            struct mete_reason r = why(p->engine, id, now_s);

            t->waited++;
            p->from_s[id] = r.estimate_from_ns / SECOND;
            p->to_s[id] = r.estimate_to_ns / SECOND;
        }
}

static struct tally play(uint64_t seed, uint32_t depth)
{
    static const char *const names[NODES] = {"n0", "n1", "n2", "n3"};
    struct play *p = mem_alloc(sizeof(*p));
    struct prop prop = {seed};
    struct tally t = {0};
    unsigned n_ended = 0;

    p->engine = mete_engine_new(&(struct mete_options){.reserve_depth = depth});
    for (int i = 0; i < NODES; i++)
        OK(set_node(p->engine, (struct node_spec){.name = names[i], .gpus = 8}));
    make_trace(p, &prop);
    for (int64_t now_s = 1000; n_ended < JOBS; now_s++)
        play_second(p, now_s, &t, &n_ended);
    assert_null(mete_engine_check(p->engine));
    mete_engine_free(p->engine);
    free(p);
    return t;
}

static void four_in_five_estimates_hold(void **state)
{
    static const uint32_t depths[] = {1, METE_RESERVE_ALL};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tally sum = {0};

        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct tally t = play(seed, depths[i]);

            sum.said += t.said;
            sum.held += t.held;
            sum.waited += t.waited;
            sum.early += t.early;
            sum.late += t.late;
        }
        print_message("depth %u: of %u that waited %u were told, %u of these truly, %u started "
                      "before, %u after\n",
                      depths[i], sum.waited, sum.said, sum.held, sum.early, sum.late);
        assert_true(sum.waited > 500 && sum.said == sum.waited);
        assert_true(sum.held * 5 >= sum.said * 4);
    }
}

enum {
    WAITING = 30,
    PLACES = 6
};

/* A crowded engine of one seed. With `label`, all nodes have it and all jobs ask for it. */
static struct mete_engine *crowded(uint64_t seed, const char *label)
{
    static const char *const names[PLACES] = {"p0", "p1", "p2", "p3", "p4", "p5"};
    static const char *const models[] = {"h100", "h100", "a100"};
    struct mete_engine *e = mete_engine_new(NULL);
    struct prop prop = {seed};
    struct mete_decisions d;

    for (size_t i = 0; i < PLACES; i++)
        OK(set_node(e, (struct node_spec){.name = names[i],
                                          .gpus = 4u << prop_below(&prop, 2),
                                          .model = models[prop_below(&prop, 3)],
                                          .sick = prop_chance(&prop, 20) ? 1 : 0,
                                          .cpu = 8000 << prop_below(&prop, 2),
                                          .label = label,
                                          .taint = prop_chance(&prop, 30) ? "batch" : NULL,
                                          .is_cordoned = prop_chance(&prop, 10)}));
    for (uint64_t id = 1; id <= PLACES * 4 + WAITING; id++)
        OK(add_job(
            e,
            (struct job_spec){
                .id = id,
                .gpus = (uint32_t)prop_below(&prop, 9),
                .model = prop_chance(&prop, 30) ? models[prop_below(&prop, 3)] : NULL,
                .milli = prop_chance(&prop, 10) ? 500 : 0,
                .cpu = (int64_t)(1 + prop_below(&prop, 4)) * 1000,
                .priority = (int32_t)prop_below(&prop, 3),
                .limit_s = prop_chance(&prop, 95) ? 100 * (1 + (int64_t)prop_below(&prop, 5)) : 0,
                .pods = prop_chance(&prop, 10) ? 2 : 1,
                .label = label,
                .tolerates = prop_chance(&prop, 40) ? "batch" : NULL}));
    mete_cycle(e, 1000 * SECOND, 0, &d);
    return e;
}

/* For jobs that ask for a label, the engine searches the start times of each group alone. */
static void tells_the_same_where_groups_learn_from_others(void **state)
{
    struct prop_seeds seeds = prop_seeds(20);
    size_t told = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct mete_engine *e = crowded(seed, NULL);
        struct mete_engine *alone = crowded(seed, "ssd");

        for (uint64_t id = 1; id <= PLACES * 4 + WAITING; id++) {
            struct mete_reason r = why(e, id, 1050);
            struct mete_reason want = why(alone, id, 1050);

            if (r.estimate_from_ns != want.estimate_from_ns ||
                r.estimate_to_ns != want.estimate_to_ns)
                fail_msg("seed %" PRIu64 ": job %" PRIu64 " starts by %" PRId64 " s, not %" PRId64,
                         seed, id, r.estimate_to_ns / SECOND, want.estimate_to_ns / SECOND);
            told += r.estimate_to_ns > 0;
        }
        mete_engine_free(e);
        mete_engine_free(alone);
    }
    print_message("%zu were told when\n", told);
    assert_true(told > 10 * (seeds.end - seeds.first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_when_by_the_time_limits_of_those_before, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(takes_the_first_of_those_that_may_be_free_at_any_moment,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(says_when_a_reservation_begins, setup, teardown),
        cmocka_unit_test_setup_teardown(learns_how_much_of_the_limits_is_used, setup, teardown),
        cmocka_unit_test(four_in_five_estimates_hold),
        cmocka_unit_test(tells_the_same_where_groups_learn_from_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
