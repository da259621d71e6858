/* test_engine_lend.c - workloads that are suspended for others, and lend them their cpus */

#include "engine/place/place.h"
#include "engine_one.h"

/* Class 3 suspends 2 and 1, class 2 suspends 1. */
static void begin(void)
{
    const struct mete_evict_pair pairs[] = {{3, 2}, {3, 1}, {2, 1}};

    OK(mete_queue_set(engine, &(struct mete_queue){.name = "default"}));
    OK(mete_queue_set(
        engine, &(struct mete_queue){
                    .name = "x",
                    .quotas = &(struct mete_quota){"gpu", 64000, METE_UNLIMITED, METE_UNLIMITED},
                    .n_quotas = 1,
                }));
    OK(mete_evict_rules_set(engine, &(struct mete_evict_rules){pairs, 3, 1U << 1 | 1U << 2}));
}

#define CPUS(n) ((n)*INT64_C(1000))
#define LOW     .queue = "x", .is_preemptible = true, .evict_class = 1
#define MIDDLE  .queue = "x", .is_preemptible = true, .evict_class = 2
#define HIGH    .queue = "x", .is_preemptible = true, .evict_class = 3

static void stop(uint64_t id)
{
    OK(mete_workload_suspended(engine, id));
    assert_null(mete_engine_check(engine));
}

static void a_workload_is_suspended_and_goes_on(void **state)
{
    (void)state;
    begin();
    NODE(.name = "a", .cpu = CPUS(8));
    JOB(.id = 1, .cpu = CPUS(8), LOW);
    CYCLE(10, "1:a");
    JOB(.id = 2, .cpu = CPUS(8), HIGH);
    CYCLE(11, "1 for 2");
    CYCLE(12, ""); /* its processes run still */
    stop(1);
    CYCLE(13, "2:a");
    JOB(.id = 3, .cpu = CPUS(1), .queue = "x", .priority = 9); /* of no class */
    CYCLE(14, "");
    END(2);
    CYCLE(15, "1 goes on");
    END(1);
    CYCLE(16, "3:a");
}

static void what_no_borrower_uses_is_kept(void **state)
{
    (void)state;
    begin();
    NODE(.name = "a", .cpu = CPUS(8));
    JOB(.id = 1, .cpu = CPUS(6), LOW);
    CYCLE(10, "1:a");
    JOB(.id = 2, .cpu = CPUS(4), HIGH);
    CYCLE(11, "1 for 2");
    stop(1);
    CYCLE(12, "2:a");
    JOB(.id = 4, .cpu = CPUS(2), .queue = "x"); /* 2 of 8 are not the lender's */
    CYCLE(13, "4:a");
    JOB(.id = 5, .cpu = CPUS(2), LOW);
    CYCLE(13, "");
    JOB(.id = 6, .cpu = CPUS(2), HIGH, .priority = 1); /* borrows, and suspends nobody */
    CYCLE(14, "6:a");
    END(2);
    CYCLE(15, "");
    END(6);
    CYCLE(16, "1 goes on");
    END(4);
    CYCLE(17, "5:a");
}

static void gpus_stay_with_the_lender(void **state)
{
    (void)state;
    begin();
    NODE(.name = "a", .gpus = 1, .cpu = CPUS(8));
    JOB(.id = 1, .gpus = 1, .cpu = CPUS(8), LOW);
    CYCLE(10, "1:a(0)");
    JOB(.id = 2, .gpus = 1, .cpu = CPUS(1), HIGH);
    CYCLE(11, "");
    JOB(.id = 3, .cpu = CPUS(1), HIGH, .priority = 1);
    CYCLE(12, "1 for 3");
    stop(1);
    CYCLE(13, "3:a");
    END(1); /* a suspended workload may end, too */
    CYCLE(14, "2:a(0)");
}

static void only_those_in_the_way_are_suspended(void **state)
{
    (void)state;
    begin();
    NODE(.name = "a", .cpu = CPUS(8));
    for (uint64_t id = 1; id <= 4; id++)
        JOB(.id = id, .cpu = CPUS(2), LOW);
    CYCLE(10, "1:a 2:a 3:a 4:a");
    JOB(.id = 5, .cpu = CPUS(3), HIGH);
    CYCLE(11, "1 for 5 2 for 5");
    stop(1);
    CYCLE(12, "");
    stop(2);
    CYCLE(13, "5:a");
    END(3);
    CYCLE(14, "1 goes on"); /* 3 of the borrower, 2 of the fourth, 2 of the first */
}

static void the_higher_goes_on_before_the_lower(void **state)
{
    (void)state;
    begin();
    NODE(.name = "a", .cpu = CPUS(4));
    JOB(.id = 1, .cpu = CPUS(4), LOW);
    CYCLE(10, "1:a");
    JOB(.id = 2, .cpu = CPUS(2), MIDDLE);
    CYCLE(11, "1 for 2");
    stop(1);
    CYCLE(12, "2:a");
    JOB(.id = 3, .cpu = CPUS(4), HIGH);
    CYCLE(13, "2 for 3");
    stop(2);
    CYCLE(14, "3:a");
    END(3);
    CYCLE(15, "2 goes on");
    END(2);
    CYCLE(16, "1 goes on");
}

static void a_preemptor_that_is_gone_gives_its_victims_back(void **state)
{
    (void)state;
    begin();
    NODE(.name = "a", .cpu = CPUS(8));
    JOB(.id = 1, .cpu = CPUS(8), LOW);
    CYCLE(10, "1:a");
    JOB(.id = 2, .cpu = CPUS(8), HIGH);
    CYCLE(11, "1 for 2");
    END(2);
    stop(1); /* it was stopped before the caller knew */
    CYCLE(12, "1 goes on");
    assert_int_equal(mete_workload_suspended(engine, 7), METE_NOT_FOUND);
}

static void a_workload_is_suspended_on_all_of_its_nodes(void **state)
{
    (void)state;
    begin();
    NODE(.name = "a", .cpu = CPUS(4));
    NODE(.name = "b", .cpu = CPUS(4));
    JOB(.id = 1, .cpu = CPUS(4), .pods = 2, LOW);
    CYCLE(10, "1:a 1:b");
    JOB(.id = 2, .cpu = CPUS(1), HIGH);
    CYCLE(11, "1 for 2");
    stop(1);
    CYCLE(12, "2:a");
    JOB(.id = 3, .cpu = CPUS(1), .queue = "x", .priority = 9);
    CYCLE(13, ""); /* nor on the other node */
    JOB(.id = 4, .cpu = CPUS(4), HIGH);
    CYCLE(14, "4:b");
    END(2);
    CYCLE(15, "");
    END(4);
    CYCLE(16, "1 goes on");
}

/* As after a restart of the caller: all are placed, and then some are suspended. */
static void lenders_and_borrowers_are_restored(void **state)
{
    const struct job_spec low = {.id = 1, .cpu = CPUS(8), .restored_on = "a", LOW};
    const struct job_spec high = {.id = 2, .cpu = CPUS(8), .restored_on = "a", HIGH};

    (void)state;
    begin();
    OK(restore_job(engine, low, 10));
    OK(restore_job(engine, high, 11));
    stop(1);
    NODE(.name = "a", .cpu = CPUS(8));
    JOB(.id = 3, .cpu = CPUS(1), .queue = "x");
    CYCLE(20, "");
    assert_null(mete_engine_check(engine));
    OK(mete_evict_rules_set(engine, &(struct mete_evict_rules){0})); /* lent to nobody now */
    assert_null(mete_engine_check(engine));
    CYCLE(21, "");
    END(2);
    CYCLE(22, "1 goes on");
    OK(mete_node_remove(engine, "a"));
    assert_null(mete_engine_check(engine));
    stop(1);
    NODE(.name = "a", .cpu = CPUS(4)); /* it has become smaller */
    CYCLE(23, "1 goes on");
    assert_null(mete_engine_check(engine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_workload_is_suspended_and_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(what_no_borrower_uses_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(gpus_stay_with_the_lender, setup, teardown),
        cmocka_unit_test_setup_teardown(only_those_in_the_way_are_suspended, setup, teardown),
        cmocka_unit_test_setup_teardown(the_higher_goes_on_before_the_lower, setup, teardown),
        cmocka_unit_test_setup_teardown(a_preemptor_that_is_gone_gives_its_victims_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_workload_is_suspended_on_all_of_its_nodes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(lenders_and_borrowers_are_restored, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
