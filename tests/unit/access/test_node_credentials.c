/* test_node_credentials.c - tests of nodes.yaml */

#include "access/node_credentials.h"
#include "base/mem.h"
#include "test.h"

#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ONE "nodes:\n- name: n1\n  tokenSha256: \"" HEX "\"\n"

static void an_entry_is_a_node_and_nothing_more(void **state)
{
    struct users *users = NULL;

    (void)state;
    assert_null(node_credentials_parse("f", STR(ONE), &users));
    assert_int_equal(users->n, 1);
    assert_string_equal(users->at[0].name, "system:node:n1");
    assert_int_equal(users->at[0].n_groups, 1);
    assert_string_equal(users->at[0].groups[0], "system:nodes");
    assert_int_equal(users->at[0].n_grants, 0);
    assert_int_equal(users->at[0].uid, -1);
    assert_int_equal(users->at[0].host_uid, -1);
    assert_true(users->at[0].has_token);
    assert_int_equal(users->at[0].token[1], 0x11);
    users_free(users);
}

static void an_empty_file_has_no_nodes(void **state)
{
    static const char *const texts[] = {"", "# none\n", "nodes:\n", "nodes: []\n", "{}"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct users *users = NULL;

        assert_null(node_credentials_parse("f", str_of(texts[i]), &users));
        assert_int_equal(users->n, 0);
        users_free(users);
    }
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"users: []", "f: unknown key 'users'"},
        {"nodes: {}", "f: nodes: want a list of at most 4096"},
        {"nodes:\n- name: n1\n", "f: nodes[0]: tokenSha256 is missing"},
        {"nodes:\n- name: n1\n  roles: []\n", "f: nodes[0]: unknown key 'roles'"},
        {"nodes:\n- name: n1\n  groups: [\"system:masters\"]\n",
         "f: nodes[0]: unknown key 'groups'"},
        {"nodes:\n- name: n1\n  tokenSha256: abc\n",
         "f: nodes[0]: tokenSha256: want 64 lower-case hexadecimal digits in quotes"},
        {ONE "- name: n1\n  tokenSha256: \"" HEX "\"\n", "f: nodes[1]: a node has two entries"},
        {"{}\n---\n{}\n", "f: want one document"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct users *users = NULL;
        AUTO(err_freep) struct err *e = node_credentials_parse("f", str_of(cases[i].text), &users);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_null(users);
    }
    {
        struct users *users = NULL;
        AUTO(err_freep)
        struct err *e = node_credentials_parse("f", STR("nodes:\n- name: ../x\n"), &users);

        assert_non_null(e); /* a name of an object, as in a path */
    }
}

static void setting_one_keeps_the_others(void **state)
{
    static const uint8_t digest[SHA256_SIZE] = {0xab};
    AUTO_FREE char *first = NULL;
    AUTO_FREE char *second = NULL;
    AUTO_FREE char *again = NULL;
    AUTO_FREE char *bad = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct users *users = NULL;

    (void)state;
    assert_null(node_credentials_set("f", STR(ONE), "n2", digest, &first));
    assert_null(node_credentials_parse("f", str_of(first), &users));
    assert_int_equal(users->n, 2);
    assert_string_equal(users->at[0].name, "system:node:n1");
    assert_int_equal(users->at[0].token[1], 0x11);
    assert_string_equal(users->at[1].name, "system:node:n2");
    assert_int_equal(users->at[1].token[0], 0xab);
    users_free(users);
    assert_null(node_credentials_set("f", str_of(first), "n2", digest, &again));
    assert_null(again); /* nothing to write */
    assert_null(node_credentials_set("f", str_of(first), "n1", digest, &second));
    assert_null(node_credentials_parse("f", str_of(second), &users));
    assert_int_equal(users->n, 2);
    assert_int_equal(users->at[0].token[0], 0xab);
    users_free(users);
    e = node_credentials_set("f", STR("nodes: 1"), "n1", digest, &bad);
    assert_non_null(e); /* a file that is not understood is not overwritten */
    assert_null(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_a_node_and_nothing_more),
        cmocka_unit_test(an_empty_file_has_no_nodes),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(setting_one_keeps_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
