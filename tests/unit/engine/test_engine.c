/* test_engine.c - placement, queues and explanations of the engine, in small cases */

#include "engine/state.h"
#include "engine_one.h"

static struct mete_reason why(uint64_t id)
{
    struct mete_reason r = {0};

    OK(mete_why(engine, id, 100 * SECOND, &r));
    return r;
}

static bool says_if(const struct mete_reason *r, const char *line)
{
    for (size_t i = 0; i < r->n_would_start_if; i++)
        if (strcmp(r->would_start_if[i], line) == 0)
            return true;
    return false;
}

static void places_by_priority_then_time_then_id(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 1);
    JOB(.id = 3, .gpus = 1, .submit_s = 5);
    JOB(.id = 2, .gpus = 1, .submit_s = 5);
    JOB(.id = 1, .gpus = 1, .submit_s = 9);
    JOB(.id = 4, .gpus = 1, .submit_s = 9, .priority = 7);
    CYCLE(10, "4:a(0)");
    END(4);
    CYCLE(11, "2:a(0)");
    END(2);
    CYCLE(12, "3:a(0)");
    END(3);
    CYCLE(13, "1:a(0)");
}

static void packs_gpus_onto_the_fullest_node_that_holds_them(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "b", .gpus = 4);
    JOB(.id = 1, .gpus = 2);
    JOB(.id = 2, .gpus = 2);
    JOB(.id = 3, .gpus = 1);
    CYCLE(10, "1:b(0,1) 2:b(2,3) 3:a(0)");
}

static void keeps_pods_without_gpus_away_from_gpus(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "z", .gpus = 0);
    JOB(.id = 1, .gpus = 0);
    CYCLE(10, "1:z");
}

static void spreads_when_told_to(void **state)
{
    (void)state;
    mete_engine_free(engine);
    engine = mete_engine_new(&(struct mete_options){.policy = "spread"});
    NODE(.name = "a", .gpus = 4);
    NODE(.name = "b", .gpus = 4);
    JOB(.id = 1, .gpus = 1);
    JOB(.id = 2, .gpus = 1);
    CYCLE(10, "1:a(0) 2:b(0)");
    assert_null(mete_engine_new(&(struct mete_options){.policy = "best"}));
}

static void gives_linked_gpus_and_keeps_large_groups_whole(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 1);
    CYCLE(10, "1:a(0)");
    JOB(.id = 2, .gpus = 2); /* group 0-3 has 3 left: a NUMA node of it is whole */
    CYCLE(11, "2:a(2,3)");
    JOB(.id = 3, .gpus = 4);
    CYCLE(12, "3:a(4,5,6,7)");
    JOB(.id = 4, .gpus = 1);
    CYCLE(13, "4:a(1)");
}

static void takes_whole_groups_first_when_none_is_large_enough(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 1);
    CYCLE(10, "1:a(0)");
    JOB(.id = 2, .gpus = 6);
    CYCLE(11, "2:a(1,2,4,5,6,7)");
}

static void filters_by_label_taint_model_node_and_health(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 2, .label = "ssd");
    NODE(.name = "b", .gpus = 2, .taint = "ml");
    NODE(.name = "c", .gpus = 2, .model = "t4");
    NODE(.name = "d", .gpus = 2, .sick = 1);
    NODE(.name = "e", .gpus = 2, .is_cordoned = true);
    NODE(.name = "f", .gpus = 2, .is_not_ready = true);
    JOB(.id = 1, .gpus = 1, .label = "ssd");
    JOB(.id = 2, .gpus = 2, .tolerates = "ml", .node = "b");
    JOB(.id = 3, .gpus = 1, .model = "t4");
    JOB(.id = 4, .gpus = 1, .node = "d");
    JOB(.id = 5, .gpus = 1, .node = "e");
    JOB(.id = 6, .gpus = 1, .node = "f");
    CYCLE(10, "1:a(0) 2:b(0,1) 3:c(0) 4:d(1)");
}

static void places_a_gang_whole_or_not_at_all(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    NODE(.name = "b", .gpus = 2);
    JOB(.id = 1, .gpus = 2, .pods = 4);
    JOB(.id = 2, .gpus = 2, .pods = 3);
    CYCLE(10, "2:b(0,1) 2:a(0,1) 2:a(2,3)");
    assert_int_equal(why(1).code, METE_REASON_NEVER_FITS);
    assert_string_equal(why(1).message, "needs 4 x 2 gpus; all nodes together hold 3");
    NODE(.name = "c", .gpus = 2);
    assert_string_equal(why(1).message, "needs 4 x 2 gpus at once; there is room for 1");
    END(2);
    CYCLE(11, "1:b(0,1) 1:c(0,1) 1:a(0,1) 1:a(2,3)");
}

static void refuses_what_cannot_be(void **state)
{
    const struct {
        struct mete_pod_set set;
        const char *says;
    } cases[] = {
        {{.count = 0}, "pod set 0: count 0 is not within 1 .. 16384"},
        {{.count = 1, .requests = &(struct mete_amount){"cpu", -1}, .n_requests = 1},
         "request 0 has no name or is not within 0 .. 2^60"},
        {{.count = 1, .requests = (struct mete_amount[]){{"cpu", 1}, {"cpu", 1}}, .n_requests = 2},
         "resource 'cpu' is requested twice"},
        {{.count = 1, .tolerations = &(struct mete_toleration){.value = "x"}, .n_tolerations = 1},
         "toleration 0 has no key, which needs Exists"},
        {{.count = 1, .gpus = 20000}, "a pod asks for 20000 gpus, at most 16384"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mete_workload w = {.id = 1, .pod_sets = &cases[i].set, .n_pod_sets = 1};

        assert_int_equal(mete_workload_add(engine, &w), METE_INVALID);
        assert_string_equal(mete_last_error(engine), cases[i].says);
    }
    JOB(.id = 1);
    assert_int_equal(add_job(engine, (struct job_spec){.id = 1}), METE_EXISTS);
    assert_int_equal(mete_workload_remove(engine, 2), METE_NOT_FOUND);
    assert_int_equal(mete_workload_unplace(engine, 1), METE_NOT_FOUND);
    assert_int_equal(mete_node_remove(engine, "a"), METE_NOT_FOUND);
    NODE(.name = "a", .gpus = 1);
    assert_int_equal(set_node(engine, (struct node_spec){.name = ""}), METE_INVALID);
}

static void refuses_a_gpu_on_two_nodes(void **state)
{
    struct mete_gpu gpu = {.uuid = "a-0", .is_healthy = true};

    (void)state;
    NODE(.name = "a", .gpus = 1);
    assert_int_equal(
        mete_node_set(engine, &(struct mete_node){.name = "b", .gpus = &gpu, .n_gpus = 1}),
        METE_CONFLICT);
    assert_string_equal(mete_last_error(engine), "node 'b': gpu 'a-0' is on node 'a'");
    assert_int_equal(mete_node_count(engine), 1);
}

static void keeps_what_is_held_when_a_node_shrinks_or_goes(void **state)
{
    struct mete_node_view view;

    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 3);
    CYCLE(10, "1:a(0,1,2)");
    NODE(.name = "a", .gpus = 2, .cpu = 500);
    OK(mete_node_view(engine, 0, &view));
    assert_int_equal(view.gpus, 2);
    assert_int_equal(mete_gpu_holder(engine, "a-2"), 1);
    OK(mete_node_remove(engine, "a"));
    assert_int_equal(mete_gpu_holder(engine, "a-0"), 1);
    assert_null(mete_engine_check(engine));
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 2, .gpus = 2);
    CYCLE(11, "");
    END(1);
    assert_int_equal(mete_gpu_holder(engine, "a-0"), 0);
    CYCLE(12, "2:a(0,1)");
}

static void restores_placements_on_nodes_that_come_later(void **state)
{
    (void)state;
    OK(restore_job(engine, (struct job_spec){.id = 7, .gpus = 2, .restored_on = "a"}, 1));
    assert_int_equal(mete_gpu_holder(engine, "a-1"), 7);
    assert_int_equal(
        restore_job(engine,
                    (struct job_spec){.id = 8, .gpus = 2, .restored_on = "a", .restored_at = 1}, 1),
        METE_CONFLICT);
    assert_string_equal(mete_last_error(engine), "gpu 'a-1' is held by workload 7");
    assert_int_equal(mete_gpu_holder(engine, "a-2"), 0);
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 9, .gpus = 2);
    CYCLE(10, "9:a(2,3)");
    assert_int_equal(mete_workload_unplace(engine, 9), METE_OK);
    CYCLE(11, "9:a(2,3)");
}

static void keeps_room_for_a_large_job(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "b", .gpus = 2);
    JOB(.id = 1, .gpus = 4);
    JOB(.id = 2, .gpus = 2, .node = "a");
    CYCLE(10, "1:a(0,1,2,3) 2:a(4,5)");
    JOB(.id = 3, .gpus = 8);
    JOB(.id = 4, .gpus = 1);
    JOB(.id = 5, .gpus = 1);
    JOB(.id = 6, .gpus = 1);
    CYCLE(11, "4:b(0) 5:b(1)"); /* a is kept for 3 */
    assert_int_equal(why(6).code, METE_REASON_RESERVED);
    assert_string_equal(why(6).message, "needs 1 gpu; the room on a is kept for job 3");
    assert_string_equal(why(3).message, "needs 8 gpus on one node; most free is 2 (a)");
    END(1);
    CYCLE(12, "");
    END(2);
    CYCLE(13, "3:a(0,1,2,3,4,5,6,7)");
}

static void says_when_room_is_kept_for_a_higher_priority(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 2);
    CYCLE(10, "1:a(0,1)");
    JOB(.id = 2, .gpus = 4, .priority = 10);
    JOB(.id = 3, .gpus = 1);
    CYCLE(11, "");
    assert_string_equal(why(3).code_text, "HigherPriority");
    assert_string_equal(why(3).message, "needs 1 gpu; the room is kept for job 2 (priority 10)");
    assert_int_equal(why(3).position, 2);
    assert_int_equal(why(3).waiting, 2);
}

static void lets_others_use_what_is_beyond_the_reservation(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 5);
    CYCLE(10, "1:a(0,1,2,3,4)");
    JOB(.id = 2, .gpus = 6); /* whatever happens it starts when 1 ends, with 2 to spare */
    JOB(.id = 3, .gpus = 1);
    JOB(.id = 4, .gpus = 1);
    JOB(.id = 5, .gpus = 1);
    CYCLE(11, "3:a(5) 4:a(6)");
    END(1);
    CYCLE(12, "2:a(0,1,2,3,4,7)");
}

static void backfills_what_ends_before_the_reservation_starts(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 4, .limit_s = 100);
    CYCLE(10, "1:a(0,1,2,3)"); /* ends at 110 */
    JOB(.id = 2, .gpus = 8);
    JOB(.id = 3, .gpus = 1, .limit_s = 99);
    JOB(.id = 4, .gpus = 1, .limit_s = 100);
    JOB(.id = 5, .gpus = 1);
    CYCLE(11, "3:a(4)");
    JOB(.id = 6, .gpus = 1, .limit_s = 90);
    CYCLE(20, "6:a(5)");
    assert_int_equal(why(4).code, METE_REASON_RESERVED);
    assert_int_equal(why(2).nodes[0].until_ns, 110 * SECOND);
}

static void a_job_before_the_reservation_takes_its_room(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 2);
    CYCLE(10, "1:a(0,1)");
    JOB(.id = 2, .gpus = 4);
    CYCLE(11, "");
    JOB(.id = 3, .gpus = 2, .priority = 1);
    CYCLE(12, "3:a(2,3)");
}

static void one_failed_search_for_all_of_a_kind(void **state)
{
    struct mete_decisions d;

    (void)state;
    NODE(.name = "a", .gpus = 1);
    for (uint64_t id = 1; id <= 5000; id++)
        JOB(.id = id, .gpus = 1);
    CYCLE(10, "1:a(0)");
    mete_cycle(engine, 11 * SECOND, 3, &d); /* three looks at nodes are plenty */
    assert_false(d.is_cut);
    assert_int_equal(d.n_placements, 0);
    assert_int_equal(why(5000).position, 4999);
}

static void a_small_budget_gets_there_in_the_end(void **state)
{
    struct mete_decisions d = {.is_cut = true};
    size_t placed = 0;
    size_t calls = 0;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "n%02u", i);
        NODE(.name = name, .gpus = 2);
    }
    for (uint64_t id = 1; id <= 40; id++)
        JOB(.id = id, .gpus = 1, .cpu = 1000 + (int64_t)id);
    while (d.is_cut && calls++ < 100) {
        mete_cycle(engine, 10 * SECOND, 1, &d);
        placed += d.n_placements;
    }
    assert_int_equal(placed, 40);
    assert_true(calls > 30);
}

static const struct {
    struct job_spec job;
    const char *code;
    const char *message;
    const char *first_line;
    const char *would_start_if; /* NULL: none */
} why_cases[] = {
    {{.gpus = 9},
     "NeverFits",
     "needs 9 gpus on one node; the largest has 8 (a)",
     "too small: has 8 gpus",
     "it asks for 4 gpus, not 9 (on a)"},
    {{.gpus = 1, .model = "b200"},
     "NeverFits",
     "needs 1 B200; no node that matches has that model",
     "wrong model (h100)",
     "it takes gpus of any model (on b)"},
    {{.gpus = 1, .label = "tape"},
     "NeverFits",
     "no node has the label disk=tape",
     "label disk=tape is missing",
     "it does not ask for the label disk=tape (on b)"},
    {{.gpus = 1, .node = "x"}, "NeverFits", "there is no node x", NULL, NULL},
    {{.gpus = 1, .node = "t"},
     "NeverFits",
     "does not tolerate the taint dedicated=ml:NoSchedule (t)",
     "taint dedicated=ml:NoSchedule is not tolerated",
     "it tolerates the taint dedicated=ml:NoSchedule (on t)"},
    {{.cpu = 65000},
     "NeverFits",
     "needs 65 cpu on one node; the largest has 64 (a)",
     "too small: has 64 cpu",
     "it asks for 64 cpu, not 65 (on s)"},
    {{.gpus = 6, .model = "h100"},
     "NoNodeFits",
     "needs 6 H100 on one node; most free is 4 (a)",
     "2 short; job 101 holds 4",
     "it asks for 4 H100, not 6 (on a)"},
    {{.cpu = 64000, .node = "a"},
     "NoNodeFits",
     "needs 64 cpu on one node; most free is 63 (a)",
     "1 cpu short; job 101 holds 1",
     "job 101 ends"},
    {{.gpus = 2, .node = "s"},
     "GpusUnhealthy",
     "needs 2 gpus; would fit if 1 more gpu was in service (s)",
     "1 of 2 out of service",
     "it asks for 1 gpu, not 2 (on s)"},
    {{.gpus = 2, .node = "c"},
     "NodesDraining",
     "needs 2 gpus; fits only on c, which is cordoned: \"fans\"",
     "cordoned: \"fans\"",
     "node c is uncordoned"},
};

static void says_why_with_numbers(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "b", .gpus = 2);
    NODE(.name = "c", .gpus = 2, .is_cordoned = true, .cordon_reason = "fans");
    NODE(.name = "s", .gpus = 2, .sick = 1);
    NODE(.name = "t", .gpus = 2, .taint = "ml");
    OK(restore_job(engine, (struct job_spec){.id = 101, .gpus = 4, .restored_on = "a"}, 1));
    OK(restore_job(engine, (struct job_spec){.id = 102, .gpus = 1, .restored_on = "b"}, 1));
    for (size_t i = 0; i < COUNT(why_cases); i++) {
        struct job_spec job = why_cases[i].job;
        struct mete_reason r;

        job.id = 1;
        OK(add_job(engine, job));
        CYCLE(10, "");
        r = why(1);
        assert_string_equal(r.code_text, why_cases[i].code);
        assert_string_equal(r.message, why_cases[i].message);
        assert_true(strlen(r.message) <= 72);
        if (why_cases[i].first_line)
            assert_string_equal(r.nodes[0].text, why_cases[i].first_line);
        else
            assert_int_equal(r.n_nodes, 0);
        if (why_cases[i].would_start_if && !says_if(&r, why_cases[i].would_start_if))
            fail_msg("'%s' is not among the %zu lines for '%s', the first is '%s'",
                     why_cases[i].would_start_if, r.n_would_start_if, r.message,
                     r.n_would_start_if ? r.would_start_if[0] : "");
        assert_true(why_cases[i].would_start_if || r.n_would_start_if == 0);
        OK(mete_why_brief(engine, 1, 100 * SECOND, &r));
        assert_string_equal(r.message, why_cases[i].message);
        END(1);
    }
}

static void says_that_an_empty_cluster_is_empty(void **state)
{
    (void)state;
    JOB(.id = 1, .gpus = 1);
    CYCLE(10, "");
    assert_int_equal(why(1).code, METE_REASON_NEVER_FITS);
    assert_string_equal(why(1).message, "there are no nodes");
    NODE(.name = "a", .gpus = 2);
    assert_string_equal(why(1).code_text, "NotYetEvaluated");
    CYCLE(11, "1:a(0)");
    assert_int_equal(why(1).code, METE_REASON_NONE);
}

static void nodes_change_where_there_are_as_many_as_may_be(void **state)
{
    (void)state;
    engine->nodes_max = 2;
    NODE(.name = "a", .gpus = 1);
    NODE(.name = "b", .gpus = 1);
    assert_int_equal(set_node(engine, (struct node_spec){.name = "c", .gpus = 1}), METE_INVALID);
    assert_string_equal(mete_last_error(engine), "node 'c': there are 2 nodes already, at most 2");
    JOB(.id = 1, .gpus = 2);
    CYCLE(10, "");
    NODE(.name = "b", .gpus = 2);
    CYCLE(11, "1:b(0,1)");
    OK(mete_node_remove(engine, "b")); /* its job still holds it, but it is no present node */
    NODE(.name = "c", .gpus = 1);
    assert_int_equal(set_node(engine, (struct node_spec){.name = "b", .gpus = 2}), METE_INVALID);
    OK(mete_node_remove(engine, "a"));
    NODE(.name = "b", .gpus = 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(places_by_priority_then_time_then_id),
        TEST(packs_gpus_onto_the_fullest_node_that_holds_them),
        TEST(keeps_pods_without_gpus_away_from_gpus),
        TEST(spreads_when_told_to),
        TEST(gives_linked_gpus_and_keeps_large_groups_whole),
        TEST(takes_whole_groups_first_when_none_is_large_enough),
        TEST(filters_by_label_taint_model_node_and_health),
        TEST(places_a_gang_whole_or_not_at_all),
        TEST(refuses_what_cannot_be),
        TEST(refuses_a_gpu_on_two_nodes),
        TEST(keeps_what_is_held_when_a_node_shrinks_or_goes),
        TEST(restores_placements_on_nodes_that_come_later),
        TEST(keeps_room_for_a_large_job),
        TEST(says_when_room_is_kept_for_a_higher_priority),
        TEST(lets_others_use_what_is_beyond_the_reservation),
        TEST(backfills_what_ends_before_the_reservation_starts),
        TEST(a_job_before_the_reservation_takes_its_room),
        TEST(one_failed_search_for_all_of_a_kind),
        TEST(a_small_budget_gets_there_in_the_end),
        TEST(says_why_with_numbers),
        TEST(says_that_an_empty_cluster_is_empty),
        TEST(nodes_change_where_there_are_as_many_as_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
