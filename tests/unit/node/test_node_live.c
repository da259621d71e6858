/* test_node_live.c - tests of hooks, probes and termination messages, over fakes */

#include "base/mem.h"
#include "base/stamp.h"
#include "node_world.h"
#include "test.h"

#define POD(policy, more)                                                                     \
    "{\"restartPolicy\":\"" policy "\",\"terminationGracePeriodSeconds\":10,\"containers\":[" \
    "{\"name\":\"m\",\"image\":\"host\",\"command\":[\"true\"]" more "}]}"
#define EXEC "\"exec\":{\"command\":[\"a\",\"b\"]}"

static void put(struct node_world *w, const char *spec)
{
    AUTO(json_freep) json_t *pod = node_world_pod(spec, "{}");

    node_world_put(w, pod);
}

static void put_deleted(struct node_world *w, const char *spec, int64_t grace_s)
{
    AUTO(json_freep) json_t *pod = node_world_pod(spec, "{}");
    json_t *meta = json_object_at(pod, "metadata");
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(w->loop) + grace_s * NS_PER_SEC, stamp);
    json_put_text(meta, "deletionTimestamp", stamp);
    json_put_int(meta, "deletionGracePeriodSeconds", grace_s);
    node_world_put(w, pod);
}

static const json_t *status(const struct node_world *w)
{
    return json_array_get(json_object_get(node_world_status(w), "containerStatuses"), 0);
}

static const json_t *condition(const struct node_world *w, const char *type)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(node_world_status(w), "conditions"), i, item)
        if (text_equal(json_text(item, "type"), type))
            return item;
    return NULL;
}

/* The number of posted Events with this reason and message; raised counts are ignored. */
static size_t told(const struct node_world *w, const char *reason, const char *message)
{
    size_t n = 0;

    for (size_t i = 0; i < w->requests.n; i++) {
        const json_t *body = w->requests.at[i].body;

        n += text_equal(w->requests.at[i].method, "POST") &&
             text_equal(json_text(body, "reason"), reason) &&
             text_equal(json_text(body, "message"), message);
    }
    return n;
}

static void seconds(struct node_world *w, int64_t n)
{
    node_world_advance(w, n * NS_PER_SEC);
}

static void is_ready_by_its_probe(void **state)
{
    static const char spec[] =
        POD("Always", ",\"readinessProbe\":{" EXEC ",\"periodSeconds\":1,\"failureThreshold\":1}");
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.execs.code = 1;
    put(&w, spec);
    seconds(&w, 2);
    assert_non_null(json_at(status(&w), "state", "running", NULL));
    assert_true(json_bool(status(&w), "started", false));
    assert_false(json_bool(status(&w), "ready", true));
    assert_string_equal(json_text(condition(&w, "Ready"), "status"), "False");
    assert_string_equal(json_text(condition(&w, "Ready"), "reason"), "ContainersNotReady");
    assert_string_equal(json_text(condition(&w, "ContainersReady"), "message"),
                        "containers with unready status: [m]");
    assert_int_equal(told(&w, "Unhealthy", "Readiness probe failed: exit code 1"), 1);
    assert_string_equal(w.execs.all.at[0]->id, "u1-m-0");
    w.execs.code = 0;
    seconds(&w, 1);
    assert_true(json_bool(status(&w), "ready", false));
    assert_string_equal(json_text(condition(&w, "Ready"), "status"), "True");
    assert_null(json_text(condition(&w, "Ready"), "message"));
    node_world_done(&w);
}

static void liveness_ends_and_the_policy_restarts(void **state)
{
    static const struct {
        const char *policy;
        const char *spec;
        bool restarts;
        const char *text;
    } cases[] = {
        {"Always", POD("Always", ",\"livenessProbe\":{" EXEC ",\"periodSeconds\":1}"), true,
         "Container m failed liveness probe, will be restarted"},
        {"OnFailure", POD("OnFailure", ",\"livenessProbe\":{" EXEC ",\"periodSeconds\":1}"), true,
         "Container m failed liveness probe, will be restarted"},
        {"Never", POD("Never", ",\"startupProbe\":{" EXEC ",\"periodSeconds\":1}"), false,
         "Container m failed startup probe"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct node_world w;

        node_world_init(&w);
        w.obeys_term = true;
        w.execs.code = 1;
        put(&w, cases[i].spec);
        seconds(&w, 1);
        assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0); /* 2 of 3 */
        w.is_stuck = false;
        seconds(&w, 1);
        if (cases[i].restarts)
            assert_int_equal(node_world_container(&w, "u1-m-1")->n_starts, 1);
        else
            assert_string_equal(json_text(node_world_status(&w), "phase"), "Failed");
        seconds(&w, 1);
        assert_int_equal(told(&w, "Killing", cases[i].text), 1);
        assert_int_equal(told(&w, "Killing", "Stopping container m"), 0);
        node_world_done(&w);
    }
}

static void what_does_not_hear_sigterm_is_killed_after_the_grace_of_its_probe(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.execs.code = 1;
    put(&w, POD("Never", ",\"livenessProbe\":{" EXEC ",\"failureThreshold\":1,"
                         "\"terminationGracePeriodSeconds\":3}"));
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 1);
    node_world_advance(&w, 3 * NS_PER_SEC - 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 0);
    node_world_advance(&w, 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 1);
    assert_string_equal(json_text(node_world_status(&w), "phase"), "Failed");
    node_world_done(&w);
}

static void is_not_running_before_post_start_is_done(void **state)
{
    static const char spec[] =
        "{\"restartPolicy\":\"Always\",\"containers\":[{\"name\":\"m\",\"image\":\"host\","
        "\"command\":[\"a\"],\"lifecycle\":{\"postStart\":{" EXEC "}},\"readinessProbe\":{" EXEC
        "}},{\"name\":\"n\",\"image\":\"host\",\"command\":[\"a\"]}]}";
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.execs.is_held = true;
    put(&w, spec);
    seconds(&w, 5);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_starts, 1);
    assert_null(node_world_container(&w, "u1-n-0")); /* must wait for it */
    assert_string_equal(json_text_at(status(&w), "state", "waiting", "reason", NULL),
                        "ContainerCreating");
    assert_string_equal(json_text(node_world_status(&w), "phase"), "Pending");
    assert_int_equal(w.execs.all.n, 1); /* no probe yet */
    fake_exec_end(w.execs.all.at[0], 0);
    node_world_run(&w);
    assert_int_equal(node_world_container(&w, "u1-n-0")->n_starts, 1);
    assert_string_equal(json_text(node_world_status(&w), "phase"), "Running");
    assert_int_equal(w.execs.all.n, 2);
    node_world_done(&w);
}

static void post_start_that_fails_ends_it(void **state)
{
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.obeys_term = true;
    w.execs.code = 1;
    w.execs.output = "secret";
    put(&w, POD("Never", ",\"lifecycle\":{\"postStart\":{" EXEC "}}"));
    seconds(&w, 1);
    assert_string_equal(json_text(node_world_status(&w), "phase"), "Failed");
    assert_int_equal(told(&w, "FailedPostStartHook", "PostStartHook failed: exit code 1"), 1);
    assert_int_equal(told(&w, "Killing", "FailedPostStartHook"), 1);
    node_world_done(&w);
}

static void pre_stop_comes_before_sigterm(void **state)
{
    static const char spec[] = POD("Always", ",\"lifecycle\":{\"preStop\":{" EXEC "}}");
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, spec);
    w.execs.is_held = true;
    put_deleted(&w, spec, 10);
    assert_int_equal(w.execs.all.n, 1);
    seconds(&w, 4);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
    fake_exec_end(w.execs.all.at[0], 0);
    node_world_run(&w);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 1);
    node_world_advance(&w, 6 * NS_PER_SEC - 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 0);
    node_world_advance(&w, 1); /* 10 s of grace, including the hook */
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 1);
    assert_int_equal(told(&w, "Killing", "Stopping container m"), 1);
    node_world_done(&w);
}

static void pre_stop_that_takes_all_the_grace_leaves_two_seconds(void **state)
{
    static const char spec[] = POD("Always", ",\"lifecycle\":{\"preStop\":{" EXEC "}}");
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w, spec);
    w.execs.is_held = true;
    put_deleted(&w, spec, 10);
    seconds(&w, 10);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 0);
    seconds(&w, 1);
    assert_int_equal(told(&w, "FailedPreStopHook", "PreStopHook failed: command \"a b\" timed out"),
                     1);
    seconds(&w, 1);
    assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 1);
    node_world_done(&w);
}

static void without_grace_nobody_is_asked(void **state)
{
    static const char spec[] = POD("Always", ",\"lifecycle\":{\"preStop\":{" EXEC "}}");

    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct node_world w;

        node_world_init(&w);
        put(&w, spec);
        w.execs.is_held = true;
        if (is_late) /* during preStop */
            put_deleted(&w, spec, 10);
        put_deleted(&w, spec, 0);
        assert_int_equal(w.execs.all.n, is_late);
        assert_true(!is_late || w.execs.all.at[0]->is_cancelled);
        assert_int_equal(node_world_container(&w, "u1-m-0")->n_terms, 0);
        assert_int_equal(node_world_container(&w, "u1-m-0")->n_kills, 1);
        node_world_done(&w);
    }
}

static void last_words_are_the_message_of_the_end(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *want;
    } cases[] = {{"all is lost", 3, "all is lost"}, {"done", 0, "done"}, {NULL, 3, NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct node_world w;
        const char *message = NULL;

        node_world_init(&w);
        w.words = cases[i].words;
        put(&w, POD("Never", ",\"terminationMessagePath\":\"/dev/termination-log\","
                             "\"terminationMessagePolicy\":\"FallbackToLogsOnError\""));
        node_world_end(&w, "u1-m-0", cases[i].code);
        message = json_text_at(status(&w), "state", "terminated", "message", NULL);
        assert_string_equal(message ? message : "", cases[i].want ? cases[i].want : "");
        node_world_done(&w);
    }
}

static void the_file_of_last_words_is_bound_where_it_harms_nobody(void **state)
{
    static const struct {
        const char *path;
        bool is_refused;
    } cases[] = {{"/dev/termination-log", false},
                 {"/dev/other", false},
                 {"/top", false},
                 {"/etc/words", true},
                 {"/proc/words", true},
                 {"/sys/words", true}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *spec =
            mem_format("{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":"
                       "\"host\",\"command\":[\"a\"],\"terminationMessagePath\":\"%s\"}]}",
                       cases[i].path);
        struct node_world w;
        const struct fake_container *c = NULL;
        const json_t *item = NULL;
        const char *source = NULL;
        size_t k = 0;

        node_world_init(&w);
        put(&w, spec);
        c = node_world_container(&w, "u1-m-0");
        assert_int_equal(c == NULL, cases[i].is_refused);
        json_array_foreach (json_object_get(c ? c->config : NULL, "mounts"), k, item)
            if (text_equal(json_text(item, "destination"), cases[i].path))
                source = json_text(item, "source");
        if (!cases[i].is_refused)
            assert_string_equal(source, "/data/node/pods/u1/words/m-0");
        node_world_done(&w);
    }
}

/* The kubelet's filter: 25 Events at once, then one each five minutes; a repeated Event raises its
 * count. */
static void events_that_repeat_are_counted_and_limited(void **state)
{
    const json_t *body = NULL;
    struct node_world w;
    size_t n = 0;

    (void)state;
    node_world_init(&w);
    w.execs.code = 1;
    put(&w, POD("Always", ",\"readinessProbe\":{" EXEC ",\"periodSeconds\":1}"));
    seconds(&w, 100);
    assert_int_equal(told(&w, "Unhealthy", "Readiness probe failed: exit code 1"), 1);
    n = node_world_count(&w, "PATCH", "/events/");
    assert_int_equal(n, 24);
    seconds(&w, 300);
    assert_int_equal(node_world_count(&w, "PATCH", "/events/"), n + 1);
    for (size_t i = 0; i < w.requests.n; i++)
        if (strstr(w.requests.at[i].path, "/events/"))
            body = w.requests.at[i].body;
    assert_in_range(json_int(body, "count", 0), 295, 305);
    node_world_done(&w);
}

static void a_node_that_begins_anew_remembers_and_asks_again(void **state)
{
    static const char spec[] =
        POD("Always", ",\"lifecycle\":{\"postStart\":{\"sleep\":{\"seconds\":1}}},"
                      "\"readinessProbe\":{" EXEC ",\"periodSeconds\":1,\"failureThreshold\":2}");
    static const char intent[] = "{\"uid\":\"u1\",\"namespace\":\"default\",\"pod\":\"p\","
                                 "\"container\":\"m\",\"attempt\":0}";
    AUTO(json_freep)
    json_t *pod = node_world_pod(
        spec, "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"m\",\"ready\":true,"
              "\"started\":true,\"restartCount\":0,\"containerID\":\"crun://u1-m-0\",\"state\":{"
              "\"running\":{}}}]}");
    struct node_world w;

    (void)state;
    node_world_init(&w);
    w.execs.code = 1;
    (void)node_world_found(&w, intent, RUNTIME_RUNNING);
    node_world_adopt(&w);
    node_world_put(&w, pod);
    assert_true(json_bool(status(&w), "ready", false));
    assert_non_null(json_at(status(&w), "state", "running", NULL)); /* postStart had succeeded */
    seconds(&w, 1);
    assert_false(json_bool(status(&w), "ready", true));
    node_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_ready_by_its_probe),
        cmocka_unit_test(liveness_ends_and_the_policy_restarts),
        cmocka_unit_test(what_does_not_hear_sigterm_is_killed_after_the_grace_of_its_probe),
        cmocka_unit_test(is_not_running_before_post_start_is_done),
        cmocka_unit_test(post_start_that_fails_ends_it),
        cmocka_unit_test(pre_stop_comes_before_sigterm),
        cmocka_unit_test(pre_stop_that_takes_all_the_grace_leaves_two_seconds),
        cmocka_unit_test(without_grace_nobody_is_asked),
        cmocka_unit_test(last_words_are_the_message_of_the_end),
        cmocka_unit_test(the_file_of_last_words_is_bound_where_it_harms_nobody),
        cmocka_unit_test(events_that_repeat_are_counted_and_limited),
        cmocka_unit_test(a_node_that_begins_anew_remembers_and_asks_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
