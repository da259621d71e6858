/* test_api_watch_socket.c - a watch over a WebSocket: the test is the client */

#include "api_world.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/websocket.h"
#include "sim_loop.h"
#include "test.h"

#define MAPS "/api/v1/configmaps?watch=true"

struct client {
    struct api_world a;
    struct asked *k;
    struct websocket *socket;
    size_t heard_to;
    json_t *events; /* array of received events */
};

static void on_send(void *arg, struct str bytes)
{
    struct client *c = arg;

    if (!c->k->is_over)
        c->k->channel.on_data(c->k->channel.arg, bytes);
}

static void on_message(void *arg, struct str bytes)
{
    struct client *c = arg;
    json_t *event = NULL;

    world_must(json_parse(bytes, &event));
    (void)json_array_append_new(c->events, event);
}

static void client_init(struct client *c)
{
    const struct websocket_options o = {
        .is_client = true, .send = on_send, .message = on_message, .arg = c};

    *c = (struct client){.events = json_array()};
    api_world_init(&c->a, NULL);
    c->socket = websocket_new(&o);
}

static void client_done(struct client *c)
{
    asked_free(c->k);
    websocket_free(c->socket);
    json_decref(c->events);
    api_world_done(&c->a);
}

static void add_map(struct client *c, const char *name)
{
    AUTO_FREE char *body =
        mem_format("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s'}}", name);

    json_decref(api_expect(&c->a, 201,
                           (struct question){.method = "POST",
                                             .target = "/api/v1/namespaces/default/configmaps",
                                             .body = body}));
}

static void open_watch(struct client *c, const char *target, const char *protocols, size_t backlog)
{
    c->k = api_ask(&c->a,
                   (struct question){.target = target, .websocket = protocols, .backlog = backlog});
    if (c->k->status != 101)
        fail_msg("status %d: %s", c->k->status, c->k->body.at);
}

/* Returns the number of received events. */
static size_t hear(struct client *c)
{
    struct str all = {c->k->body.at, c->k->body.size};

    sim_loop_run(c->a.w.loop);
    all = (struct str){c->k->body.at, c->k->body.size};
    assert_null(
        websocket_take(c->socket, (struct str){all.at + c->heard_to, all.size - c->heard_to}));
    c->heard_to = all.size;
    return json_array_size(c->events);
}

static const char *event_name(const struct client *c, size_t i)
{
    return json_text_at(json_array_get(c->events, i), "object", "metadata", "name", NULL);
}

static void each_event_is_a_message(void **state)
{
    struct client c;

    (void)state;
    client_init(&c);
    add_map(&c, "first");
    add_map(&c, "second");
    open_watch(&c, MAPS, "", 0);
    assert_string_equal(c.k->protocol, "websocket");
    assert_string_equal(c.k->upgrade_headers.at,
                        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    assert_int_equal(hear(&c), 2);
    add_map(&c, "third");
    assert_int_equal(hear(&c), 3);
    assert_string_equal(event_name(&c, 0), "first");
    assert_string_equal(event_name(&c, 1), "second");
    assert_string_equal(event_name(&c, 2), "third");
    assert_string_equal(json_text(json_array_get(c.events, 2), "type"), "ADDED");
    client_done(&c);
}

static void a_subprotocol_is_taken_as_it_is_offered(void **state)
{
    struct client c;

    (void)state;
    client_init(&c);
    open_watch(&c, MAPS, "base64.binary.k8s.io, binary.k8s.io", 0);
    assert_non_null(
        strstr(c.k->upgrade_headers.at, "\r\nSec-WebSocket-Protocol: base64.binary.k8s.io\r\n"));
    client_done(&c);
}

static void the_client_may_speak_and_leave(void **state)
{
    struct client c;
    size_t before;

    (void)state;
    client_init(&c);
    open_watch(&c, MAPS, "", 0);
    before = c.k->body.size;
    websocket_ping(c.socket);
    assert_true(c.k->body.size > before); /* the pong */
    websocket_send_text(c.socket, STR("hello"));
    assert_int_equal(hear(&c), 0);
    add_map(&c, "a");
    assert_int_equal(hear(&c), 1);
    websocket_close(c.socket, 1000);
    assert_true(c.k->is_over);
    add_map(&c, "b"); /* no watch is left */
    client_done(&c);
}

static void bytes_that_are_no_frame_end_it(void **state)
{
    struct client c;

    (void)state;
    client_init(&c);
    open_watch(&c, MAPS, "", 0);
    c.k->channel.on_data(c.k->channel.arg, STR("GET / HTTP/1.1\r\n\r\n"));
    assert_true(c.k->is_over);
    client_done(&c);
}

static void its_time_ends_with_a_close(void **state)
{
    struct client c;

    (void)state;
    client_init(&c);
    open_watch(&c, MAPS "&timeoutSeconds=5", "", 0);
    sim_loop_advance(c.a.w.loop, 6 * NS_PER_SEC);
    assert_int_equal(hear(&c), 0);
    assert_true(c.k->is_over);
    assert_true(websocket_is_closed(c.socket));
    client_done(&c);
}

static void a_slow_client_waits_and_misses_nothing(void **state)
{
    struct client c;

    (void)state;
    client_init(&c);
    open_watch(&c, MAPS, "", 0);
    add_map(&c, "a");
    assert_int_equal(hear(&c), 1);
    c.k->backlog = API_BACKLOG_MAX + 1;
    add_map(&c, "b");
    add_map(&c, "c");
    (void)hear(&c);
    websocket_ping(c.socket); /* the server stops reading from a client that does not read */
    assert_true(c.k->is_paused);
    c.k->backlog = 0;
    c.k->channel.on_drain(c.k->channel.arg);
    assert_false(c.k->is_paused);
    assert_int_equal(hear(&c), 3);
    assert_string_equal(event_name(&c, 1), "b");
    assert_string_equal(event_name(&c, 2), "c");
    client_done(&c);
}

static void what_is_refused_is_refused_before(void **state)
{
    AUTO(json_freep) json_t *status = NULL;
    struct client c;

    (void)state;
    client_init(&c);
    status = api_expect(
        &c.a, 400,
        (struct question){.target = MAPS "&resourceVersion=x", .websocket = "binary.k8s.io"});
    assert_string_equal(json_text(status, "reason"), "BadRequest");
    json_decref(status);
    status = api_expect(&c.a, 400, (struct question){.target = MAPS, .websocket = "binary k8s io"});
    assert_string_equal(json_text(status, "message"),
                        "Sec-WebSocket-Protocol: 'binary k8s io' is no list of words");
    client_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_is_a_message),
        cmocka_unit_test(a_subprotocol_is_taken_as_it_is_offered),
        cmocka_unit_test(the_client_may_speak_and_leave),
        cmocka_unit_test(bytes_that_are_no_frame_end_it),
        cmocka_unit_test(its_time_ends_with_a_close),
        cmocka_unit_test(a_slow_client_waits_and_misses_nothing),
        cmocka_unit_test(what_is_refused_is_refused_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
