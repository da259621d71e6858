/* test_engine_queue.c - queues: quotas, orders, preemption, holds, usage */

#include "engine/place/place.h"
#include "engine_one.h"

/* A queue with a quota of gpus. */
#define QUEUE(queue_name, own, borrows, lends, ...)                                             \
    OK(mete_queue_set(                                                                          \
        engine, &(struct mete_queue){.name = (queue_name),                                      \
                                     .quotas = &(struct mete_quota){"gpu", (own)*INT64_C(1000), \
                                                                    (borrows), (lends)},        \
                                     .n_quotas = 1,                                             \
                                     __VA_ARGS__}))
#define GPUS(n) ((n)*INT64_C(1000))
#define ALL     METE_UNLIMITED

static struct mete_reason why(uint64_t id)
{
    struct mete_reason r = {0};

    OK(mete_why(engine, id, 100 * SECOND, &r));
    return r;
}

static void assert_says_if(uint64_t id, const char *line)
{
    struct mete_reason r = why(id);

    for (size_t i = 0; i < r.n_would_start_if; i++)
        if (strcmp(r.would_start_if[i], line) == 0)
            return;
    fail_msg("'%s' is not among the %zu lines for '%s', the first is '%s'", line,
             r.n_would_start_if, r.message, r.n_would_start_if ? r.would_start_if[0] : "");
}

static void assert_waits(uint64_t id, const char *code, const char *message)
{
    struct mete_reason r = why(id);

    assert_string_equal(r.code_text, code);
    assert_string_equal(r.message, message);
    OK(mete_why_brief(engine, id, 100 * SECOND, &r));
    assert_string_equal(r.message, message);
}

static void waits_for_its_queue_to_be_there(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 1, .queue = "x");
    CYCLE(10, "");
    assert_waits(1, "NoSuchQueue", "there is no queue x");
    assert_string_equal(why(1).class_text, "yours");
    QUEUE("x", 4, 0, ALL);
    CYCLE(11, "1:a(0)");
    OK(mete_queue_remove(engine, "x"));
    JOB(.id = 2, .gpus = 1, .queue = "x");
    CYCLE(12, "");
    QUEUE("x", 4, 0, ALL);
    QUEUE("y", 4, 0, ALL, .parent = "x");
    CYCLE(13, "");
    assert_waits(2, "NoSuchQueue", "queue x has queues below it: jobs go into one of these");
    assert_int_equal(mete_queue_remove(engine, "x"), METE_CONFLICT);
    assert_string_equal(mete_last_error(engine), "queue 'x': queue 'y' is below it");
}

static void holds_nominal_and_what_it_may_borrow(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    QUEUE("x", 2, GPUS(1), ALL);
    for (uint64_t id = 1; id <= 4; id++)
        JOB(.id = id, .gpus = 1, .queue = "x");
    CYCLE(10, "1:a(0) 2:a(1) 3:a(2)");
    assert_waits(4, "QuotaExceeded", "needs 1 gpu; queue x holds 3 of 3");
    assert_string_equal(why(4).class_text, "quota");
    assert_says_if(4, "queue x may hold 4 gpus, not 3");
    assert_says_if(4, "job 2 ends");
    assert_string_equal(why(4).queue, "x");
    JOB(.id = 5, .gpus = 4, .queue = "x");
    assert_waits(5, "OverMaxQuota", "needs 4 gpus; queue x may hold 3 at most");
    END(2);
    CYCLE(11, "4:a(1)");
}

static void counts_shares_of_gpus_in_part_and_gpus_by_model(void **state)
{
    const struct mete_quota quotas[] = {{"gpu", 1500, 0, ALL}, {"gpu:t4", 0, 0, ALL}};

    (void)state;
    NODE(.name = "a", .gpus = 4);
    NODE(.name = "b", .gpus = 4, .model = "t4");
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "x", .quotas = quotas, .n_quotas = 2}));
    JOB(.id = 1, .gpus = 1, .milli = 700, .queue = "x", .model = "h100");
    JOB(.id = 2, .gpus = 1, .milli = 700, .queue = "x", .model = "h100");
    JOB(.id = 3, .gpus = 1, .milli = 200, .queue = "x", .model = "h100");
    JOB(.id = 4, .gpus = 1, .milli = 100, .queue = "x", .model = "t4");
    CYCLE(10, "1:a(0) 2:a(1)");
    assert_waits(3, "QuotaExceeded", "needs 0.2 gpus; queue x holds 1.4 of 1.5");
    assert_waits(4, "OverMaxQuota", "needs 0.1 T4; queue x may hold 0 at most");
}

static void what_is_not_lent_stays_free(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    QUEUE("x", 4, ALL, GPUS(1));
    QUEUE("y", 4, ALL, ALL);
    for (uint64_t id = 1; id <= 8; id++)
        JOB(.id = id, .gpus = 1, .queue = "y");
    CYCLE(10, "1:a(0) 2:a(1) 3:a(2) 4:a(3) 5:a(4)");
    assert_waits(6, "QuotaExceeded", "needs 1 gpu; 8 of 8 are held or kept for other queues");
    JOB(.id = 11, .gpus = 3, .queue = "x");
    CYCLE(11, "11:a(5,6,7)");
}

static void a_parent_bounds_what_is_below_it(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    QUEUE("p", 3, 0, ALL);
    QUEUE("x", 2, ALL, ALL, .parent = "p");
    QUEUE("y", 2, ALL, ALL, .parent = "p");
    JOB(.id = 1, .gpus = 2, .queue = "x");
    JOB(.id = 2, .gpus = 2, .queue = "y");
    JOB(.id = 3, .gpus = 1, .queue = "y");
    CYCLE(10, "1:a(0,1) 3:a(2)");
    assert_waits(2, "QuotaExceeded", "needs 2 gpus; queue p holds 3 of 3");
}

static void limits_queues_and_users(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "x",
                                                   .limits = {.running = 4},
                                                   .user_limits = {GPUS(2), 2},
                                                   .time_limit_ns = 60 * SECOND}));
    JOB(.id = 1, .gpus = 2, .queue = "x", .limit_s = 60);
    JOB(.id = 2, .gpus = 1, .queue = "x", .limit_s = 60);
    JOB(.id = 3, .gpus = 0, .queue = "x", .limit_s = 60);
    JOB(.id = 4, .gpus = 0, .queue = "x", .limit_s = 60);
    JOB(.id = 5, .gpus = 1, .queue = "x", .limit_s = 60, .user = "bob");
    JOB(.id = 6, .gpus = 0, .queue = "x", .limit_s = 60, .user = "bob");
    JOB(.id = 7, .gpus = 0, .queue = "x", .limit_s = 60, .user = "eve");
    JOB(.id = 8, .gpus = 1, .queue = "x", .limit_s = 61, .user = "eve");
    JOB(.id = 9, .gpus = 1, .queue = "x", .user = "eve");
    JOB(.id = 10, .gpus = 3, .queue = "x", .limit_s = 60, .user = "eve");
    CYCLE(10, "1:a(0,1) 3:a 5:a(2) 6:a");
    assert_waits(2, "QuotaExceeded", "queue x runs 4 of 4 workloads");
    assert_waits(8, "OverMaxQuota", "asks for 1m1s; queue x allows 1m at most");
    assert_waits(9, "OverMaxQuota", "has no time limit; queue x asks for one, of at most 1m");
    assert_waits(10, "OverMaxQuota", "needs 3 gpus; queue x may hold 2 at most");
    END(6);
    CYCLE(11, "7:a");
    END(7);
    assert_waits(4, "UserLimit", "ann runs 2 of 2 workloads in queue x");
    assert_says_if(4, "ann may hold 3 workloads in queue x, not 2");
    assert_says_if(4, "job 3 ends");
    END(3);
    assert_waits(2, "UserLimit", "needs 1 gpu; ann holds 2 of 2 in queue x");
    assert_says_if(2, "ann may hold 3 gpus in queue x, not 2");
}

static void starts_nothing_of_a_stopped_queue(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 2);
    QUEUE("x", 2, 0, ALL, .is_stopped = true);
    JOB(.id = 1, .gpus = 1, .queue = "x");
    CYCLE(10, "");
    assert_waits(1, "QueueStopped", "queue x is stopped");
    QUEUE("x", 2, 0, ALL);
    CYCLE(11, "1:a(0)");
}

static void below_nominal_goes_before_above_it(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    QUEUE("x", 1, ALL, ALL, .weight = 100);
    QUEUE("y", 3, ALL, ALL);
    for (uint64_t id = 1; id <= 3; id++)
        JOB(.id = id, .gpus = 1, .queue = "x", .priority = 9);
    for (uint64_t id = 4; id <= 6; id++)
        JOB(.id = id, .gpus = 1, .queue = "y");
    CYCLE(10, "1:a(0) 4:a(1) 5:a(2) 6:a(3)");
}

static void shares_by_weight(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "x", .weight = 3}));
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "y"}));
    for (uint64_t id = 1; id <= 8; id++)
        JOB(.id = id, .gpus = 1, .queue = "x");
    for (uint64_t id = 11; id <= 18; id++)
        JOB(.id = id, .gpus = 1, .queue = "y");
    CYCLE(10, "1:a(0) 2:a(1) 11:a(2) 3:a(3) 4:a(4) 5:a(5) 12:a(6) 6:a(7)");
    assert_int_equal(why(7).position, 1);
    assert_int_equal(why(8).position, 2);
    assert_int_equal(why(8).waiting, 2);
    assert_int_equal(why(18).position, 6);
}

static void lists_what_waits_from_any_place(void **state)
{
    uint64_t ids[4] = {0};

    (void)state;
    NODE(.name = "a", .gpus = 1);
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "x"}));
    for (uint64_t id = 1; id <= 40; id++)
        JOB(.id = id, .gpus = 1, .queue = "x", .priority = (int)(id % 4));
    CYCLE(10, "3:a(0)");
    for (size_t first = 0; first < 39; first++) {
        size_t n = mete_queue_waiting(engine, "x", first, ids, 4);

        assert_int_equal(n, first + 4 <= 39 ? 4 : 39 - first);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(why(ids[i]).position, first + i + 1);
    }
    assert_int_equal(ids[0], 40);
    assert_int_equal(mete_queue_waiting(engine, "x", 39, ids, 4), 0);
    assert_int_equal(mete_queue_waiting(engine, "no queue", 0, ids, 4), 0);
}

static void what_was_used_lately_counts(void **state)
{
    const struct mete_fairness fairness = {.half_life_ns = 100 * SECOND};

    (void)state;
    NODE(.name = "a", .gpus = 4);
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "x"}));
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "y"}));
    OK(mete_fairness_set(engine, &fairness));
    JOB(.id = 1, .gpus = 4, .queue = "x");
    CYCLE(10, "1:a(0,1,2,3)");
    JOB(.id = 2, .gpus = 4, .queue = "x");
    JOB(.id = 3, .gpus = 4, .queue = "y");
    CYCLE(110, "");
    END(1);
    CYCLE(111, "3:a(0,1,2,3)");
    CYCLE(112, "");
    END(3);
    CYCLE(113, "2:a(0,1,2,3)"); /* y has just begun, but y has no waiting jobs */
}

static void orders_by_points(void **state)
{
    const struct mete_fairness fairness = {
        .order = METE_ORDER_PRIORITY,
        .factors = {.class_points = 10, .age_points = 500, .age_max_ns = 100 * SECOND},
        .period_ns = 10 * SECOND,
    };

    (void)state;
    NODE(.name = "a", .gpus = 1);
    OK(mete_fairness_set(engine, &fairness));
    JOB(.id = 1, .gpus = 1, .priority = 5, .submit_s = 1000);
    JOB(.id = 2, .gpus = 1, .priority = 11, .submit_s = 1000);
    JOB(.id = 3, .gpus = 1, .submit_s = 970); /* 150 for its age */
    CYCLE(1000, "3:a(0)");
    END(3);
    CYCLE(1001, "2:a(0)");
    END(2);
    JOB(.id = 4, .gpus = 1, .priority = 25, .submit_s = 1002);
    CYCLE(1002, "4:a(0)");
    JOB(.id = 5, .gpus = 1, .priority = 25, .submit_s = 1060);
    CYCLE(1060, "");
    END(4);
    CYCLE(1061, "1:a(0)"); /* 50 and 300 for its age */
}

static void reclaims_what_others_borrowed(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    QUEUE("x", 2, ALL, ALL, .reclaim = METE_PREEMPT_ANY);
    QUEUE("y", 2, ALL, ALL);
    for (uint64_t id = 1; id <= 4; id++)
        JOB(.id = id, .gpus = 1, .queue = "y", .is_preemptible = true);
    CYCLE(10, "1:a(0) 2:a(1) 3:a(2) 4:a(3)");
    JOB(.id = 5, .gpus = 2, .queue = "x", .submit_s = 20);
    JOB(.id = 6, .gpus = 1, .queue = "x", .submit_s = 20);
    CYCLE(20, "3 for 5 4 for 5"); /* jobs 1 and 2 are within y's nominal quota */
    assert_waits(5, "WaitingForPreempted",
                 "job 3 and 1 more were evicted for it and have not ended yet");
    CYCLE(21, "");
    OK(mete_workload_unplace(engine, 3));
    CYCLE(22, ""); /* the room is for job 5: neither 3 nor 6 gets it */
    OK(mete_workload_unplace(engine, 4));
    CYCLE(23, "5:a(2,3)");
    CYCLE(24, "");
    END(1);
    CYCLE(25, "3:a(0)");
}

static void reclaims_only_where_it_may(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    QUEUE("x", 2, ALL, ALL, .reclaim = METE_PREEMPT_LOWER_PRIORITY);
    QUEUE("y", 1, ALL, ALL, .min_run_ns = 50 * SECOND);
    JOB(.id = 1, .gpus = 1, .queue = "y", .is_preemptible = true);
    JOB(.id = 2, .gpus = 1, .queue = "y");
    JOB(.id = 3, .gpus = 1, .queue = "y", .is_preemptible = true, .priority = 5);
    JOB(.id = 4, .gpus = 1, .queue = "y", .is_preemptible = true);
    CYCLE(10, "3:a(0) 1:a(1) 2:a(2) 4:a(3)");
    JOB(.id = 5, .gpus = 1, .queue = "x", .priority = 5);
    JOB(.id = 6, .gpus = 3, .queue = "x", .priority = 5);
    CYCLE(59, "");
    /* job 3 is within the quota of y, job 2 is not preemptible, job 6 would borrow */
    CYCLE(60, "1 for 5");
}

static void preempts_lower_priority_in_its_queue(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    QUEUE("x", 4, 0, ALL, .within = METE_PREEMPT_LOWER_PRIORITY);
    JOB(.id = 1, .gpus = 1, .queue = "x", .is_preemptible = true);
    JOB(.id = 2, .gpus = 1, .queue = "x", .is_preemptible = true);
    JOB(.id = 3, .gpus = 2, .queue = "x", .is_preemptible = true, .priority = 1);
    CYCLE(10, "3:a(0,1) 1:a(2) 2:a(3)");
    JOB(.id = 4, .gpus = 1, .queue = "x", .priority = 1);
    CYCLE(11, "1 for 4");
    OK(mete_workload_unplace(engine, 1));
    CYCLE(12, "4:a(2)");
    CYCLE(13, "");
}

static void one_that_never_preempts_waits_and_others_do(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 2);
    QUEUE("x", 4, 0, ALL, .within = METE_PREEMPT_LOWER_PRIORITY);
    JOB(.id = 1, .gpus = 1, .queue = "x", .is_preemptible = true);
    JOB(.id = 2, .gpus = 1, .queue = "x", .is_preemptible = true);
    CYCLE(10, "1:a(0) 2:a(1)");
    JOB(.id = 3, .gpus = 1, .queue = "x", .priority = 2, .never_preempts = true);
    CYCLE(11, "");
    JOB(.id = 4, .gpus = 1, .queue = "x", .priority = 3);
    CYCLE(12, "1 for 4");
}

static void a_class_evicts_in_any_queue_and_no_class_evicts_itself(void **state)
{
    const struct mete_evict_pair pairs[] = {{2, 1}, {3, 2}};
    const struct mete_evict_pair loop[] = {{1, 2}, {2, 3}, {3, 1}};
    const struct mete_evict_pair wrong[] = {{1, METE_EVICT_CLASSES}};

    (void)state;
    NODE(.name = "a", .gpus = 1);
    NODE(.name = "b", .gpus = 1);
    QUEUE("x", 9, ALL, ALL, .within = METE_PREEMPT_LOWER_PRIORITY);
    QUEUE("y", 9, ALL, ALL);
    OK(mete_evict_rules_set(engine, &(struct mete_evict_rules){pairs, 2, 0}));
    assert_int_equal(mete_evict_rules_set(engine, &(struct mete_evict_rules){loop, 3, 0}),
                     METE_INVALID);
    assert_int_equal(mete_evict_rules_set(engine, &(struct mete_evict_rules){wrong, 1, 0}),
                     METE_INVALID);
    JOB(.id = 1, .gpus = 1, .queue = "y", .is_preemptible = true, .evict_class = 1, .priority = 9);
    JOB(.id = 2, .gpus = 1, .queue = "x", .is_preemptible = true, .evict_class = 2);
    CYCLE(10, "2:a(0) 1:b(0)");
    JOB(.id = 3, .gpus = 1, .queue = "y", .evict_class = 3); /* 3 evicts 2, and not 1 */
    JOB(.id = 5, .gpus = 1, .queue = "x", .evict_class = 2, .priority = -1);
    CYCLE(11, "1 for 5 2 for 3");
    OK(mete_workload_unplace(engine, 1));
    OK(mete_workload_unplace(engine, 2));
    CYCLE(12, "5:b(0) 3:a(0)");
    END(5);
    CYCLE(13, "2:b(0)");
    JOB(.id = 4, .gpus = 1, .queue = "x", .evict_class = 1, .priority = 5); /* not by priority */
    CYCLE(14, "");
    OK(mete_evict_rules_set(engine, &(struct mete_evict_rules){0}));
    JOB(.id = 6, .gpus = 1, .queue = "y", .evict_class = 3);
    CYCLE(15, "");
}

static void evicts_what_costs_least_and_whole_gangs(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 2);
    NODE(.name = "b", .gpus = 2);
    NODE(.name = "c", .gpus = 2);
    QUEUE("x", 6, 0, ALL, .within = METE_PREEMPT_LOWER_PRIORITY);
    JOB(.id = 1, .gpus = 2, .pods = 2, .queue = "x", .is_preemptible = true);
    JOB(.id = 2, .gpus = 2, .queue = "x", .is_preemptible = true);
    CYCLE(10, "1:a(0,1) 1:b(0,1) 2:c(0,1)");
    JOB(.id = 3, .gpus = 1, .queue = "x", .priority = 1);
    CYCLE(100, "2 for 3"); /* 180 gpu seconds, not 360 */
    OK(mete_workload_unplace(engine, 2));
    CYCLE(101, "3:c(0)");
    END(2);
    END(3);
    JOB(.id = 4, .gpus = 2, .queue = "x", .is_preemptible = true, .submit_s = 102);
    CYCLE(102, "4:c(0,1)");
    JOB(.id = 5, .gpus = 1, .queue = "x", .priority = 1);
    CYCLE(200, "4 for 5");
}

static void evicts_what_has_saved_its_work(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 2);
    NODE(.name = "b", .gpus = 2);
    QUEUE("x", 4, 0, ALL, .within = METE_PREEMPT_LOWER_PRIORITY);
    JOB(.id = 1, .gpus = 2, .queue = "x", .is_preemptible = true, .checkpoint_s = 99);
    JOB(.id = 2, .gpus = 1, .queue = "x", .is_preemptible = true);
    CYCLE(10, "1:a(0,1) 2:b(0)");
    JOB(.id = 3, .gpus = 2, .queue = "x", .priority = 1);
    CYCLE(100, "1 for 3"); /* 2 gpu seconds, not 90 */
}

static void a_preemptor_that_goes_lets_go_of_the_room(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 2);
    QUEUE("x", 2, 0, ALL, .within = METE_PREEMPT_LOWER_PRIORITY);
    JOB(.id = 1, .gpus = 1, .queue = "x", .is_preemptible = true);
    JOB(.id = 2, .gpus = 1, .queue = "x", .is_preemptible = true);
    CYCLE(10, "1:a(0) 2:a(1)");
    JOB(.id = 3, .gpus = 2, .queue = "x", .priority = 1);
    CYCLE(11, "1 for 3 2 for 3");
    END(3);
    OK(mete_workload_unplace(engine, 1));
    CYCLE(12, "1:a(0)");
    END(2);
    END(1);
}

static void refuses_queues_that_cannot_be(void **state)
{
    const struct mete_quota twice[] = {{"gpu", 1, 0, 0}, {"gpu", 1, 0, 0}};
    const struct mete_quota negative = {"gpu", -1, 0, 0};
    const struct {
        struct mete_queue queue;
        enum mete_result result;
        const char *says;
    } cases[] = {
        {{.name = ""}, METE_INVALID, "a queue has no name, or one over 1024 bytes"},
        {{.name = "x", .parent = "y"}, METE_NOT_FOUND, "queue 'x': there is no queue 'y'"},
        {{.name = "p", .parent = "c"}, METE_INVALID, "queue 'p' is below itself"},
        {{.name = "x", .quotas = twice, .n_quotas = 2},
         METE_INVALID,
         "queue 'x': two quotas of 'gpu'"},
        {{.name = "x", .quotas = &negative, .n_quotas = 1},
         METE_INVALID,
         "queue 'x': a number of 'gpu' is not within 0 .. 2^60"},
        {{.name = "x", .min_run_ns = -1}, METE_INVALID, "queue 'x': a limit is negative"},
    };

    (void)state;
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "p"}));
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "c", .parent = "p"}));
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(mete_queue_set(engine, &cases[i].queue), cases[i].result);
        assert_string_equal(mete_last_error(engine), cases[i].says);
    }
    assert_int_equal(mete_queue_count(engine), 3);
    assert_int_equal(mete_queue_remove(engine, "x"), METE_NOT_FOUND);
}

static void shows_what_queues_hold(void **state)
{
    struct mete_queue_view v;

    (void)state;
    NODE(.name = "a", .gpus = 8);
    QUEUE("x", 2, GPUS(1), ALL, .weight = 2);
    JOB(.id = 1, .gpus = 2, .queue = "x");
    JOB(.id = 2, .gpus = 2, .queue = "x");
    CYCLE(10, "1:a(0,1)");
    assert_int_equal(mete_queue_count(engine), 2);
    OK(mete_queue_view(engine, 1, &v));
    assert_string_equal(v.name, "x");
    assert_string_equal(v.parent, "");
    assert_int_equal(v.running, 1);
    assert_int_equal(v.waiting, 1);
    assert_int_equal(v.share_ppm, 250000);
    assert_int_equal(v.n_quotas, 1);
    assert_string_equal(v.quotas[0].resource, "gpu");
    assert_int_equal(v.quotas[0].held, 2000);
    assert_int_equal(v.quotas[0].borrow_limit, 1000);
    assert_int_equal(v.quotas[0].capacity, 8000);
    assert_int_equal(mete_queue_view(engine, 2, &v), METE_NOT_FOUND);
}

static void goes_by_points_of_the_caller(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 4);
    JOB(.id = 2, .gpus = 4);
    JOB(.id = 3, .gpus = 4);
    OK(mete_workload_points(engine, 3, 4000000000));
    OK(mete_workload_points(engine, 2, 1));
    assert_int_equal(why(3).position, 1);
    CYCLE(10, "3:a(0,1,2,3)");
    assert_int_equal(why(1).position, 2);
    OK(mete_workload_points(engine, 2, -1));
    OK(mete_workload_points(engine, 3, 0)); /* placed: for when it waits again */
    assert_int_equal(why(1).position, 1);
    END(3);
    CYCLE(11, "1:a(0,1,2,3)");
    assert_int_equal(mete_workload_points(engine, 9, 1), METE_NOT_FOUND);
}

static void keeps_no_room_where_the_caller_says(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 2);
    CYCLE(10, "1:a(0,1)");
    JOB(.id = 2, .gpus = 4);
    JOB(.id = 3, .gpus = 2);
    CYCLE(11, "");
    OK(mete_workload_unreserved(engine, 2, true));
    CYCLE(12, "3:a(2,3)");
    END(1);
    JOB(.id = 4, .gpus = 2);
    OK(mete_workload_unreserved(engine, 2, false));
    CYCLE(13, "");
    assert_int_equal(mete_workload_unreserved(engine, 9, true), METE_NOT_FOUND);
}

static void keeps_the_place_of_what_is_held(void **state)
{
    struct mete_queue_view view = {0};

    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 4);
    JOB(.id = 2, .gpus = 4);
    OK(mete_workload_hold(engine, 1, METE_HOLD_USER, NULL));
    assert_waits(1, "HeldByYou", "put on hold by its user");
    assert_string_equal(why(1).class_text, "held");
    assert_int_equal(why(1).position, 1);
    assert_says_if(1, "it is released");
    OK(mete_queue_view(engine, 0, &view));
    assert_int_equal(view.waiting, 2);
    assert_int_equal(view.held, 1);
    assert_int_equal(view.oldest_ns, 2 * SECOND);
    CYCLE(10, "2:a(0,1,2,3)");
    assert_int_equal(why(1).n_would_start_if, 0); /* a release would not help: the room is taken */
    JOB(.id = 3, .gpus = 4);
    OK(mete_workload_hold(engine, 1, METE_HOLD_NONE, NULL));
    assert_int_equal(why(1).position, 1);
    END(2);
    CYCLE(11, "1:a(0,1,2,3)");
}

static void tells_what_holds_it(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 1);
    OK(mete_workload_hold(engine, 1, METE_HOLD_ADMIN, NULL));
    assert_waits(1, "HeldByAdmin", "put on hold by an administrator");
    OK(mete_workload_hold(engine, 1, METE_HOLD_GATED, "waits for the gates a, b"));
    assert_waits(1, "SchedulingGated", "waits for the gates a, b");
    OK(mete_workload_hold(engine, 1, METE_HOLD_NOT_BEFORE, "not before noon"));
    assert_waits(1, "NotBefore", "not before noon");
    OK(mete_workload_hold(engine, 1, METE_HOLD_NOT_ALLOWED, "namespace x may not"));
    assert_waits(1, "NotAllowed", "namespace x may not");
    assert_string_equal(why(1).class_text, "yours");
    assert_int_equal(why(1).n_would_start_if, 0);
    CYCLE(10, "");
    JOB(.id = 2, .gpus = 5);
    JOB(.id = 3, .gpus = 1, .queue = "x");
    OK(mete_workload_hold(engine, 2, METE_HOLD_USER, NULL));
    OK(mete_workload_hold(engine, 3, METE_HOLD_USER, NULL));
    assert_string_equal(why(2).code_text,
                        "NeverFits"); /* a reason that needs a change comes first */
    assert_waits(3, "NoSuchQueue", "there is no queue x");
    QUEUE("x", 4, 0, ALL, .is_stopped = true);
    assert_waits(3, "HeldByYou", "put on hold by its user");
    assert_int_equal(mete_workload_hold(engine, 9, METE_HOLD_USER, NULL), METE_NOT_FOUND);
    assert_int_equal(mete_workload_hold(engine, 1, METE_HOLD_USER, ""), METE_INVALID);
}

static void holds_again_what_gives_up_its_place(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    QUEUE("q", 4, 0, ALL);
    JOB(.id = 1, .gpus = 4, .queue = "q");
    CYCLE(10, "1:a(0,1,2,3)");
    OK(mete_workload_hold(engine, 1, METE_HOLD_USER, NULL));
    assert_string_equal(why(1).code_text, "None");
    OK(mete_workload_unplace(engine, 1));
    CYCLE(11, "");
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "q", .user_limits.running = 1}));
    assert_waits(1, "HeldByYou", "put on hold by its user"); /* also in the group of its user */
    OK(mete_fairness_set(engine, &(struct mete_fairness){.factors.age_points = 9}));
    CYCLE(12, "");
    OK(mete_workload_hold(engine, 1, METE_HOLD_NONE, NULL));
    CYCLE(13, "1:a(0,1,2,3)");
}

/* While the first job is held, the next job gets the backfill reservation. */
static void what_is_held_keeps_no_room(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 2, .limit_s = 100);
    CYCLE(5, "1:a(0,1)");
    JOB(.id = 2, .gpus = 4);
    JOB(.id = 3, .gpus = 2);
    CYCLE(6, "");
    OK(mete_workload_hold(engine, 2, METE_HOLD_USER, NULL));
    CYCLE(7, "3:a(2,3)");
}

/* The share of a queue, held and used lately, in millionths. */
static int64_t share_of(const char *name)
{
    struct mete_queue_view v = {0};

    for (size_t i = 0; i < mete_queue_count(engine); i++) {
        OK(mete_queue_view(engine, i, &v));
        if (strcmp(v.name, name) == 0)
            return (int64_t)v.share_ppm;
    }
    fail_msg("there is no queue %s", name);
    return 0;
}

static void set_up_usage(void)
{
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "top"}));
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "x", .parent = "top"}));
    OK(mete_fairness_set(engine, &(struct mete_fairness){.half_life_ns = 100 * SECOND}));
    NODE(.name = "a", .gpus = 8);
}

/* An engine that is told of past usage agrees with an engine that has seen it. */
static void knows_what_was_used_before_it_was_there(void **state)
{
    static const struct mete_amount held = {"gpu", 4000};
    struct mete_used used = {.queue = "x",
                             .user = "ann",
                             .amounts = &held,
                             .n_amounts = 1,
                             .from_ns = 1000 * SECOND,
                             .to_ns = 1100 * SECOND,
                             .now_ns = 1150 * SECOND};
    int64_t seen;

    set_up_usage();
    CYCLE(999, "");
    JOB(.id = 1, .gpus = 4, .queue = "x");
    CYCLE(1000, "1:a(0,1,2,3)");
    CYCLE(1099, "");
    END(1);
    CYCLE(1100, "");
    CYCLE(1150, "");
    seen = share_of("top");
    assert_in_range(seen, 170000, 180000); /* half of a half, decayed for 50 s: 0.177 */
    (void)teardown(state);
    (void)setup(state);
    set_up_usage();
    OK(mete_usage_add(engine, &used));
    CYCLE(1150, "");
    assert_in_range(share_of("top"), seen - 2000, seen + 2000);
    assert_in_range(share_of("x"), seen - 2000, seen + 2000);
    CYCLE(1250, "");
    assert_in_range(share_of("x"), seen / 2 - 2000, seen / 2 + 2000);
    OK(mete_usage_add(engine, &used)); /* told late: the usage decays by its age */
    used.queue = "none";
    assert_int_equal(mete_usage_add(engine, &used), METE_NOT_FOUND);
    used = (struct mete_used){.queue = "x", .from_ns = 2, .to_ns = 1, .now_ns = 3};
    assert_int_equal(mete_usage_add(engine, &used), METE_INVALID);
}

static uint32_t starts(struct job_spec s, uint32_t max)
{
    struct job_parts parts;
    uint32_t n = 999;

    s.id = 77;
    OK(mete_count_starts(engine, job_parts(s, &parts), max, 10 * SECOND, &n));
    return n;
}

static void counts_what_could_start_now(void **state)
{
    uint64_t before;

    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "b", .gpus = 4, .model = "a100");
    assert_int_equal(starts((struct job_spec){.gpus = 2}, 100), 6);
    QUEUE("q", 5, 0, ALL, .user_limits.running = 3);
    JOB(.id = 1, .gpus = 1, .queue = "q");
    CYCLE(5, "1:b(0)");
    before = engine_hash(engine);
    assert_int_equal(starts((struct job_spec){.gpus = 2}, 100), 5);
    assert_int_equal(starts((struct job_spec){.gpus = 2}, 3), 3);
    assert_int_equal(starts((struct job_spec){.gpus = 8}, 100), 1);
    assert_int_equal(starts((struct job_spec){.gpus = 9}, 100), 0);
    assert_int_equal(starts((struct job_spec){.gpus = 1, .model = "a100"}, 100), 3);
    assert_int_equal(starts((struct job_spec){.gpus = 2, .queue = "q", .user = "bob"}, 100), 2);
    assert_int_equal(starts((struct job_spec){.gpus = 1, .queue = "q", .user = "bob"}, 100), 3);
    assert_int_equal(starts((struct job_spec){.gpus = 1, .queue = "q"}, 100), 2);
    assert_int_equal(starts((struct job_spec){.gpus = 1, .queue = "none"}, 100), 0);
    assert_true(before == engine_hash(engine));
    assert_null(mete_engine_check(engine));
}

static void queues_change_where_there_are_as_many_as_may_be(void **state)
{
    (void)state;
    engine->queues_max = 3; /* with "default" */
    NODE(.name = "a", .gpus = 4);
    QUEUE("x", 1, 0, ALL);
    QUEUE("y", 1, 0, ALL);
    JOB(.id = 1, .gpus = 1, .queue = "z");
    CYCLE(10, "");
    assert_int_equal(mete_queue_set(engine, &(struct mete_queue){.name = "z"}), METE_INVALID);
    assert_string_equal(mete_last_error(engine),
                        "queue 'z': there are 3 queues already, at most 3");
    JOB(.id = 2, .gpus = 2, .queue = "y");
    CYCLE(11, "");
    QUEUE("y", 2, 0, ALL);
    CYCLE(12, "2:a(0,1)");
    OK(mete_queue_remove(engine, "default")); /* made again at need */
    OK(mete_queue_remove(engine, "x"));
    QUEUE("z", 1, 0, ALL);
    CYCLE(13, "1:a(2)");
}

/* Each new queue comes between the first one and all that were set before. */
static void queues_stay_in_order_of_their_names(void **state)
{
    enum {
        MANY = 200
    };
    struct mete_queue_view view;
    char name[8];

    (void)state;
    QUEUE("a", 4, 0, ALL);
    for (int i = MANY; i > 0; i--) {
        (void)snprintf(name, sizeof(name), "a%03d", i);
        QUEUE(name, 4, 0, ALL);
        assert_null(mete_engine_check(engine));
    }
    for (int i = 2; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "a%03d", i);
        OK(mete_queue_remove(engine, name));
        assert_null(mete_engine_check(engine));
    }
    OK(mete_queue_view(engine, 2, &view));
    assert_string_equal(view.name, "a200");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(waits_for_its_queue_to_be_there),
        TEST(holds_nominal_and_what_it_may_borrow),
        TEST(counts_shares_of_gpus_in_part_and_gpus_by_model),
        TEST(what_is_not_lent_stays_free),
        TEST(a_parent_bounds_what_is_below_it),
        TEST(limits_queues_and_users),
        TEST(starts_nothing_of_a_stopped_queue),
        TEST(below_nominal_goes_before_above_it),
        TEST(shares_by_weight),
        TEST(lists_what_waits_from_any_place),
        TEST(what_was_used_lately_counts),
        TEST(orders_by_points),
        TEST(reclaims_what_others_borrowed),
        TEST(reclaims_only_where_it_may),
        TEST(preempts_lower_priority_in_its_queue),
        TEST(one_that_never_preempts_waits_and_others_do),
        TEST(a_class_evicts_in_any_queue_and_no_class_evicts_itself),
        TEST(evicts_what_costs_least_and_whole_gangs),
        TEST(evicts_what_has_saved_its_work),
        TEST(a_preemptor_that_goes_lets_go_of_the_room),
        TEST(refuses_queues_that_cannot_be),
        TEST(goes_by_points_of_the_caller),
        TEST(keeps_no_room_where_the_caller_says),
        TEST(keeps_the_place_of_what_is_held),
        TEST(tells_what_holds_it),
        TEST(holds_again_what_gives_up_its_place),
        TEST(what_is_held_keeps_no_room),
        TEST(counts_what_could_start_now),
        TEST(knows_what_was_used_before_it_was_there),
        TEST(shows_what_queues_hold),
        TEST(queues_change_where_there_are_as_many_as_may_be),
        TEST(queues_stay_in_order_of_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
