/* test_api_proxy.c - paths and headers of proxied requests; test_proxy.py sends whole ones */

#include "api/proxy_private.h"
#include "base/mem.h"
#include "http/target.h"
#include "test.h"

static void the_path_behind_a_proxy_passes_as_it_came(void **state)
{
    static const struct {
        const char *path;
        const char *rest; /* NULL: no proxy */
    } cases[] = {
        {"/api/v1/namespaces/a/pods/p/proxy", ""},
        {"/api/v1/namespaces/a/pods/p/proxy/", "/"},
        {"/api/v1/namespaces/a/services/https:s:1/proxy//x/%2f/../y/", "//x/%2f/../y/"},
        {"/api/v1/nodes/n/proxy/logs", "/logs"},
        {"/api/v1/namespaces/a/pods/p/log", NULL},
        {"/api/v1/namespaces/a/pods/proxy", NULL},
        {"/api/v1/namespaces/a/proxy/p", NULL},
        {"/api/v1/namespaces/a/pods/p/proxyx", NULL},
        {"/apis/v1/namespaces/a/pods/p/proxy", NULL},
        {"/api/v1/proxy/namespaces/a/pods/proxy", NULL},
        {"/api/v1/pods/p/proxy", NULL},
        {"/", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *rest = target_proxy_rest(cases[i].path);

        if (!text_equal(rest, cases[i].rest))
            fail_msg("%s: %s", cases[i].path, rest ? rest : "none");
    }
}

/* The headers that the client gets. The caller frees them. */
static char *seen(const char *headers)
{
    static const struct proxy_names names = {
        .prefix = "/p/proxy", .host = "mete:7443", .place = "10.1.2.3:80"};
    struct http_answer a = {.keeps_headers = true};
    AUTO(buf_done) struct buf body = {0};
    AUTO_FREE char *text = mem_format("HTTP/1.1 200 OK\r\n%s\r\n", headers);
    struct buf b = {0};

    assert_null(http_answer_read(&a, str_of(text), &body));
    proxy_add_answer_headers(&b, &a, &names);
    http_answer_done(&a);
    return buf_steal(&b);
}

static void headers_of_the_connection_stay_behind(void **state)
{
    static const char *const cases[][2] = {
        {"X: 1\r\nset-cookie: a\r\nset-cookie: b\r\n",
         "X: 1\r\nset-cookie: a\r\nset-cookie: b\r\n"},
        {"Connection: close, X-Own\r\nX-Own: 1\r\nKeep-Alive: 5\r\nA: 1\r\n", "A: 1\r\n"},
        {"TRANSFER-ENCODING: chunked\r\nTrailer: x\r\nUpgrade: h2c\r\n", ""},
        {"A: 1\nB: 2\r\nC: \x01\r\nno colon\r\n: x\r\nD:\r\n", "D:\r\n"},
        {"Location: /x?y#z\r\n", "Location: /p/proxy/x?y#z\r\n"},
        {"location: /p/proxy/x\r\n", "Location: /p/proxy/x\r\n"},
        {"Location: x/y\r\n", "Location: x/y\r\n"},
        {"Location: http://10.1.2.3:80/x\r\n", "Location: /p/proxy/x\r\n"},
        {"Location: https://mete:7443?q\r\n", "Location: /p/proxy/?q\r\n"},
        {"Location: //mete:7443/x\r\n", "Location: /p/proxy/x\r\n"},
        {"Location: http://10.1.2.3:81/x\r\n", "Location: http://10.1.2.3:81/x\r\n"},
        {"Location: //elsewhere/x\r\n", "Location: //elsewhere/x\r\n"},
        {"Location: \r\n", "Location: \r\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *got = seen(cases[i][0]);

        assert_string_equal(got, cases[i][1]);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_behind_a_proxy_passes_as_it_came),
        cmocka_unit_test(headers_of_the_connection_stay_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
