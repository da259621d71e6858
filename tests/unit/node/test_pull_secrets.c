/* test_pull_secrets.c - choice of a registry's credentials from pull secrets */

#include "base/mem.h"
#include "node/image/pull_secrets.h"
#include "test.h"

/* "u:p" is dTpw, "x:y:z" is eDp5Ono= */
static void the_longest_place_that_fits_counts(void **state)
{
    static const struct {
        const char *text;
        const char *image;
        const char *username; /* NULL: none */
        const char *password;
    } cases[] = {
        {"{\"auths\":{\"reg.io\":{\"auth\":\"dTpw\"}}}", "reg.io/a", "u", "p"},
        {"{\"reg.io\":{\"auth\":\"eDp5Ono=\"}}", "reg.io/a", "x", "y:z"},
        {"{\"auths\":{\"reg.io\":{\"username\":\"n\",\"password\":\"w\"}}}", "reg.io/a", "n", "w"},
        {"{\"auths\":{\"reg.io\":{\"auth\":\"dTpw\"},\"reg.io/team\":{\"auth\":\"eDp5Ono=\"}}}",
         "reg.io/team/a", "x", "y:z"},
        {"{\"auths\":{\"reg.io/team\":{\"auth\":\"eDp5Ono=\"},\"reg.io\":{\"auth\":\"dTpw\"}}}",
         "reg.io/other/a", "u", "p"},
        {"{\"auths\":{\"reg.io/te\":{\"auth\":\"dTpw\"}}}", "reg.io/team/a", NULL, NULL},
        {"{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"dTpw\"}}}", "busybox", "u", "p"},
        {"{\"auths\":{\"https://reg.io/v2/\":{\"auth\":\"dTpw\"}}}", "reg.io/a", "u", "p"},
        {"{\"auths\":{\"reg.io:5000\":{\"auth\":\"dTpw\"}}}", "reg.io/a", NULL, NULL},
        {"{\"auths\":{\"other.io\":{\"auth\":\"dTpw\"}}}", "reg.io/a", NULL, NULL},
        {"{\"auths\":{\"\":{\"auth\":\"dTpw\"}}}", "reg.io/a", NULL, NULL},
        {"{\"auths\":{\"reg.io\":{\"auth\":\"!!\"}}}", "reg.io/a", NULL, NULL},
        {"{\"auths\":{\"reg.io\":{\"auth\":\"dQ==\"}}}", "reg.io/a", NULL, NULL},
        {"{\"auths\":{\"reg.io\":{\"username\":\"a\\nb\"}}}", "reg.io/a", NULL, NULL},
        {"{\"auths\":{\"reg.io\":[]}}", "reg.io/a", NULL, NULL},
        {"{\"auths\":[]}", "reg.io/a", NULL, NULL},
        {"[]", "reg.io/a", NULL, NULL},
        {"", "reg.io/a", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct image_name image = {0};
        struct pull_login login = {0};
        size_t fit = 0;

        assert_null(image_name_parse(cases[i].image, &image));
        pull_secret_read(str_of(cases[i].text), &image, &login, &fit);
        if (!cases[i].username) {
            assert_null(login.username);
            continue;
        }
        if (!login.username)
            fail_msg("none: %s", cases[i].text);
        assert_string_equal(login.username, cases[i].username);
        assert_string_equal(login.password, cases[i].password);
        pull_login_done(&login);
    }
}

static void the_secrets_that_the_pod_names_are_read(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *refs = NULL;
    struct image_name image = {0};
    struct pull_login login = {0};

    (void)state;
    assert_null(json_parse(STR("{\"spec\":{\"imagePullSecrets\":[{\"name\":\"gone\"},{\"name\":"
                               "\"s\"}]}}"),
                           &pod));
    /* {"reg.io":{"auth":"dTpw"}} */
    assert_null(json_parse(STR("{\"secrets/s\":{\"data\":{\".dockercfg\":"
                               "\"eyJyZWcuaW8iOnsiYXV0aCI6ImRUcHcifX0=\"}},"
                               "\"secrets/other\":{\"data\":{}}}"),
                           &refs));
    assert_null(image_name_parse("reg.io/a", &image));
    pull_secrets_find(pod, refs, &image, &login);
    assert_string_equal(login.username, "u");
    assert_string_equal(login.password, "p");
    pull_login_done(&login);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_place_that_fits_counts),
        cmocka_unit_test(the_secrets_that_the_pod_names_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
