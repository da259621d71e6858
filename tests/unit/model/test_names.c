/* test_names.c - names of objects, labels, environment variables and keys */

#include <string.h>

#include "model/names.h"
#include "test.h"

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct name_case {
    const char *text;
    const char *words; /* begins the message; NULL: the name is right */
};

static void check_all(struct err *(*check)(const char *name), const struct name_case *cases,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO(err_freep) struct err *e = check(cases[i].text);

        if (!cases[i].words) {
            if (e)
                fail_msg("'%s': %s", cases[i].text, err_message(e));
            continue;
        }
        if (!e)
            fail_msg("'%s' was accepted", cases[i].text);
        assert_int_equal(err_http(e), 422);
        if (strncmp(err_message(e), cases[i].words, strlen(cases[i].words)) != 0)
            fail_msg("'%s': %s", cases[i].text, err_message(e));
    }
}

static void labels_are_rfc_1123_labels(void **state)
{
    static const struct name_case cases[] = {
        {"a", NULL},
        {"my-name", NULL},
        {"123-abc", NULL},
        {A63, NULL},
        {A63 "a", "must be no more than 63 characters"},
        {"", "a lowercase RFC 1123 label must consist of"},
        {"-a", "a lowercase RFC 1123 label"},
        {"a-", "a lowercase RFC 1123 label"},
        {"A", "a lowercase RFC 1123 label"},
        {"a.b", "a lowercase RFC 1123 label"},
        {"a_b", "a lowercase RFC 1123 label"},
        {"\xd0\xb0", "a lowercase RFC 1123 label"},
    };

    (void)state;
    check_all(name_check_label, cases, COUNT(cases));
}

static void subdomains_are_labels_with_dots(void **state)
{
    static const struct name_case cases[] = {
        {"example.com", NULL},
        {"a", NULL},
        {"a-1.b-2.c", NULL},
        {A63 "." A63 "." A63 "." A63, "must be no more than 253 characters"},
        {"X_", "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
               "'-' or '.', and must start and end with an alphanumeric character (e.g. "
               "'example.com', regex used for validation is "
               "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
        {"..", "a lowercase RFC 1123 subdomain"},
        {"a..b", "a lowercase RFC 1123 subdomain"},
        {".a", "a lowercase RFC 1123 subdomain"},
        {"a.", "a lowercase RFC 1123 subdomain"},
        {"a/b", "a lowercase RFC 1123 subdomain"},
        {"a\nb", "a lowercase RFC 1123 subdomain"},
    };

    (void)state;
    check_all(name_check_subdomain, cases, COUNT(cases));
}

static void qualified_names_have_one_prefix(void **state)
{
    static const struct name_case cases[] = {
        {"name", NULL},
        {"My.Name_1", NULL},
        {"nvidia.com/gpu", NULL},
        {"a/b/c", "a qualified name must consist of"},
        {"/a", "prefix part must be non-empty"},
        {"a/", "name part must be non-empty"},
        {"", "name part must be non-empty"},
        {"Ab/c", "prefix part a lowercase RFC 1123 subdomain"},
        {"a/" A63 "a", "name part must be no more than 63 characters"},
        {"a b", "name part must consist of"},
        {"-a", "name part must consist of"},
    };

    (void)state;
    check_all(name_check_qualified, cases, COUNT(cases));
}

static void label_values_may_be_empty(void **state)
{
    static const struct name_case cases[] = {
        {"", NULL},
        {"My_Value.1", NULL},
        {A63 "a", "must be no more than 63 characters"},
        {"a b", "a valid label must be an empty string or consist of"},
        {"-", "a valid label must be"},
    };

    (void)state;
    check_all(name_check_label_value, cases, COUNT(cases));
}

static void variables_and_keys_have_their_own_rules(void **state)
{
    static const struct name_case variables[] = {
        {"PATH", NULL},
        {"my.env-name_1", NULL},
        {"1A", NULL},
        {"a b~", NULL},
        {"..", NULL},
        {"A=B", "a valid environment variable name must consist only of printable ASCII"},
        {"", "a valid environment variable name"},
        {"a\tb", "a valid environment variable name"},
        {"\xc3\xa9", "a valid environment variable name"},
    };
    static const struct name_case keys[] = {
        {"key.name", NULL},
        {"KEY_NAME", NULL},
        {"a/b", "a valid config key must consist of"},
        {"", "a valid config key"},
        {".", "must not be '.'"},
        {"..data", "must not start with '..'"},
    };

    (void)state;
    check_all(name_check_env, variables, COUNT(variables));
    check_all(name_check_config_key, keys, COUNT(keys));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_rfc_1123_labels),
        cmocka_unit_test(subdomains_are_labels_with_dots),
        cmocka_unit_test(qualified_names_have_one_prefix),
        cmocka_unit_test(label_values_may_be_empty),
        cmocka_unit_test(variables_and_keys_have_their_own_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
