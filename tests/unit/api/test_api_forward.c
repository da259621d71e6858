/*
 * test_api_forward.c - pods/portforward in its three forms, and exec over SPDY, over faked
 * connections
 *
 * The test is the client and the node.
 */

#include <stdio.h>

#include "api_world.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "client/records.h"
#include "client/spdy.h"
#include "client/websocket.h"
#include "test.h"

#define POD     "/api/v1/namespaces/default/pods/p/"
#define FORWARD POD "portforward"

struct forward_world {
    struct api_world a;
    struct asked *link; /* the node's connection */
    size_t read;        /* bytes of the connection that the node has read */
    struct asked *k;    /* the client's connection */
    struct websocket *socket;
    struct spdy *spdy;
    bool is_tunnel;
    size_t heard_to;  /* bytes of the server's that the client has read */
    struct buf heard; /* the client's callbacks, in words */
    char *said;
};

static void on_send(void *arg, struct str bytes)
{
    struct forward_world *w = arg;

    if (!w->k->is_over)
        w->k->channel.on_data(w->k->channel.arg, bytes);
}

static void on_spdy_send(void *arg, struct str bytes)
{
    struct forward_world *w = arg;

    if (w->is_tunnel)
        websocket_send_binary(w->socket, bytes);
    else
        on_send(w, bytes);
}

static void on_message(void *arg, struct str bytes)
{
    struct forward_world *w = arg;

    if (w->is_tunnel)
        assert_null(spdy_take(w->spdy, bytes));
    else
        buf_printf(&w->heard, "%u:" STR_FMT "|", (unsigned)(unsigned char)bytes.at[0],
                   STR_ARG(((struct str){bytes.at + 1, bytes.size - 1})));
}

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t n)
{
    (void)arg;
    (void)stream;
    (void)headers;
    (void)n;
    fail_msg("the server opens no streams");
}

static void on_replied(void *arg, uint32_t stream)
{
    buf_printf(&((struct forward_world *)arg)->heard, "reply %u|", (unsigned)stream);
}

static void on_data(void *arg, uint32_t stream, struct str bytes)
{
    buf_printf(&((struct forward_world *)arg)->heard, "%u:" STR_FMT "|", (unsigned)stream,
               STR_ARG(bytes));
}

static void on_ended(void *arg, uint32_t stream)
{
    buf_printf(&((struct forward_world *)arg)->heard, "end %u|", (unsigned)stream);
}

static void on_reset(void *arg, uint32_t stream)
{
    buf_printf(&((struct forward_world *)arg)->heard, "reset %u|", (unsigned)stream);
}

static void forward_world_init(struct forward_world *w)
{
    const struct websocket_options wo = {
        .is_client = true, .send = on_send, .message = on_message, .arg = w};
    const struct spdy_options so = {.is_client = true,
                                    .send = on_spdy_send,
                                    .opened = on_opened,
                                    .replied = on_replied,
                                    .data = on_data,
                                    .ended = on_ended,
                                    .reset = on_reset,
                                    .arg = w};

    *w = (struct forward_world){0};
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
    w->socket = websocket_new(&wo);
    w->spdy = spdy_new(&so);
}

static void forward_world_done(struct forward_world *w)
{
    asked_free(w->k);
    asked_free(w->link);
    websocket_free(w->socket);
    spdy_free(w->spdy);
    buf_done(&w->heard);
    free(w->said);
    api_world_done(&w->a);
}

static void wait_s(struct forward_world *w, int64_t seconds)
{
    sim_loop_advance(w->a.w.loop, seconds * NS_PER_SEC);
    sim_loop_run(w->a.w.loop);
}

static void open_connection(struct forward_world *w, struct question q)
{
    w->is_tunnel = q.websocket && strstr(q.websocket, "SPDY");
    w->k = api_ask(&w->a, q);
    if (w->k->status != 101)
        fail_msg("status %d: %s", w->k->status, w->k->body.at);
}

/* ---- the node ---- */

static struct frame next_frame(struct forward_world *w, enum frame_type type)
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

static bool has_frame(const struct forward_world *w)
{
    return w->link->body.size > w->read;
}

/* Asserts the request to the node; returns its stream. */
static uint32_t is_asked(struct forward_world *w, const char *want)
{
    struct frame f = next_frame(w, FRAME_OPEN);
    AUTO(json_freep) json_t *open = NULL;
    AUTO(json_freep) json_t *tree = manifest(want);

    world_must(json_parse(f.payload, &open));
    json_object_del(open, "podUid");
    assert_true(json_equal(open, tree));
    return f.stream;
}

static void gets_record(struct forward_world *w, enum record_channel channel, const char *text)
{
    struct frame f = next_frame(w, FRAME_DATA);
    struct record r = {0};
    size_t size = 0;

    assert_null(record_parse(f.payload, &r, &size));
    assert_int_equal(r.channel, channel);
    assert_true(str_equal(r.bytes, str_of(text)));
}

static void node_sends(struct forward_world *w, uint32_t stream, enum frame_type type,
                       struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, stream, type, payload);
    w->link->channel.on_data(w->link->channel.arg, (struct str){b.at, b.size});
}

static void node_says(struct forward_world *w, uint32_t stream, enum record_channel channel,
                      const char *text)
{
    AUTO(buf_done) struct buf b = {0};

    record_format(&b, channel, str_of(text));
    node_sends(w, stream, FRAME_DATA, (struct str){b.at, b.size});
}

/* ---- the client ---- */

/* The client's callbacks since the last call. */
static const char *client_hears(struct forward_world *w)
{
    struct str bytes = {w->k->body.at + w->heard_to, w->k->body.size - w->heard_to};

    w->heard_to = w->k->body.size;
    if (bytes.size > 0 && text_equal(w->k->protocol, "websocket"))
        assert_null(websocket_take(w->socket, bytes));
    else if (bytes.size > 0)
        assert_null(spdy_take(w->spdy, bytes));
    free(w->said);
    w->said = buf_steal(&w->heard);
    return w->said;
}

static uint32_t client_opens(struct forward_world *w, const char *type, const char *port,
                             const char *id)
{
    const struct spdy_header headers[] = {
        {"streamtype", type}, {"port", port}, {"requestid", id ? id : ""}};

    return spdy_open(w->spdy, headers, id ? 3 : port ? 2 : 1);
}

#define ASK "{'op':'portforward','port':80,'stdout':true}"

/* ---- channels ---- */

static void channels_carry_a_port_each(void **state)
{
    static const char *const protocols[] = {"v5.channel.k8s.io, v4.channel.k8s.io", ""};
    static const char *const lists[] = {"?ports=80&ports=443", "?name=p&ports=80,443"};

    (void)state;
    for (size_t i = 0; i < COUNT(protocols); i++) {
        AUTO_FREE char *target = mem_format(FORWARD "%s", lists[i]);
        struct forward_world w;
        uint32_t first;
        uint32_t second;

        forward_world_init(&w);
        open_connection(&w, (struct question){.target = target, .websocket = protocols[i]});
        assert_string_equal(w.k->upgrade_headers.at,
                            i == 0 ? "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                                     "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n"
                                   : "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
        first = is_asked(&w, ASK);
        second = is_asked(&w, "{'op':'portforward','port':443,'stdout':true}");
        assert_int_equal(w.k->body.size, 4 * 5); /* the numbers of the ports */
        (void)client_hears(&w);
        websocket_send(w.socket, 0, STR("GET"));
        gets_record(&w, RECORD_STDIN, "GET");
        websocket_send(w.socket, 1, STR("an error"));
        websocket_send(w.socket, 9, STR("no port"));
        assert_false(has_frame(&w));
        node_says(&w, first, RECORD_STDOUT, "answer");
        assert_string_equal(client_hears(&w), "0:answer|");
        (void)next_frame(&w, FRAME_CREDIT);
        node_sends(&w, second, FRAME_END, STR("{\"code\":404,\"message\":\"not yours\"}"));
        assert_non_null(strstr(client_hears(&w), "3:error forwarding port 443 to pod p, uid "));
        assert_false(w.k->is_over);
        node_says(&w, first, RECORD_STDOUT_END, "");
        gets_record(&w, RECORD_STDIN_END, "");
        node_sends(&w, first, FRAME_END, STR("{\"code\":200}"));
        assert_true(w.k->is_over);
        assert_string_equal(client_hears(&w), "");
        assert_true(websocket_is_closed(w.socket));
        forward_world_done(&w);
    }
}

static void a_client_that_leaves_ends_its_connections(void **state)
{
    struct forward_world w;

    (void)state;
    forward_world_init(&w);
    open_connection(&w, (struct question){.target = FORWARD "?ports=80,443", .websocket = ""});
    (void)next_frame(&w, FRAME_OPEN);
    (void)next_frame(&w, FRAME_OPEN);
    asked_close(w.k);
    (void)next_frame(&w, FRAME_CANCEL);
    (void)next_frame(&w, FRAME_CANCEL);
    forward_world_done(&w);
}

/* ---- SPDY ---- */

static void pairs_of_streams_are_connections(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct forward_world w;
        uint32_t stream;

        forward_world_init(&w);
        if (i == 0)
            open_connection(&w, (struct question){.method = "POST",
                                                  .target = FORWARD,
                                                  .spdy = "portforward.k8s.io"});
        else
            open_connection(&w, (struct question){.target = FORWARD,
                                                  .websocket = "SPDY/3.1+portforward.k8s.io"});
        assert_string_equal(w.k->protocol, i == 0 ? "SPDY/3.1" : "websocket");
        (void)client_opens(&w, "error", "80", "0");
        spdy_end(w.spdy, 1);
        assert_false(has_frame(&w));
        (void)client_opens(&w, "data", "80", "0");
        stream = is_asked(&w, ASK);
        assert_string_equal(client_hears(&w), "reply 1|reply 3|");
        spdy_send(w.spdy, 3, STR("GET"));
        gets_record(&w, RECORD_STDIN, "GET");
        spdy_end(w.spdy, 3);
        gets_record(&w, RECORD_STDIN_END, "");
        node_says(&w, stream, RECORD_STDOUT, "answer");
        node_says(&w, stream, RECORD_STDOUT_END, "");
        /* kubectl before 1.23 ends its half only after both streams have ended. */
        assert_string_equal(client_hears(&w), "3:answer|end 3|end 1|");
        node_sends(&w, stream, FRAME_END, STR("{\"code\":200}"));
        assert_string_equal(client_hears(&w), "");
        (void)next_frame(&w, FRAME_CREDIT);
        /* From an old client: the data stream follows its error stream. */
        (void)client_opens(&w, "error", "80", NULL);
        (void)client_opens(&w, "data", "80", NULL);
        stream = is_asked(&w, ASK);
        (void)client_hears(&w);
        node_sends(&w, stream, FRAME_END, STR("{\"code\":404,\"message\":\"no\"}"));
        assert_non_null(
            strstr(client_hears(&w), "end 7|5:error forwarding port 80 to pod p, uid "));
        assert_true(text_ends_with(w.said, ": no|end 5|"));
        /* The client resets a stream. */
        (void)client_opens(&w, "error", "80", "2");
        (void)client_opens(&w, "data", "80", "2");
        (void)is_asked(&w, ASK);
        spdy_reset(w.spdy, 11, SPDY_CANCEL);
        (void)next_frame(&w, FRAME_CANCEL);
        assert_string_equal(client_hears(&w), "reply 9|end 9|");
        assert_false(w.k->is_over);
        spdy_go_away(w.spdy);
        assert_false(w.k->is_over); /* the client has not ended its error stream */
        spdy_end(w.spdy, 9);
        spdy_end(w.spdy, 5);
        spdy_end(w.spdy, 7);
        assert_true(w.k->is_over);
        forward_world_done(&w);
    }
}

static void streams_that_belong_nowhere_are_refused(void **state)
{
    struct forward_world w;

    (void)state;
    forward_world_init(&w);
    open_connection(
        &w, (struct question){.method = "POST", .target = FORWARD, .spdy = "portforward.k8s.io"});
    (void)client_opens(&w, "error", NULL, NULL);
    (void)client_opens(&w, "error", "0", "1");
    (void)client_opens(&w, "error", "70000", "1");
    (void)client_opens(&w, "stdin", "80", "1");
    (void)client_opens(&w, "error", "80", "1");
    (void)client_opens(&w, "error", "80", "1");
    (void)client_opens(&w, "data", "81", "1");
    assert_string_equal(client_hears(&w),
                        "reset 1|reset 3|reset 5|reset 7|reply 9|reset 11|reset 13|");
    assert_false(has_frame(&w));
    wait_s(&w, 31);
    assert_string_equal(client_hears(&w), "reset 9|");
    forward_world_done(&w);
}

static void one_session_has_so_many_connections(void **state)
{
    struct forward_world w;

    (void)state;
    forward_world_init(&w);
    open_connection(
        &w, (struct question){.method = "POST", .target = FORWARD, .spdy = "portforward.k8s.io"});
    for (int i = 0; i < 129; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "%d", i);
        (void)client_opens(&w, "error", "80", id);
        (void)client_opens(&w, "data", "80", id);
    }
    assert_true(text_ends_with(client_hears(&w), "reply 511|reset 513|reset 515|"));
    forward_world_done(&w);
}

static void neither_side_runs_ahead(void **state)
{
    AUTO_FREE char *piece = mem_alloc(16384);
    struct forward_world w;
    uint32_t stream;
    int n = 0;

    (void)state;
    forward_world_init(&w);
    open_connection(
        &w, (struct question){.method = "POST", .target = FORWARD, .spdy = "portforward.k8s.io"});
    (void)client_opens(&w, "error", "80", "0");
    (void)client_opens(&w, "data", "80", "0");
    stream = is_asked(&w, ASK);
    w.k->backlog = API_BACKLOG_MAX;
    node_says(&w, stream, RECORD_STDOUT, "much");
    assert_false(has_frame(&w)); /* no credit */
    w.k->backlog = 0;
    w.k->channel.on_drain(w.k->channel.arg);
    (void)next_frame(&w, FRAME_CREDIT);
    for (; !w.k->is_paused && n < 100; n++)
        spdy_send(w.spdy, 3, (struct str){piece, 16384});
    assert_in_range(n * 16384, FRAME_CREDIT_FIRST, 3 * FRAME_CREDIT_FIRST);
    node_sends(&w, stream, FRAME_CREDIT, (struct str){"\0\x10\0\0", 4});
    assert_false(w.k->is_paused);
    forward_world_done(&w);
}

static void bytes_that_are_no_frames_end_the_session(void **state)
{
    struct forward_world w;

    (void)state;
    forward_world_init(&w);
    open_connection(
        &w, (struct question){.method = "POST", .target = FORWARD, .spdy = "portforward.k8s.io"});
    (void)client_opens(&w, "error", "80", "0");
    (void)client_opens(&w, "data", "80", "0");
    (void)is_asked(&w, ASK);
    w.k->channel.on_data(w.k->channel.arg, STR("GET / HTTP/1.1\r\n\r\n"));
    assert_true(w.k->is_over);
    (void)next_frame(&w, FRAME_CANCEL);
    forward_world_done(&w);
    forward_world_init(&w);
    open_connection(
        &w, (struct question){.target = FORWARD, .websocket = "SPDY/3.1+portforward.k8s.io"});
    websocket_send_binary(w.socket, STR("GET / HTTP/1.1\r\n\r\n"));
    assert_true(w.k->is_over);
    forward_world_done(&w);
}

static void refuses_by_name(void **state)
{
    static const struct {
        struct question q;
        int status;
        const char *message;
    } cases[] = {
        {{.target = "/api/v1/namespaces/default/pods/q/portforward", .websocket = ""},
         404,
         "pods \"q\" not found"},
        {{.target = "/api/v1/namespaces/default/pods/free/portforward", .websocket = ""},
         400,
         "pod free does not have a host assigned"},
        {{.target = FORWARD, .websocket = ""}, 400, "query parameter \"ports\" is required"},
        {{.target = FORWARD "?ports=80,http", .websocket = ""},
         400,
         "ports: 'http' is not a port of 1 to 65535"},
        {{.target = FORWARD "?ports=0", .websocket = ""},
         400,
         "ports: '0' is not a port of 1 to 65535"},
        {{.target = FORWARD "?ports=80", .websocket = "v3.channel.k8s.io"},
         400,
         "want Sec-WebSocket-Protocol v4.channel.k8s.io, v4.base64.channel.k8s.io or "
         "SPDY/3.1+portforward.k8s.io"},
        {{.target = FORWARD, .method = "POST", .spdy = "portforward2.k8s.io"},
         403,
         "unable to upgrade: want X-Stream-Protocol-Version portforward.k8s.io, the client has "
         "portforward2.k8s.io"},
        {{.target = FORWARD, .method = "POST"},
         400,
         "portforward needs a WebSocket or SPDY/3.1 by Upgrade; this client asked for none"},
        {{.target = "/api/v1/namespaces/kube-system/pods/p/portforward",
          .websocket = "",
          .who = {.uid = 1000}},
         403,
         NULL},
    };
    struct forward_world w;

    (void)state;
    forward_world_init(&w);
    world_must(world_add_pod(&w.a.w, "default", "free", 0));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *got = api_expect(&w.a, cases[i].status, cases[i].q);

        if (cases[i].message)
            assert_string_equal(json_text(got, "message"), cases[i].message);
    }
    assert_false(has_frame(&w));
    forward_world_done(&w);
}

/* ---- exec over SPDY ---- */

static void exec_is_a_stream_for_each_channel(void **state)
{
    struct forward_world w;
    struct record r = {0};
    struct frame f;
    size_t size = 0;
    uint32_t stream;

    (void)state;
    forward_world_init(&w);
    open_connection(
        &w, (struct question){.method = "POST",
                              .target = POD "exec?command=sh&stdin=true&stdout=true&tty=true",
                              .spdy = "v5.channel.k8s.io, v4.channel.k8s.io, channel.k8s.io"});
    assert_string_equal(w.k->upgrade_headers.at,
                        "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n");
    (void)client_opens(&w, "error", NULL, NULL);
    (void)client_opens(&w, "stdin", NULL, NULL);
    (void)client_opens(&w, "stdout", NULL, NULL);
    (void)client_opens(&w, "stderr", NULL, NULL); /* not allowed with a terminal */
    spdy_send(w.spdy, 3, STR("early"));
    assert_false(has_frame(&w));
    (void)client_opens(&w, "resize", NULL, NULL);
    stream = is_asked(&w, "{'op':'exec','container':'main','command':['sh'],'stdin':true,"
                          "'stdout':true,'stderr':false,'tty':true}");
    gets_record(&w, RECORD_STDIN, "early");
    spdy_send(w.spdy, 9, STR("{\"Width\":90,\"Hei"));
    spdy_send(w.spdy, 9, STR("ght\":40}\n"));
    f = next_frame(&w, FRAME_DATA);
    assert_null(record_parse(f.payload, &r, &size));
    assert_int_equal(r.columns, 90);
    assert_int_equal(r.rows, 40);
    spdy_end(w.spdy, 3);
    gets_record(&w, RECORD_STDIN_END, "");
    assert_string_equal(client_hears(&w), "reply 1|reply 3|reply 5|reset 7|reply 9|");
    node_says(&w, stream, RECORD_STDOUT, "out");
    node_sends(&w, stream, FRAME_DATA, (struct str){"\3\0\0\0\4\0\0\0\7", 9});
    node_sends(&w, stream, FRAME_END, STR("{\"code\":200}"));
    assert_non_null(strstr(client_hears(&w), "5:out|1:{\"metadata\":{},\"status\":\"Failure\""));
    assert_true(text_ends_with(w.said, "end 3|end 5|end 1|end 9|"));
    assert_false(w.k->is_over); /* the client closes first */
    wait_s(&w, 16);
    assert_true(w.k->is_over);
    forward_world_done(&w);
}

static void old_protocols_end_with_the_message(void **state)
{
    static const struct {
        const char *protocols;
        const char *end;
        const char *want;
    } cases[] = {
        {"v2.channel.k8s.io", "\3\0\0\0\4\0\0\0\7",
         "3:command terminated with exit code 7|end 1|end 3|"},
        {"channel.k8s.io", "\3\0\0\0\4\0\0\0\0", "end 1|end 3|"},
        {"", "\3\0\0\0\4\0\0\0\0", "end 1|end 3|"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct forward_world w;
        uint32_t stream;

        forward_world_init(&w);
        open_connection(&w, (struct question){.method = "POST",
                                              .target = POD "exec?command=ls&stdout=true",
                                              .spdy = cases[i].protocols});
        (void)client_opens(&w, "stdout", NULL, NULL);
        (void)client_opens(&w, "error", NULL, NULL);
        stream = next_frame(&w, FRAME_OPEN).stream;
        (void)client_hears(&w);
        node_sends(&w, stream, FRAME_DATA, (struct str){cases[i].end, 9});
        node_sends(&w, stream, FRAME_END, STR("{\"code\":200}"));
        assert_string_equal(client_hears(&w), cases[i].want);
        forward_world_done(&w);
    }
}

static void all_streams_have_to_come(void **state)
{
    struct forward_world w;

    (void)state;
    forward_world_init(&w);
    open_connection(&w, (struct question){.method = "POST",
                                          .target = POD "exec?command=ls&stdout=true",
                                          .spdy = "v4.channel.k8s.io"});
    (void)client_opens(&w, "error", NULL, NULL);
    wait_s(&w, 31);
    assert_non_null(strstr(client_hears(&w), "did not open all of its streams in time"));
    asked_close(w.k);
    forward_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_carry_a_port_each),
        cmocka_unit_test(a_client_that_leaves_ends_its_connections),
        cmocka_unit_test(pairs_of_streams_are_connections),
        cmocka_unit_test(streams_that_belong_nowhere_are_refused),
        cmocka_unit_test(one_session_has_so_many_connections),
        cmocka_unit_test(neither_side_runs_ahead),
        cmocka_unit_test(bytes_that_are_no_frames_end_the_session),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(exec_is_a_stream_for_each_channel),
        cmocka_unit_test(old_protocols_end_with_the_message),
        cmocka_unit_test(all_streams_have_to_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
