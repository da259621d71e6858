/* test_wall.c - the wall: states, slices with their own holders, sums of nodes, and who may see */

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "client/node_stats.h"
#include "meter/wall.h"
#include "test.h"
#include "world.h"

/* Node a: a held gpu and one in two slices, the second held. Node b: one free, one lost, drained.
 */
struct wall_test {
    struct world w;
    struct meter *meter;
    struct gpu gpus[4];
    struct device devices[2];
};

static void each_device(void *arg, device_row_fn fn, void *fn_arg)
{
    const struct wall_test *t = arg;
    const struct device_holder holders[] = {
        {"team", "train", "main", "ann", "q", 7, &t->devices[0]},
        {"other", "secret", "main", "bob", "q", 8, &t->devices[1]}};

    for (size_t i = 0; i < 4; i++)
        fn(fn_arg, &(struct device_row){.node = i < 2 ? "a" : "b",
                                        .gpu = &t->gpus[i],
                                        .holders = &holders[i < 2 ? i : 0],
                                        .n_holders = i < 2});
}

static void each_node(void *arg, node_row_fn fn, void *fn_arg)
{
    (void)arg;
    fn(fn_arg, &(struct node_row){"a", "", "v1", true, true});
    fn(fn_arg, &(struct node_row){"b", "fans", "v1", true, false});
    fn(fn_arg, &(struct node_row){"c", "", "", false, false});
}

static void add_sample(struct node_stats *s, const char *uuid, int64_t load, int64_t celsius)
{
    struct gpu_sample g = GPU_SAMPLE_UNKNOWN;

    (void)snprintf(g.uuid, sizeof(g.uuid), "%s", uuid);
    g.value[GPU_FIELD_UTILIZATION_PCT] = load;
    g.value[GPU_FIELD_TEMPERATURE_C] = celsius;
    vec_add(&s->gpus, g);
}

static void take_samples(struct wall_test *t)
{
    struct node_stats s = {.at_ns = loop_wall_ns(t->w.loop), .parts = STATS_GPUS};

    add_sample(&s, "GPU-0", 0, 41);
    add_sample(&s, "MIG-1", 90, 60);
    meter_take_stats(t->meter, "a", &s);
}

static void make_gpus(struct wall_test *t)
{
    for (int i = 0; i < 4; i++) {
        t->gpus[i] = (struct gpu)GPU_UNKNOWN(i % 2);
        (void)snprintf(t->gpus[i].uuid, sizeof(t->gpus[i].uuid), "GPU-%d", i);
        (void)snprintf(t->gpus[i].model, sizeof(t->gpus[i].model), i < 2 ? "h100" : "a100");
    }
    t->gpus[1].n_slices = 2;
    for (unsigned i = 0; i < 2; i++) {
        t->gpus[1].slices[i] = (struct gpu_slice){.start = i, .memory_bytes = 10};
        (void)snprintf(t->gpus[1].slices[i].profile, GPU_PROFILE_SIZE, "1g.10gb");
        (void)snprintf(t->gpus[1].slices[i].uuid, GPU_TEXT_SIZE, "MIG-%u", i);
    }
    t->gpus[3].health = GPU_LOST;
    (void)snprintf(t->gpus[3].health_reason, GPU_REASON_SIZE, "XID 79");
    world_must(device_parse("GPU-0", &t->devices[0]));
    world_must(device_parse("GPU-1/slice:1g.10gb@1,MIG-1", &t->devices[1]));
}

static void test_begin(struct wall_test *t)
{
    static const char *const no_files[] = {NULL};

    *t = (struct wall_test){0};
    world_init(&t->w, 6);
    make_gpus(t);
    t->meter = meter_new(&(struct meter_options){
        .loop = t->w.loop, .objects = t->w.objects, .prices_files = no_files});
    meter_set_devices(t->meter,
                      (struct device_table){.each = each_device, .each_node = each_node, .arg = t});
    take_samples(t);
}

static void test_end(struct wall_test *t)
{
    meter_free(t->meter);
    world_done(&t->w);
}

static void on_done(void *arg, const struct err *e, const json_t *report)
{
    assert_null(e);
    *(json_t **)arg = json_deep_copy(report);
}

/* `namespaces` NULL: all. New reference. */
static json_t *ask(struct wall_test *t, const char *parameters, const char *namespaces)
{
    AUTO(json_freep) json_t *p = manifest(parameters);
    AUTO(json_freep) json_t *n = namespaces ? manifest(namespaces) : NULL;
    const struct report_question q = {.parameters = p, .namespaces = n};
    struct report *report = NULL;
    json_t *answer = NULL;

    world_must(meter_wall(t->meter, &q, on_done, &answer, &report));
    assert_null(answer);
    sim_loop_run(t->w.loop);
    assert_non_null(answer);
    return answer;
}

/* The member of all items, joined by spaces. The caller frees it. */
static char *words_of(const json_t *answer, const char *key)
{
    struct buf b = {0};
    json_t *item;
    size_t i;

    json_array_foreach (json_object_get(answer, "items"), i, item)
        buf_printf(&b, "%s%s", i > 0 ? " " : "", text_or_empty(json_text(item, key)));
    return buf_steal(&b);
}

static void assert_words(const json_t *answer, const char *key, const char *want)
{
    AUTO_FREE char *words = words_of(answer, key);

    assert_string_equal(words, want);
}

static void a_slice_has_its_own_state_and_holder(void **state)
{
    struct wall_test t;
    AUTO(json_freep) json_t *all = NULL;
    const json_t *held;

    (void)state;
    test_begin(&t);
    all = ask(&t, "{}", NULL);
    assert_words(all, "uuid", "GPU-0 MIG-0 MIG-1 GPU-2 GPU-3");
    assert_words(all, "state", "idle free held free sick");
    held = json_array_get(json_object_get(all, "items"), 2);
    assert_int_equal(json_int(held, "slice", -1), 1);
    assert_int_equal(json_int(held, "utilizationPct", -1), 90);
    assert_string_equal(json_text(json_array_get(json_object_get(held, "holders"), 0), "pod"),
                        "secret");
    assert_int_equal(json_int(json_object_get(all, "counts"), "free", -1), 2);
    test_end(&t);
}

static void a_holder_of_another_namespace_stays_unnamed(void **state)
{
    struct wall_test t;
    AUTO(json_freep) json_t *all = NULL;
    AUTO(json_freep) json_t *found = NULL;
    AUTO_FREE char *text = NULL;

    (void)state;
    test_begin(&t);
    all = ask(&t, "{}", "['team']");
    text = json_format(all);
    assert_non_null(strstr(text, "train"));
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "bob"));
    assert_words(all, "state", "idle free held free sick");
    found = ask(&t, "{'q':'secret'}", "['team']");
    assert_int_equal(json_int(found, "total", -1), 0);
    test_end(&t);
}

static void filters_count_and_cut(void **state)
{
    struct wall_test t;
    AUTO(json_freep) json_t *one = NULL;
    AUTO(json_freep) json_t *counts = NULL;

    (void)state;
    test_begin(&t);
    one = ask(&t, "{'q':'A100','state':'free,sick','offset':'1','limit':'5'}", NULL);
    assert_int_equal(json_int(one, "total", -1), 2);
    assert_words(one, "healthReason", "XID 79");
    counts = ask(&t, "{'limit':'0'}", NULL);
    assert_words(counts, "uuid", "");
    assert_int_equal(json_int(counts, "total", -1), 5);
    test_end(&t);
}

static void nodes_are_sums(void **state)
{
    struct wall_test t;
    AUTO(json_freep) json_t *nodes = NULL;
    AUTO(json_freep) json_t *sorted = NULL;
    AUTO(json_freep) json_t *found = NULL;
    const json_t *a;

    (void)state;
    test_begin(&t);
    nodes = ask(&t, "{'by':'node'}", NULL);
    assert_words(nodes, "name", "a b c");
    assert_words(nodes, "drainReason", " fans ");
    a = json_array_get(json_object_get(nodes, "items"), 0);
    assert_int_equal(json_int(a, "gpus", -1), 3);
    assert_int_equal(json_int(a, "temperatureC", -1), 60);
    assert_non_null(json_text(a, "seenAt"));
    sorted = ask(&t, "{'by':'node','sort':'-temperature'}", NULL);
    assert_words(sorted, "name", "a b c");
    found = ask(&t, "{'by':'node','q':'a100'}", NULL);
    assert_words(found, "name", "b");
    test_end(&t);
}

static void says_what_it_does_not_know(void **state)
{
    static const struct {
        const char *parameters;
        const char *message;
    } cases[] = {
        {"{'by':'rack'}", "by \"rack\": want gpu or node"},
        {"{'state':'busy'}", "state \"busy\": want free, held, idle, drained, sick or noAnswer"},
        {"{'sort':'size'}", "sort \"size\": want name, free, temperature or errors"},
        {"{'x':'1'}", "unknown parameter 'x'"},
    };
    struct wall_test t;

    (void)state;
    test_begin(&t);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(json_freep) json_t *p = manifest(cases[i].parameters);
        const struct report_question q = {.parameters = p};
        struct report *report = NULL;
        json_t *answer = NULL;

        world_refused(meter_wall(t.meter, &q, on_done, &answer, &report), 400, cases[i].message);
    }
    test_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_has_its_own_state_and_holder),
        cmocka_unit_test(a_holder_of_another_namespace_stays_unnamed),
        cmocka_unit_test(filters_count_and_cut),
        cmocka_unit_test(nodes_are_sums),
        cmocka_unit_test(says_what_it_does_not_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
