/* test_node_disk.c - tests of the disk limits of pods */

#include "base/mem.h"
#include "base/stamp.h"
#include "node_world.h"
#include "test.h"

#define VOLUME "/data/node/pods/u1/volumes/v"
#define LOGS   "/data/node/log/default_p_u1/m"

static const char *phase(const struct node_world *w)
{
    return json_text(node_world_status(w), "phase");
}

static void put(struct node_world *w, const char *spec)
{
    AUTO(json_freep) json_t *pod = node_world_pod(spec, "{}");

    node_world_put(w, pod);
}

/* The spec of a container with an ephemeral-storage limit and an emptyDir. */
static char *spec_with(const char *limit, const char *source)
{
    AUTO_FREE char *resources =
        limit ? mem_format(",\"resources\":{\"limits\":{\"ephemeral-storage\":\"%s\"}}", limit)
              : mem_strdup("");

    return mem_format(
        "{\"restartPolicy\":\"Always\",\"volumes\":[{\"name\":\"v\",\"emptyDir\":%s}],"
        "\"containers\":[{\"name\":\"m\",\"image\":\"host\",\"command\":[\"true\"]%s}]}",
        source, resources);
}

struct usage_case {
    const char *limit;
    const char *source;
    const char *path;
    int64_t bytes;
    const char *message; /* NULL: not evicted */
};

static void evicts_what_is_over_in_the_kubelets_words(void **state)
{
    static const struct usage_case cases[] = {
        {NULL, "{\"sizeLimit\":\"1Mi\"}", VOLUME, 1 << 20, NULL},
        {NULL, "{\"sizeLimit\":\"1Mi\"}", VOLUME, (1 << 20) + 1,
         "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". "},
        {NULL, "{\"sizeLimit\":\"1Mi\"}", VOLUME, -1,
         "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". "},
        {NULL, "{\"sizeLimit\":\"1Mi\",\"medium\":\"Memory\"}", VOLUME, 1 << 30, NULL},
        {NULL, "{\"sizeLimit\":\"1Mi\"}", LOGS, 1 << 30, NULL},
        {"1Mi", "{}", VOLUME, 1 << 20, NULL},
        {"1Mi", "{}", VOLUME, (1 << 20) + 1,
         "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "},
        {"1Mi", "{}", LOGS, (1 << 20) + 1,
         "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *spec = spec_with(cases[i].limit, cases[i].source);
        struct node_world w;

        node_world_init(&w);
        w.obeys_term = true;
        put(&w, spec);
        node_world_run(&w);
        w.disk = json_object();
        json_put_int(w.disk, cases[i].path, cases[i].bytes);
        node_world_advance(&w, 60 * NS_PER_SEC);
        assert_int_equal(w.n_measured > 0, strstr(cases[i].source, "Memory") == NULL);
        assert_string_equal(phase(&w), cases[i].message ? "Failed" : "Running");
        if (cases[i].message) {
            assert_string_equal(json_text(node_world_status(&w), "reason"), "Evicted");
            assert_string_equal(json_text(node_world_status(&w), "message"), cases[i].message);
            assert_null(node_world_container(&w, "u1-m-1")); /* even with restartPolicy Always */
        }
        node_world_done(&w);
    }
}

/* One container exceeds its own limit, but the pod does not exceed the sum. */
static void a_container_has_its_own_limit(void **state)
{
    const char *spec = "{\"containers\":[{\"name\":\"m\",\"image\":\"host\",\"command\":[\"true\"],"
                       "\"resources\":{\"limits\":{\"ephemeral-storage\":\"1Mi\"}}},"
                       "{\"name\":\"n\",\"image\":\"host\",\"command\":[\"true\"],"
                       "\"resources\":{\"limits\":{\"ephemeral-storage\":\"1Gi\"}}}]}";
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.obeys_term = true;
    put(&w, spec);
    node_world_run(&w);
    w.disk = json_object();
    json_put_int(w.disk, LOGS, 2 << 20);
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_string_equal(phase(&w), "Failed");
    assert_string_equal(json_text(node_world_status(&w), "message"),
                        "Container m exceeded its local ephemeral storage limit \"1Mi\". ");
    node_world_done(&w);
}

static void what_has_no_limits_is_not_measured(void **state)
{
    AUTO_FREE char *spec = spec_with(NULL, "{}");
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, spec);
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_int_equal(w.n_measured, 0);
    assert_string_equal(phase(&w), "Running");
    node_world_done(&w);
}

/* The node process dies after it reported the eviction, before the container ended. */
static void an_eviction_survives_a_restart(void **state)
{
    AUTO_FREE char *spec = spec_with(NULL, "{}");
    AUTO(json_freep)
    json_t *pod = node_world_pod(
        spec, "{\"phase\":\"Running\",\"reason\":\"Evicted\",\"message\":\"too much\"}");
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.obeys_term = true;
    (void)node_world_found(&w,
                           "{\"uid\":\"u1\",\"namespace\":\"default\",\"pod\":\"p\",\"container\":"
                           "\"m\",\"attempt\":0}",
                           RUNTIME_RUNNING);
    node_world_adopt(&w);
    node_world_put(&w, pod);
    node_world_advance(&w, 10 * NS_PER_SEC);
    assert_string_equal(phase(&w), "Failed");
    assert_string_equal(json_text(node_world_status(&w), "reason"), "Evicted");
    assert_string_equal(json_text(node_world_status(&w), "message"), "too much");
    node_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evicts_what_is_over_in_the_kubelets_words),
        cmocka_unit_test(a_container_has_its_own_limit),
        cmocka_unit_test(what_has_no_limits_is_not_measured),
        cmocka_unit_test(an_eviction_survives_a_restart),
    };

    return cmocka_run_group_tests_name("node_disk", tests, NULL, NULL);
}
