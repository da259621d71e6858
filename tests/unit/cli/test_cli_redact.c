/* test_cli_redact.c - secrets leave no text */

#include "base/mem.h"
#include "cli/admin/redact.h"
#include "test.h"

static void secrets_go_and_the_rest_stays(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"level=warn msg=\"gpu is lost\" gpu=GPU-1\n",
         "level=warn msg=\"gpu is lost\" gpu=GPU-1\n"},
        {"password: hunter2\nport: 5\n", "password: [secret]\nport: 5\n"},
        {"DB_PASSWORD=hunter2 now\nx", "DB_PASSWORD=[secret]\nx"},
        {"{\"token\":\"abc\",\"name\":\"n\"}", "{\"token\":\"[secret]\",\"name\":\"n\"}"},
        {"{\"client-key-data\": \"LS0tLS1\"}", "{\"client-key-data\": \"[secret]\"}"},
        {"{\"t\":\"{\\\"apiKey\\\":\\\"k\\\"}\"}", "{\"t\":\"{\\\"apiKey\\\":\\\"[secret]\\\"}\"}"},
        {"Authorization: Bearer abc.def\nnext", "Authorization: [secret]\nnext"},
        {"secrets: [a, b]\n", "secrets: [a, b]\n"}, /* names of secrets are none */
        {"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nx",
         "-----BEGIN [secret]-----END [secret]"},
        {"a eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl b", "a [secret] b"},
        {"the node said 0123abcd twice: 0123abcd", "the node said [secret] twice: [secret]"},
        {"Web page: http://127.0.0.1:7480/in#k=bc5f9f\nnext",
         "Web page: http://127.0.0.1:7480/in[secret]\nnext"},
        {"", ""},
    };
    static const char *const known[] = {"", "0123abcd", NULL};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *found = redact(str_of(cases[i].text), known);

        assert_string_equal(found, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_go_and_the_rest_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
