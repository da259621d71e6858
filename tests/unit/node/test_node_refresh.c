/* test_node_refresh.c - tests of volume updates of running pods, over fakes */

#include "base/mem.h"
#include "base/stamp.h"
#include "node_world.h"
#include "test.h"

#define SPEC(volumes)                                                                  \
    "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":\"host\"," \
    "\"command\":[\"true\"]}],\"volumes\":[" volumes "]}"
#define CONFIG "{\"name\":\"c\",\"configMap\":{\"name\":\"c\"}}"
#define TOKEN                                                                                   \
    "{\"name\":\"t\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"path\":\"token\"," \
    "\"audience\":\"vault\",\"expirationSeconds\":1000}}]}}"
#define LABELS                                                                     \
    "{\"name\":\"d\",\"downwardAPI\":{\"items\":[{\"path\":\"app\",\"fieldRef\":{" \
    "\"fieldPath\":\"metadata.labels['app']\"}}]}}"
#define INTENT                                                                     \
    "{\"uid\":\"u1\",\"namespace\":\"default\",\"pod\":\"p\",\"container\":\"m\"," \
    "\"attempt\":0}"

static const char *shown(const struct node_world *w, const char *path)
{
    return json_text(w->shown, path);
}

static void put(struct node_world *w, const char *spec, const char *uid, const char *app)
{
    AUTO(json_freep) json_t *pod = node_world_pod(spec, "{}");
    json_t *meta = json_object_at(pod, "metadata");

    json_put_text(meta, "uid", uid);
    json_put_text(meta, "name", uid);
    if (app)
        json_put_text(json_object_at(meta, "labels"), "app", app);
    node_world_put(w, pod);
}

static void a_change_of_a_config_map_is_written(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"1\"}}");
    put(&w, SPEC(CONFIG), "u1", NULL);
    assert_string_equal(shown(&w, "a"), "1");
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"2\",\"b\":\"new\"}}");
    assert_string_equal(shown(&w, "a"), "2");
    assert_string_equal(shown(&w, "b"), "new");
    node_world_done(&w);
}

static void pods_share_a_watch_that_ends_with_the_last(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"1\"}}");
    put(&w, SPEC(CONFIG), "u1", NULL);
    put(&w, SPEC(CONFIG), "u2", NULL);
    assert_int_equal(w.watches.n, 1);
    unsigned before = w.n_updated;

    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"2\"}}");
    assert_int_equal(w.n_updated, before + 2);
    node_world_end(&w, "u1-m-0", 0);
    assert_int_equal(w.watches.n, 1);
    node_world_end(&w, "u2-m-0", 0);
    assert_int_equal(w.watches.n, 0);
    before = w.n_updated;
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"3\"}}");
    assert_int_equal(w.n_updated, before);
    node_world_done(&w);
}

static void what_is_immutable_is_watched_no_longer(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"1\"},\"immutable\":true}");
    put(&w, SPEC(CONFIG), "u1", NULL);
    assert_string_equal(shown(&w, "a"), "1");
    assert_int_equal(w.watches.n, 0);
    node_world_done(&w);
}

static void what_is_required_and_gone_stays_and_is_told_once(void **state)
{
    struct node_world w;
    unsigned before = 0;

    (void)state;
    node_world_init(&w);
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"1\"}}");
    put(&w, SPEC(CONFIG), "u1", NULL);
    node_world_advance(&w, 10 * NS_PER_SEC); /* Events are sent last */
    before = w.n_updated;
    size_t events = node_world_count(&w, "POST", "/events");

    node_world_change(&w, "configmaps/c", NULL);
    node_world_advance(&w, 10 * NS_PER_SEC);
    assert_int_equal(w.n_updated, before);
    assert_int_equal(node_world_count(&w, "POST", "/events"), events + 1);
    assert_string_equal(json_text(w.requests.at[w.requests.n - 1].body, "message"),
                        "MountVolume.SetUp failed: volume c: ConfigMap 'c' not found");
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"4\"}}");
    assert_string_equal(shown(&w, "a"), "4");
    node_world_done(&w);
}

static void labels_are_written_when_they_change(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, SPEC(LABELS), "u1", "x");
    assert_string_equal(shown(&w, "app"), "x");
    put(&w, SPEC(LABELS), "u1", "y");
    assert_string_equal(shown(&w, "app"), "y");
    unsigned before = w.n_updated;

    put(&w, SPEC(LABELS), "u1", "y");
    assert_int_equal(w.n_updated, before);
    node_world_done(&w);
}

static void a_token_is_asked_for_the_pod_and_renewed_at_80_pct_of_its_life(void **state)
{
    struct node_world w;
    const json_t *body = NULL;

    (void)state;
    node_world_init(&w);
    put(&w, SPEC(TOKEN), "u1", NULL);
    assert_string_equal(shown(&w, "token"), "T1");
    assert_int_equal(
        node_world_count(&w, "POST", "/api/v1/namespaces/default/serviceaccounts/default/token"),
        1);
    for (size_t i = 0; i < w.requests.n; i++)
        if (text_ends_with(w.requests.at[i].path, "/token"))
            body = w.requests.at[i].body;
    assert_string_equal(json_text(body, "apiVersion"), "authentication.k8s.io/v1");
    assert_string_equal(json_text_at(body, "spec", "boundObjectRef", "uid", NULL), "u1");
    assert_string_equal(json_text_at(body, "spec", "boundObjectRef", "kind", NULL), "Pod");
    assert_int_equal(json_int_at(body, "spec", "expirationSeconds", NULL), 1000);
    node_world_advance(&w, 790 * NS_PER_SEC);
    assert_string_equal(shown(&w, "token"), "T1");
    node_world_advance(&w, 20 * NS_PER_SEC);
    assert_string_equal(shown(&w, "token"), "T2");
    w.is_server_away = true;
    node_world_advance(&w, 900 * NS_PER_SEC);
    assert_string_equal(shown(&w, "token"), "T2");
    w.is_server_away = false;
    node_world_advance(&w, 60 * NS_PER_SEC);
    assert_string_equal(shown(&w, "token"), "T3");
    node_world_done(&w);
}

static void pods_that_were_found_running_are_followed_too(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"1\"}}");
    (void)node_world_found(&w, INTENT, RUNTIME_RUNNING);
    node_world_adopt(&w);
    put(&w, SPEC(CONFIG "," TOKEN), "u1", NULL);
    assert_int_equal(w.n_prepared, 0);
    assert_string_equal(shown(&w, "a"), "1");
    assert_string_equal(shown(&w, "token"), "T1");
    node_world_change(&w, "configmaps/c", "{\"data\":{\"a\":\"2\"}}");
    assert_string_equal(shown(&w, "a"), "2");
    node_world_done(&w);
}

static void a_pod_that_shows_nothing_costs_nothing(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, SPEC("{\"name\":\"e\",\"emptyDir\":{}}"), "u1", "x");
    put(&w, SPEC("{\"name\":\"e\",\"emptyDir\":{}}"), "u1", "y");
    assert_int_equal(w.watches.n, 0);
    assert_int_equal(w.n_updated, 0);
    node_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_a_config_map_is_written),
        cmocka_unit_test(pods_share_a_watch_that_ends_with_the_last),
        cmocka_unit_test(what_is_immutable_is_watched_no_longer),
        cmocka_unit_test(what_is_required_and_gone_stays_and_is_told_once),
        cmocka_unit_test(labels_are_written_when_they_change),
        cmocka_unit_test(a_token_is_asked_for_the_pod_and_renewed_at_80_pct_of_its_life),
        cmocka_unit_test(pods_that_were_found_running_are_followed_too),
        cmocka_unit_test(a_pod_that_shows_nothing_costs_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
