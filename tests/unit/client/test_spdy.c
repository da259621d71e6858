/* test_spdy.c - SPDY sessions between our two sides, of kubectl, and of a hostile client */

#include "base/mem.h"
#include "base/num.h"
#include "client/spdy.h"
#include "test.h"

struct side {
    struct spdy *spdy;
    struct buf sent;  /* for the peer */
    struct buf heard; /* the callbacks, in words */
    char *said;       /* text of the last heard() */
    struct buf data;
    bool is_refusing;
    bool is_deaf; /* gives no credit */
};

static void on_send(void *arg, struct str bytes)
{
    struct side *s = arg;

    buf_add(&s->sent, bytes.at, bytes.size);
}

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t n)
{
    struct side *s = arg;

    buf_printf(&s->heard, "open %u", (unsigned)stream);
    for (size_t i = 0; i < n; i++)
        buf_printf(&s->heard, " %s=%s", headers[i].name, headers[i].value);
    buf_add_text(&s->heard, "|");
    if (s->is_refusing)
        spdy_reset(s->spdy, stream, SPDY_REFUSED_STREAM);
    else
        spdy_reply(s->spdy, stream);
}

static void on_replied(void *arg, uint32_t stream)
{
    buf_printf(&((struct side *)arg)->heard, "reply %u|", (unsigned)stream);
}

static void on_data(void *arg, uint32_t stream, struct str bytes)
{
    struct side *s = arg;

    if (bytes.size < 64)
        buf_printf(&s->heard, "data %u " STR_FMT "|", (unsigned)stream, STR_ARG(bytes));
    buf_add(&s->data, bytes.at, bytes.size);
    if (!s->is_deaf)
        spdy_taken(s->spdy, stream, bytes.size);
}

static void on_ended(void *arg, uint32_t stream)
{
    buf_printf(&((struct side *)arg)->heard, "end %u|", (unsigned)stream);
}

static void on_reset(void *arg, uint32_t stream)
{
    buf_printf(&((struct side *)arg)->heard, "reset %u|", (unsigned)stream);
}

static void on_drained(void *arg, uint32_t stream)
{
    buf_printf(&((struct side *)arg)->heard, "drained %u|", (unsigned)stream);
}

static void side_init(struct side *s, bool is_client)
{
    const struct spdy_options o = {.is_client = is_client,
                                   .send = on_send,
                                   .opened = on_opened,
                                   .replied = on_replied,
                                   .data = on_data,
                                   .ended = on_ended,
                                   .reset = on_reset,
                                   .drained = on_drained,
                                   .arg = s};

    *s = (struct side){0};
    s->spdy = spdy_new(&o);
}

static void side_done(struct side *s)
{
    spdy_free(s->spdy);
    buf_done(&s->sent);
    buf_done(&s->heard);
    buf_done(&s->data);
    free(s->said);
}

/* Carries bytes in pieces of `size`, like a network. */
static void carry(struct side *from, struct side *to, size_t size)
{
    AUTO_FREE char *bytes = NULL;
    size_t n = from->sent.size;

    bytes = buf_steal(&from->sent);
    for (size_t at = 0; at < n; at += size)
        assert_null(spdy_take(to->spdy, (struct str){bytes + at, n - at < size ? n - at : size}));
}

/* The callbacks since the last call. */
static const char *heard(struct side *s)
{
    free(s->said);
    s->said = buf_steal(&s->heard);
    return s->said;
}

static void add_hex(struct buf *b, const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        uint64_t byte = 0;

        assert_null(num_parse_hex((struct str){hex, 2}, &byte));
        buf_add_char(b, (char)byte);
    }
}

static struct err *take_hex(struct side *s, const char *hex)
{
    AUTO(buf_done) struct buf b = {0};

    add_hex(&b, hex);
    return spdy_take(s->spdy, (struct str){b.at, b.size});
}

static void carries_streams_both_ways(void **state)
{
    static const size_t sizes[] = {1, 7, 100000};
    static const struct spdy_header headers[] = {{"streamtype", "data"}, {"port", "80"}};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct side client;
        struct side server;
        uint32_t first;
        uint32_t second;

        side_init(&client, true);
        side_init(&server, false);
        first = spdy_open(client.spdy, headers, COUNT(headers));
        second = spdy_open(client.spdy, headers, 1);
        spdy_send(client.spdy, first, STR("hello"));
        spdy_end(client.spdy, first);
        carry(&client, &server, sizes[i]);
        assert_non_null(
            strstr(server.heard.at, "open 1 streamtype=data port=80|open 3 streamtype="));
        assert_string_equal(server.data.at, "hello");
        assert_non_null(strstr(server.heard.at, "end 1|"));
        spdy_send(server.spdy, first, STR("answer"));
        spdy_end(server.spdy, first);
        spdy_reset(server.spdy, second, SPDY_CANCEL);
        buf_clear(&server.heard);
        carry(&server, &client, sizes[i]);
        assert_string_equal(client.data.at, "answer");
        assert_true(text_ends_with(heard(&client), "end 1|reset 3|"));
        spdy_go_away(client.spdy);
        carry(&client, &server, sizes[i]);
        assert_true(spdy_is_over(server.spdy));
        assert_string_equal(heard(&server), "");
        side_done(&client);
        side_done(&server);
    }
}

/* Bytes of kubectl 1.32: `port-forward` and a ping; `exec -i`. */
static void reads_what_kubectl_sends(void **state)
{
    static const char forward[] =
        "800300010000003d0000000100000000000078f9e3c6a7c202253a703a2b294a4dcc851625aca9a0808614cb45"
        "a0"
        "24cc6461c0c0c0c0590489c44c50e2663400000000ffff"
        "0000000101000000"
        "800300010000001a00000003000000000000826a25a406d56850299508000000ffff"
        "000000030000000668656c6c6f0a"
        "8003000600000004000000010000000301000000";
    static const char exec[] =
        "80030001000000290000000100000000000078f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a680000"
        "0000ffff"
        "800300010000001700000003000000000000c22e555c92929907000000ffff"
        "800300010000001900000005000000000000c22ac5565c92925f5a02000000ffff"
        "800300010000001500000007000000000000c229975a5404000000ffff"
        "0000000300000003696e0a"
        "0000000301000000";
    struct side server;

    (void)state;
    side_init(&server, false);
    assert_null(take_hex(&server, forward));
    assert_string_equal(heard(&server),
                        "open 1 streamtype=error port=80 requestid=0|end 1|"
                        "open 3 port=80 requestid=0 streamtype=data|data 3 hello\n|end 3|");
    side_done(&server);
    side_init(&server, false);
    assert_null(take_hex(&server, exec));
    assert_string_equal(heard(&server),
                        "open 1 streamtype=error|open 3 streamtype=stdin|open 5 streamtype=stdout|"
                        "open 7 streamtype=stderr|data 3 in\n|end 3|");
    side_done(&server);
}

static void answers_pings_of_the_other_side_alone(void **state)
{
    struct side client;
    struct side server;

    (void)state;
    side_init(&client, true);
    side_init(&server, false);
    spdy_ping(client.spdy);
    carry(&client, &server, 1);
    assert_int_equal(server.sent.size, 12);
    carry(&server, &client, 5);
    assert_int_equal(client.sent.size, 0);
    side_done(&client);
    side_done(&server);
}

static void keeps_windows_once_they_are_named(void **state)
{
    AUTO_FREE char *much = mem_alloc(300000);
    static const struct spdy_header header = {"streamtype", "data"};
    struct side client;
    struct side server;
    uint32_t stream;

    (void)state;
    memset(much, 'x', 300000);
    side_init(&client, true);
    side_init(&server, false);
    stream = spdy_open(client.spdy, &header, 1);
    carry(&client, &server, 1000);
    /* A peer without windows gets all bytes at once. */
    spdy_send(server.spdy, stream, (struct str){much, 300000});
    assert_int_equal(spdy_backlog(server.spdy, stream), 0);
    carry(&server, &client, 4096);
    assert_int_equal(client.data.size, 300000);
    carry(&client, &server, 4096); /* the client's WINDOW_UPDATEs */
    client.is_deaf = true;
    spdy_send(server.spdy, stream, (struct str){much, 300000});
    assert_in_range(spdy_backlog(server.spdy, stream), 300000 - SPDY_WINDOW, 300000 - 1);
    spdy_end(server.spdy, stream);
    carry(&server, &client, 4096);
    assert_null(strstr(client.heard.at, "end"));
    buf_clear(&server.heard);
    for (int i = 0; i < 100 && spdy_backlog(server.spdy, stream) > 0; i++) {
        size_t before = client.data.size;

        spdy_taken(client.spdy, stream, before - (i == 0 ? 300000 : 0));
        carry(&client, &server, 4096);
        client.is_deaf = false;
        carry(&server, &client, 4096);
    }
    assert_int_equal(client.data.size, 600000);
    assert_non_null(strstr(client.heard.at, "end 1|"));
    assert_non_null(strstr(server.heard.at, "drained 1|"));
    side_done(&client);
    side_done(&server);
}

static void settings_move_the_first_window(void **state)
{
    static const struct spdy_header header = {"a", "b"};
    AUTO_FREE char *much = mem_alloc(2000);
    struct side client;
    struct side server;
    uint32_t stream;

    (void)state;
    side_init(&client, true);
    side_init(&server, false);
    stream = spdy_open(client.spdy, &header, 1);
    carry(&client, &server, 1000);
    assert_null(take_hex(&server, "800300040000000c00000001"
                                  "00000007"
                                  "000003e8"));
    spdy_send(server.spdy, stream, (struct str){much, 2000});
    assert_int_equal(spdy_backlog(server.spdy, stream), 1000);
    assert_null(take_hex(&server, "800300040000000c00000001"
                                  "00000007"
                                  "00000000"));
    assert_null(take_hex(&server, "8003000900000008"
                                  "00000001"
                                  "000003e8"));
    assert_int_equal(spdy_backlog(server.spdy, stream), 1000);
    assert_null(take_hex(&server, "8003000900000008"
                                  "00000001"
                                  "000003e8"));
    assert_int_equal(spdy_backlog(server.spdy, stream), 0);
    assert_null(take_hex(&server, "8003000900000008"
                                  "00000001"
                                  "7fffffff"));
    assert_null(take_hex(&server, "8003000900000008"
                                  "00000001"
                                  "7fffffff"));
    assert_true(text_ends_with(heard(&server), "reset 1|"));
    side_done(&client);
    side_done(&server);
}

static void bounds_the_streams(void **state)
{
    static const struct spdy_header header = {"a", "b"};
    struct side client;
    struct side server;

    (void)state;
    side_init(&client, true);
    side_init(&server, false);
    for (int i = 0; i <= SPDY_STREAMS_MAX; i++)
        (void)spdy_open(client.spdy, &header, 1);
    carry(&client, &server, 1000);
    buf_clear(&client.heard);
    carry(&server, &client, 1000);
    assert_true(text_ends_with(heard(&client), "reset 1025|"));
    spdy_reset(client.spdy, 1, SPDY_CANCEL);
    (void)spdy_open(client.spdy, &header, 1);
    carry(&client, &server, 1000);
    carry(&server, &client, 1000);
    assert_true(text_ends_with(heard(&client), "reply 1027|"));
    side_done(&client);
    side_done(&server);
}

static void a_reset_stream_is_gone(void **state)
{
    static const struct spdy_header header = {"a", "b"};
    struct side client;
    struct side server;

    (void)state;
    side_init(&client, true);
    side_init(&server, false);
    server.is_refusing = true;
    (void)spdy_open(client.spdy, &header, 1);
    spdy_send(client.spdy, 1, STR("too late"));
    carry(&client, &server, 1000);
    assert_int_equal(server.data.size, 0);
    carry(&server, &client, 1000);
    assert_string_equal(heard(&client), "reset 1|");
    spdy_send(client.spdy, 1, STR("x"));
    spdy_end(client.spdy, 1);
    spdy_reset(client.spdy, 1, SPDY_CANCEL);
    spdy_reply(client.spdy, 1);
    assert_int_equal(client.sent.size, 0);
    /* Data after the end of its stream. */
    server.is_refusing = false;
    (void)spdy_open(client.spdy, &header, 1);
    spdy_end(client.spdy, 3);
    carry(&client, &server, 1000);
    buf_clear(&server.heard);
    assert_null(take_hex(&server, "000000030000000178"));
    assert_string_equal(heard(&server), "reset 3|");
    side_done(&client);
    side_done(&server);
}

static void refuses_what_breaks_the_protocol(void **state)
{
    static const struct {
        const char *hex;
        const char *message;
    } cases[] = {
        {"8002000600000004"
         "00000001",
         "SPDY version 2, want 3"},
        {"8003000600000005"
         "0000000100",
         "PING of 5 bytes"},
        {"8003000600ffffff", "control frame of 16777215 bytes: at most 16384 are allowed"},
        {"8003000100000004"
         "00000001",
         "SYN_STREAM of 4 bytes"},
        {"800300010000000a"
         "00000001000000000000",
         "header block without its count"},
        {"800300010000000c"
         "00000001000000000000"
         "ffff",
         "header block that zlib does not read"},
        {"0000000100000000", "data of stream 1, which was never opened"},
        {"0000000000000000", "data of stream 0, which was never opened"},
        {"8003000300000004"
         "00000001",
         "RST_STREAM of 4 bytes"},
        {"8003000400000004"
         "ffffffff",
         "SETTINGS of 4 bytes for 4294967295 entries"},
        {"8003000900000008"
         "00000000"
         "7fffffff",
         "WINDOW_UPDATE past 2^31 - 1 bytes"},
        {"8003000100000029"
         "00000002000000000000"
         "78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff",
         "stream 2 was opened after stream 0"},
        {"474554202f20485454502f312e31", "data of stream 1195725856, which was never opened"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct side server;
        AUTO(err_freep) struct err *e = NULL;

        side_init(&server, false);
        e = take_hex(&server, cases[i].hex);
        if (!e)
            fail_msg("case %zu was taken", i);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(server.sent.size, 16); /* GOAWAY */
        side_done(&server);
    }
}

/* ---- header blocks ---- */

static void a_block_that_grows_is_refused(void **state)
{
    AUTO_FREE char *zeros = mem_alloc(1 << 20);
    struct spdy_zip *from = spdy_zip_new();
    struct spdy_zip *to = spdy_zip_new();
    struct spdy_block block;
    struct spdy_header header = {"a", zeros};
    AUTO(buf_done) struct buf b = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    memset(zeros, 'x', (1 << 20) - 1);
    spdy_zip_add(from, &b, &header, 1);
    assert_in_range(b.size, 1, 8192);
    e = spdy_zip_read(to, (struct str){b.at, b.size}, &block);
    assert_string_equal(err_message(e), "header block of more than 8192 bytes");
    spdy_zip_free(from);
    spdy_zip_free(to);
}

static void blocks_come_back_as_they_were(void **state)
{
    static const struct spdy_header headers[] = {{"port", "8080"}, {"empty", ""}, {"x", "y z"}};
    struct spdy_zip *from = spdy_zip_new();
    struct spdy_zip *to = spdy_zip_new();

    (void)state;
    for (int round = 0; round < 100; round++) {
        AUTO(buf_done) struct buf b = {0};
        struct spdy_block block;
        size_t n = (size_t)round % (COUNT(headers) + 1);

        spdy_zip_add(from, &b, headers, n);
        assert_null(spdy_zip_read(to, (struct str){b.at, b.size}, &block));
        assert_int_equal(block.n, n);
        for (size_t i = 0; i < n; i++)
            assert_string_equal(spdy_header_get(block.headers, n, headers[i].name),
                                headers[i].value);
        assert_null(spdy_header_get(block.headers, n, "none"));
    }
    spdy_zip_free(from);
    spdy_zip_free(to);
}

static void names_are_in_lower_case_and_few(void **state)
{
    struct spdy_header many[SPDY_HEADERS_MAX + 1];
    static const struct spdy_header upper = {"Port", "1"};
    struct spdy_zip *from = spdy_zip_new();
    struct spdy_zip *to = spdy_zip_new();
    AUTO(buf_done) struct buf b = {0};
    struct spdy_block block;
    struct err *e;

    (void)state;
    spdy_zip_add(from, &b, &upper, 1);
    e = spdy_zip_read(to, (struct str){b.at, b.size}, &block);
    assert_string_equal(err_message(e), "header name 'Port' is empty or not in lower case");
    err_free(e);
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = (struct spdy_header){"a", "b"};
    buf_clear(&b);
    spdy_zip_add(from, &b, many, COUNT(many));
    e = spdy_zip_read(to, (struct str){b.at, b.size}, &block);
    assert_string_equal(err_message(e), "33 headers: at most 32 are allowed");
    err_free(e);
    spdy_zip_free(from);
    spdy_zip_free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carries_streams_both_ways),
        cmocka_unit_test(reads_what_kubectl_sends),
        cmocka_unit_test(answers_pings_of_the_other_side_alone),
        cmocka_unit_test(keeps_windows_once_they_are_named),
        cmocka_unit_test(settings_move_the_first_window),
        cmocka_unit_test(bounds_the_streams),
        cmocka_unit_test(a_reset_stream_is_gone),
        cmocka_unit_test(refuses_what_breaks_the_protocol),
        cmocka_unit_test(a_block_that_grows_is_refused),
        cmocka_unit_test(blocks_come_back_as_they_were),
        cmocka_unit_test(names_are_in_lower_case_and_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
