/* test_node_sessions.c - tests of sessions, between a fake connection and a fake runtime */

#include <stdio.h>

#include "base/mem.h"
#include "client/frames.h"
#include "client/records.h"
#include "node/session/sessions.h"
#include "node_world.h"
#include "test.h"

struct stage {
    struct node_world world;
    struct sessions *sessions;
    struct stream_out out;
    struct stream_service service;
    struct buf sent; /* records to the server */
    uint32_t taken;  /* returned credit */
    int code;        /* of the session's end; 0: not ended */
    char message[256];
    bool is_full;
};

static void on_data(void *arg, uint32_t id, struct str bytes)
{
    struct stage *g = arg;

    assert_int_equal(id, 1);
    assert_in_range(bytes.size, 1, FRAME_PAYLOAD_MAX);
    buf_add(&g->sent, bytes.at, bytes.size);
}

static void on_end(void *arg, uint32_t id, int code, const char *message)
{
    struct stage *g = arg;

    assert_int_equal(id, 1);
    assert_int_equal(g->code, 0);
    g->code = code;
    (void)snprintf(g->message, sizeof(g->message), "%s", message);
}

static void on_taken(void *arg, uint32_t id, uint32_t bytes)
{
    assert_int_equal(id, 1);
    ((struct stage *)arg)->taken += bytes;
}

static bool is_full(void *arg)
{
    return ((struct stage *)arg)->is_full;
}

static void stage_init(struct stage *g)
{
    AUTO(json_freep)
    json_t *pod = node_world_pod("{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\","
                                 "\"image\":\"host\",\"command\":[\"true\"],\"securityContext\":"
                                 "{\"runAsUser\":1000}}]}",
                                 "{}");
    struct sessions_options o = {.out = &g->out};

    *g = (struct stage){
        .out = {.data = on_data, .end = on_end, .taken = on_taken, .is_full = is_full, .arg = g}};
    node_world_init(&g->world);
    g->world.execs.is_held = true;
    node_world_put(&g->world, pod);
    node_world_run(&g->world);
    o.pods = g->world.pods;
    o.runtime = &g->world.runtime;
    g->sessions = sessions_new(&o);
    g->service = sessions_service(g->sessions);
}

static void stage_done(struct stage *g)
{
    sessions_free(g->sessions);
    node_world_done(&g->world);
    buf_done(&g->sent);
}

static struct fake_exec *ask(struct stage *g, const char *question)
{
    AUTO(json_freep) json_t *tree = NULL;
    size_t n = g->world.execs.all.n;
    struct err *e = json_parse(str_of(question), &tree);

    assert_null(e);
    g->service.open(g->service.self, 1, tree);
    sim_loop_run(g->world.loop);
    return g->world.execs.all.n > n ? g->world.execs.all.at[n] : NULL;
}

#define Q(op, more) \
    "{\"op\":\"" op "\",\"podUid\":\"u1\",\"container\":\"m\",\"command\":[\"ls\",\"-l\"]" more "}"
#define ALL ",\"stdin\":true,\"stdout\":true,\"stderr\":true"

static void say(struct stage *g, const struct buf *records)
{
    g->service.data(g->service.self, 1, (struct str){records->at, records->size});
}

static void runs_what_is_asked_and_tells_its_end(void **state)
{
    AUTO(buf_done) struct buf in = {0};
    AUTO(buf_done) struct buf want = {0};
    struct stage g;
    struct fake_exec *x;

    (void)state;
    stage_init(&g);
    x = ask(&g, Q("exec", ALL));
    assert_non_null(x);
    assert_string_equal(x->id, "u1-m-0");
    assert_string_equal(json_string_value(json_array_get(json_object_get(x->process, "args"), 1)),
                        "-l");
    record_format(&in, RECORD_STDIN, STR("some input"));
    record_format_resize(&in, 90, 30);
    record_format(&in, RECORD_STDIN_END, STR(""));
    for (size_t i = 0; i < in.size; i++) /* byte by byte */
        g.service.data(g.service.self, 1, (struct str){in.at + i, 1});
    assert_string_equal(x->input.at, "some input");
    assert_true(x->is_input_ended);
    assert_int_equal(x->columns, 90);
    assert_int_equal(x->rows, 30);
    assert_int_equal(g.taken, in.size);
    fake_exec_output(x, 1, "out");
    fake_exec_output(x, 2, "err");
    fake_exec_end(x, 3);
    record_format(&want, RECORD_STDOUT, STR("out"));
    record_format(&want, RECORD_STDERR, STR("err"));
    record_format_exit(&want, 3);
    assert_int_equal(g.sent.size, want.size);
    assert_memory_equal(g.sent.at, want.at, want.size);
    assert_int_equal(g.code, 200);
    stage_done(&g);
}

static void sends_only_the_streams_that_are_wanted(void **state)
{
    struct stage g;
    struct fake_exec *x;

    (void)state;
    stage_init(&g);
    x = ask(&g, Q("exec", ",\"stdout\":true"));
    fake_exec_output(x, 2, "err");
    assert_int_equal(g.sent.size, 0);
    fake_exec_output(x, 1, "out");
    assert_int_equal(g.sent.size, RECORD_HEAD_SIZE + 3);
    stage_done(&g);
    assert_true(x != NULL);
}

static void says_why_it_cannot(void **state)
{
    static const struct {
        const char *question;
        int code;
        const char *message;
    } cases[] = {
        {"{\"op\":\"exec\"}", 400, "want podUid and container"},
        {"{\"op\":\"exec\",\"podUid\":\"u1\",\"container\":\"m\"}", 400, "no command is given"},
        {"{\"op\":\"exec\",\"podUid\":\"u1\",\"container\":\"m\",\"command\":[1]}", 400,
         "the command is not a list of words"},
        {"{\"op\":\"exec\",\"podUid\":\"u2\",\"container\":\"m\",\"command\":[\"ls\"]}", 404,
         "container not found (\"m\")"},
        {"{\"op\":\"attach\",\"podUid\":\"u1\",\"container\":\"x\"}", 404,
         "container not found (\"x\")"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stage g;

        stage_init(&g);
        assert_null(ask(&g, cases[i].question));
        assert_int_equal(g.code, cases[i].code);
        assert_string_equal(g.message, cases[i].message);
        stage_done(&g);
    }
}

static void a_runtime_that_fails_is_told(void **state)
{
    struct stage g;

    (void)state;
    stage_init(&g);
    g.world.execs.is_held = false;
    g.world.execs.error = "no such program";
    assert_non_null(ask(&g, Q("exec", ALL)));
    assert_int_equal(g.code, 404);
    assert_string_equal(g.message, "no such program");
    assert_int_equal(g.sent.size, 0);
    stage_done(&g);
}

static void only_a_running_container_is_entered(void **state)
{
    struct stage g;

    (void)state;
    stage_init(&g);
    node_world_end(&g.world, "u1-m-0", 1);
    assert_null(ask(&g, Q("exec", ALL)));
    assert_int_equal(g.code, 404);
    stage_done(&g);
}

static void a_slow_reader_stops_the_output(void **state)
{
    AUTO_FREE char *piece = mem_alloc(30001);
    struct stage g;
    struct fake_exec *x;
    int n = 0;

    (void)state;
    memset(piece, 'x', 30000);
    stage_init(&g);
    x = ask(&g, Q("exec", ALL));
    while (!x->is_paused && n < 100) {
        fake_exec_output(x, 1, piece);
        n++;
    }
    /* The first credit is sent; later output is buffered up to a limit. */
    assert_int_equal(g.sent.size, FRAME_CREDIT_FIRST);
    assert_in_range(n * 30000, FRAME_CREDIT_FIRST, FRAME_CREDIT_FIRST + (256 << 10));
    g.service.credit(g.service.self, 1, 1);
    assert_int_equal(g.sent.size, FRAME_CREDIT_FIRST + 1);
    assert_true(x->is_paused);
    g.service.credit(g.service.self, 1, 1 << 20);
    assert_false(x->is_paused);
    fake_exec_end(x, 0);
    assert_int_equal(g.code, 200);
    stage_done(&g);
}

static void a_full_connection_stops_it_too(void **state)
{
    struct stage g;
    struct fake_exec *x;

    (void)state;
    stage_init(&g);
    x = ask(&g, Q("exec", ALL));
    g.is_full = true;
    fake_exec_output(x, 1, "later");
    fake_exec_end(x, 5);
    assert_int_equal(g.sent.size, 0);
    assert_int_equal(g.code, 0);
    g.is_full = false;
    g.service.drained(g.service.self);
    assert_int_equal(g.sent.size, 2 * RECORD_HEAD_SIZE + 5 + 4);
    assert_int_equal(g.code, 200);
    stage_done(&g);
}

static void input_that_is_not_read_gives_no_credit(void **state)
{
    AUTO(buf_done) struct buf in = {0};
    struct stage g;
    struct fake_exec *x;

    (void)state;
    stage_init(&g);
    x = ask(&g, Q("exec", ALL));
    x->backlog = 10;
    record_format(&in, RECORD_STDIN, STR("some input"));
    say(&g, &in);
    assert_int_equal(g.taken, 0);
    x->backlog = 0;
    x->asked.drained(x->asked.arg);
    assert_int_equal(g.taken, in.size);
    stage_done(&g);
}

static void who_leaves_ends_the_command(void **state)
{
    struct stage g;
    struct fake_exec *x;
    struct fake_exec *other;

    (void)state;
    stage_init(&g);
    x = ask(&g, Q("exec", ALL));
    g.service.cancel(g.service.self, 1);
    assert_true(x->is_cancelled);
    other = ask(&g, Q("attach", ALL));
    assert_true(other->is_attach);
    g.service.cancel_all(g.service.self);
    assert_true(other->is_cancelled);
    assert_int_equal(g.code, 0);
    stage_done(&g);
}

static void what_is_no_record_ends_the_session(void **state)
{
    struct stage g;
    struct fake_exec *x;

    (void)state;
    stage_init(&g);
    x = ask(&g, Q("exec", ALL));
    g.service.data(g.service.self, 1, (struct str){"\x09\0\0\0\0", 5});
    assert_int_equal(g.code, 400);
    assert_true(x->is_cancelled);
    stage_done(&g);
}

static void a_port_is_a_connection_with_two_ends(void **state)
{
    AUTO(buf_done) struct buf in = {0};
    AUTO(buf_done) struct buf want = {0};
    struct stage g;
    struct fake_exec *x;

    (void)state;
    stage_init(&g);
    x = ask(&g, "{\"op\":\"portforward\",\"podUid\":\"u1\",\"port\":8080,\"stdout\":true}");
    assert_non_null(x);
    assert_string_equal(x->id, "u1-m-0");
    assert_int_equal(x->port, 8080);
    record_format(&in, RECORD_STDIN, STR("GET"));
    record_format(&in, RECORD_STDIN_END, STR(""));
    say(&g, &in);
    assert_string_equal(x->input.at, "GET");
    assert_true(x->is_input_ended);
    fake_exec_output(x, 1, "answer");
    x->output_end(x->asked.arg);
    assert_int_equal(g.code, 0);
    fake_exec_end(x, 0);
    record_format(&want, RECORD_STDOUT, STR("answer"));
    record_format(&want, RECORD_STDOUT_END, STR(""));
    assert_int_equal(g.sent.size, want.size);
    assert_memory_equal(g.sent.at, want.at, want.size);
    assert_int_equal(g.code, 200);
    stage_done(&g);
}

static void a_port_that_is_none_is_refused(void **state)
{
    static const struct {
        const char *question;
        int code;
        const char *message;
    } cases[] = {
        {"{\"op\":\"portforward\",\"podUid\":\"u1\"}", 400, "want podUid and port, 1 to 65535"},
        {"{\"op\":\"portforward\",\"podUid\":\"u1\",\"port\":65536}", 400,
         "want podUid and port, 1 to 65535"},
        {"{\"op\":\"portforward\",\"podUid\":\"u2\",\"port\":80}", 404,
         "no container of the pod runs"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stage g;

        stage_init(&g);
        assert_null(ask(&g, cases[i].question));
        assert_int_equal(g.code, cases[i].code);
        assert_string_equal(g.message, cases[i].message);
        stage_done(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_what_is_asked_and_tells_its_end),
        cmocka_unit_test(sends_only_the_streams_that_are_wanted),
        cmocka_unit_test(says_why_it_cannot),
        cmocka_unit_test(a_runtime_that_fails_is_told),
        cmocka_unit_test(only_a_running_container_is_entered),
        cmocka_unit_test(a_slow_reader_stops_the_output),
        cmocka_unit_test(a_full_connection_stops_it_too),
        cmocka_unit_test(input_that_is_not_read_gives_no_credit),
        cmocka_unit_test(who_leaves_ends_the_command),
        cmocka_unit_test(what_is_no_record_ends_the_session),
        cmocka_unit_test(a_port_is_a_connection_with_two_ends),
        cmocka_unit_test(a_port_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
