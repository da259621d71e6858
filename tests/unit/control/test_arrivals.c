/* test_arrivals.c - counts of arriving pods, which the engine learns from */

#include <stdio.h>

#include "control/report/arrivals.h"
#include "engine_build.h"
#include "sim/openb.h"
#include "test.h"

/* An engine that records into the arrivals. */
static struct mete_engine *engine_for(struct arrivals *a)
{
    return mete_engine_new(
        &(struct mete_options){.policy = "mete", .record = arrivals_line, .record_arg = a});
}

static void submit(struct mete_engine *e, uint64_t id, uint32_t gpus, uint32_t pods)
{
    assert_int_equal(add_job(e, (struct job_spec){.id = id,
                                                  .submit_s = 1,
                                                  .gpus = gpus,
                                                  .pods = pods,
                                                  .milli = gpus == 1 ? 250 : 0,
                                                  .model = gpus == 2 ? "h100" : NULL}),
                     METE_OK);
}

static void counts_each_pod_once(void **state)
{
    struct arrivals *a = arrivals_new();
    struct mete_engine *e = engine_for(a);

    (void)state;
    submit(e, 5, 1, 1);
    submit(e, 6, 2, 3); /* a gang */
    assert_int_equal(arrivals_total(a), 4);
    assert_int_equal(mete_workload_remove(e, 6), METE_OK);
    submit(e, 6, 2, 3);                   /* the same job again */
    submit(e, 4, 1, 1);                   /* an older id, as after a restart */
    submit(e, METE_ID_UNNAMED + 1, 8, 1); /* a stand-in */
    assert_int_equal(arrivals_total(a), 4);
    submit(e, 9, 0, 1);
    assert_int_equal(arrivals_total(a), 5);
    assert_int_equal(arrivals_recent(a), 5);
    mete_engine_free(e);
    arrivals_free(a);
}

static void writes_what_learning_reads(void **state)
{
    struct arrivals *a = arrivals_new();
    struct mete_engine *e = engine_for(a);
    AUTO(openb_freep) struct openb *o = openb_new();
    struct arrivals_files files;

    (void)state;
    assert_false(arrivals_format(a, &files));
    submit(e, 1, 2, 1);
    assert_false(arrivals_format(a, &files)); /* no nodes */
    assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 8}), METE_OK);
    assert_int_equal(set_node(e, (struct node_spec){.name = "b", .gpus = 4, .model = "t4"}),
                     METE_OK);
    assert_int_equal(set_node(e, (struct node_spec){.name = "c"}), METE_OK);
    assert_int_equal(set_node(e, (struct node_spec){.name = "d", .gpus = 8}), METE_OK);
    assert_int_equal(mete_node_remove(e, "d"), METE_OK);
    submit(e, 2, 1, 1);
    assert_true(arrivals_format(a, &files));
    assert_null(openb_read_nodes(o, "n", (struct str){files.nodes.at, files.nodes.size}));
    assert_null(openb_read_pods(o, "p", (struct str){files.pods.at, files.pods.size}));
    assert_int_equal(openb_node_count(o), 2);
    assert_int_equal(openb_capacity_milli(o), 12000);
    assert_int_equal(openb_pod_count(o), 2);
    assert_int_equal(openb_pods(o)[0].gpus, 2);
    assert_string_equal(openb_pods(o)[0].models[0], "h100");
    assert_int_equal(openb_pods(o)[1].gpu_milli, 250);
    assert_int_equal(openb_pods(o)[1].cpu_milli, 1000);
    arrivals_files_done(&files);
    mete_engine_free(e);
    arrivals_free(a);
}

/* More arrivals than the limit: the oldest go, and so do kinds without an arrival. */
static void keeps_the_last_ones_over_a_restart(void **state)
{
    struct arrivals *a = arrivals_new();
    struct arrivals *b = arrivals_new();
    struct mete_engine *e = engine_for(a);
    json_t *saved;
    json_t *again;

    (void)state;
    for (uint64_t id = 1; id <= ARRIVALS_KEPT + 100; id++) {
        assert_int_equal(
            add_job(e, (struct job_spec){.id = id, .gpus = 1, .cpu = 1 + (int64_t)id / 8}),
            METE_OK);
        assert_int_equal(mete_workload_remove(e, id), METE_OK);
    }
    assert_int_equal(arrivals_total(a), ARRIVALS_KEPT + 100);
    assert_int_equal(arrivals_recent(a), ARRIVALS_KEPT);
    saved = arrivals_save(a);
    assert_int_equal(json_array_size(json_object_get(saved, "arrivals")), ARRIVALS_KEPT);
    assert_true(json_array_size(json_object_get(saved, "kinds")) <= ARRIVALS_KEPT / 8 + 2);
    assert_null(arrivals_load(b, saved));
    again = arrivals_save(b);
    assert_int_equal(arrivals_total(b), ARRIVALS_KEPT + 100);
    assert_int_equal(json_int(again, "newest", 0), ARRIVALS_KEPT + 100);
    assert_int_equal(arrivals_recent(b), ARRIVALS_KEPT);
    json_decref(saved);
    json_decref(again);
    mete_engine_free(e);
    arrivals_free(a);
    arrivals_free(b);
}

static void refuses_what_was_not_saved_by_it(void **state)
{
    static const char *const texts[] = {
        "{\"kinds\": [], \"arrivals\": [0]}",
        "{\"kinds\": [{\"cpuMilli\": 1, \"memoryMiB\": -2}], \"arrivals\": [0]}",
        "{\"kinds\": [{\"cpuMilli\": 1, \"memoryMiB\": 1}], \"arrivals\": [\"0\"]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct arrivals *a = arrivals_new();
        json_t *saved = json_loads(texts[i], 0, NULL);
        AUTO(err_freep) struct err *e = arrivals_load(a, saved);

        assert_non_null(e);
        assert_string_equal(err_message(e), "arrival 0 has no valid kind");
        json_decref(saved);
        arrivals_free(a);
    }
}

/* Requests decide which gpus are fragments: if all jobs ask for whole gpus, half a gpu is useless.
 */
static void tells_the_engine_what_is_asked_for(void **state)
{
    struct arrivals *a = arrivals_new();
    struct mete_engine *e = engine_for(a);
    struct mete_decisions d;
    struct mete_gpu_sums sums;

    (void)state;
    assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 1}), METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 1, .gpus = 1, .milli = 500}), METE_OK);
    mete_cycle(e, SECOND, 0, &d);
    assert_int_equal(d.n_placements, 1);
    for (uint64_t id = 2; id < 100; id++)
        assert_int_equal(add_job(e, (struct job_spec){.id = id, .gpus = 1}), METE_OK);
    assert_int_equal(arrivals_tell(a, e), METE_OK);
    mete_gpu_sums(e, &sums);
    assert_int_equal(sums.used, 500);
    assert_true(sums.fragmented > 450);
    mete_engine_free(e);
    arrivals_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_each_pod_once),
        cmocka_unit_test(writes_what_learning_reads),
        cmocka_unit_test(keeps_the_last_ones_over_a_restart),
        cmocka_unit_test(refuses_what_was_not_saved_by_it),
        cmocka_unit_test(tells_the_engine_what_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
