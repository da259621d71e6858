/* test_node_probes.c - tests of probes over simulated time */

#include "base/mem.h"
#include "base/stamp.h"
#include "fake_exec.h"
#include "fake_pinger.h"
#include "node/pod/probes.h"
#include "sim_loop.h"
#include "test.h"

struct world {
    struct loop *loop;
    struct fake_pinger pinger;
    struct fake_execs execs;
    struct runtime runtime;
    json_t *container;
    struct probes *probes;
    unsigned n_told;
    char *message; /* of the last `told` */
};

static struct exec *fake_exec(void *self, const struct runtime_exec *e)
{
    struct world *w = self;

    return fake_exec_new(&w->execs, e, false);
}

static const struct runtime_ops fake_runtime = {.exec = fake_exec};

static void told(void *arg, const char *message)
{
    struct world *w = arg;

    w->n_told++;
    if (message) {
        free(w->message);
        w->message = mem_strdup(message);
    }
}

static void init(struct world *w)
{
    *w = (struct world){.loop = sim_loop_new()};
    w->runtime = (struct runtime){.ops = &fake_runtime, .self = w};
    w->execs.loop = w->loop;
    fake_pinger_init(&w->pinger, w->loop);
}

/* Begins the probes in `spec` of a container with a port "web", started `ago_s` seconds ago. */
static void begin(struct world *w, const char *spec, int64_t ago_s, bool was_known)
{
    AUTO_FREE char *text = mem_format(
        "{\"name\":\"m\",\"ports\":[{\"name\":\"web\",\"containerPort\":8080}],%s}", spec);
    AUTO(err_freep) struct err *e = json_parse(str_of(text), &w->container);
    struct probes_options o = {
        .place = {.loop = w->loop,
                  .runtime = &w->runtime,
                  .pinger = &w->pinger.pinger,
                  .id = "u1-m-0",
                  .container = w->container,
                  .host = "192.0.2.7"},
        .started_ns = loop_wall_ns(w->loop) - ago_s * NS_PER_SEC,
        .was_started = was_known,
        .was_ready = was_known,
        .told = told,
        .arg = w,
    };

    assert_null(e);
    w->probes = probes_new(&o);
}

static void done(struct world *w)
{
    probes_free(w->probes);
    fake_pinger_done(&w->pinger);
    fake_execs_done(&w->execs);
    json_decref(w->container);
    free(w->message);
    sim_loop_free(w->loop);
}

static void advance(struct world *w, int64_t seconds)
{
    sim_loop_advance(w->loop, seconds * NS_PER_SEC);
}

static bool has_failed(const struct world *w)
{
    enum probe_kind kind = PROBE_READINESS;
    int64_t grace_s = 0;

    return probes_have_failed(w->probes, &kind, &grace_s);
}

#define READY(more)       "\"readinessProbe\":{\"httpGet\":{\"path\":\"/r\",\"port\":\"web\"}" more "}"
#define LIVE(more)        "\"livenessProbe\":{\"tcpSocket\":{\"port\":81}" more "}"
#define EXEC(which, more) "\"" which "\":{\"exec\":{\"command\":[\"ask\",\"it\"]}" more "}"

static void without_probes_all_is_well(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    begin(&w, "\"tty\":false", 0, false);
    assert_null(w.probes);
    assert_true(probes_have_started(NULL));
    assert_true(probes_are_ready(NULL));
    assert_false(has_failed(&w));
    done(&w);
}

static void asks_after_the_delay_then_every_period(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    begin(&w, READY(",\"initialDelaySeconds\":5,\"periodSeconds\":3,\"timeoutSeconds\":2"), 1,
          false);
    advance(&w, 3);
    assert_int_equal(w.pinger.all.n, 0);
    assert_false(probes_are_ready(w.probes));
    assert_true(probes_have_started(w.probes));
    advance(&w, 1); /* 5 s after the start */
    assert_int_equal(w.pinger.all.n, 1);
    assert_true(probes_are_ready(w.probes));
    assert_int_equal(w.n_told, 1);
    assert_null(w.message);
    assert_string_equal(w.pinger.all.at[0]->host, "192.0.2.7");
    assert_string_equal(w.pinger.all.at[0]->path, "/r");
    assert_int_equal(w.pinger.all.at[0]->port, 8080);
    assert_int_equal(w.pinger.all.at[0]->timeout_ns, 2 * NS_PER_SEC);
    assert_false(w.pinger.all.at[0]->is_tls);
    advance(&w, 6);
    assert_int_equal(w.pinger.all.n, 3);
    assert_int_equal(w.n_told, 1); /* no change */
    done(&w);
}

static void readiness_follows_its_thresholds(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    begin(&w, READY(",\"periodSeconds\":1,\"failureThreshold\":2,\"successThreshold\":3"), 0,
          false);
    advance(&w, 0);
    advance(&w, 1);
    assert_false(probes_are_ready(w.probes)); /* 2 of 3 */
    advance(&w, 1);
    assert_true(probes_are_ready(w.probes));
    w.pinger.status = 503;
    advance(&w, 1);
    assert_true(probes_are_ready(w.probes)); /* 1 of 2 */
    assert_string_equal(w.message,
                        "Readiness probe failed: HTTP probe failed with statuscode: 503");
    advance(&w, 1);
    assert_false(probes_are_ready(w.probes));
    assert_false(has_failed(&w)); /* readiness does not end a container */
    w.pinger.status = 302;
    advance(&w, 3);
    assert_true(probes_are_ready(w.probes));
    done(&w);
}

static void liveness_fails_after_so_many_on_end(void **state)
{
    struct world w;
    enum probe_kind kind = PROBE_STARTUP;
    int64_t grace_s = -1;

    (void)state;
    init(&w);
    begin(&w,
          LIVE(",\"periodSeconds\":1,\"failureThreshold\":3,"
               "\"terminationGracePeriodSeconds\":7"),
          0, false);
    w.pinger.error = "dial tcp 192.0.2.7:81: connect: connection refused";
    advance(&w, 1); /* two failures */
    w.pinger.error = NULL;
    advance(&w, 1);
    w.pinger.error = "connection refused";
    advance(&w, 2);
    assert_false(has_failed(&w));
    assert_string_equal(w.message, "Liveness probe failed: connection refused");
    advance(&w, 1);
    assert_true(probes_have_failed(w.probes, &kind, &grace_s));
    assert_int_equal(kind, PROBE_LIVENESS);
    assert_int_equal(grace_s, 7);
    assert_int_equal(w.pinger.all.n, 6);
    advance(&w, 10);
    assert_int_equal(w.pinger.all.n, 6); /* the startup probe runs no more */
    done(&w);
}

static void the_others_wait_for_startup(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    w.execs.code = 1;
    w.execs.output = "not yet";
    begin(&w,
          EXEC("startupProbe", ",\"periodSeconds\":5,\"failureThreshold\":3") "," READY(
              ",\"periodSeconds\":60") "," LIVE(",\"initialDelaySeconds\":6"),
          0, false);
    advance(&w, 5);
    assert_int_equal(w.execs.all.n, 2);
    assert_int_equal(w.pinger.all.n, 0);
    assert_false(probes_have_started(w.probes));
    assert_false(probes_are_ready(w.probes));
    assert_string_equal(w.message, "Startup probe failed: not yet");
    w.execs.code = 0;
    advance(&w, 5);
    assert_true(probes_have_started(w.probes));
    assert_true(probes_are_ready(w.probes)); /* probed at once */
    assert_int_equal(w.pinger.all.n, 2);     /* liveness too, after its delay */
    advance(&w, 30);
    assert_int_equal(w.execs.all.n, 3);
    done(&w);
}

static void startup_that_fails_ends_it(void **state)
{
    struct world w;
    enum probe_kind kind = PROBE_LIVENESS;
    int64_t grace_s = 0;

    (void)state;
    init(&w);
    w.execs.code = 3;
    begin(&w, EXEC("startupProbe", ",\"periodSeconds\":1,\"failureThreshold\":2"), 0, false);
    advance(&w, 0);
    assert_false(has_failed(&w));
    assert_string_equal(w.message, "Startup probe failed: exit code 3");
    advance(&w, 1);
    assert_true(probes_have_failed(w.probes, &kind, &grace_s));
    assert_int_equal(kind, PROBE_STARTUP);
    assert_int_equal(grace_s, -1);
    assert_false(probes_have_started(w.probes));
    done(&w);
}

static void a_probe_that_cannot_be_asked_counts_for_nothing(void **state)
{
    static const struct {
        const char *spec;
        const char *message;
    } cases[] = {
        {EXEC("livenessProbe", ",\"periodSeconds\":1,\"failureThreshold\":1"),
         "Liveness probe errored and resulted in unknown state: no such program"},
        {"\"livenessProbe\":{\"tcpSocket\":{\"port\":\"nil\"},\"periodSeconds\":1,"
         "\"failureThreshold\":1}",
         "Liveness probe errored and resulted in unknown state: couldn't find port: \"nil\" in "
         "pod"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world w;

        init(&w);
        w.execs.error = "no such program";
        begin(&w, cases[i].spec, 0, false);
        advance(&w, 5);
        assert_string_equal(w.message, cases[i].message);
        assert_false(has_failed(&w));
        done(&w);
    }
}

static void one_at_a_time_and_no_answer_is_a_failure(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    w.execs.is_held = true;
    begin(&w,
          EXEC("livenessProbe", ",\"periodSeconds\":1,\"timeoutSeconds\":3,\"failureThreshold\":2"),
          0, false);
    advance(&w, 2);
    assert_int_equal(w.execs.all.n, 1);
    advance(&w, 1);
    assert_string_equal(w.message, "Liveness probe failed: command \"ask it\" timed out");
    assert_int_equal(w.execs.all.n, 2); /* at once: overdue */
    assert_false(has_failed(&w));
    advance(&w, 3);
    assert_true(has_failed(&w));
    done(&w);
}

static void what_was_known_holds_until_a_probe_says_otherwise(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    w.pinger.status = 500;
    begin(&w, EXEC("startupProbe", "") "," READY(",\"periodSeconds\":1,\"failureThreshold\":2"),
          100, true);
    assert_true(probes_have_started(w.probes));
    assert_true(probes_are_ready(w.probes));
    advance(&w, 0);
    assert_true(probes_are_ready(w.probes));
    advance(&w, 1);
    assert_false(probes_are_ready(w.probes));
    assert_int_equal(w.execs.all.n, 0);
    done(&w);
}

static void one_that_is_being_ended_is_only_asked_whether_it_is_ready(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    w.pinger.is_silent = true;
    begin(&w, READY(",\"periodSeconds\":1") "," LIVE(",\"failureThreshold\":1"), 0, false);
    sim_loop_run(w.loop);
    assert_int_equal(w.pinger.all.n, 2);
    probes_end_liveness(w.probes);
    assert_true(w.pinger.all.at[1]->is_cancelled);
    advance(&w, 20);
    assert_false(has_failed(&w));
    assert_true(w.pinger.all.n > 10);
    done(&w);
}

/* Frees the probes with all of them under way: no callback comes afterwards. */
static void goes_without_a_word(void **state)
{
    struct world w;

    (void)state;
    init(&w);
    w.pinger.is_silent = true;
    w.execs.is_held = true;
    begin(&w, READY("") "," EXEC("livenessProbe", ""), 0, false);
    sim_loop_run(w.loop);
    probes_free(TAKE(w.probes));
    advance(&w, 100);
    assert_int_equal(w.n_told, 0);
    assert_true(w.execs.all.at[0]->is_cancelled);
    done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_probes_all_is_well),
        cmocka_unit_test(asks_after_the_delay_then_every_period),
        cmocka_unit_test(readiness_follows_its_thresholds),
        cmocka_unit_test(liveness_fails_after_so_many_on_end),
        cmocka_unit_test(the_others_wait_for_startup),
        cmocka_unit_test(startup_that_fails_ends_it),
        cmocka_unit_test(a_probe_that_cannot_be_asked_counts_for_nothing),
        cmocka_unit_test(one_at_a_time_and_no_answer_is_a_failure),
        cmocka_unit_test(what_was_known_holds_until_a_probe_says_otherwise),
        cmocka_unit_test(one_that_is_being_ended_is_only_asked_whether_it_is_ready),
        cmocka_unit_test(goes_without_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
