/* test_api_exec.c - pods/exec and pods/attach over faked connections: the test is the client and
 * the node */

#include "api_world.h"
#include "base/mem.h"
#include "client/frames.h"
#include "client/records.h"
#include "client/websocket.h"
#include "test.h"

#define EXEC "/api/v1/namespaces/default/pods/p/exec?command=ls&command=-l&stdout=true&stderr=true"

struct exec_world {
    struct api_world a;
    struct asked *link; /* the node's connection */
    size_t read;        /* bytes of the connection that the node has read */
    struct asked *k;    /* the client's connection */
    struct websocket *socket;
    size_t heard_to;  /* bytes of the server's that the client has read */
    struct buf heard; /* "CHANNEL:BYTES|" of each message */
    uint32_t stream;
};

static void on_send(void *arg, struct str bytes)
{
    struct exec_world *w = arg;

    if (!w->k->is_over)
        w->k->channel.on_data(w->k->channel.arg, bytes);
}

static void on_message(void *arg, struct str bytes)
{
    struct exec_world *w = arg;

    buf_printf(&w->heard, "%u:" STR_FMT "|", (unsigned)(unsigned char)bytes.at[0],
               STR_ARG(((struct str){bytes.at + 1, bytes.size - 1})));
}

static void exec_world_init(struct exec_world *w)
{
    const struct websocket_options o = {
        .is_client = true, .send = on_send, .message = on_message, .arg = w};

    *w = (struct exec_world){0};
    api_world_init(&w->a, NULL);
    world_add_node(&w->a.w, "n1", 2);
    world_must(world_add_pod(&w->a.w, "default", "p", 0));
    world_must(world_bind(&w->a.w, "default", "p", "n1"));
    world_must(world_patch(
        &w->a.w,
        (struct target){
            .kind = "pods", .ns = "default", .name = "p", .sub = "status", .who = &ours},
        "{'status':{'phase':'Running','containerStatuses':[{'name':'main',"
        "'image':'host','imageID':'','restartCount':0,'ready':true,"
        "'state':{'running':{'startedAt':'2026-01-01T00:00:00Z'}}}]}}",
        NULL));
    w->link = api_ask(&w->a, (struct question){.target = "/mete.dev/v1/nodes/n1/stream",
                                               .who = {.cert_user = "system:node:n1",
                                                       .cert_group = "system:nodes"}});
    assert_int_equal(w->link->status, 101);
    w->socket = websocket_new(&o);
}

static void exec_world_done(struct exec_world *w)
{
    asked_free(w->k);
    asked_free(w->link);
    websocket_free(w->socket);
    buf_done(&w->heard);
    api_world_done(&w->a);
}

/* Returns the next frame to the node; asserts its type. */
static struct frame next_frame(struct exec_world *w, enum frame_type type)
{
    struct frame f = {0};
    size_t size = 0;

    assert_null(frame_parse((struct str){w->link->body.at + w->read, w->link->body.size - w->read},
                            &f, &size));
    assert_true(size > 0);
    assert_int_equal(f.type, type);
    w->read += size;
    return f;
}

static bool has_frame(const struct exec_world *w)
{
    return w->link->body.size > w->read;
}

static void node_sends(struct exec_world *w, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, w->stream, type, payload);
    w->link->channel.on_data(w->link->channel.arg, (struct str){b.at, b.size});
}

static void node_says(struct exec_world *w, enum record_channel channel, const char *text)
{
    AUTO(buf_done) struct buf b = {0};

    record_format(&b, channel, str_of(text));
    node_sends(w, FRAME_DATA, (struct str){b.at, b.size});
}

/* The server's bytes to the client since the last call. */
static const char *client_hears(struct exec_world *w)
{
    buf_clear(&w->heard);
    assert_null(websocket_take(
        w->socket, (struct str){w->k->body.at + w->heard_to, w->k->body.size - w->heard_to}));
    w->heard_to = w->k->body.size;
    return w->heard.at ? w->heard.at : "";
}

static json_t *begin(struct exec_world *w, const char *target, const char *protocols)
{
    struct frame f;
    json_t *open = NULL;

    w->k = api_ask(&w->a, (struct question){.target = target, .websocket = protocols});
    if (w->k->status != 101)
        fail_msg("status %d: %s", w->k->status, w->k->body.at);
    f = next_frame(w, FRAME_OPEN);
    w->stream = f.stream;
    world_must(json_parse(f.payload, &open));
    return open;
}

static void asks_the_node_and_passes_everything_on(void **state)
{
    AUTO(json_freep) json_t *open = NULL;
    AUTO(json_freep) json_t *want = NULL;
    AUTO_FREE char *expected = NULL;
    struct exec_world w;
    struct record r = {0};
    size_t size = 0;
    struct frame f;

    (void)state;
    exec_world_init(&w);
    open = begin(&w, EXEC "&stdin=true&container=main", "v5.channel.k8s.io");
    assert_string_equal(w.k->protocol, "websocket");
    assert_string_equal(w.k->upgrade_headers.at,
                        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                        "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n");
    json_object_del(open, "podUid");
    want = manifest("{'op':'exec','container':'main','command':['ls','-l'],'stdin':true,"
                    "'stdout':true,'stderr':true,'tty':false}");
    assert_true(json_equal(open, want));
    websocket_send(w.socket, 0, STR("input"));
    f = next_frame(&w, FRAME_DATA);
    assert_null(record_parse(f.payload, &r, &size));
    assert_int_equal(r.channel, RECORD_STDIN);
    assert_true(str_equal(r.bytes, STR("input")));
    websocket_send(w.socket, 4, STR("{\"Width\":90,\"Height\":40}\n"));
    f = next_frame(&w, FRAME_DATA);
    assert_null(record_parse(f.payload, &r, &size));
    assert_int_equal(r.columns, 90);
    assert_int_equal(r.rows, 40);
    websocket_send(w.socket, 4, STR("{\"height\":41,\"width\":99}")); /* of the JavaScript client */
    f = next_frame(&w, FRAME_DATA);
    assert_null(record_parse(f.payload, &r, &size));
    assert_int_equal(r.columns, 99);
    assert_int_equal(r.rows, 41);
    websocket_send(w.socket, 255, (struct str){"\0", 1});
    f = next_frame(&w, FRAME_DATA);
    assert_null(record_parse(f.payload, &r, &size));
    assert_int_equal(r.channel, RECORD_STDIN_END);
    node_says(&w, RECORD_STDOUT, "out");
    (void)next_frame(&w, FRAME_CREDIT);
    node_says(&w, RECORD_STDERR, "err");
    (void)next_frame(&w, FRAME_CREDIT);
    assert_string_equal(client_hears(&w), "1:out|2:err|");
    node_sends(&w, FRAME_DATA, (struct str){"\3\0\0\0\4\0\0\0\7", 9});
    node_sends(&w, FRAME_END, STR("{\"code\":200}"));
    assert_true(w.k->is_over);
    assert_string_equal(
        client_hears(&w),
        "3:{\"metadata\":{},\"status\":\"Failure\",\"message\":\"command terminated with exit code "
        "7\",\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":\"ExitCode\","
        "\"message\":\"7\"}]}}|");
    assert_true(websocket_is_closed(w.socket));
    exec_world_done(&w);
}

static void tells_success_and_failure(void **state)
{
    static const struct {
        const char *end;
        bool has_exit;
        const char *want;
    } cases[] = {
        {"{\"code\":200}", true, "3:{\"metadata\":{},\"status\":\"Success\"}|"},
        {"{\"code\":404,\"message\":\"no such program\"}", false,
         "3:{\"metadata\":{},\"status\":\"Failure\",\"message\":\"error executing command in "
         "container: no such program\",\"reason\":\"InternalError\",\"details\":{\"causes\":"
         "[{\"message\":\"no such program\"}]},\"code\":404}|"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exec_world w;

        exec_world_init(&w);
        json_decref(begin(&w, EXEC, "v4.channel.k8s.io"));
        if (cases[i].has_exit)
            node_sends(&w, FRAME_DATA, (struct str){"\3\0\0\0\4\0\0\0\0", 9});
        node_sends(&w, FRAME_END, str_of(cases[i].end));
        assert_string_equal(client_hears(&w), cases[i].want);
        exec_world_done(&w);
    }
}

/* kubelet's oldest protocols, and clients that name none. */
static void old_protocols_have_the_failures_text_alone(void **state)
{
    static const struct {
        const char *protocols; /* of the client */
        const char *protocol;
        const char *input; /* "hi" on channel 0 */
        const char *told;
    } cases[] = {
        {"channel.k8s.io", "channel.k8s.io", "\0hi",
         "1:out|3:command terminated with exit code 7|"},
        {"", NULL, "\0hi", "1:out|3:command terminated with exit code 7|"},
        {"base64.channel.k8s.io", "base64.channel.k8s.io",
         "0aGk=", "49:b3V0|51:Y29tbWFuZCB0ZXJtaW5hdGVkIHdpdGggZXhpdCBjb2RlIDc=|"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exec_world w;
        struct frame f;

        exec_world_init(&w);
        json_decref(begin(&w, EXEC "&stdin=true", cases[i].protocols));
        if (cases[i].protocol)
            assert_non_null(strstr(w.k->upgrade_headers.at, cases[i].protocol));
        else
            assert_null(strstr(w.k->upgrade_headers.at, "Protocol"));
        websocket_send_binary(w.socket, (struct str){cases[i].input, i < 2 ? 3 : 5});
        f = next_frame(&w, FRAME_DATA);
        assert_memory_equal(f.payload.at, "\0\0\0\0\2hi", 7);
        node_says(&w, RECORD_STDOUT, "out");
        node_sends(&w, FRAME_DATA, (struct str){"\3\0\0\0\4\0\0\0\7", 9});
        node_sends(&w, FRAME_END, STR("{\"code\":200}"));
        assert_string_equal(client_hears(&w), cases[i].told);
        exec_world_done(&w);
    }
}

static void base64_that_is_none_ends_it(void **state)
{
    static const char *const cases[] = {"0a", "x", "0a*==", "9"};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exec_world w;

        exec_world_init(&w);
        json_decref(begin(&w, EXEC "&stdin=true", "base64.channel.k8s.io"));
        websocket_send_text(w.socket, str_of(cases[i]));
        assert_int_equal(w.k->is_over,
                         i < 3); /* the last is empty, of a channel that is not there */
        exec_world_done(&w);
    }
}

static void a_client_that_does_not_read_stops_the_node(void **state)
{
    struct exec_world w;

    (void)state;
    exec_world_init(&w);
    json_decref(begin(&w, EXEC, "v5.channel.k8s.io"));
    w.k->backlog = API_BACKLOG_MAX;
    node_says(&w, RECORD_STDOUT, "much");
    assert_false(has_frame(&w)); /* no credit */
    w.k->backlog = 0;
    w.k->channel.on_drain(w.k->channel.arg);
    assert_memory_equal(next_frame(&w, FRAME_CREDIT).payload.at, "\0\0\0\x09", 4);
    exec_world_done(&w);
}

static void a_node_that_does_not_read_stops_the_client(void **state)
{
    AUTO_FREE char *piece = mem_alloc(16384);
    struct exec_world w;
    int n = 0;

    (void)state;
    exec_world_init(&w);
    json_decref(begin(&w, EXEC "&stdin=true", "v5.channel.k8s.io"));
    for (; !w.k->is_paused && n < 100; n++)
        websocket_send(w.socket, 0, (struct str){piece, 16384});
    assert_in_range(n * 16384, FRAME_CREDIT_FIRST, 2 * FRAME_CREDIT_FIRST);
    node_sends(&w, FRAME_CREDIT, (struct str){"\0\x10\0\0", 4});
    assert_false(w.k->is_paused);
    exec_world_done(&w);
}

static void who_leaves_is_told_to_the_node(void **state)
{
    struct exec_world w;

    (void)state;
    exec_world_init(&w);
    json_decref(begin(&w, EXEC, "v5.channel.k8s.io"));
    asked_close(w.k);
    assert_int_equal(next_frame(&w, FRAME_CANCEL).stream, w.stream);
    asked_freep(&w.k);
    w.k = NULL;
    json_decref(begin(&w, EXEC, "v5.channel.k8s.io"));
    w.heard_to = 0;
    websocket_close(w.socket, 1000);
    assert_int_equal(next_frame(&w, FRAME_CANCEL).stream, w.stream);
    assert_true(w.k->is_over);
    exec_world_done(&w);
}

static void bytes_that_are_no_frames_end_it(void **state)
{
    struct exec_world w;

    (void)state;
    exec_world_init(&w);
    json_decref(begin(&w, EXEC, "v5.channel.k8s.io"));
    w.k->channel.on_data(w.k->channel.arg, STR("SSH-2.0-OpenSSH\r\n"));
    assert_int_equal(next_frame(&w, FRAME_CANCEL).stream, w.stream);
    assert_true(w.k->is_over);
    exec_world_done(&w);
}

static void the_end_of_the_node_is_told(void **state)
{
    struct exec_world w;

    (void)state;
    exec_world_init(&w);
    json_decref(begin(&w, EXEC, "v5.channel.k8s.io"));
    asked_close(w.link);
    assert_non_null(strstr(client_hears(&w), "the node's connection ended"));
    assert_true(w.k->is_over);
    exec_world_done(&w);
}

static void refuses_by_name(void **state)
{
#define POD "/api/v1/namespaces/default/pods/p/"
    static const struct {
        const char *method;
        const char *target;
        const char *websocket;
        int status;
        const char *message;
    } cases[] = {
        {NULL, "/api/v1/namespaces/default/pods/q/exec?command=ls&stdout=1", "v5.channel.k8s.io",
         404, "pods \"q\" not found"},
        {NULL, "/api/v1/namespaces/default/pods/free/exec?command=ls&stdout=1", "v5.channel.k8s.io",
         400, "pod free does not have a host assigned"},
        {NULL, POD "exec?stdout=1", "v5.channel.k8s.io", 400,
         "you must specify a command, as UTF-8"},
        {NULL, POD "exec?command=ls", "v5.channel.k8s.io", 400,
         "you must specify at least 1 of stdin, stdout, stderr"},
        {NULL, POD "exec?command=ls&stdout=1&container=x", "v5.channel.k8s.io", 400,
         "container x is not valid for pod p"},
        {NULL, POD "exec?command=ls&stdout=1&user=root", "v5.channel.k8s.io", 400,
         "query parameter 'user' is not known for exec"},
        {NULL, POD "exec?command=ls&stdout=1", "v6.channel.k8s.io", 400,
         "want Sec-WebSocket-Protocol v5.channel.k8s.io, v4.channel.k8s.io, "
         "v4.base64.channel.k8s.io, channel.k8s.io, base64.channel.k8s.io"},
        {"POST", POD "exec?command=ls&stdout=1", NULL, 400,
         "exec needs a WebSocket or SPDY/3.1 by Upgrade; this client asked for none"},
        {NULL, POD "attach?stdout=1", NULL, 400,
         "attach needs a WebSocket or SPDY/3.1 by Upgrade; this client asked for none"},
    };
    struct exec_world w;

    (void)state;
    exec_world_init(&w);
    world_must(world_add_pod(&w.a.w, "default", "free", 0));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep)
        json_t *got = api_expect(&w.a, cases[i].status,
                                 (struct question){.method = cases[i].method,
                                                   .target = cases[i].target,
                                                   .websocket = cases[i].websocket});

        assert_string_equal(json_text(got, "message"), cases[i].message);
    }
    assert_false(has_frame(&w));
    exec_world_done(&w);
}

static void another_namespace_is_closed(void **state)
{
    struct exec_world w;
    AUTO(json_freep) json_t *got = NULL;

    (void)state;
    exec_world_init(&w);
    got = api_expect(&w.a, 403,
                     (struct question){.target = "/api/v1/namespaces/kube-system/pods/p/exec"
                                                 "?command=ls&stdout=1",
                                       .websocket = "v5.channel.k8s.io",
                                       .who = {.uid = 1000}});
    assert_non_null(strstr(json_text(got, "message"), "cannot get resource \"pods/exec\""));
    exec_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_the_node_and_passes_everything_on),
        cmocka_unit_test(tells_success_and_failure),
        cmocka_unit_test(old_protocols_have_the_failures_text_alone),
        cmocka_unit_test(base64_that_is_none_ends_it),
        cmocka_unit_test(a_client_that_does_not_read_stops_the_node),
        cmocka_unit_test(a_node_that_does_not_read_stops_the_client),
        cmocka_unit_test(who_leaves_is_told_to_the_node),
        cmocka_unit_test(bytes_that_are_no_frames_end_it),
        cmocka_unit_test(the_end_of_the_node_is_told),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(another_namespace_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
