/* test_image_name.c - tests of image names */

#include <string.h>

#include "base/mem.h"
#include "model/image_name.h"
#include "test.h"

static void short_names_become_long_as_docker_makes_them(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"busybox", "docker.io/library/busybox:latest"},
        {"busybox:1.36", "docker.io/library/busybox:1.36"},
        {"team/app", "docker.io/team/app:latest"},
        {"docker.io/busybox", "docker.io/library/busybox:latest"},
        {"index.docker.io/team/app", "docker.io/team/app:latest"},
        {"localhost/app", "localhost/app:latest"},
        {"localhost:5000/a/b/c:x_Y.z-1", "localhost:5000/a/b/c:x_Y.z-1"},
        {"registry.example.com/app", "registry.example.com/app:latest"},
        {"UPPER/app", "UPPER/app:latest"},
        {"a__b/c-d/e---f", "docker.io/a__b/c-d/e---f:latest"},
        {"app:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
         "docker.io/library/"
         "app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct image_name n = {0};
        struct image_name again = {0};
        char text[IMAGE_NAME_SIZE];

        assert_null(image_name_parse(cases[i].text, &n));
        image_name_format(&n, text);
        assert_string_equal(text, cases[i].want);
        assert_null(image_name_parse(text, &again));
        image_name_format(&again, text);
        assert_string_equal(text, cases[i].want);
    }
}

static void what_is_no_name_is_refused_and_says_why(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "is empty"},
        {"Busybox", "'Busybox' is no part of a repository"},
        {"a//b", "'' is no part"},
        {"/a", "'' is no part"},
        {"a/", "'' is no part"},
        {"a..b", "'a..b' is no part"},
        {"a___b", "'a___b' is no part"},
        {"-a", "'-a' is no part"},
        {"a-", "'a-' is no part"},
        {"a b", "'a b' is no part"},
        {"a:", "'' is not a tag"},
        {"a:.x", "'.x' is not a tag"},
        {"a:x/y", "'a:x' is not a registry"},
        {"a@sha256:12", "the digest is not"},
        {"a@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "the digest"},
        {"a@", "the digest"},
        {"ex_ample.com/a", "is not a registry"},
        {"localhost:port/a", "is not a registry"},
        {"localhost:/a", "is not a registry"},
        {"../etc/passwd", "'..' is not a registry"},
        {"a\nb", "is no part"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct image_name n = {.tag = "kept"};
        AUTO(err_freep) struct err *e = image_name_parse(cases[i].text, &n);

        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_INVALID);
        if (!strstr(err_message(e), cases[i].says))
            fail_msg("'%s': %s", cases[i].text, err_message(e));
        assert_string_equal(n.tag, "kept");
    }
}

static void names_have_bounds(void **state)
{
    AUTO_FREE char *name = mem_alloc(1000);
    struct image_name n = {0};

    (void)state;
    memset(name, 'a', 237); /* "docker.io/library/" and 237 are 255 */
    assert_null(image_name_parse(name, &n));
    name[237] = 'a';
    err_free(image_name_parse(name, &n));
    assert_int_equal(strlen(n.repository), 255);
    memset(name, 'a', 999);
    {
        AUTO(err_freep) struct err *e = image_name_parse(name, &n);

        assert_non_null(e);
    }
}

static void a_registry_stands_before_the_first_slash(void **state)
{
    struct image_name n = {0};
    char registry[IMAGE_REPOSITORY_SIZE];

    (void)state;
    assert_null(image_name_parse("127.0.0.1:5000/a/b", &n));
    image_name_registry(&n, registry);
    assert_string_equal(registry, "127.0.0.1:5000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_names_become_long_as_docker_makes_them),
        cmocka_unit_test(what_is_no_name_is_refused_and_says_why),
        cmocka_unit_test(names_have_bounds),
        cmocka_unit_test(a_registry_stands_before_the_first_slash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
