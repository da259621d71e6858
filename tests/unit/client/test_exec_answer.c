/* test_exec_answer.c - what credential plugins print, and what is no credential */

#include "base/mem.h"
#include "client/exec_answer.h"
#include "test.h"

#define V1 "client.authentication.k8s.io/v1"
#define ANSWER(status) \
    "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{" status "}}"

static void reads_tokens_and_certificates(void **state)
{
    struct exec_answer a = {0};

    (void)state;
    assert_null(exec_answer_parse(str_of(ANSWER("\"token\":\"t\"")), V1, &a));
    assert_string_equal(a.token, "t");
    assert_null(a.cert);
    assert_true(a.expires_ns == INT64_MAX);
    exec_answer_done(&a);
    assert_null(
        exec_answer_parse(str_of(ANSWER("\"expirationTimestamp\":\"1970-01-01T00:00:02Z\","
                                        "\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\"")),
                          V1, &a));
    assert_null(a.token);
    assert_string_equal(a.cert, "C");
    assert_string_equal(a.key, "K");
    assert_true(a.expires_ns == INT64_C(2000000000));
    exec_answer_done(&a);
}

static void says_what_is_wrong_without_showing_it(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "its output is no JSON"},
        {"secret", "its output is no JSON"},
        {"[]", "its output: want kind ExecCredential of " V1 ", not no kind of no apiVersion"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\"}",
         "its output: want kind ExecCredential of " V1 ", not ExecCredential of " V1 "beta1"},
        {ANSWER(""),
         "its output: status: want a token, or clientCertificateData and clientKeyData"},
        {ANSWER("\"token\":\"\""),
         "its output: status: want a token, or clientCertificateData and clientKeyData"},
        {ANSWER("\"token\":7"),
         "its output: status: want a token, or clientCertificateData and clientKeyData"},
        {ANSWER("\"token\":\"a\\r\\nX: y\""),
         "its output: status.token has a space or a control character"},
        {ANSWER("\"token\":\"t\",\"clientKeyData\":\"K\""),
         "its output: status: clientCertificateData and clientKeyData need each other"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exec_answer a = {0};
        AUTO(err_freep) struct err *e = exec_answer_parse(str_of(cases[i].text), V1, &a);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), 401);
        assert_null(a.token);
    }
}

static void refuses_a_time_that_is_none(void **state)
{
    struct exec_answer a = {0};
    AUTO(err_freep)
    struct err *e = exec_answer_parse(
        str_of(ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"soon\"")), V1, &a);

    (void)state;
    assert_non_null(e);
    assert_null(a.token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tokens_and_certificates),
        cmocka_unit_test(says_what_is_wrong_without_showing_it),
        cmocka_unit_test(refuses_a_time_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
