/* test_node_stats.c - tests of usage samples sent to the server */

#include "base/mem.h"
#include "base/stamp.h"
#include "node/stats.h"
#include "node_world.h"
#include "test.h"

#define ONE \
    "{'restartPolicy':'OnFailure','containers':[{'name':'m','image':'host','command':['x']}]}"

/* The body of the last request whose path ends with `end`; NULL: none. */
static const json_t *last_body(const struct node_world *w, const char *end)
{
    const json_t *body = NULL;

    for (size_t i = 0; i < w->requests.n; i++)
        if (text_ends_with(w->requests.at[i].path, end))
            body = w->requests.at[i].body;
    return body;
}

static void put(struct node_world *w)
{
    AUTO_FREE char *spec = mem_strdup(ONE);
    AUTO(json_freep) json_t *pod = NULL;

    for (char *c = spec; *c; c++)
        if (*c == '\'')
            *c = '"';
    pod = node_world_pod(spec, "{}");
    node_world_put(w, pod);
}

static void end_using(struct node_world *w, const char *id, int code, int64_t cpu_ns)
{
    struct fake_container *c = node_world_container(w, id);

    assert_non_null(c);
    c->exit.has_usage = true;
    c->exit.usage = (struct account_usage){cpu_ns, -1, 7};
    node_world_end(w, id, code);
}

static json_t *annotation(const struct node_world *w)
{
    const char *text =
        json_text_at(last_body(w, "/pods/p/status"), "metadata", "annotations", POD_USAGE, NULL);
    json_t *usage = NULL;

    assert_non_null(text);
    assert_null(json_parse(str_of(text), &usage));
    return usage;
}

static void the_status_carries_what_ended_attempts_used(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *both = NULL;
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w);
    assert_null(json_text_at(last_body(&w, "/pods/p/status"), "metadata", "annotations", POD_USAGE,
                             NULL)); /* no container has ended yet */
    end_using(&w, "u1-m-0", 1, 100);
    first = annotation(&w);
    assert_int_equal(json_int_at(first, "containers", "m", "0", "cpuNs", NULL), 100);
    assert_int_equal(json_int_at(first, "containers", "m", "0", "memoryPeakBytes", NULL), 7);
    assert_null(json_at(first, "containers", "m", "0", "memoryKibSeconds", NULL)); /* unknown */
    end_using(&w, "u1-m-1", 0, 200);
    both = annotation(&w);
    assert_int_equal(json_int_at(both, "containers", "m", "0", "cpuNs", NULL), 100);
    assert_int_equal(json_int_at(both, "containers", "m", "1", "cpuNs", NULL), 200);
    node_world_done(&w);
}

/* ---- samples ---- */

static struct err *load(struct machine_load *ret)
{
    *ret = (struct machine_load){.cpu_ns = 5 * NS_PER_SEC, .memory_bytes = 4096};
    return NULL;
}

static bool usage(void *self, const char *id, struct usage *ret)
{
    (void)self;
    (void)id;
    *ret =
        (struct usage){.is_known = true,
                       .total = {.cpu_ns = 50, .memory_kib_seconds = 60, .memory_peak_bytes = 70},
                       .memory_bytes = 80,
                       .rate_nano = 90,
                       .window_ns = 10 * NS_PER_SEC};
    return true;
}

static void samples_are_of_what_runs(void **state)
{
    struct node_world w;
    struct runtime_ops ops;
    struct stats_options o = {.node = "n1", .load = load};
    struct stats *stats;
    const json_t *body;

    (void)state;
    node_world_init(&w);
    ops = *w.runtime.ops;
    ops.usage = usage;
    w.runtime.ops = &ops;
    o.loop = w.loop;
    o.client = &w.client;
    o.pods = w.pods;
    stats = stats_new(&o);
    put(&w);
    node_world_run(&w);
    body = last_body(&w, "/mete.dev/v1/nodes/n1/stats");
    assert_non_null(body);
    assert_null(json_object_get(body, "node")); /* one sample has no rate */
    node_world_advance(&w, 10 * NS_PER_SEC);
    body = last_body(&w, "/mete.dev/v1/nodes/n1/stats");
    assert_int_equal(json_int_at(body, "node", "cpuNano", NULL), 0);
    assert_int_equal(json_int_at(body, "node", "memoryBytes", NULL), 4096);
    assert_int_equal(json_array_size(json_object_get(body, "pods")), 1);
    {
        const json_t *pod = json_array_get(json_object_get(body, "pods"), 0);
        const json_t *c = json_array_get(json_object_get(pod, "containers"), 0);

        assert_string_equal(json_text(pod, "uid"), "u1");
        assert_string_equal(json_text(c, "name"), "m");
        assert_int_equal(json_int(c, "cpuNano", -1), 90);
        assert_int_equal(json_int(c, "cpuNs", -1), 50);
    }
    end_using(&w, "u1-m-0", 0, 1);
    node_world_advance(&w, 10 * NS_PER_SEC);
    body = last_body(&w, "/mete.dev/v1/nodes/n1/stats");
    assert_int_equal(json_array_size(json_object_get(body, "pods")), 0);
    stats_free(stats);
    node_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_carries_what_ended_attempts_used),
        cmocka_unit_test(samples_are_of_what_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
