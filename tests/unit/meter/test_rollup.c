/* test_rollup.c - hourly sums: the same before and after they are kept, capacity, restarts */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/object/txn.h"
#include "meter/meter.h"
#include "meter/rollup.h"
#include "meter/rollup_private.h"
#include "test.h"
#include "world.h"

enum {
    EVERY_S = 300, /* between two rollups */
    BEGIN_S = 1767225600
};

struct rollup_test {
    struct world w;
    struct meter *meter;
};

static void meter_begin(struct rollup_test *t)
{
    static const char *const no_files[] = {NULL};

    t->meter = meter_new(&(struct meter_options){
        .loop = t->w.loop, .objects = t->w.objects, .prices_files = no_files});
}

static void test_begin(struct rollup_test *t)
{
    *t = (struct rollup_test){0};
    world_init(&t->w, 6);
    meter_begin(t);
}

static void test_end(struct rollup_test *t)
{
    meter_free(t->meter);
    world_done(&t->w);
}

static void pass(struct rollup_test *t, int64_t seconds)
{
    sim_loop_advance(t->w.loop, seconds * NS_PER_SEC);
    sim_loop_run(t->w.loop);
}

static void put_text(struct rollup_test *t, struct store_key key, const char *text)
{
    struct txn txn = {0};

    txn_put_text(&txn, key, mem_strdup(text), STORE_ANY);
    world_must(txn_commit(&txn, t->w.store, NULL, NULL, NULL));
    txn_done(&txn);
    sim_loop_run(t->w.loop);
}

/* An attempt of 2 cpus, 1 GiB and a gpu, times in seconds since BEGIN_S. */
static void put_row(struct rollup_test *t, const char *ns, const char *user, int64_t from,
                    int64_t to)
{
    int64_t from_ns = (BEGIN_S + from) * NS_PER_SEC;
    int64_t to_ns = (BEGIN_S + to) * NS_PER_SEC;
    AUTO_FREE char *name = mem_format("%019" PRId64 ".%019" PRId64 ".%s.0", to_ns, from_ns, user);
    AUTO_FREE char *text =
        mem_format("{\"namespace\":\"%s\",\"user\":\"%s\",\"queue\":\"ml\",\"fromNs\":%" PRId64
                   ",\"toNs\":%" PRId64 ",\"cpuAskedMilli\":2000,\"memoryAskedBytes\":1073741824,"
                   "\"gpuEnergyMj\":7200000,\"gpus\":[{\"uuid\":\"GPU-1\",\"model\":\"h100\"}]}",
                   ns, user, from_ns, to_ns);

    put_text(
        t,
        (struct store_key){.group = "mete.dev", .resource = "accounting", .ns = "", .name = name},
        text);
}

static void put_node(struct rollup_test *t, const char *ready)
{
    AUTO_FREE char *text = mem_format("{\"metadata\":{\"name\":\"n\"},\"status\":{\"capacity\":{"
                                      "\"cpu\":\"4\",\"memory\":\"2Gi\"},"
                                      "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
                                      ready);

    put_text(t, (struct store_key){.group = "", .resource = "nodes", .ns = "", .name = "n"}, text);
}

static void on_done(void *arg, const struct err *e, const json_t *report)
{
    assert_null(e);
    *(json_t **)arg = json_deep_copy(report);
}

/* Of the hours from BEGIN_S on. New reference. */
static json_t *ask(struct rollup_test *t, int64_t hours, const char *namespaces)
{
    char to[STAMP_TEXT_SIZE];
    AUTO(json_freep) json_t *p = NULL;
    AUTO(json_freep) json_t *n = namespaces ? manifest(namespaces) : NULL;
    struct report_question q = {.namespaces = n};
    struct report *report = NULL;
    json_t *answer = NULL;

    stamp_format((BEGIN_S + hours * 3600) * NS_PER_SEC, to);
    p = json_pack("{s:s,s:s}", "from", "2026-01-01T00:00:00Z", "to", to);
    q.parameters = p;
    world_must(meter_rollup(t->meter, &q, on_done, &answer, &report));
    assert_null(answer);
    sim_loop_run(t->w.loop);
    assert_non_null(answer);
    return answer;
}

static void assert_number(const json_t *answer, size_t row, const char *key, int64_t want)
{
    assert_int_equal(json_int(json_array_get(json_object_get(answer, "rows"), row), key, -1), want);
}

static void assert_rows(struct rollup_test *t, int64_t hours, const char *namespaces,
                        const char *want)
{
    AUTO(json_freep) json_t *answer = ask(t, hours, namespaces);
    struct buf text = {0};
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(answer, "rows"), i, row)
        buf_printf(&text, "%s/%s %" PRId64 ";", json_text(row, "account"), json_text(row, "user"),
                   json_int(row, "gpuMs", -1));
    assert_string_equal(text.at ? text.at : "", want);
    buf_done(&text);
}

static size_t count_days(const struct rollup_test *t)
{
    const struct store_range range = rollup_days();
    struct store_list list = {0};
    size_t n;

    world_must(store_list(t->w.store, &range, NULL, NULL, 0, 0, &list));
    n = list.n;
    store_list_done(&list);
    return n;
}

static void sums_stay_when_they_are_kept(void **state)
{
    struct rollup_test t;

    (void)state;
    test_begin(&t);
    pass(&t, 90000);
    put_row(&t, "team", "ann", 1800, 9000);
    put_row(&t, "team", "bob", 9000, 9001);
    put_row(&t, "team", "ann", 82800, 90000); /* over midnight */
    assert_rows(&t, 1, NULL, "ml/ann 1800000;");
    assert_rows(&t, 26, NULL, "ml/ann 14400000;ml/bob 1000;");
    pass(&t, 2 * EVERY_S);
    assert_int_equal(count_days(&t), 3); /* two days, and the cursor */
    assert_rows(&t, 1, NULL, "ml/ann 1800000;");
    assert_rows(&t, 24, NULL, "ml/ann 10800000;ml/bob 1000;");
    assert_rows(&t, 26, NULL, "ml/ann 14400000;ml/bob 1000;");
    put_row(&t, "team", "bob", 90000, 90002);
    assert_rows(&t, 26, NULL, "ml/ann 14400000;ml/bob 3000;");
    test_end(&t);
}

static void a_restart_counts_nothing_twice(void **state)
{
    struct rollup_test t;

    (void)state;
    test_begin(&t);
    pass(&t, 4000);
    put_row(&t, "team", "ann", 0, 3600);
    for (int i = 0; i < 3; i++) {
        pass(&t, 2 * EVERY_S);
        meter_free(t.meter);
        meter_begin(&t);
        assert_rows(&t, 2, NULL, "ml/ann 3600000;");
    }
    put_row(&t, "team", "ann", 4000, 4001);
    pass(&t, 2 * EVERY_S);
    assert_rows(&t, 2, NULL, "ml/ann 3601000;");
    test_end(&t);
}

static void all_that_was_held_counts(void **state)
{
    struct rollup_test t;
    AUTO(json_freep) json_t *answer = NULL;

    (void)state;
    test_begin(&t);
    pass(&t, 7300);
    put_row(&t, "team", "ann", 0, 7200);
    answer = ask(&t, 1, NULL);
    assert_number(answer, 0, "cpuMs", INT64_C(2) * 3600000);
    assert_number(answer, 0, "memoryMibMs", INT64_C(1024) * 3600000);
    assert_number(answer, 0, "nodeMs", 3600000);
    assert_number(answer, 0, "gpuMs", 3600000);
    assert_number(answer, 0, "energyMicrojoules", INT64_C(3600) * 1000000);
    test_end(&t);
}

static void callers_see_their_namespaces(void **state)
{
    struct rollup_test t;

    (void)state;
    test_begin(&t);
    pass(&t, 4000);
    put_row(&t, "team", "ann", 0, 1);
    put_row(&t, "other", "bob", 0, 2);
    assert_rows(&t, 1, "[\"other\"]", "ml/bob 2000;");
    pass(&t, 2 * EVERY_S);
    assert_rows(&t, 1, "[\"other\"]", "ml/bob 2000;");
    test_end(&t);
}

static void capacity_is_what_nodes_had(void **state)
{
    struct rollup_test t;
    AUTO(json_freep) json_t *answer = NULL;
    const json_t *capacity;

    (void)state;
    test_begin(&t);
    put_node(&t, "True");
    pass(&t, INT64_C(3) * EVERY_S);
    put_node(&t, "False");
    pass(&t, EVERY_S);
    answer = ask(&t, 1, NULL);
    capacity = json_object_get(answer, "capacity");
    assert_int_equal(json_int(capacity, "knownMs", -1), INT64_C(4) * EVERY_S * 1000);
    assert_int_equal(json_int(capacity, "cpuMs", -1), INT64_C(16) * EVERY_S * 1000);
    assert_int_equal(json_int(capacity, "cpuDownMs", -1), INT64_C(4) * EVERY_S * 1000);
    assert_int_equal(json_int(capacity, "memoryMibMs", -1), INT64_C(8192) * EVERY_S * 1000);
    assert_int_equal(json_int(capacity, "nodeDownMs", -1), INT64_C(1) * EVERY_S * 1000);
    test_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_stay_when_they_are_kept),
        cmocka_unit_test(a_restart_counts_nothing_twice),
        cmocka_unit_test(all_that_was_held_counts),
        cmocka_unit_test(callers_see_their_namespaces),
        cmocka_unit_test(capacity_is_what_nodes_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
