/* test_api_log.c - pods/log over a node's stream: the test is the node */

#include "api_world.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "sim_loop.h"
#include "test.h"

struct log_world {
    struct api_world a;
    struct asked *link; /* the node's connection */
    size_t read;        /* bytes of the server that the node has read */
};

static void log_world_init_waiting(struct log_world *l, int64_t wait_ns)
{
    *l = (struct log_world){.a.node_wait_ns = wait_ns};
    api_world_init(&l->a, NULL);
    world_add_node(&l->a.w, "n1", 2);
    world_must(world_add_pod(&l->a.w, "default", "p", 0));
    world_must(world_bind(&l->a.w, "default", "p", "n1"));
}

static void log_world_init(struct log_world *l)
{
    log_world_init_waiting(l, 0);
}

static struct asked *connect_node(struct log_world *l)
{
    l->read = 0;
    l->link = api_ask(&l->a, (struct question){.target = "/mete.dev/v1/nodes/n1/stream",
                                               .who = {.cert_user = "system:node:n1",
                                                       .cert_group = "system:nodes"}});
    assert_int_equal(l->link->status, 101);
    return l->link;
}

/* Returns the next frame from the server; asserts its type. */
static struct frame next_frame(struct log_world *l, enum frame_type type)
{
    struct frame f = {0};
    size_t size = 0;

    assert_null(frame_parse((struct str){l->link->body.at + l->read, l->link->body.size - l->read},
                            &f, &size));
    assert_true(size > 0);
    assert_int_equal(f.type, type);
    l->read += size;
    return f;
}

static void node_sends(struct log_world *l, uint32_t stream, enum frame_type type, const char *text)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, stream, type, str_of(text));
    for (size_t i = 0; i < b.size; i += 5) /* in pieces, like a network */
        l->link->channel.on_data(l->link->channel.arg,
                                 (struct str){b.at + i, b.size - i < 5 ? b.size - i : 5});
}

static struct asked *ask_log(struct log_world *l, const char *more)
{
    AUTO_FREE char *target = mem_format("/api/v1/namespaces/default/pods/p/log%s", more);

    return api_ask(&l->a, (struct question){.target = target});
}

static void carries_a_log_to_its_reader(void **state)
{
    AUTO(asked_freep) struct asked *link = NULL;
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO(json_freep) json_t *open = NULL;
    struct frame f;
    struct log_world l;

    (void)state;
    log_world_init(&l);
    link = connect_node(&l);
    k = ask_log(&l, "?follow=true&tailLines=5&limitBytes=100&container=main");
    assert_int_equal(k->status, 0);
    f = next_frame(&l, FRAME_OPEN);
    world_must(json_parse(f.payload, &open));
    assert_string_equal(json_text(open, "op"), "logs");
    assert_string_equal(json_text(open, "container"), "main");
    assert_non_null(json_text(open, "podUid"));
    assert_true(json_bool(open, "follow", false));
    assert_int_equal(json_int(open, "tailLines", 0), 5);
    assert_int_equal(json_int(open, "limitBytes", 0), 100);
    node_sends(&l, f.stream, FRAME_DATA, "hello\n");
    assert_int_equal(k->status, 200);
    assert_string_equal(k->content_type, "text/plain");
    node_sends(&l, f.stream, FRAME_DATA, "world\n");
    node_sends(&l, f.stream, FRAME_END, "{\"code\":200}");
    assert_true(k->is_over);
    assert_false(k->is_cut);
    assert_string_equal(k->body.at, "hello\nworld\n");
    asked_close(link);
    api_world_done(&l.a);
}

static void goes_over_a_websocket_too(void **state)
{
    static const struct {
        const char *protocols; /* of the client */
        const char *sent;      /* frames of "hello" and of the end */
    } cases[] = {
        {"", "\x82\x05hello\x88\x02\x03\xe8"},
        {"binary.k8s.io", "\x82\x05hello\x88\x02\x03\xe8"},
        {"base64.binary.k8s.io", "\x81\x08"
                                 "aGVsbG8=\x88\x02\x03\xe8"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(asked_freep) struct asked *link = NULL;
        AUTO(asked_freep) struct asked *k = NULL;
        struct log_world l;
        uint32_t stream;

        log_world_init(&l);
        link = connect_node(&l);
        k = api_ask(&l.a, (struct question){.target = "/api/v1/namespaces/default/pods/p/log",
                                            .websocket = cases[i].protocols});
        assert_int_equal(k->status, 101);
        stream = next_frame(&l, FRAME_OPEN).stream;
        node_sends(&l, stream, FRAME_DATA, "hello");
        (void)next_frame(&l, FRAME_CREDIT);
        node_sends(&l, stream, FRAME_END, "{\"code\":200}");
        assert_true(k->is_over);
        assert_string_equal(k->body.at, cases[i].sent);
        asked_close(link);
        api_world_done(&l.a);
    }
}

static void a_websocket_that_closes_ends_the_log(void **state)
{
    AUTO(asked_freep) struct asked *link = NULL;
    AUTO(asked_freep) struct asked *k = NULL;
    struct log_world l;
    uint32_t stream;

    (void)state;
    log_world_init(&l);
    link = connect_node(&l);
    k = api_ask(&l.a, (struct question){.target = "/api/v1/namespaces/default/pods/p/log?follow=1",
                                        .websocket = "binary.k8s.io"});
    stream = next_frame(&l, FRAME_OPEN).stream;
    k->channel.on_data(k->channel.arg, (struct str){"\x82\x82\0\0\0\0hi", 8}); /* dropped */
    assert_false(k->is_over);
    asked_close(k);
    assert_int_equal(next_frame(&l, FRAME_CANCEL).stream, stream);
    asked_close(link);
    api_world_done(&l.a);
}

static void a_slow_reader_stops_its_own_stream_only(void **state)
{
    AUTO(asked_freep) struct asked *link = NULL;
    AUTO(asked_freep) struct asked *slow = NULL;
    AUTO(asked_freep) struct asked *quick = NULL;
    uint32_t slow_id;
    uint32_t quick_id;
    struct frame f;
    struct log_world l;

    (void)state;
    log_world_init(&l);
    link = connect_node(&l);
    slow = ask_log(&l, "");
    slow_id = next_frame(&l, FRAME_OPEN).stream;
    quick = ask_log(&l, "");
    quick_id = next_frame(&l, FRAME_OPEN).stream;
    assert_int_not_equal(slow_id, quick_id);
    slow->backlog = API_BACKLOG_MAX;
    node_sends(&l, slow_id, FRAME_DATA, "abc");
    assert_int_equal(l.read, l.link->body.size); /* no credit comes back */
    node_sends(&l, quick_id, FRAME_DATA, "abcd");
    f = next_frame(&l, FRAME_CREDIT);
    assert_int_equal(f.stream, quick_id);
    assert_memory_equal(f.payload.at, "\0\0\0\4", 4);
    slow->backlog = 0;
    slow->x.on_drain(slow->x.arg);
    f = next_frame(&l, FRAME_CREDIT);
    assert_int_equal(f.stream, slow_id);
    assert_memory_equal(f.payload.at, "\0\0\0\3", 4);
    asked_close(slow);
    assert_int_equal(next_frame(&l, FRAME_CANCEL).stream, slow_id);
    node_sends(&l, slow_id, FRAME_DATA, "late"); /* the node does not know yet */
    node_sends(&l, quick_id, FRAME_END, "{\"code\":200}");
    assert_true(quick->is_over);
    asked_close(link);
    api_world_done(&l.a);
}

static void a_node_that_leaves_ends_its_streams(void **state)
{
    AUTO(asked_freep) struct asked *link = NULL;
    AUTO(asked_freep) struct asked *waiting = NULL;
    AUTO(asked_freep) struct asked *reading = NULL;
    AUTO(json_freep) json_t *status = NULL;
    struct log_world l;

    (void)state;
    log_world_init(&l);
    link = connect_node(&l);
    waiting = ask_log(&l, "");
    (void)next_frame(&l, FRAME_OPEN);
    reading = ask_log(&l, "");
    node_sends(&l, next_frame(&l, FRAME_OPEN).stream, FRAME_DATA, "x");
    asked_close(link);
    assert_int_equal(waiting->status, 503);
    status = asked_json(waiting);
    assert_string_equal(json_text(status, "message"), "the node's connection ended");
    assert_true(reading->is_cut); /* so that the client does not take it for the whole log */
    api_world_done(&l.a);
}

static void a_node_that_breaks_the_rules_is_disconnected(void **state)
{
    static const struct {
        enum frame_type type;
        size_t size;
    } cases[] = {{FRAME_OPEN, 1}, {FRAME_END, 1}, {FRAME_DATA, 0}};
    struct log_world l;

    (void)state;
    log_world_init(&l);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(asked_freep) struct asked *link = connect_node(&l);
        AUTO(asked_freep) struct asked *k = ask_log(&l, "");
        uint32_t id = next_frame(&l, FRAME_OPEN).stream;
        AUTO(buf_done) struct buf b = {0};
        AUTO_FREE char *filler = mem_alloc(FRAME_PAYLOAD_MAX);

        k->backlog = API_BACKLOG_MAX; /* no credit comes back */
        frame_format(&b, id, cases[i].type,
                     (struct str){filler, cases[i].size ? cases[i].size : FRAME_PAYLOAD_MAX});
        for (int n = 0; n < 5 && !link->is_over; n++) { /* five frames exceed the credit */
            for (size_t at = 0; at < b.size && !link->is_over; at += 16384)
                link->channel.on_data(
                    link->channel.arg,
                    (struct str){b.at + at, b.size - at < 16384 ? b.size - at : 16384});
        }
        assert_true(link->is_over);
        assert_true(k->is_over);
    }
    api_world_done(&l.a);
}

static void a_second_connection_replaces_the_first(void **state)
{
    AUTO(asked_freep) struct asked *first = NULL;
    AUTO(asked_freep) struct asked *second = NULL;
    struct log_world l;

    (void)state;
    log_world_init(&l);
    first = connect_node(&l);
    second = connect_node(&l);
    assert_true(first->is_over);
    assert_false(second->is_over);
    asked_close(second);
    api_world_done(&l.a);
}

static void refuses_by_name(void **state)
{
    static const struct {
        const char *target;
        int status;
        const char *message;
    } cases[] = {
        {"/api/v1/namespaces/default/pods/p/log", 503, "node \"n1\" is not connected"},
        {"/api/v1/namespaces/default/pods/p/log?previous=false", 503,
         "node \"n1\" is not connected"},
        {"/api/v1/namespaces/default/pods/p/log?tailLines=-1", 422,
         "PodLogOptions \"\" is invalid: tailLines: Invalid value: -1: must be greater than or "
         "equal to 0"},
        {"/api/v1/namespaces/default/pods/p/log?container=x", 400,
         "container x is not valid for pod p"},
        {"/api/v1/namespaces/default/pods/q/log", 404, "pods \"q\" not found"},
        {"/api/v1/namespaces/default/pods/free/log", 400, "pod free does not have a host assigned"},
    };
    struct log_world l;

    (void)state;
    log_world_init(&l);
    world_must(world_add_pod(&l.a.w, "default", "free", 0));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep)
        json_t *got =
            api_expect(&l.a, cases[i].status, (struct question){.target = cases[i].target});

        assert_string_equal(json_text(got, "message"), cases[i].message);
    }
    api_world_done(&l.a);
}

static void a_request_after_the_start_waits_for_its_node(void **state)
{
    AUTO(asked_freep) struct asked *link = NULL;
    AUTO(asked_freep) struct asked *first = NULL;
    AUTO(asked_freep) struct asked *second = NULL;
    struct asked *gone;
    uint32_t ids[2];
    struct log_world l;

    (void)state;
    log_world_init_waiting(&l, 10 * NS_PER_SEC);
    first = ask_log(&l, "");
    gone = ask_log(&l, "?tailLines=1");
    second = ask_log(&l, "?tailLines=2");
    assert_int_equal(first->status, 0);
    asked_close(gone); /* its client waits no longer */
    asked_free(gone);
    link = connect_node(&l);
    for (int i = 0; i < 2; i++)
        ids[i] = next_frame(&l, FRAME_OPEN).stream;
    for (int i = 0; i < 2; i++) {
        node_sends(&l, ids[i], FRAME_DATA, i == 0 ? "one" : "two");
        node_sends(&l, ids[i], FRAME_END, "{\"code\":200}");
    }
    assert_string_equal(first->body.at, "one");
    assert_string_equal(second->body.at, "two");
    asked_close(link);
    api_world_done(&l.a);
}

static void a_node_that_does_not_come_is_not_connected(void **state)
{
    AUTO(asked_freep) struct asked *waiting = NULL;
    AUTO(json_freep) json_t *got = NULL;
    struct log_world l;

    (void)state;
    log_world_init_waiting(&l, 10 * NS_PER_SEC);
    waiting = ask_log(&l, "");
    sim_loop_advance(l.a.w.loop, 9 * NS_PER_SEC);
    assert_int_equal(waiting->status, 0);
    sim_loop_advance(l.a.w.loop, 2 * NS_PER_SEC);
    assert_int_equal(waiting->status, 503);
    got = asked_json(waiting);
    assert_string_equal(json_text(got, "message"), "node \"n1\" is not connected");
    json_decref(api_expect(&l.a, 503,
                           (struct question){.target = "/api/v1/namespaces/default/pods/p/log"}));
    api_world_done(&l.a);
}

static void only_the_node_itself_opens_its_stream(void **state)
{
    static const struct claim_asker askers[] = {
        {.uid = 0},
        {.uid = 1000},
        {.cert_user = "system:node:n2", .cert_group = "system:nodes"},
        {.cert_user = "system:node:n1", .cert_group = "people"}};
    struct log_world l;

    (void)state;
    log_world_init(&l);
    for (size_t i = 0; i < COUNT(askers); i++) {
        AUTO(json_freep)
        json_t *got = api_expect(
            &l.a, 403,
            (struct question){.target = "/mete.dev/v1/nodes/n1/stream", .who = askers[i]});
    }
    api_world_done(&l.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carries_a_log_to_its_reader),
        cmocka_unit_test(goes_over_a_websocket_too),
        cmocka_unit_test(a_websocket_that_closes_ends_the_log),
        cmocka_unit_test(a_slow_reader_stops_its_own_stream_only),
        cmocka_unit_test(a_node_that_leaves_ends_its_streams),
        cmocka_unit_test(a_node_that_breaks_the_rules_is_disconnected),
        cmocka_unit_test(a_second_connection_replaces_the_first),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(a_request_after_the_start_waits_for_its_node),
        cmocka_unit_test(a_node_that_does_not_come_is_not_connected),
        cmocka_unit_test(only_the_node_itself_opens_its_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
