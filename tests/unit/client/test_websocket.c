/* test_websocket.c - WebSocket messages between our two sides, and of a hostile peer */

#include "client/records.h"
#include "client/websocket.h"
#include "test.h"

struct side {
    struct websocket *socket;
    struct buf sent;  /* for the peer */
    struct buf heard; /* "CHANNEL:BYTES|" for each message */
    size_t n_messages;
};

static void on_send(void *arg, struct str bytes)
{
    struct side *s = arg;

    buf_add(&s->sent, bytes.at, bytes.size);
}

static void on_message(void *arg, struct str bytes)
{
    struct side *s = arg;

    s->n_messages++;
    if (bytes.size > 0)
        buf_printf(&s->heard, "%u:" STR_FMT "|", (unsigned)(unsigned char)bytes.at[0],
                   STR_ARG(((struct str){bytes.at + 1, bytes.size - 1})));
}

static void side_init(struct side *s, bool is_client)
{
    const struct websocket_options o = {
        .is_client = is_client, .send = on_send, .message = on_message, .arg = s};

    *s = (struct side){0};
    s->socket = websocket_new(&o);
}

static void side_done(struct side *s)
{
    websocket_free(s->socket);
    buf_done(&s->sent);
    buf_done(&s->heard);
}

/* Carries bytes in pieces of `size`, like a network. */
static struct err *carry(struct side *from, struct side *to, size_t size)
{
    struct err *e = NULL;

    for (size_t at = 0; at < from->sent.size && !e; at += size)
        e = websocket_take(to->socket,
                           (struct str){from->sent.at + at,
                                        from->sent.size - at < size ? from->sent.size - at : size});
    buf_clear(&from->sent);
    return e;
}

static void carries_messages_both_ways(void **state)
{
    static const size_t sizes[] = {1, 3, 100000};
    struct side client;
    struct side server;

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        side_init(&client, true);
        side_init(&server, false);
        websocket_send(client.socket, 0, STR("hello"));
        websocket_send(client.socket, 255, (struct str){"\0", 1});
        assert_null(carry(&client, &server, sizes[i]));
        assert_int_equal(server.n_messages, 2);
        assert_true(text_starts_with(server.heard.at, "0:hello|255:"));
        websocket_send(server.socket, 1, STR("out"));
        websocket_send(server.socket, 2, STR(""));
        assert_null(carry(&server, &client, sizes[i]));
        assert_string_equal(client.heard.at, "1:out|2:|");
        side_done(&client);
        side_done(&server);
    }
}

static void masks_what_the_client_sends(void **state)
{
    struct side client;

    (void)state;
    side_init(&client, true);
    websocket_send(client.socket, 0, STR("visible?"));
    assert_int_equal((unsigned char)client.sent.at[0], 0x82); /* final, binary */
    assert_int_equal((unsigned char)client.sent.at[1], 0x80 | 9);
    assert_null(memmem(client.sent.at, client.sent.size, "visible?", 8));
    side_done(&client);
}

static void cuts_large_messages_into_several(void **state)
{
    struct side client;
    struct side server;
    AUTO(buf_done) struct buf large = {0};

    (void)state;
    side_init(&client, true);
    side_init(&server, false);
    for (int i = 0; i < 70000; i++)
        buf_add_char(&large, 'x');
    websocket_send(server.socket, 1, (struct str){large.at, large.size});
    assert_null(carry(&server, &client, 5000));
    assert_int_equal(client.n_messages, 3);
    assert_int_equal(client.heard.size, 70000 + 3 * 3);
    side_done(&client);
    side_done(&server);
}

static void answers_pings_and_closes(void **state)
{
    struct side client;
    struct side server;

    (void)state;
    side_init(&client, true);
    side_init(&server, false);
    websocket_ping(server.socket);
    assert_null(carry(&server, &client, 1));
    assert_int_equal((unsigned char)client.sent.at[0], 0x8a); /* a pong */
    assert_null(carry(&client, &server, 1));
    websocket_close(server.socket, 1000);
    websocket_send(server.socket, 1, STR("after the end"));
    assert_null(carry(&server, &client, 1));
    assert_true(websocket_is_closed(client.socket));
    assert_int_equal(client.n_messages, 0);
    assert_null(carry(&client, &server, 1));
    assert_true(websocket_is_closed(server.socket));
    side_done(&client);
    side_done(&server);
}

static void refuses_what_breaks_the_protocol(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\x82\x01x", 3},                                           /* not masked */
        {"\x83\x80\0\0\0\0", 6},                                    /* an unknown opcode */
        {"\xc2\x80\0\0\0\0", 6},                                    /* a reserved bit */
        {"\x09\x80\0\0\0\0", 6},                                    /* a ping in pieces */
        {"\x80\x80\0\0\0\0", 6},                                    /* continues no message */
        {"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0xx", 16}, /* too large */
        {"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14},   /* a sign bit */
        {"\x81\x82\0\0\0\0\xff\xff", 8},                            /* text that is not UTF-8 */
        {"GET / HTTP/1.1\r\n\r\n", 18},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct side server;
        AUTO(err_freep) struct err *e = NULL;

        side_init(&server, false);
        e = websocket_take(server.socket, (struct str){cases[i].bytes, cases[i].size});
        if (!e)
            fail_msg("case %zu was taken", i);
        assert_int_equal(err_code(e), ERR_BAD_REQUEST);
        assert_int_equal(server.n_messages, 0);
        side_done(&server);
    }
}

static void makes_the_accept_of_the_standard(void **state)
{
    char key[WEBSOCKET_KEY_SIZE];
    char other[WEBSOCKET_KEY_SIZE];
    char accept[WEBSOCKET_ACCEPT_SIZE] = "";

    (void)state;
    /* RFC 6455, 1.3 */
    assert_true(websocket_accept_make("dGhlIHNhbXBsZSBub25jZQ==", accept));
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_false(websocket_accept_make(NULL, accept));
    assert_false(websocket_accept_make("", accept));
    assert_false(websocket_accept_make("dGhlIHNhbXBsZSBub25jZQ=", accept));
    assert_false(websocket_accept_make("dGhlIHNhbXBsZSBub25jZQ===", accept));
    assert_false(websocket_accept_make("\r\nSet-Cookie: a=b; xxxx==", accept));
    websocket_key_make(key);
    websocket_key_make(other);
    assert_true(websocket_accept_make(key, accept));
    assert_string_not_equal(key, other);
}

/* ---- the records inside the node's streams ---- */

static void records_come_back_as_they_were(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    struct record r = {0};
    size_t at = 0;
    size_t size = 0;

    (void)state;
    record_format(&b, RECORD_STDERR, STR("what"));
    record_format_resize(&b, 132, 40);
    record_format_exit(&b, 137);
    record_format(&b, RECORD_STDIN_END, STR(""));
    for (size_t cut = 0; cut < RECORD_HEAD_SIZE + 4; cut++) {
        assert_null(record_parse((struct str){b.at, cut}, &r, &size));
        assert_int_equal(size, 0);
    }
    assert_null(record_parse((struct str){b.at, b.size}, &r, &size));
    assert_int_equal(r.channel, RECORD_STDERR);
    assert_true(str_equal(r.bytes, STR("what")));
    at += size;
    assert_null(record_parse((struct str){b.at + at, b.size - at}, &r, &size));
    assert_int_equal(r.columns, 132);
    assert_int_equal(r.rows, 40);
    at += size;
    assert_null(record_parse((struct str){b.at + at, b.size - at}, &r, &size));
    assert_int_equal(r.code, 137);
    at += size;
    assert_null(record_parse((struct str){b.at + at, b.size - at}, &r, &size));
    assert_int_equal(r.channel, RECORD_STDIN_END);
    assert_int_equal(at + size, b.size);
}

static void records_that_are_none_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
        {"\7\0\0\0\0", 5, "record of unknown channel 7"},
        {"\1\xff\xff\xff\xff", 5, "record of 4294967295 bytes: at most 32768 are allowed"},
        {"\1\0\0\x80\1", 5, "record of 32769 bytes: at most 32768 are allowed"},
        {"\4\0\0\0\3abc", 8, "record of channel 4 with 3 bytes"},
        {"\3\0\0\0\0", 5, "record of channel 3 with 0 bytes"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct record r = {.code = 42};
        size_t size = 0;
        AUTO(err_freep)
        struct err *e = record_parse((struct str){cases[i].bytes, cases[i].size}, &r, &size);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(r.code, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carries_messages_both_ways),
        cmocka_unit_test(masks_what_the_client_sends),
        cmocka_unit_test(cuts_large_messages_into_several),
        cmocka_unit_test(answers_pings_and_closes),
        cmocka_unit_test(refuses_what_breaks_the_protocol),
        cmocka_unit_test(makes_the_accept_of_the_standard),
        cmocka_unit_test(records_come_back_as_they_were),
        cmocka_unit_test(records_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
