/* test_image_index.c - tests of the image index */

#include "base/mem.h"
#include "node/image/image_index.h"
#include "test.h"

#define ID_A "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define L1   "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define L2   "sha256:2222222222222222222222222222222222222222222222222222222222222222"
#define L3   "sha256:3333333333333333333333333333333333333333333333333333333333333333"

/* Image A has layers 1 and 2, image B has 1, 3, 1. */
static json_t *two_images(void)
{
    json_t *index = image_index_new();
    AUTO(json_freep) json_t *config = json_object();
    AUTO(json_freep) json_t *a = json_pack("[s,s]", L1, L2);
    AUTO(json_freep) json_t *b = json_pack("[s,s,s]", L1, L3, L1);

    image_index_add_layer(index, L1, "00000001", 100, false);
    image_index_add_layer(index, L2, "00000002", 20, false);
    image_index_add_layer(index, L3, "00000003", 3, false);
    image_index_add(index, ID_A, config, a, 7);
    image_index_add(index, ID_B, config, b, 8);
    image_index_tag(index, ID_A, "docker.io/t/a:1");
    image_index_tag(index, ID_B, "docker.io/t/b:1");
    return index;
}

static void a_name_is_one_images(void **state)
{
    AUTO(json_freep) json_t *index = two_images();

    (void)state;
    assert_string_equal(image_index_find(index, "docker.io/t/a:1"), ID_A);
    image_index_tag(index, ID_B, "docker.io/t/a:1");
    assert_string_equal(image_index_find(index, "docker.io/t/a:1"), ID_B);
    image_index_untag(index, "docker.io/t/a:1");
    assert_null(image_index_find(index, "docker.io/t/a:1"));
    assert_null(image_index_check(index));
}

static void sizes_add_up_and_lower_dirs_begin_at_the_top(void **state)
{
    AUTO(json_freep) json_t *index = two_images();
    AUTO_FREE char *a = image_index_lower_dirs(index, ID_A);
    AUTO_FREE char *b = image_index_lower_dirs(index, ID_B);

    (void)state;
    assert_int_equal(image_index_size(index, ID_A), 120);
    assert_string_equal(a, "00000002:00000001");
    assert_string_equal(b, "00000001:00000003"); /* each layer once: the upper counts */
}

static void an_opaque_layer_ends_the_stack(void **state)
{
    AUTO(json_freep) json_t *index = two_images();
    AUTO_FREE char *a = NULL;

    (void)state;
    image_index_add_layer(index, L2, "00000002", 20, true);
    a = image_index_lower_dirs(index, ID_A);
    assert_string_equal(a, "00000002");
}

static void layers_go_with_the_last_image_that_has_them(void **state)
{
    AUTO(json_freep) json_t *index = two_images();
    AUTO(json_freep) json_t *none = image_index_sweep(index);
    AUTO(json_freep) json_t *two = NULL;
    AUTO(json_freep) json_t *rest = NULL;

    (void)state;
    assert_int_equal(json_array_size(none), 0);
    image_index_remove(index, ID_A);
    two = image_index_sweep(index);
    assert_int_equal(json_array_size(two), 1);
    assert_string_equal(json_string_value(json_array_get(two, 0)), "00000002");
    assert_null(image_index_check(index));
    image_index_remove(index, ID_B);
    rest = image_index_sweep(index);
    assert_int_equal(json_array_size(rest), 2);
}

static void an_index_that_is_damaged_is_not_taken(void **state)
{
    static const char *const cases[] = {
        "{}",
        "[]",
        "{\"version\":2,\"images\":{},\"layers\":{}}",
        "{\"version\":1,\"images\":[],\"layers\":{}}",
        "{\"version\":1,\"images\":{\"x\":{\"config\":{}}},\"layers\":{}}",
        "{\"version\":1,\"images\":{\"" ID_A "\":{\"layers\":[\"" L1
        "\"],\"config\":{}}},\"layers\":{}}",
        "{\"version\":1,\"images\":{\"" ID_A "\":{\"names\":[\"A B\"],\"config\":{}}},"
        "\"layers\":{}}",
        "{\"version\":1,\"images\":{\"" ID_A "\":{}},\"layers\":{}}",
        "{\"version\":1,\"images\":{},\"layers\":{\"" L1
        "\":{\"dir\":\"../../../x\",\"sizeBytes\":1}}}",
        "{\"version\":1,\"images\":{},\"layers\":{\"" L1 "\":{\"dir\":\"..\",\"sizeBytes\":1}}}",
        "{\"version\":1,\"images\":{},\"layers\":{\"" L1
        "\":{\"dir\":\"0000000a\",\"sizeBytes\":-1}}}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *index = NULL;
        AUTO(err_freep) struct err *e = NULL;

        assert_null(json_parse(str_of(cases[i]), &index));
        e = image_index_check(index);
        if (!e)
            fail_msg("taken: %s", cases[i]);
        assert_int_equal(err_code(e), ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_one_images),
        cmocka_unit_test(sizes_add_up_and_lower_dirs_begin_at_the_top),
        cmocka_unit_test(an_opaque_layer_ends_the_stack),
        cmocka_unit_test(layers_go_with_the_last_image_that_has_them),
        cmocka_unit_test(an_index_that_is_damaged_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
