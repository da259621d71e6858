/* test_api_http_head.c - heads of requests, valid and hostile, and chunked bodies */

#include "base/mem.h"
#include "http/http_head.h"
#include "test.h"

static struct err *parse(const char *text, struct http_head *ret, char **ret_copy)
{
    *ret_copy = mem_strdup(text);
    return http_head_parse(*ret_copy, strlen(text), ret);
}

static void reads_a_request(void **state)
{
    struct http_head head = {0};
    AUTO_FREE char *copy = NULL;

    (void)state;
    assert_null(parse("PATCH /api/v1/pods?a=b&c HTTP/1.1\r\nHost: x\r\nContent-Length:  12 \r\n"
                      "Expect: 100-Continue\r\nConnection: keep-alive, Close\r\n\r\n",
                      &head, &copy));
    assert_string_equal(head.method, "PATCH");
    assert_string_equal(head.path, "/api/v1/pods");
    assert_string_equal(head.query, "a=b&c");
    assert_int_equal(head.content_length, 12);
    assert_true(head.wants_continue);
    assert_true(head.wants_close);
    assert_false(head.is_chunked);
    assert_int_equal(head.n_headers, 4);
    assert_string_equal(head.headers[1].name, "content-length");
    assert_string_equal(head.headers[1].value, "12");
}

static void refuses_what_two_readers_could_take_differently(void **state)
{
#define GET "GET / HTTP/1.1\r\nHost: x\r\n"
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"GET /\r\n\r\n", "malformed request line: want METHOD TARGET HTTP/1.1"},
        {"get / HTTP/1.1\r\nHost: x\r\n\r\n", "malformed method in the request line"},
        {" / HTTP/1.1\r\nHost: x\r\n\r\n", "malformed method in the request line"},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", "protocol version is not supported: want HTTP/1.1"},
        {"GET / HTTP/1.1 \r\nHost: x\r\n\r\n", "protocol version is not supported: want HTTP/1.1"},
        {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "request target does not begin with '/'"},
        {"GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", "byte 0x23 in the request target is not allowed"},
        {"GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n",
         "byte 0xc3 in the request target is not allowed"},
        {"GET / HTTP/1.1\r\n\r\n", "header 'host' is missing"},
        {GET "Host: y\r\n\r\n", "header 'host' is given twice"},
        {GET "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
         "header 'content-length' is given twice"},
        {GET "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         "content-length and transfer-encoding exclude each other"},
        {GET "Content-Length: +5\r\n\r\n", "content-length is not a decimal number of bytes"},
        {GET "Content-Length: -5\r\n\r\n", "content-length is not a decimal number of bytes"},
        {GET "Content-Length: 0x5\r\n\r\n", "content-length is not a decimal number of bytes"},
        {GET "Content-Length: 5, 5\r\n\r\n", "content-length is not a decimal number of bytes"},
        {GET "Content-Length: \r\n\r\n", "content-length is not a decimal number of bytes"},
        {GET "Content-Length: 99999999999999999999\r\n\r\n",
         "content-length is not a decimal number of bytes"},
        {GET "Transfer-Encoding: gzip, chunked\r\n\r\n",
         "transfer-encoding other than 'chunked' is not supported"},
        {GET "Transfer-Encoding: xchunked\r\n\r\n",
         "transfer-encoding other than 'chunked' is not supported"},
        {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
         "transfer-encoding other than 'chunked' is not supported"},
        {GET "Content-Length : 5\r\n\r\n", "byte 0x20 in a header's name is not allowed"},
        {GET "X: a\r\n b\r\n\r\n", "folded header lines are not accepted"},
        {GET "X: a\rb\r\n\r\n", "control byte 0x0d in the request's head"},
        {GET "X: a\x01\r\n\r\n", "control byte 0x01 in the request's head"},
        {GET "X: a\x7f\r\n\r\n", "control byte 0x7f in the request's head"},
        {GET "X\r\n\r\n", "header line without a name and a colon"},
        {GET ": x\r\n\r\n", "header line without a name and a colon"},
        {GET "X: a\n\r\n", "lines of a request's head end in CR LF"},
        {GET "Authorization: a\r\nAuthorization: b\r\n\r\n",
         "header 'authorization' is given twice"},
        {GET "Expect: a miracle\r\n\r\n", "header 'expect' has a value other than 100-continue"},
    };
#undef GET

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_head head = {.content_length = 42};
        AUTO_FREE char *copy = NULL;
        AUTO(err_freep) struct err *e = parse(cases[i].text, &head, &copy);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 400);
        assert_int_equal(head.content_length, 42);
    }
}

static void refuses_a_nul_in_a_header(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n";
    char copy[sizeof(text)];
    struct http_head head = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    (void)memcpy(copy, text, sizeof(text));
    e = http_head_parse(copy, sizeof(text) - 1, &head);
    assert_non_null(e);
    assert_string_equal(err_message(e), "control byte 0x00 in the request's head");
}

static void refuses_too_many_headers(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    AUTO_FREE char *copy = NULL;
    struct http_head head = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    buf_add_text(&b, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < HTTP_HEADERS_MAX; i++)
        buf_printf(&b, "X-%d: 1\r\n", i);
    buf_add_text(&b, "\r\n");
    e = parse(b.at, &head, &copy);
    assert_non_null(e);
    assert_string_equal(err_message(e), "more than 64 headers");
}

/* Feeds `text` in pieces of `step` bytes. */
static struct err *read_chunks(const char *text, size_t step, struct buf *body,
                               struct http_chunks *c)
{
    size_t size = strlen(text);

    for (size_t at = 0; at < size && c->state != CHUNK_DONE;) {
        size_t n = size - at < step ? size - at : step;
        size_t used = 0;

        TRY(http_chunks_read(c, (struct str){.at = text + at, .size = n}, body, &used));
        at += used;
    }
    return NULL;
}

static void reads_chunks_however_they_arrive(void **state)
{
    static const char text[] =
        "5\r\nhello\r\n1;name=value\r\n \r\nA\r\nworld, you\r\n0\r\nTrailer: x\r\n\r\n";

    (void)state;
    for (size_t step = 1; step < sizeof(text); step++) {
        AUTO(buf_done) struct buf body = {.cap = 100};
        struct http_chunks c = {0};

        assert_null(read_chunks(text, step, &body, &c));
        assert_int_equal(c.state, CHUNK_DONE);
        assert_string_equal(body.at, "hello world, you");
    }
}

static void refuses_what_is_no_chunk(void **state)
{
    static const struct {
        const char *text;
        int http;
    } cases[] = {
        {"\r\n", 400},
        {"x\r\n", 400},
        {"0x5\r\nhello\r\n", 400},
        {"+5\r\nhello\r\n", 400},
        {"5\nhello\r\n", 400},
        {"5\r\nhelloX\r\n", 400},
        {"5 \r\nhello\r\n", 400},
        {"ffffffffff\r\n", 413},
        {"33\r\n012345678901234567890123456789012345678901234567890\r\n", 413},
        {"5;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 400},
        {"0\r\nX: y\n\r\n", 400},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(buf_done) struct buf body = {.cap = 50};
        struct http_chunks c = {0};
        AUTO(err_freep) struct err *e = read_chunks(cases[i].text, 7, &body, &c);

        assert_non_null(e);
        assert_int_equal(err_http(e), cases[i].http);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_request),
        cmocka_unit_test(refuses_what_two_readers_could_take_differently),
        cmocka_unit_test(refuses_a_nul_in_a_header),
        cmocka_unit_test(refuses_too_many_headers),
        cmocka_unit_test(reads_chunks_however_they_arrive),
        cmocka_unit_test(refuses_what_is_no_chunk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
