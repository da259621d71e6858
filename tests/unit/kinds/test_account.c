/* test_account.c - accounting: rows of attempts, states of gpus, and the clock */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "kinds/account/account.h"
#include "kinds/ledger.h"
#include "mem_storage.h"
#include "test.h"
#include "world.h"

#define POD(n)    ((struct target){.kind = "pods", .name = (n)})
#define STATUS(n) ((struct target){.kind = "pods", .name = (n), .sub = "status", .who = &ours})

static void setup(struct world *w)
{
    world_init(w, 7);
    world_add_node(w, "n1", 2);
    world_must(world_patch(
        w, (struct target){.kind = "nodes", .name = "n1", .sub = "status", .who = &ours},
        "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", NULL));
    world_must(world_add_pod(w, "default", "a", 1));
    sim_loop_advance(w->loop, 10 * NS_PER_SEC);
    world_must(world_bind(w, "default", "a", "n1"));
}

/* The i-th row by time, or NULL. New reference. */
static json_t *row_at(struct world *w, size_t i)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};
    json_t *row = NULL;

    world_must(store_list(w->store, &range, NULL, NULL, 0, 0, &list));
    if (i < list.n)
        world_must(json_parse(list.at[i]->bytes, &row));
    store_list_done(&list);
    return row;
}

static size_t count_rows(struct world *w)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};
    size_t n;

    world_must(store_list(w->store, &range, NULL, NULL, 0, 0, &list));
    n = list.n;
    store_list_done(&list);
    return n;
}

static void a_row_says_who_held_what(void **state)
{
    AUTO(json_freep) json_t *json = NULL;
    struct account_row row = {0};
    struct world w;

    (void)state;
    setup(&w);
    sim_loop_advance(w.loop, 90 * NS_PER_SEC);
    world_must(world_patch(
        &w, STATUS("a"),
        "{'metadata':{'annotations':{'mete.dev/usage':'{\\'containers\\':{\\'main\\':{\\'0\\':{"
        "\\'cpuNs\\':5,\\'memoryKibSeconds\\':6,\\'memoryPeakBytes\\':7,\\'gpuBusyNs\\':8,"
        "\\'gpuIdleNs\\':0,\\'gpuMemoryPeakBytes\\':10}}}}'}},'status':{'phase':"
        "'Failed','containerStatuses':[{'name':'main','restartCount':0,'ready':false,'image':'',"
        "'imageID':'','state':{'terminated':{'exitCode':3,'reason':'Error'}}}]}}",
        NULL));
    assert_int_equal(count_rows(&w), 1);
    json = row_at(&w, 0);
    assert_true(account_row_read(json, &row));
    assert_string_equal(row.user, "ann");
    assert_string_equal(row.ns, "default");
    assert_string_equal(row.pod, "a");
    assert_string_equal(row.queue, "default");
    assert_string_equal(row.workload, "a");
    assert_string_equal(row.node, "n1");
    assert_string_equal(row.cause, "Failed");
    assert_int_equal(row.job_id, 1);
    assert_int_equal(row.attempt, 0);
    assert_int_equal(row.exit_code, 3);
    assert_int_equal(row.to_ns - row.from_ns, 90 * NS_PER_SEC);
    assert_int_equal(row.usage.cpu_ns, 5);
    assert_int_equal(row.usage.memory_kib_seconds, 6);
    assert_int_equal(row.usage.memory_peak_bytes, 7);
    assert_int_equal(row.usage.gpu_busy_ns, 8);
    assert_int_equal(row.usage.gpu_idle_ns, 0);
    assert_int_equal(row.usage.gpu_energy_mj, -1); /* as in rows of before it was measured */
    assert_int_equal(row.usage.gpu_memory_peak_bytes, 10);
    assert_int_equal(json_array_size(row.gpus), 1);
    assert_string_equal(json_text(json_array_get(row.gpus, 0), "uuid"), "GPU-n1-0");
    world_done(&w);
}

/* The image was pulled for 20 s, and the server heard of the end 10 s later. */
static void time_without_a_container_is_known(void **state)
{
    AUTO(json_freep) json_t *json = NULL;
    AUTO_FREE char *patch = NULL;
    struct account_row row = {0};
    char started[STAMP_TEXT_SIZE];
    char finished[STAMP_TEXT_SIZE];
    struct world w;
    int64_t now_ns;

    (void)state;
    setup(&w);
    now_ns = objects_now_ns(w.objects);
    stamp_format(now_ns + 20 * NS_PER_SEC, started);
    stamp_format(now_ns + 50 * NS_PER_SEC, finished);
    patch = mem_format("{'status':{'phase':'Failed','containerStatuses':[{'name':'main',"
                       "'restartCount':0,'ready':false,'image':'','imageID':'','state':"
                       "{'terminated':{'exitCode':1,'startedAt':'%s','finishedAt':'%s'}}}]}}",
                       started, finished);
    sim_loop_advance(w.loop, 60 * NS_PER_SEC);
    world_must(world_patch(&w, STATUS("a"), patch, NULL));
    json = row_at(&w, 0);
    assert_true(account_row_read(json, &row));
    assert_in_range(row.wait_ns, 28 * NS_PER_SEC, 30 * NS_PER_SEC);
    world_done(&w);
}

/* Without the row the pod's gpus would stay held until the disk has room. */
static void a_pod_ends_with_its_row_on_a_full_disk(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    mem_storage_set_low(w.disk, true);
    world_must(world_create(&w, (struct target){.kind = "configmaps"},
                            "{'metadata':{'name':'last'}}", NULL));
    err_free(world_create(&w, (struct target){.kind = "configmaps"}, "{'metadata':{'name':'no'}}",
                          NULL));
    assert_null(world_get(&w, (struct target){.kind = "configmaps", .name = "no"}));
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Succeeded'}}", NULL));
    assert_int_equal(count_rows(&w), 1);
    mem_storage_set_low(w.disk, false);
    world_done(&w);
}

static void what_is_not_known_is_left_out(void **state)
{
    AUTO(json_freep) json_t *json = NULL;
    struct account_row row = {0};
    struct world w;

    (void)state;
    setup(&w);
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Failed'}}", NULL));
    json = row_at(&w, 0);
    assert_null(json_object_get(json, "cpuNs"));
    assert_null(json_object_get(json, "exitCode"));
    assert_true(account_row_read(json, &row));
    assert_int_equal(row.usage.cpu_ns, -1);
    assert_int_equal(row.exit_code, -1);
    world_done(&w);
}

static void a_pod_without_a_node_leaves_no_row(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    world_must(world_add_pod(&w, "default", "b", 1));
    world_must(world_delete(&w, POD("b"), NULL, NULL));
    assert_int_equal(count_rows(&w), 0);
    world_done(&w);
}

#define TERMINATED(code, reason)                                                     \
    "'containerStatuses':[{'name':'main','restartCount':0,'ready':false,'image':''," \
    "'imageID':'','state':{'terminated':{'exitCode':" code ",'reason':'" reason "'}}}]"

static void the_cause_is_what_ended_it(void **state)
{
    static const struct {
        const char *patch;
        bool is_deleted_first;
        const char *cause;
    } cases[] = {
        {"{'status':{'phase':'Succeeded'," TERMINATED("0", "Completed") "}}", false, "Completed"},
        {"{'status':{'phase':'Failed'," TERMINATED("1", "Error") "}}", false, "Failed"},
        {"{'status':{'phase':'Failed'," TERMINATED("137", "OOMKilled") "}}", false, "OOMKilled"},
        {"{'status':{'phase':'Failed','reason':'DeadlineExceeded'}}", false, "DeadlineExceeded"},
        {"{'status':{'phase':'Failed','reason':'Evicted'}}", false, "Evicted"},
        {"{'status':{'phase':'Failed','reason':'NodeLost'}}", false, "NodeLost"},
        {"{'status':{'phase':'Failed','reason':'x'}}", false, "Failed"},
        {"{'status':{'phase':'Failed'," TERMINATED("143", "Error") "}}", true, "Cancelled"},
        {"{'status':{'phase':'Succeeded'," TERMINATED("0", "Completed") "}}", true, "Completed"},
        {"{'status':{'phase':'Failed','conditions':[{'type':'DisruptionTarget','status':'True',"
         "'reason':'EvictionByEvictionAPI'}]}}",
         true, "Evicted"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *json = NULL;
        struct world w;

        setup(&w);
        if (cases[i].is_deleted_first)
            world_must(world_delete(&w, POD("a"), NULL, NULL));
        world_must(world_patch(&w, STATUS("a"), cases[i].patch, NULL));
        json = row_at(&w, 0);
        assert_string_equal(json_text(json, "cause"), cases[i].cause);
        world_done(&w);
    }
}

static void a_pod_that_is_removed_unended_was_cancelled(void **state)
{
    static const struct delete_options now = {.grace_seconds = 0};
    AUTO(json_freep) json_t *json = NULL;
    struct target gone = {.kind = "pods", .name = "a", .who = &ours};
    struct world w;

    (void)state;
    setup(&w);
    world_must(world_delete(&w, gone, &now, NULL));
    json = row_at(&w, 0);
    assert_string_equal(json_text(json, "cause"), "Cancelled");
    assert_int_equal(count_rows(&w), 1);
    world_done(&w);
}

static void restart(struct world *w, int count, int code)
{
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'annotations':{'mete.dev/usage':'{\\'containers\\':{\\'main\\':{\\'%d\\':{"
        "\\'cpuNs\\':%d}}}}'}},'status':{'phase':'Running','containerStatuses':[{'name':'main',"
        "'restartCount':%d,'ready':true,'image':'','imageID':'','state':{},'lastState':{"
        "'terminated':{'exitCode':%d}}}]}}",
        count - 1, count % 1000 * 100, count, code);

    world_must(world_patch(w, STATUS("a"), text, NULL));
}

static void attempts_follow_each_other_without_a_gap(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;
    AUTO(json_freep) json_t *third = NULL;
    struct world w;

    (void)state;
    setup(&w);
    sim_loop_advance(w.loop, NS_PER_SEC);
    restart(&w, 1, 9);
    sim_loop_advance(w.loop, 2 * NS_PER_SEC);
    restart(&w, 2, 0);
    restart(&w, 2, 0); /* the node reports the gpus again */
    sim_loop_advance(w.loop, 3 * NS_PER_SEC);
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Succeeded'}}", NULL));
    assert_int_equal(count_rows(&w), 3);
    first = row_at(&w, 0);
    second = row_at(&w, 1);
    third = row_at(&w, 2);
    assert_int_equal(json_int(first, "toNs", 0) - json_int(first, "fromNs", 0), NS_PER_SEC);
    assert_int_equal(json_int(second, "fromNs", 0), json_int(first, "toNs", 1));
    assert_int_equal(json_int(third, "fromNs", 0), json_int(second, "toNs", 1));
    assert_int_equal(json_int(third, "toNs", 0) - json_int(third, "fromNs", 0), 3 * NS_PER_SEC);
    assert_int_equal(json_int(first, "exitCode", -1), 9);
    assert_string_equal(json_text(first, "cause"), "Failed");
    assert_string_equal(json_text(second, "cause"), "Completed");
    assert_int_equal(json_int(first, "cpuNs", -1), 100);
    assert_int_equal(json_int(second, "cpuNs", -1), 200);
    assert_int_equal(json_int(third, "attempt", -1), 2);
    world_must(account_check(w.store, 0, objects_now_ns(w.objects)));
    world_done(&w);
}

static void restarts_that_nobody_saw_have_rows_without_time(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *last = NULL;
    struct world w;

    (void)state;
    setup(&w);
    sim_loop_advance(w.loop, NS_PER_SEC);
    restart(&w, 3, 1);
    assert_int_equal(count_rows(&w), 3);
    first = row_at(&w, 0);
    last = row_at(&w, 2);
    assert_int_equal(json_int(first, "toNs", 0), json_int(first, "fromNs", 1));
    assert_string_equal(json_text(first, "cause"), "Unknown");
    assert_int_equal(json_int(last, "toNs", 0) - json_int(last, "fromNs", 0), NS_PER_SEC);
    assert_int_equal(json_int(last, "exitCode", -1), 1);
    world_done(&w);
}

static void a_wild_restart_count_does_not_flood_the_store(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    restart(&w, 2000000000, 1);
    assert_in_range(count_rows(&w), 1, 65);
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Failed'}}", NULL));
    world_must(account_check(w.store, 0, objects_now_ns(w.objects)));
    world_done(&w);
}

static void time_does_not_go_back(void **state)
{
    AUTO(json_freep) json_t *row = NULL;
    struct world w;
    int64_t before_ns;

    (void)state;
    setup(&w);
    sim_loop_advance(w.loop, 60 * NS_PER_SEC);
    before_ns = objects_now_ns(w.objects);
    sim_loop_step_wall(w.loop, -3600 * NS_PER_SEC);
    assert_int_equal(objects_now_ns(w.objects), before_ns);
    sim_loop_advance(w.loop, 1024 * NS_PER_SEC);
    assert_int_equal(objects_now_ns(w.objects), before_ns + 1023 * NS_PER_SEC);
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Failed'}}", NULL));
    row = row_at(&w, 0);
    assert_int_equal(json_int(row, "toNs", 0), before_ns + 1023 * NS_PER_SEC);
    world_restart(&w); /* the clock is read from the rows */
    assert_true(objects_now_ns(w.objects) >= json_int(row, "toNs", 0));
    world_done(&w);
}

static struct account_time time_of(struct world *w, const char *uuid, int64_t from_ns,
                                   int64_t to_ns)
{
    const struct store_range ranges[] = {account_stretches(), account_states()};
    VEC(struct account_span) up = {0};
    VEC(struct account_span) out = {0};
    struct account_spans spans = {0};
    struct account_time t;

    for (size_t k = 0; k < COUNT(ranges); k++) {
        struct store_list list = {0};

        world_must(store_list(w->store, &ranges[k], NULL, NULL, 0, 0, &list));
        for (size_t i = 0; i < list.n; i++) {
            AUTO(json_freep) json_t *tree = NULL;
            struct account_stretch s;

            world_must(json_parse(list.at[i]->bytes, &tree));
            assert_true(account_stretch_read(tree, &s));
            if (!text_equal(s.uuid, uuid))
                continue;
            if (s.state == ACCOUNT_UP)
                vec_add(&up, (struct account_span){s.from_ns, s.to_ns});
            else
                vec_add(&out, (struct account_span){s.from_ns, s.to_ns});
        }
        store_list_done(&list);
    }
    spans = (struct account_spans){.up = up.at, .n_up = up.n, .out = out.at, .n_out = out.n};
    t = account_sum(&spans, (struct account_span){from_ns, to_ns}, NULL);
    vec_done(&up);
    vec_done(&out);
    return t;
}

static void a_gpu_is_out_of_service_with_its_health_and_its_node(void **state)
{
    static const struct {
        const char *sub;
        const char *patch;
        int64_t out_s; /* in the 10 s after the change */
        int64_t capacity_s;
    } steps[] = {
        {NULL,
         "{'metadata':{'annotations':{'mete.dev/gpus':'[{\\'uuid\\':\\'GPU-n1-1\\',"
         "\\'health\\':\\'unhealthy\\'}]'}}}",
         10, 10},
        {NULL,
         "{'metadata':{'annotations':{'mete.dev/gpus':'[{\\'uuid\\':\\'GPU-n1-1\\',"
         "\\'health\\':\\'healthy\\'}]'}}}",
         0, 10},
        {NULL, "{'spec':{'unschedulable':true}}", 10, 10},
        {NULL, "{'spec':{'unschedulable':null}}", 0, 10},
        {"status", "{'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}", 10, 10},
        {"status", "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", 0, 10},
        {NULL, "{'metadata':{'annotations':{'mete.dev/gpus':'[]'}}}", 0, 0},
    };
    struct world w;

    (void)state;
    setup(&w);
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct target t = {.kind = "nodes", .name = "n1", .sub = steps[i].sub, .who = &ours};
        int64_t from_ns = objects_now_ns(w.objects);
        struct account_time sum;

        world_must(world_patch(&w, t, steps[i].patch, NULL));
        sim_loop_advance(w.loop, 10 * NS_PER_SEC);
        sum = time_of(&w, "GPU-n1-1", from_ns, objects_now_ns(w.objects));
        assert_int_equal(sum.out_ns, steps[i].out_s * NS_PER_SEC);
        assert_int_equal(sum.capacity_ns, steps[i].capacity_s * NS_PER_SEC);
    }
    world_done(&w);
}

static void heartbeats_write_nothing(void **state)
{
    struct target t = {.kind = "nodes", .name = "n1", .who = &ours};
    const struct store_object *o;
    int64_t version;
    struct world w;

    (void)state;
    setup(&w);
    o = store_get(w.store,
                  (struct store_key){
                      .group = "mete.dev", .resource = "gpustates", .ns = "", .name = "GPU-n1-0"});
    version = o->version;
    world_must(
        world_patch(&w, t,
                    "{'metadata':{'annotations':{'mete.dev/gpus':'[{\\'uuid\\':\\'GPU-n1-0\\',"
                    "\\'health\\':\\'healthy\\',\\'sample\\':{\\'at\\':1}},{\\'uuid\\':"
                    "\\'GPU-n1-1\\',\\'health\\':\\'healthy\\'}]'}}}",
                    NULL));
    o = store_get(w.store,
                  (struct store_key){
                      .group = "mete.dev", .resource = "gpustates", .ns = "", .name = "GPU-n1-0"});
    assert_int_equal(o->version, version);
    world_done(&w);
}

static void one_gpu_is_with_one_node(void **state)
{
    static const char gpus[] =
        "{'metadata':{'name':'n2','annotations':{'mete.dev/gpus':'[{\\'uuid\\':"
        "\\'GPU-n1-1\\',\\'health\\':\\'healthy\\'}]'}}}";
    struct target t = {.kind = "nodes", .name = NULL, .who = &ours};
    struct world w;

    (void)state;
    setup(&w);
    world_must(world_create(&w, t, gpus, NULL));
    sim_loop_advance(w.loop, 10 * NS_PER_SEC);
    t.name = "n1"; /* n1 still reports the gpu */
    world_must(world_patch(&w, t, "{'metadata':{'labels':{'x':'1'}}}", NULL));
    sim_loop_advance(w.loop, 10 * NS_PER_SEC);
    world_must(account_check(w.store, 0, objects_now_ns(w.objects)));
    world_done(&w);
}

static void sums_are_of_the_period(void **state)
{
    static const struct {
        struct account_span held[2];
        struct account_span up[2];
        struct account_span out[2];
        struct account_time want; /* over [10, 20) */
        int64_t sum;
    } cases[] = {
        {{{0}}, {{0, 100}}, {{0}}, {10, 0, 10, 0}, 0},
        {{{0}}, {{0, 15}}, {{15, 100}}, {10, 0, 5, 5}, 0},
        {{{0, 12}, {18, 100}}, {{0, 100}}, {{0}}, {10, 4, 6, 0}, 4},
        {{{12, 16}}, {{0, 14}}, {{14, 100}}, {10, 4, 2, 4}, 4},
        {{{12, 16}}, {{0}}, {{0}}, {4, 4, 0, 0}, 4}, /* held, with no stretch of the gpu */
        {{{12, 16}, {14, 18}}, {{0, 100}}, {{0}}, {10, 6, 4, 0}, 8}, /* held by two pods at once */
        {{{30, 40}}, {{0, 5}}, {{20, 30}}, {0, 0, 0, 0}, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct account_span held[2] = {cases[i].held[0], cases[i].held[1]};
        struct account_span up[2] = {cases[i].up[0], cases[i].up[1]};
        struct account_span out[2] = {cases[i].out[0], cases[i].out[1]};
        struct account_spans s = {held, 2, up, 2, out, 2};
        int64_t sum = 0;
        struct account_time t = account_sum(&s, (struct account_span){10, 20}, &sum);

        assert_int_equal(t.capacity_ns, cases[i].want.capacity_ns);
        assert_int_equal(t.held_ns, cases[i].want.held_ns);
        assert_int_equal(t.free_ns, cases[i].want.free_ns);
        assert_int_equal(t.out_ns, cases[i].want.out_ns);
        assert_int_equal(sum, cases[i].sum);
    }
}

static void the_check_finds_what_does_not_add_up(void **state)
{
    static const char row[] =
        "{\"namespace\":\"default\",\"pod\":\"x\",\"uid\":\"u\",\"attempt\":0,"
        "\"gpus\":[{\"uuid\":\"GPU-n1-0\"}],\"fromNs\":%s,\"toNs\":%s}";
    struct world w;
    int64_t now_ns;

    (void)state;
    setup(&w); /* pod "a" holds GPU-n1-0 */
    sim_loop_advance(w.loop, 10 * NS_PER_SEC);
    now_ns = objects_now_ns(w.objects);
    world_must(account_check(w.store, 0, now_ns));
    {
        AUTO_FREE char *from = mem_format("%019" PRId64, now_ns - 5);
        AUTO_FREE char *to = mem_format("%019" PRId64, now_ns);
        AUTO_FREE char *key = mem_format("%s.%s.u.0", to, from);
        AUTO_FREE char *text = mem_format(row, from, to);
        struct store_op op = {.type = STORE_PUT,
                              .key = {"mete.dev", "accounting", "", key},
                              .bytes = str_of(text),
                              .if_version = STORE_ANY};

        world_must(store_commit(w.store, &op, 1, NULL, NULL, NULL));
        sim_loop_run(w.loop);
    }
    {
        AUTO(err_freep) struct err *e = account_check(w.store, 0, now_ns);

        assert_non_null(e);
        assert_non_null(strstr(err_message(e), "gpu GPU-n1-0 was held for 10000000000 ns, its rows "
                                               "add up to 10000000005"));
    }
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_says_who_held_what),
        cmocka_unit_test(time_without_a_container_is_known),
        cmocka_unit_test(a_pod_ends_with_its_row_on_a_full_disk),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(a_pod_without_a_node_leaves_no_row),
        cmocka_unit_test(the_cause_is_what_ended_it),
        cmocka_unit_test(a_pod_that_is_removed_unended_was_cancelled),
        cmocka_unit_test(attempts_follow_each_other_without_a_gap),
        cmocka_unit_test(restarts_that_nobody_saw_have_rows_without_time),
        cmocka_unit_test(a_wild_restart_count_does_not_flood_the_store),
        cmocka_unit_test(time_does_not_go_back),
        cmocka_unit_test(a_gpu_is_out_of_service_with_its_health_and_its_node),
        cmocka_unit_test(heartbeats_write_nothing),
        cmocka_unit_test(one_gpu_is_with_one_node),
        cmocka_unit_test(sums_are_of_the_period),
        cmocka_unit_test(the_check_finds_what_does_not_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
