/* test_top_items.c - a list is split into its items, however its text arrives */

#include "base/mem.h"
#include "base/vec.h"
#include "cli/top/top_items.h"
#include "test.h"

static const char list_text[] = "{\"kind\":\"L\",\"items\":[{\"a\":\"}]{\\\\\\\"\",\"b\":[{\"c\":1}"
                                "]}, {},\n{\"d\":{\"e\":[]}}],"
                                "\"metadata\":{\"resourceVersion\":\"7\",\"x\":{}}}";

static void items_on_item(void *arg, const json_t *item)
{
    struct buf *all = arg;
    AUTO_FREE char *text = json_format(item);

    buf_add_text(all, text);
    buf_add_char(all, '|');
}

static void items_are_the_same_in_pieces_of_each_size(void **state)
{
    (void)state;
    for (size_t size = 1; size <= sizeof(list_text); size++) {
        AUTO(buf_done) struct buf all = {0};
        struct top_items s = {.take = items_on_item, .arg = &all};

        for (size_t at = 0; at < sizeof(list_text) - 1; at += size) {
            size_t left = sizeof(list_text) - 1 - at;

            top_items_add(&s, (struct str){list_text + at, left < size ? left : size});
        }
        assert_null(s.failed);
        assert_string_equal(all.at,
                            "{\"a\":\"}]{\\\\\\\"\",\"b\":[{\"c\":1}]}|{}|{\"d\":{\"e\":[]}}|");
        top_items_done(&s);
    }
}

static void a_broken_item_is_an_error_and_the_others_come(void **state)
{
    AUTO(buf_done) struct buf all = {0};
    struct top_items s = {.take = items_on_item, .arg = &all};

    (void)state;
    top_items_add(&s, STR("{\"items\":[{\"a\"},{\"b\":1}]}"));
    assert_non_null(s.failed);
    assert_string_equal(all.at, "{\"b\":1}|");
    top_items_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_the_same_in_pieces_of_each_size),
        cmocka_unit_test(a_broken_item_is_an_error_and_the_others_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
