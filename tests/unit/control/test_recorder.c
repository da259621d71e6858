/* test_recorder.c - the bounded recording of a long run: a state, then the calls since */

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "control/report/recorder.h"
#include "sim/recording.h"
#include "sim_loop.h"
#include "test.h"

enum {
    PIECE = 16 << 10,
    PIECES = 64,
    LINES = 68 * 16 /* over PIECES x PIECE, each about 1 KiB */
};

struct answer {
    json_t *report;
    char *message;
    enum err_code code;
};

static void on_done(void *arg, const struct err *e, const json_t *report)
{
    struct answer *a = arg;

    a->report = report ? json_deep_copy(report) : NULL;
    a->message = e ? mem_strdup(err_message(e)) : NULL;
    a->code = e ? err_code(e) : ERR_INTERNAL;
}

static void answer_done(struct answer *a)
{
    json_decref(a->report);
    free(a->message);
    *a = (struct answer){0};
}

static void ask(struct loop *sim, struct recorder *r, int64_t piece, int64_t folded,
                struct answer *ret)
{
    json_t *parameters = json_object();
    const struct report_question q = {.parameters = parameters};
    struct report *report = NULL;

    *ret = (struct answer){0};
    if (piece >= 0) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%lld", (long long)piece);
        json_put_text(parameters, "piece", text);
        (void)snprintf(text, sizeof(text), "%lld", (long long)folded);
        json_put_text(parameters, "folded", text);
    }
    assert_null(recorder_report(r, &q, on_done, ret, &report));
    sim_loop_run(sim);
    json_decref(parameters);
}

static void say(struct recorder *r, const char *line)
{
    recorder_line(r, line, strlen(line));
}

/* Sets one node with ever new labels, and adds jobs between, which stay or go. */
static void fill(struct recorder *r)
{
    say(r, "engine policy=\"binpack\"\n");
    for (int i = 0; i < LINES; i++) {
        AUTO_FREE char *node =
            mem_format("node_set name=\"n\" labels=[{key=\"k\" value=\"%0900d\"}] "
                       "gpus=[{uuid=\"G\" model=\"t4\" is_healthy=1}] is_ready=1\n",
                       i);
        AUTO_FREE char *job =
            mem_format("workload_add id=%d pod_sets=[{name=\"m\" count=1 gpus=1}]\n", i + 1);
        AUTO_FREE char *gone = mem_format("workload_remove id=%d\n", i + 1);

        say(r, node);
        say(r, job);
        if (i % 100 != 0)
            say(r, gone);
    }
}

/* Gets the whole recording, as a client joins it. */
static void get_all(struct loop *sim, struct recorder *r, struct buf *ret)
{
    struct answer state;
    int64_t folded;

    ask(sim, r, -1, 0, &state);
    assert_non_null(state.report);
    folded = json_int(state.report, "folded", -1);
    buf_add_text(ret, json_text(state.report, "state"));
    for (int64_t i = json_int(state.report, "first", -1); i <= json_int(state.report, "last", -1);
         i++) {
        struct answer piece;

        ask(sim, r, i, folded, &piece);
        assert_non_null(piece.report);
        buf_add_text(ret, json_text(piece.report, "text"));
        answer_done(&piece);
    }
    answer_done(&state);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

static void keeps_a_state_and_what_came_after(void **unused)
{
    struct loop *sim = sim_loop_new();
    struct recorder *r = recorder_new(sim, &(struct recorder_options){PIECE, PIECES});
    struct recording_report report = {0};
    AUTO(buf_done) struct buf text = {.cap = 8 << 20};
    struct answer answer;

    (void)unused;
    fill(r);
    sim_loop_run(sim);
    ask(sim, r, -1, 0, &answer);
    assert_true(json_int(answer.report, "first", 0) > 0);
    assert_true(json_int(answer.report, "folded", 0) > 0);
    answer_done(&answer);
    ask(sim, r, 0, 0, &answer);
    assert_int_equal(answer.code, ERR_EXPIRED);
    answer_done(&answer);
    get_all(sim, r, &text);
    assert_false(text.overflow);
    assert_null(recording_play("r", (struct str){text.at, text.size}, &report, NULL));
    assert_int_equal(report.differing, 0);
    /* The state has, of the oldest piece, the last node and the jobs that stay. */
    assert_true(count(text.at, "node_set") < LINES && count(text.at, "node_set") > LINES * 9 / 10);
    assert_int_equal(count(text.at, "workload_add id=1 "), 1);
    assert_int_equal(count(text.at, "workload_add id=2 "), 0);
    recording_report_done(&report);
    recorder_free(r);
    sim_loop_free(sim);
}

static void refuses_what_is_asked_wrongly(void **unused)
{
    struct loop *sim = sim_loop_new();
    struct recorder *r = recorder_new(sim, &(struct recorder_options){PIECE, PIECES});
    json_t *parameters = json_pack("{s:s}", "piece", "x");
    json_t *strange = json_pack("{s:s}", "limit", "1");
    json_t *namespaces = json_array();
    const struct {
        struct report_question q;
        enum err_code code;
    } cases[] = {
        {{.parameters = parameters}, ERR_INVALID},
        {{.parameters = strange}, ERR_BAD_REQUEST},
        {{.parameters = parameters, .namespaces = namespaces}, ERR_FORBIDDEN},
    };
    struct answer answer;

    (void)unused;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct report *report = NULL;
        AUTO(err_freep) struct err *e = recorder_report(r, &cases[i].q, on_done, NULL, &report);

        assert_non_null(e);
        assert_int_equal(err_code(e), cases[i].code);
    }
    ask(sim, r, 1, 0, &answer);
    assert_string_equal(answer.message, "piece 1: the last one is 0");
    answer_done(&answer);
    json_decref(parameters);
    json_decref(strange);
    json_decref(namespaces);
    recorder_free(r);
    sim_loop_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_a_state_and_what_came_after),
        cmocka_unit_test(refuses_what_is_asked_wrongly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
