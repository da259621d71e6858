/* test_node_fence.c - tests of a fenced node that loses its lease */

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/lease_file.h"
#include "node/pod/pod_fence.h"
#include "node_world.h"
#include "test.h"

#define SEC NS_PER_SEC
#define SPEC(tolerations)                                                                \
    "{\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":5,\"tolerations\":" \
    "[" tolerations "],\"containers\":[{\"name\":\"m\",\"image\":\"host\",\"command\":[\"x\"]}]}"
#define FOR_100_S                                                          \
    "{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\"," \
    "\"effect\":\"NoExecute\",\"tolerationSeconds\":100}"
#define FOR_EVER "{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\"}"

static void put(struct node_world *w, const char *spec)
{
    AUTO(json_freep) json_t *pod = node_world_pod(spec, "{}");

    node_world_put(w, pod);
    node_world_run(w);
}

/* The lease is held for `ns` from now. */
static void hold(struct node_world *w, int64_t ns)
{
    pods_lease(w->pods, loop_now_ns(w->loop) + ns);
    node_world_run(w);
}

static void begin(struct node_world *w, int64_t held_ns)
{
    node_world_init(w);
    pods_fence(w->pods, loop_now_ns(w->loop) + held_ns);
    node_world_run(w);
}

static void nothing_starts_without_the_lease(void **state)
{
    struct fake_container *c;
    struct node_world w;

    (void)state;
    begin(&w, 0);
    put(&w, SPEC(FOR_EVER));
    node_world_advance(&w, 600 * SEC);
    assert_int_equal(w.containers.n, 0);
    hold(&w, 40 * SEC);
    c = node_world_container(&w, "u1-m-0");
    assert_non_null(c);
    assert_int_equal(c->n_starts, 1);
    node_world_advance(&w, 41 * SEC); /* lost: the container goes on, but does not restart */
    node_world_end(&w, "u1-m-0", 1);
    node_world_advance(&w, 600 * SEC);
    assert_null(node_world_container(&w, "u1-m-1"));
    hold(&w, 40 * SEC);
    c = node_world_container(&w, "u1-m-1");
    assert_non_null(c);
    assert_int_equal(c->n_starts, 1);
    node_world_done(&w);
}

static void a_pod_ends_before_its_toleration_is_over(void **state)
{
    struct fake_container *c;
    struct node_world w;

    (void)state;
    begin(&w, 40 * SEC);
    put(&w, SPEC(FOR_100_S));
    c = node_world_container(&w, "u1-m-0");
    assert_int_equal(c->n_starts, 1);
    w.obeys_term = false;
    node_world_advance(&w, 139 * SEC);
    assert_int_equal(c->n_terms, 0);
    node_world_advance(&w, SEC - SEC / 20); /* a thousandth of 100 s is 0.1 s */
    assert_int_equal(c->n_terms, 1);
    assert_int_equal(c->n_kills, 0);
    node_world_advance(&w, 6 * SEC);
    assert_true(c->n_kills > 0);
    assert_int_equal(c->state, RUNTIME_ENDED);
    hold(&w, 40 * SEC);
    node_world_advance(&w, 20 * SEC);
    assert_int_equal(w.containers.n, 1); /* nothing starts again */
    assert_string_equal(json_text(node_world_status(&w), "phase"), "Failed");
    assert_string_equal(json_text(node_world_status(&w), "message"),
                        "the node could not renew its lease with the server");
    node_world_done(&w);
}

static void renewals_and_tolerations_keep_pods(void **state)
{
    static const char *const specs[] = {SPEC(FOR_100_S), SPEC(FOR_EVER)};

    (void)state;
    for (size_t i = 0; i < COUNT(specs); i++) {
        struct node_world w;

        begin(&w, 40 * SEC);
        put(&w, specs[i]);
        for (int k = 0; k < 100 && i == 0; k++) {
            hold(&w, 40 * SEC);
            node_world_advance(&w, 130 * SEC); /* lost for 90 s each time */
        }
        node_world_advance(&w, i == 0 ? 0 : 86400 * SEC);
        assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
        node_world_done(&w);
    }
}

static void without_a_toleration_a_pod_ends_with_the_lease(void **state)
{
    struct node_world w;

    (void)state;
    begin(&w, 40 * SEC);
    put(&w, SPEC(""));
    node_world_advance(&w, 40 * SEC - 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
    node_world_advance(&w, 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 1);
    node_world_done(&w);
}

/* The promise of one machine: its containers go on while the server is away. */
static void a_node_without_a_fence_ends_nothing(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, SPEC(""));
    hold(&w, SEC);
    node_world_advance(&w, 86400 * SEC);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
    assert_true(pods_may_start(w.pods));
    node_world_done(&w);
}

/* After a restart of the node's process without the server, no pod's object is known. */
static void adopted_containers_have_the_toleration_of_their_intent(void **state)
{
    static const char intent[] =
        "{\"uid\":\"u1\",\"namespace\":\"default\",\"pod\":\"p\",\"container\":\"m\","
        "\"attempt\":0,\"toleratedNs\":100000000000}";
    struct fake_container *c;
    struct node_world w;

    (void)state;
    node_world_init(&w);
    c = node_world_found(&w, intent, RUNTIME_RUNNING);
    pods_fence(w.pods, loop_now_ns(w.loop) + 10 * SEC);
    node_world_adopt(&w);
    node_world_advance(&w, 109 * SEC);
    assert_int_equal(c->n_terms, 0);
    node_world_advance(&w, SEC);
    assert_int_equal(c->n_terms, 1);
    node_world_done(&w);
}

static void an_intent_has_the_toleration(void **state)
{
    struct node_world w;

    (void)state;
    begin(&w, 40 * SEC);
    put(&w, SPEC(FOR_100_S));
    assert_int_equal(json_int(node_world_container(&w, "u1-m-0")->intent, "toleratedNs", -1),
                     100 * SEC);
    node_world_done(&w);
}

static void the_lease_outlives_the_process_not_the_boot(void **state)
{
    char dir[] = "/tmp/mete-test-lease-XXXXXX";
    AUTO_FREE char *path = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    path = mem_format("%s/lease", dir);
    assert_int_equal(lease_file_read(dir, "boot-1", 7), 7);
    assert_null(lease_file_write(dir, "boot-1", 123));
    assert_int_equal(lease_file_read(dir, "boot-1", 7), 123);
    assert_int_equal(lease_file_read(dir, "boot-2", 7), 7);
    assert_null(file_write(path, 0600, STR("boot-1 12"))); /* cut off */
    assert_int_equal(lease_file_read(dir, "boot-1", 7), 7);
    assert_null(file_write(path, 0600, STR("boot-1 x\n")));
    assert_int_equal(lease_file_read(dir, "boot-1", 7), 7);
    err_free(dir_remove(dir));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_starts_without_the_lease),
        cmocka_unit_test(a_pod_ends_before_its_toleration_is_over),
        cmocka_unit_test(renewals_and_tolerations_keep_pods),
        cmocka_unit_test(without_a_toleration_a_pod_ends_with_the_lease),
        cmocka_unit_test(a_node_without_a_fence_ends_nothing),
        cmocka_unit_test(adopted_containers_have_the_toleration_of_their_intent),
        cmocka_unit_test(an_intent_has_the_toleration),
        cmocka_unit_test(the_lease_outlives_the_process_not_the_boot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
