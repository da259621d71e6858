/* test_meter.c - prices, usage samples and reports */

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/node_stats.h"
#include "kinds/account/account.h"
#include "meter/meter.h"
#include "meter/prices.h"
#include "test.h"
#include "world.h"

#define STATUS(n) ((struct target){.kind = "pods", .name = (n), .sub = "status", .who = &ours})
#define HOUR      (3600 * NS_PER_SEC)

/* ---- prices ---- */

static void prices_are_exact(void **state)
{
    static const char text[] = "apiVersion: mete.dev/v1\nkind: PriceTable\ncurrency: EUR\n"
                               "gpuHour:\n  h100: 2.50\n  a100: '1.000001'\n  default: 1\n"
                               "cpuHour: 0.02\nmemoryGibHour: 0.003\n";
    AUTO(prices_freep) struct prices *p = NULL;

    (void)state;
    world_must(prices_parse("prices.yaml", str_of(text), &p));
    assert_string_equal(prices_currency(p), "EUR");
    assert_int_equal(prices_gpu(p, "h100", HOUR), 2500000);
    assert_int_equal(prices_gpu(p, "a100", HOUR), 1000001);
    assert_int_equal(prices_gpu(p, "t4", 2 * HOUR), 2000000);
    assert_int_equal(prices_gpu(p, NULL, HOUR), 1000000);
    assert_int_equal(prices_gpu(p, "h100", HOUR - 1), 2499999); /* down */
    assert_int_equal(prices_cpu(p, HOUR / 2), 10000);
    assert_int_equal(prices_cpu(p, -1), 0);
    assert_int_equal(prices_memory(p, INT64_C(1048576) * 3600), 3000);
    assert_int_equal(prices_gpu(p, "h100", INT64_MAX), INT64_C(6405119470038));
}

static void bad_prices_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"gpuHour: {h100: 1}\n", "p:1: currency is missing, for example currency: EUR"},
        {"currency: EUR\ncpuHour: -1\n",
         "p:2: cpuHour: want a price per hour from 0 to 1000000, such as 2.50"},
        {"currency: EUR\n\ngpuHour:\n  h100: much\n",
         "p:4: h100: want a price per hour from 0 to 1000000, such as 2.50"},
        {"currency: EUR\ncpuHour: 0.0000001\n",
         "p:2: cpuHour: want a price per hour from 0 to 1000000, such as 2.50"},
        {"currency: EUR\ncpuHour: 1000001\n",
         "p:2: cpuHour: want a price per hour from 0 to 1000000, such as 2.50"},
        {"currency: EUR\ngpuHour: 3\n",
         "p:2: gpuHour: want a price for each model, such as {h100: 2.50, default: 1}"},
        {"currency: EUR\ngpuhour: {h100: 1}\n",
         "p:2: gpuhour: unknown: want currency, gpuHour, cpuHour and memoryGibHour"},
        {"currency: ''\n", "p:1: currency: want a word such as EUR"},
        {"kind: Pod\ncurrency: EUR\n", "p:1: kind: want PriceTable"},
        {"- 1\n", "p:1: want one PriceTable"},
        {"", "p:1: want one PriceTable"},
        {"currency: EUR\n---\ncurrency: EUR\n", "p:1: want one PriceTable"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct prices *p = NULL;
        AUTO(err_freep) struct err *e = prices_parse("p", str_of(cases[i].text), &p);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(p);
    }
}

/* ---- a small cluster ---- */

struct town {
    struct world w;
    struct meter *meter;
    char dir[64];
    char *prices;
    const char *files[2];
    int64_t began_ns;
};

static void node_is_ready(struct world *w, const char *name)
{
    world_must(world_patch(
        w, (struct target){.kind = "nodes", .name = name, .sub = "status", .who = &ours},
        "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", NULL));
}

static void add_models(struct world *w)
{
    static const char gpus[] =
        "{'metadata':{'annotations':{'mete.dev/"
        "gpus':'[{\\'uuid\\':\\'GPU-n1-0\\',\\'model\\':\\'h100\\',"
        "\\'index\\':0,\\'health\\':\\'healthy\\'},{\\'uuid\\':\\'GPU-n1-1\\',\\'model\\':\\'t4\\',"
        "\\'index\\':1,\\'health\\':\\'healthy\\'}]'}}}";

    world_must(
        world_patch(w, (struct target){.kind = "nodes", .name = "n1", .who = &ours}, gpus, NULL));
}

static void town_init(struct town *t, const char *prices)
{
    struct meter_options o = {0};

    *t = (struct town){0};
    world_init(&t->w, 3);
    world_add_node(&t->w, "n1", 2);
    node_is_ready(&t->w, "n1");
    add_models(&t->w);
    t->began_ns = objects_now_ns(t->w.objects);
    (void)snprintf(t->dir, sizeof(t->dir), "/tmp/mete-test-meter-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    t->prices = mem_format("%s/prices.yaml", t->dir);
    if (prices)
        world_must(file_write(t->prices, 0644, str_of(prices)));
    t->files[0] = t->prices;
    o = (struct meter_options){.loop = t->w.loop,
                               .objects = t->w.objects,
                               .prices_files = t->files,
                               .rollup_ns =
                                   INT64_C(86400) * NS_PER_SEC}; /* years pass in these tests */
    t->meter = meter_new(&o);
}

static void town_done(struct town *t)
{
    meter_free(t->meter);
    world_done(&t->w);
    assert_null(dir_remove(t->dir));
    free(t->prices);
}

static void seconds(struct town *t, int64_t s)
{
    sim_loop_advance(t->w.loop, s * NS_PER_SEC);
}

struct answer {
    json_t *report;
    char *error;
    int n;
};

static void on_done(void *arg, const struct err *e, const json_t *report)
{
    struct answer *a = arg;

    a->n++;
    if (e)
        a->error = mem_strdup(err_message(e));
    else
        a->report = json_deep_copy(report);
}

typedef struct err *(*make_fn)(void *meter, const struct report_question *q, report_done_fn done,
                               void *done_arg, struct report **ret);

/* `namespaces` NULL: all. New reference. */
static json_t *ask(struct town *t, make_fn make, const char *parameters, const char *namespaces)
{
    AUTO(json_freep) json_t *p = manifest(parameters);
    AUTO(json_freep) json_t *n = namespaces ? manifest(namespaces) : NULL;
    const struct report_question q = {.parameters = p, .namespaces = n};
    struct report *report = NULL;
    struct answer a = {0};

    world_must(make(t->meter, &q, on_done, &a, &report));
    assert_int_equal(a.n, 0);
    sim_loop_run(t->w.loop);
    assert_int_equal(a.n, 1);
    assert_null(a.error);
    return a.report;
}

static int64_t ns_at(const json_t *o, const char *key)
{
    const json_t *amount = json_object_get(o, key);

    return json_int(amount, "seconds", -1) * NS_PER_SEC + json_int(amount, "nanos", -1);
}

static const json_t *item(const json_t *report, size_t i)
{
    return json_array_get(json_object_get(report, "items"), i);
}

/* Pod "a" holds an h100 for 30 s and ends; then "b" holds it for 10 s and goes on. */
static void run_two(struct town *t)
{
    world_must(world_add_pod(&t->w, "default", "a", 1));
    world_must(world_bind(&t->w, "default", "a", "n1"));
    seconds(t, 30);
    world_must(world_patch(
        &t->w, STATUS("a"),
        "{'metadata':{'annotations':{'mete.dev/usage':'{\\'containers\\':{\\'main\\':{\\'0\\':{"
        "\\'cpuNs\\':3000000000,\\'memoryKibSeconds\\':300,\\'gpuBusyNs\\':12000000000,"
        "\\'gpuIdleNs\\':15000000000,\\'gpuEnergyMj\\':9000,\\'gpuMemoryPeakBytes\\':800}}}}'}},"
        "'status':{'phase':'Succeeded',"
        "'containerStatuses':[{'name':'main','restartCount':0,'ready':false,'image':'','imageID':''"
        ","
        "'state':{'terminated':{'exitCode':0}}}]}}",
        NULL));
    world_must(world_add_pod(&t->w, "kube-system", "b", 1));
    world_must(world_bind(&t->w, "kube-system", "b", "n1"));
    seconds(t, 10);
}

static void a_report_adds_up(void **state)
{
    AUTO(json_freep) json_t *r = NULL;
    const json_t *gpus;
    struct town t;

    (void)state;
    town_init(&t, "currency: EUR\ngpuHour: {h100: 360, default: 36}\ncpuHour: 3.6\n");
    run_two(&t);
    r = ask(&t, meter_usage, "{'by':'namespace,model','from':'2026-01-01'}", NULL);
    assert_string_equal(json_text(r, "currency"), "EUR");
    assert_int_equal(json_array_size(json_object_get(r, "items")), 2);
    assert_string_equal(json_text(item(r, 0), "namespace"), "default");
    assert_string_equal(json_text(item(r, 0), "model"), "h100");
    assert_int_equal(ns_at(item(r, 0), "gpuTime"), 30 * NS_PER_SEC);
    assert_int_equal(ns_at(item(r, 0), "cpuTime"), 3 * NS_PER_SEC);
    assert_int_equal(json_int(item(r, 0), "memoryKibSeconds", -1), 300);
    assert_int_equal(json_int(item(r, 0), "costMicro", -1), 3000000 + 3000);
    assert_string_equal(json_text(item(r, 1), "namespace"), "kube-system");
    assert_int_equal(json_int(item(r, 1), "running", -1), 1);
    assert_int_equal(ns_at(item(r, 1), "gpuTime"), 10 * NS_PER_SEC);
    assert_true(json_is_null(json_object_get(item(r, 1), "cpuTime"))); /* not known yet */
    assert_int_equal(ns_at(json_object_get(r, "total"), "gpuTime"), 40 * NS_PER_SEC);
    assert_int_equal(json_int(json_object_get(r, "total"), "costMicro", -1), 4003000);
    gpus = json_object_get(r, "gpus");
    assert_int_equal(json_array_size(gpus), 2);
    assert_string_equal(json_text(json_array_get(gpus, 0), "model"), "h100");
    for (size_t i = 0; i < 2; i++) {
        const json_t *g = json_array_get(gpus, i);

        assert_int_equal(ns_at(g, "capacity"), 40 * NS_PER_SEC);
        assert_int_equal(ns_at(g, "held"), i == 0 ? 40 * NS_PER_SEC : 0);
        assert_int_equal(ns_at(g, "held") + ns_at(g, "free") + ns_at(g, "outOfService"),
                         ns_at(g, "capacity"));
    }
    town_done(&t);
}

/* The time held is busy, idle or unknown. */
static void held_time_adds_up(const json_t *o)
{
    int64_t busy_ns = json_is_null(json_object_get(o, "gpuBusyTime")) ? 0 : ns_at(o, "gpuBusyTime");
    int64_t idle_ns = json_is_null(json_object_get(o, "gpuIdleTime")) ? 0 : ns_at(o, "gpuIdleTime");

    assert_int_equal(busy_ns + idle_ns + ns_at(o, "gpuUnknownTime"), ns_at(o, "gpuTime"));
}

static void gpus_are_busy_or_idle_or_of_unknown_use(void **state)
{
    AUTO(json_freep) json_t *all = NULL;
    AUTO(json_freep) json_t *idle = NULL;
    AUTO(json_freep) json_t *rows = NULL;
    const json_t *a;
    struct town t;

    (void)state;
    town_init(&t, "currency: EUR\ngpuHour: {h100: 360}\n");
    run_two(&t);
    all = ask(&t, meter_usage, "{'from':'2026-01-01','by':'job'}", NULL);
    a = item(all, 0);
    assert_string_equal(json_text(a, "job"), "1");
    assert_string_equal(json_text(a, "jobName"), "default/a");
    assert_int_equal(ns_at(a, "gpuBusyTime"), 12 * NS_PER_SEC);
    assert_int_equal(ns_at(a, "gpuIdleTime"), 15 * NS_PER_SEC);
    assert_int_equal(ns_at(a, "gpuUnknownTime"), 3 * NS_PER_SEC);
    assert_int_equal(json_int(a, "idleCostMicro", -1), 1500000);
    assert_int_equal(json_int(a, "gpuEnergyMillijoules", -1), 9000);
    assert_int_equal(json_int(a, "gpuMemoryPeakBytes", -1), 800);
    assert_true(json_is_null(json_object_get(item(all, 1), "gpuBusyTime"))); /* no sample yet */
    assert_true(json_is_null(json_object_get(item(all, 1), "idleCostMicro")));
    held_time_adds_up(a);
    held_time_adds_up(item(all, 1));
    held_time_adds_up(json_object_get(all, "total"));
    idle = ask(&t, meter_usage, "{'from':'2026-01-01','by':'job','idle':'true'}", NULL);
    assert_int_equal(json_array_size(json_object_get(idle, "items")), 1);
    assert_string_equal(json_text(item(idle, 0), "job"), "1");
    rows = ask(&t, meter_rows, "{'from':'2026-01-01','queue':'default'}", NULL);
    assert_int_equal(json_array_size(json_object_get(rows, "items")), 2);
    assert_int_equal(ns_at(item(rows, 0), "gpuIdleTime"), 15 * NS_PER_SEC);
    held_time_adds_up(item(rows, 0));
    town_done(&t);
}

/* Neighbouring periods divide the usage, whatever the time of the cut. */
static void periods_add_up(void **state)
{
    struct town t;
    char from[STAMP_TEXT_SIZE];
    char cut[STAMP_TEXT_SIZE];

    (void)state;
    town_init(&t, NULL);
    run_two(&t);
    stamp_format_nano(t.began_ns, from);
    for (int64_t at_ns = 1; at_ns < 40 * NS_PER_SEC; at_ns = at_ns * 3 + 1) {
        AUTO_FREE char *first = NULL;
        AUTO_FREE char *second = NULL;
        AUTO(json_freep) json_t *a = NULL;
        AUTO(json_freep) json_t *b = NULL;

        stamp_format_nano(t.began_ns + at_ns, cut);
        first = mem_format("{'by':'','from':'%s','to':'%s'}", from, cut);
        second = mem_format("{'by':'','from':'%s'}", cut);
        a = ask(&t, meter_usage, first, NULL);
        b = ask(&t, meter_usage, second, NULL);
        assert_int_equal(ns_at(json_object_get(a, "total"), "gpuTime") +
                             ns_at(json_object_get(b, "total"), "gpuTime"),
                         40 * NS_PER_SEC);
        held_time_adds_up(json_object_get(a, "total"));
        held_time_adds_up(json_object_get(b, "total"));
        if (at_ns < 30 * NS_PER_SEC)
            assert_int_equal(ns_at(json_object_get(a, "total"), "cpuTime") +
                                 ns_at(json_object_get(b, "total"), "cpuTime"),
                             3 * NS_PER_SEC);
    }
    town_done(&t);
}

static void who_may_read_one_namespace_sees_that_one(void **state)
{
    AUTO(json_freep) json_t *usage = NULL;
    AUTO(json_freep) json_t *rows = NULL;
    struct town t;

    (void)state;
    town_init(&t, NULL);
    run_two(&t);
    usage = ask(&t, meter_usage, "{'from':'2026-01-01','by':'namespace'}", "['default']");
    assert_int_equal(json_array_size(json_object_get(usage, "items")), 1);
    assert_string_equal(json_text(item(usage, 0), "namespace"), "default");
    assert_int_equal(ns_at(json_object_get(usage, "total"), "gpuTime"), 30 * NS_PER_SEC);
    rows = ask(&t, meter_rows, "{'from':'2026-01-01'}", "['default']");
    assert_int_equal(json_array_size(json_object_get(rows, "items")), 1);
    assert_string_equal(json_text(item(rows, 0), "pod"), "a");
    town_done(&t);
}

static void rows_come_in_pages_and_each_once(void **state)
{
    char after[200] = "";
    size_t n = 0;
    struct town t;

    (void)state;
    town_init(&t, NULL);
    for (int i = 0; i < 7; i++) {
        world_must(world_add_pod(&t.w, "default", "a", 1));
        world_must(world_bind(&t.w, "default", "a", "n1"));
        seconds(&t, 1);
        world_must(world_patch(&t.w, STATUS("a"), "{'status':{'phase':'Failed'}}", NULL));
        world_must(world_delete(&t.w, (struct target){.kind = "pods", .name = "a"}, NULL, NULL));
    }
    do {
        AUTO_FREE char *q = mem_format("{'from':'2026-01-01','limit':'2'%s%s%s}",
                                       *after ? ",'continue':'" : "", after, *after ? "'" : "");
        AUTO(json_freep) json_t *page = ask(&t, meter_rows, q, NULL);
        const char *next = json_text_at(page, "metadata", "continue", NULL);

        assert_in_range(json_array_size(json_object_get(page, "items")), 0, 2);
        for (size_t i = 0; i < json_array_size(json_object_get(page, "items")); i++)
            assert_int_equal(json_int(item(page, i), "jobId", -1), (int64_t)++n);
        (void)snprintf(after, sizeof(after), "%s", next ? next : "");
    } while (*after);
    assert_int_equal(n, 7);
    town_done(&t);
}

static void bad_questions_are_refused(void **state)
{
    static const struct {
        const char *parameters;
        const char *namespaces;
        int http;
        const char *message;
    } cases[] = {
        {"{'by':'colour'}", NULL, 400,
         "parameter by: 'colour': want user, namespace, queue, model or job, joined by commas"},
        {"{'idle':'yes'}", NULL, 400, "parameter idle: 'yes': want true or false"},
        {"{'form':'today'}", NULL, 400, "unknown parameter 'form'"},
        {"{'from':'now','to':'yesterday'}", NULL, 400,
         "parameter from: the period ends before it begins"},
        {"{'namespace':'secret'}", "['default']", 403,
         "usage of namespace \"secret\" is forbidden for this user"},
    };
    struct town t;

    (void)state;
    town_init(&t, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *p = manifest(cases[i].parameters);
        AUTO(json_freep) json_t *n = cases[i].namespaces ? manifest(cases[i].namespaces) : NULL;
        const struct report_question q = {.parameters = p, .namespaces = n};
        struct report *report = NULL;
        struct answer a = {0};

        world_refused(meter_usage(t.meter, &q, on_done, &a, &report), cases[i].http,
                      cases[i].message);
        assert_int_equal(a.n, 0);
    }
    town_done(&t);
}

static void bad_prices_leave_the_usage_and_say_why(void **state)
{
    AUTO(json_freep) json_t *r = NULL;
    struct town t;

    (void)state;
    town_init(&t, "currency: EUR\ncpuHour: x\n");
    run_two(&t);
    r = ask(&t, meter_usage, "{'from':'2026-01-01'}", NULL);
    assert_non_null(strstr(json_text(r, "priceError"), "prices.yaml:2: cpuHour: want a price"));
    assert_true(json_is_null(json_object_get(item(r, 0), "costMicro")));
    assert_int_equal(ns_at(item(r, 0), "gpuTime"), 40 * NS_PER_SEC);
    town_done(&t);
}

static void a_cancelled_report_is_never_answered(void **state)
{
    AUTO(json_freep) json_t *p = json_object();
    const struct report_question q = {.parameters = p};
    struct report *report = NULL;
    struct answer a = {0};
    struct town t;

    (void)state;
    town_init(&t, NULL);
    world_must(meter_usage(t.meter, &q, on_done, &a, &report));
    meter_cancel(report);
    world_must(meter_rows(t.meter, &q, on_done, &a, &report));
    meter_cancel(report);
    sim_loop_run(t.w.loop);
    assert_int_equal(a.n, 0);
    town_done(&t);
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

static void old_rows_go(void **state)
{
    struct town t;

    (void)state;
    town_init(&t, NULL);
    run_two(&t);
    assert_int_equal(count_rows(&t.w), 1);
    seconds(&t, INT64_C(399) * 86400);
    assert_int_equal(count_rows(&t.w), 1);
    seconds(&t, INT64_C(2) * 86400);
    assert_int_equal(count_rows(&t.w), 0);
    world_must(
        account_check(t.w.store, objects_now_ns(t.w.objects) - HOUR, objects_now_ns(t.w.objects)));
    town_done(&t);
}

/* ---- samples ---- */

static void tell(struct town *t, const char *uid)
{
    struct node_stats s = {.at_ns = INT64_C(1767225700) * NS_PER_SEC,
                           .parts = STATS_LOADS | STATS_GPUS,
                           .load = {1500000000, 1048576, 10 * NS_PER_SEC}};
    struct container_sample c = {
        .name = "main",
        .load = {250000000, 2097152, 10500 * NS_PER_MS},
        .usage = {4 * NS_PER_SEC, -1, -1, 2 * NS_PER_SEC, 5 * NS_PER_SEC, 700, INT64_C(3) << 30},
        .gpu_idle_for_ns = 5 * NS_PER_SEC};

    (void)snprintf(c.pod_uid, sizeof(c.pod_uid), "%s", uid);
    vec_add(&s.containers, c);
    (void)snprintf(c.pod_uid, sizeof(c.pod_uid), "another");
    vec_add(&s.containers, c);
    vec_add(&s.gpus,
            (struct gpu_sample){.uuid = "GPU-x", .value = {[GPU_FIELD_UTILIZATION_PCT] = 42}});
    meter_take_stats(t->meter, "n1", &s);
    assert_null(s.gpus.at); /* taken */
}

static void fresh_samples_are_metrics_and_old_ones_are_absent(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *pods = NULL;
    AUTO(json_freep) json_t *node = NULL;
    AUTO(json_freep) json_t *late = NULL;
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *usage = NULL;
    struct town t;

    (void)state;
    town_init(&t, NULL);
    run_two(&t);
    world_must(world_patch(
        &t.w,
        (struct target){
            .kind = "pods", .ns = "kube-system", .name = "b", .sub = "status", .who = &ours},
        "{'status':{'phase':'Running'}}", NULL));
    object = world_get(&t.w, (struct target){.kind = "pods", .ns = "kube-system", .name = "b"});
    tell(&t, json_text_at(object, "metadata", "uid", NULL));
    pods = meter_pods(t.meter, NULL);
    assert_int_equal(json_array_size(pods), 1);
    pod = meter_pod(t.meter, "kube-system", "b");
    assert_string_equal(json_text(pod, "window"), "10.500s");
    assert_string_equal(
        json_text_at(json_array_get(json_object_get(pod, "containers"), 0), "usage", "cpu", NULL),
        "250000000n");
    assert_string_equal(json_text_at(json_array_get(json_object_get(pod, "containers"), 0), "usage",
                                     "memory", NULL),
                        "2048Ki");
    node = meter_node(t.meter, "", "n1");
    assert_string_equal(json_text_at(node, "usage", "cpu", NULL), "1500000000n");
    usage = ask(&t, meter_usage, "{'from':'2026-01-01','by':'namespace'}", NULL);
    assert_int_equal(ns_at(item(usage, 1), "cpuTime"), 4 * NS_PER_SEC);
    assert_int_equal(ns_at(item(usage, 1), "gpuBusyTime"), 2 * NS_PER_SEC);
    assert_int_equal(ns_at(item(usage, 1), "gpuIdleTime"), 5 * NS_PER_SEC);
    seconds(&t, 31);
    assert_null(meter_pod(t.meter, "kube-system", "b"));
    assert_null(meter_node(t.meter, "", "n1"));
    late = meter_nodes(t.meter, "");
    assert_int_equal(json_array_size(late), 0);
    town_done(&t);
}

static void a_gpus_use_is_known_for_as_long_as_its_sample_is_fresh(void **state)
{
    const struct gpu_sample *sample;
    struct town t;
    int64_t at_ns = 0;

    (void)state;
    town_init(&t, NULL);
    assert_null(meter_gpu_sample(t.meter, "n1", "GPU-x", &at_ns)); /* as after a restart */
    tell(&t, "u");
    sample = meter_gpu_sample(t.meter, "n1", "GPU-x", &at_ns);
    assert_non_null(sample);
    assert_int_equal(sample->value[GPU_FIELD_UTILIZATION_PCT], 42);
    assert_int_equal(at_ns, INT64_C(1767225700) * NS_PER_SEC);
    assert_null(meter_gpu_sample(t.meter, "n1", "GPU-y", &at_ns));
    assert_null(meter_gpu_sample(t.meter, "n2", "GPU-x", &at_ns));
    seconds(&t, 30);
    assert_non_null(meter_gpu_sample(t.meter, "n1", "GPU-x", &at_ns));
    seconds(&t, 1);
    assert_null(meter_gpu_sample(t.meter, "n1", "GPU-x", &at_ns));
    town_done(&t);
}

/* "a" held an h100 for 30 s, and worked for 12 of 27 known seconds; "b" holds one, idle for 5 s. */
static void advice_has_evidence_and_money(void **state)
{
    AUTO(json_freep) json_t *advice = NULL;
    AUTO(json_freep) json_t *late = NULL;
    AUTO(json_freep) json_t *waits = NULL;
    AUTO(json_freep) json_t *others = NULL;
    AUTO(json_freep) json_t *object = NULL;
    struct town t;

    (void)state;
    town_init(&t, "currency: EUR\ngpuHour: {h100: 360}\n");
    world_must(
        world_patch(&t.w, (struct target){.kind = "nodes", .name = "n1", .who = &ours},
                    "{'metadata':{'annotations':{'mete.dev/gpus':'[{\\'uuid\\':\\'GPU-n1-0\\',"
                    "\\'model\\':\\'h100\\',\\'index\\':0,\\'health\\':\\'healthy\\',"
                    "\\'memoryBytes\\':85899345920}]'}}}",
                    NULL));
    run_two(&t);
    object = world_get(&t.w, (struct target){.kind = "pods", .ns = "kube-system", .name = "b"});
    tell(&t, json_text_at(object, "metadata", "uid", NULL));
    advice = ask(&t, meter_advice, "{'from':'2026-01-01','least':'4s'}", NULL);
    assert_int_equal(json_array_size(json_object_get(advice, "items")), 2);
    assert_string_equal(json_text(item(advice, 0), "suggestion"), "--gpus 45Gi");
    assert_string_equal(json_text(item(advice, 0), "jobName"), "default/a");
    assert_int_equal(json_int(item(advice, 0), "usedMilli", -1), 444);
    assert_int_equal(ns_at(item(advice, 0), "savedGpuTime"), 13110 * NS_PER_MS);
    assert_int_equal(json_int(item(advice, 0), "savedCostMicro", -1), 1311000);
    assert_string_equal(json_text(item(advice, 1), "kind"), "idle");
    assert_string_equal(json_text(item(advice, 1), "suggestion"), "mete cancel 2");
    assert_int_equal(ns_at(item(advice, 1), "idleFor"), 5 * NS_PER_SEC);
    assert_int_equal(json_int(item(advice, 1), "savedCostMicro", -1), 500000);
    world_must(world_patch(
        &t.w,
        (struct target){
            .kind = "pods", .ns = "kube-system", .name = "b", .sub = "status", .who = &ours},
        "{'status':{'phase':'Pending','containerStatuses':[{'name':'main','restartCount':0,"
        "'ready':false,'image':'','imageID':'','state':{'waiting':{'reason':'ImagePullBackOff'}}}]}"
        "}",
        NULL));
    waits = ask(&t, meter_advice, "{'from':'2026-01-01','least':'4s'}", NULL);
    assert_string_equal(json_text(item(waits, 1), "suggestion"), "mete cancel 2");
    assert_int_equal(ns_at(item(waits, 1), "idleFor"), 10 * NS_PER_SEC); /* since its binding */
    late = ask(&t, meter_advice, "{'from':'2026-01-01','least':'28s'}", NULL);
    assert_int_equal(json_array_size(json_object_get(late, "items")), 0);
    others = ask(&t, meter_advice, "{'from':'2026-01-01','least':'4s'}", "['kube-system']");
    assert_int_equal(json_array_size(json_object_get(others, "items")), 1);
    town_done(&t);
}

/* Gpus come each second, loads each ten: neither is the end of the other. */
static void a_part_of_a_message_replaces_that_part_only(void **state)
{
    struct node_stats gpus = {.at_ns = INT64_C(1767225799) * NS_PER_SEC, .parts = STATS_GPUS};
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;
    struct town t;
    int64_t at_ns = 0;

    (void)state;
    town_init(&t, NULL);
    tell(&t, "u");
    vec_add(&gpus.gpus, (struct gpu_sample){.uuid = "GPU-y"});
    before = meter_node(t.meter, "", "n1");
    meter_take_stats(t.meter, "n1", &gpus);
    after = meter_node(t.meter, "", "n1");
    assert_true(json_equal(before, after));
    assert_non_null(after);
    assert_null(meter_gpu_sample(t.meter, "n1", "GPU-x", &at_ns));
    assert_non_null(meter_gpu_sample(t.meter, "n1", "GPU-y", &at_ns));
    assert_int_equal(at_ns, INT64_C(1767225799) * NS_PER_SEC);
    town_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_are_exact),
        cmocka_unit_test(bad_prices_are_refused_with_their_line),
        cmocka_unit_test(a_report_adds_up),
        cmocka_unit_test(gpus_are_busy_or_idle_or_of_unknown_use),
        cmocka_unit_test(periods_add_up),
        cmocka_unit_test(who_may_read_one_namespace_sees_that_one),
        cmocka_unit_test(rows_come_in_pages_and_each_once),
        cmocka_unit_test(bad_questions_are_refused),
        cmocka_unit_test(bad_prices_leave_the_usage_and_say_why),
        cmocka_unit_test(a_cancelled_report_is_never_answered),
        cmocka_unit_test(old_rows_go),
        cmocka_unit_test(fresh_samples_are_metrics_and_old_ones_are_absent),
        cmocka_unit_test(advice_has_evidence_and_money),
        cmocka_unit_test(a_part_of_a_message_replaces_that_part_only),
        cmocka_unit_test(a_gpus_use_is_known_for_as_long_as_its_sample_is_fresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
