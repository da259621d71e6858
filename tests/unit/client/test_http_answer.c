/* test_http_answer.c - answers of servers, whole and byte by byte, and malformed ones */

#include "base/mem.h"
#include "client/http_answer.h"
#include "test.h"

/* "200 body|warnings", or the error. The caller frees it. */
static char *read_answer(const char *text, size_t step)
{
    struct http_answer a = {0};
    AUTO(buf_done) struct buf body = {.cap = 64};
    AUTO(err_freep) struct err *e = NULL;
    size_t size = strlen(text);
    char *told;

    for (size_t at = 0; !e && at < size; at += step)
        e = http_answer_read(&a, (struct str){text + at, size - at < step ? size - at : step},
                             &body);
    if (!e)
        e = http_answer_end(&a);
    told = e ? mem_format("<%d %s>", err_http(e), err_message(e))
             : mem_format("%d %s|%s", a.status, body.at ? body.at : "",
                          a.warnings.at ? a.warnings.at : "");
    http_answer_done(&a);
    return told;
}

static void reads_answers_however_they_arrive(void **state)
{
    static const struct {
        const char *text;
        const char *told;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok|"},
        {"HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nok and more", "200 ok|"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
         "200 abcd|"},
        {"HTTP/1.0 404 Not Found\r\n\r\nto the end", "404 to the end|"},
        {"HTTP/1.1 100 Continue\r\nWarning: 299 - \"early\"\r\n\r\nHTTP/1.1 204 x\r\n\r\n",
         "204 |"},
        {"HTTP/1.1 201 x\r\nWarning: 299 - \"a \\\"b\\\"\"\r\nwarning: 299 - \"c\"\r\n"
         "Content-Length: 0\r\n\r\n",
         "201 |a \"b\"\nc"},
        {"", "<503 the server closed the connection without an answer>"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
         "<503 the server closed the connection within its answer>"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
         "<503 the server closed the connection within its answer>"},
        {"SSH-2.0-OpenSSH\r\n\r\n", "<503 the server does not speak HTTP>"},
        {"HTTP/1.1 2000 OK\r\n\r\n", "<503 the server does not speak HTTP>"},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
         "<503 the server's answer has a wrong content-length>"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
         "<503 the server's answer has a wrong content-length>"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
         "<503 the server's answer has the transfer-encoding \"gzip\">"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
         "<503 the server's answer: malformed chunk size>"},
        {"HTTP/1.1 200 OK\r\n\r\n"
         "0123456789012345678901234567890123456789012345678901234567890123456789",
         "<413 the answer has more than 64 bytes>"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t step = 1; step <= 64; step = step < 8 ? step + 1 : step * 2) {
            AUTO_FREE char *told = read_answer(cases[i].text, step);

            assert_string_equal(told, cases[i].told);
        }
    }
}

static void a_head_without_an_end_is_refused(void **state)
{
    AUTO_FREE char *text = mem_alloc(100001);
    AUTO_FREE char *told = NULL;

    (void)state;
    memset(text, 'a', 100000);
    told = read_answer(text, 4096);
    assert_string_equal(told, "<503 the head of the server's answer is too long>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_answers_however_they_arrive),
        cmocka_unit_test(a_head_without_an_end_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
