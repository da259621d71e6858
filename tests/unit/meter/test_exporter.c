/* test_exporter.c - the page of metrics: slices and shares counted once, old samples absent */

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "client/node_stats.h"
#include "meter/exporter/exporter.h"
#include "test.h"
#include "world.h"

/* gpu 0 is whole, gpu 1 has two slices, gpu 2 two shares. */
struct exporter_test {
    struct world w;
    struct meter *meter;
    struct exporter *exporter;
    struct gpu gpus[3];
    struct device devices[4]; /* the whole gpu, the first slice, two shares */
};

static void each_device(void *arg, device_row_fn fn, void *fn_arg)
{
    const struct exporter_test *t = arg;
    const struct device_holder whole = {"default", "a", "main", "ann", "q", 1, &t->devices[0]};
    const struct device_holder slice = {"default", "b\"\n", "main", "bob", "q", 2, &t->devices[1]};
    const struct device_holder shares[] = {{"default", "c", "main", "ann", "q", 3, &t->devices[2]},
                                           {"default", "d", "main", "bob", "q", 4, &t->devices[3]}};
    const struct device_holder *holders[] = {&whole, &slice, shares};

    for (size_t i = 0; i < 3; i++)
        fn(fn_arg, &(struct device_row){.node = "n1",
                                        .driver = "570.1",
                                        .takes_pods = true,
                                        .gpu = &t->gpus[i],
                                        .holders = holders[i],
                                        .n_holders = i == 2 ? 2 : 1});
}

static void parse_device(const char *text, struct device *ret)
{
    world_must(device_parse(text, ret));
}

static void test_begin(struct exporter_test *t)
{
    struct meter_options o = {0};
    static const char *const no_files[] = {NULL};

    *t = (struct exporter_test){0};
    world_init(&t->w, 5);
    o = (struct meter_options){
        .loop = t->w.loop, .objects = t->w.objects, .prices_files = no_files};
    for (int i = 0; i < 3; i++) {
        t->gpus[i] = (struct gpu)GPU_UNKNOWN(i);
        (void)snprintf(t->gpus[i].uuid, sizeof(t->gpus[i].uuid), "GPU-%d", i);
        (void)snprintf(t->gpus[i].model, sizeof(t->gpus[i].model), "h100");
    }
    t->gpus[1].mode = GPU_MODE_SLICES;
    t->gpus[1].n_slices = 2;
    for (unsigned i = 0; i < 2; i++) {
        struct gpu_slice *s = &t->gpus[1].slices[i];

        *s = (struct gpu_slice){.start = i, .gpu_instance = 7 + (int)i, .memory_bytes = 10};
        (void)snprintf(s->profile, sizeof(s->profile), "1g.10gb");
        (void)snprintf(s->uuid, sizeof(s->uuid), "MIG-%u", i);
    }
    parse_device("GPU-0", &t->devices[0]);
    parse_device("GPU-1/slice:1g.10gb@0,MIG-0", &t->devices[1]);
    parse_device("GPU-2/share:300,1024", &t->devices[2]);
    parse_device("GPU-2/share:200,1024", &t->devices[3]);
    t->meter = meter_new(&o);
    t->exporter = exporter_new(t->meter);
    exporter_set_devices(t->exporter, (struct device_table){.each = each_device, .arg = t});
}

static void test_end(struct exporter_test *t)
{
    exporter_free(t->exporter);
    meter_free(t->meter);
    world_done(&t->w);
}

static void add_sample(struct node_stats *s, const char *uuid, int64_t temperature, int64_t used)
{
    struct gpu_sample g = GPU_SAMPLE_UNKNOWN;

    (void)snprintf(g.uuid, sizeof(g.uuid), "%s", uuid);
    g.value[GPU_FIELD_TEMPERATURE_C] = temperature;
    g.value[GPU_FIELD_MEMORY_USED_BYTES] = used;
    vec_add(&s->gpus, g);
}

/* All devices use 1 MiB, and gpu 1 as a whole 5 MiB. */
static void take_samples(struct exporter_test *t)
{
    struct node_stats s = {.at_ns = loop_wall_ns(t->w.loop), .parts = STATS_GPUS};

    add_sample(&s, "GPU-0", 40, 1 << 20);
    add_sample(&s, "GPU-1", 41, 5 << 20);
    add_sample(&s, "MIG-0", GPU_VALUE_UNKNOWN, 1 << 20);
    add_sample(&s, "MIG-1", GPU_VALUE_UNKNOWN, 1 << 20);
    add_sample(&s, "GPU-2", 42, 1 << 20);
    meter_take_stats(t->meter, "n1", &s);
}

static char *make_page(struct exporter_test *t, struct metrics_question q)
{
    struct buf b = {0};

    exporter_make(t->exporter, &q, &b);
    return buf_steal(&b);
}

static size_t count_lines(const char *page, const char *begin)
{
    size_t n = 0;

    for (const char *at = page; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        n += text_starts_with(at, begin);
    return n;
}

static void assert_has(const char *page, const char *line)
{
    if (!strstr(page, line))
        fail_msg("no line %s in:\n%s", line, page);
}

static void a_gpu_with_slices_is_counted_once(void **state)
{
    struct exporter_test t;
    AUTO_FREE char *page = NULL;

    (void)state;
    test_begin(&t);
    take_samples(&t);
    page = make_page(&t, (struct metrics_question){.has_dcgm = true});
    assert_int_equal(count_lines(page, "DCGM_FI_DEV_GPU_TEMP{"), 3);
    assert_int_equal(count_lines(page, "DCGM_FI_DEV_FB_USED{"), 4);
    assert_has(page, "DCGM_FI_DEV_FB_USED{gpu=\"1\",UUID=\"GPU-1\",GPU_I_PROFILE=\"1g.10gb\","
                     "GPU_I_ID=\"7\",Hostname=\"n1\",DCGM_FI_DRIVER_VERSION=\"570.1\","
                     "container=\"main\",namespace=\"default\",pod=\"b\\\"\\n\"} 1\n");
    assert_has(page, "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-1\",Hostname=\"n1\","
                     "DCGM_FI_DRIVER_VERSION=\"570.1\"} 41\n");
    assert_int_equal(count_lines(page, "mete_"), 0);
    test_end(&t);
}

static void holders_of_shares_leave_out_what_they_differ_in(void **state)
{
    struct exporter_test t;
    AUTO_FREE char *page = NULL;
    AUTO_FREE char *without_users = NULL;

    (void)state;
    test_begin(&t);
    page = make_page(&t, (struct metrics_question){.has_mete = true});
    assert_has(page, "mete_gpu_held{node=\"n1\",gpu=\"2\",uuid=\"GPU-2\",model=\"h100\","
                     "namespace=\"default\",queue=\"q\"} 1\n");
    assert_has(page, "mete_gpu_held{node=\"n1\",gpu=\"0\",uuid=\"GPU-0\",model=\"h100\","
                     "namespace=\"default\",pod=\"a\",queue=\"q\",user=\"ann\",job=\"1\"} 1\n");
    assert_has(page, "mete_gpu_held_ratio{node=\"n1\",gpu=\"2\",uuid=\"GPU-2\",model=\"h100\"} "
                     "0.500\n");
    assert_has(page, "mete_gpus{node=\"n1\",model=\"h100\",state=\"part\"} 2\n");
    assert_has(page, "mete_gpus{node=\"n1\",model=\"h100\",state=\"held\"} 1\n");
    without_users = make_page(&t, (struct metrics_question){.has_mete = true, .drops_users = true});
    assert_null(strstr(without_users, "user="));
    test_end(&t);
}

static void an_old_sample_is_absent_and_its_time_stays(void **state)
{
    struct exporter_test t;
    AUTO_FREE char *fresh = NULL;
    AUTO_FREE char *old = NULL;

    (void)state;
    test_begin(&t);
    take_samples(&t);
    fresh = make_page(&t, (struct metrics_question){.has_mete = true, .has_dcgm = true});
    assert_int_equal(count_lines(fresh, "mete_gpu_temperature_celsius{"), 3);
    sim_loop_advance(t.w.loop, 31 * NS_PER_SEC);
    old = make_page(&t, (struct metrics_question){.has_mete = true, .has_dcgm = true});
    assert_int_equal(count_lines(old, "mete_gpu_temperature_celsius{"), 0);
    assert_int_equal(count_lines(old, "DCGM_"), 0);
    assert_int_equal(count_lines(old, "mete_gpu_last_sample_timestamp_seconds{"), 5);
    assert_int_equal(count_lines(old, "mete_gpu_held{"), 3);
    test_end(&t);
}

static void unknown_activity_is_not_called_idle(void **state)
{
    struct exporter_test t;
    AUTO_FREE char *page = NULL;

    (void)state;
    test_begin(&t);
    take_samples(&t); /* tells no activity */
    sim_loop_advance(t.w.loop, 20 * NS_PER_SEC);
    page = make_page(&t, (struct metrics_question){.has_mete = true});
    /* a gpu, a seventh and a half, for 20 s */
    assert_has(page, "mete_gpu_held_seconds_total{queue=\"q\",namespace=\"default\"} 32.8");
    assert_has(page, "mete_gpu_idle_held_seconds_total{queue=\"q\",namespace=\"default\"} 0.000\n");
    test_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_with_slices_is_counted_once),
        cmocka_unit_test(holders_of_shares_leave_out_what_they_differ_in),
        cmocka_unit_test(an_old_sample_is_absent_and_its_time_stays),
        cmocka_unit_test(unknown_activity_is_not_called_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
