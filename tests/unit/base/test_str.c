/* test_str.c - pieces of text, UTF-8, buffers */

#include "base/mem.h"
#include "base/str.h"
#include "test.h"

static void cuts_at_separators_to_the_end(void **state)
{
    struct str rest = STR("a,,b");
    struct str part;

    (void)state;
    part = str_cut(&rest, ',');
    assert_true(str_equal(part, STR("a")));
    part = str_cut(&rest, ',');
    assert_int_equal(part.size, 0);
    part = str_cut(&rest, ',');
    assert_true(str_equal(part, STR("b")));
    assert_null(rest.at);
    part = str_cut(&rest, ',');
    assert_int_equal(part.size, 0);
}

static void equal_are_the_same_bytes(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool is_equal;
    } cases[] = {
        {"", "", true},     {"a", "a", true},   {"a", "b", false},
        {"a", "ab", false}, {"ab", "a", false}, {"", "a", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(str_equal(str_of(cases[i].a), str_of(cases[i].b)), cases[i].is_equal);
}

static void knows_starts_and_ends(void **state)
{
    (void)state;
    assert_true(text_starts_with("mete.dev", "mete"));
    assert_true(text_starts_with("mete", ""));
    assert_false(text_starts_with("me", "mete"));
    assert_true(text_ends_with("a.json", ".json"));
    assert_true(text_ends_with("a", ""));
    assert_false(text_ends_with("json", ".json"));
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal(NULL, ""));
    assert_true(text_equal("x", "x"));
}

static void a_buffer_grows_and_stays_terminated(void **state)
{
    struct buf b = {0};
    AUTO_FREE char *text = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%d,", i);
    assert_int_equal(b.size, 3890);
    assert_int_equal(b.at[b.size], '\0');
    buf_consume(&b, 3880);
    assert_string_equal(b.at, "7,998,999,");
    buf_consume(&b, 99);
    assert_int_equal(b.size, 0);
    buf_printf(&b, "%300d", 7);
    assert_int_equal(b.size, 300);
    text = buf_steal(&b);
    assert_int_equal(strlen(text), 300);
    assert_null(b.at);
}

static void a_buffer_keeps_to_its_cap(void **state)
{
    AUTO(buf_done) struct buf b = {.cap = 4};

    (void)state;
    buf_add_text(&b, "abc");
    buf_add_text(&b, "de");
    assert_true(b.overflow);
    assert_string_equal(b.at, "abc");
    buf_add_char(&b, 'd');
    assert_string_equal(b.at, "abcd");
    buf_clear(&b);
    assert_false(b.overflow);
    assert_string_equal(b.at, "");
}

static void stealing_nothing_gives_empty_text(void **state)
{
    struct buf b = {0};
    AUTO_FREE char *text = buf_steal(&b);

    (void)state;
    assert_string_equal(text, "");
}

static void measures_the_first_character_of_utf8(void **state)
{
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {
        {"", 0},
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\x80", 0},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xc3", 0},
        {"\xe2\x82", 0},
        {"\xc3\x28", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(str_utf8(str_of(cases[i].text)), cases[i].size);
}

static void replaces_what_is_not_utf8(void **state)
{
    AUTO(buf_done) struct buf b = {0};

    (void)state;
    buf_add_utf8(&b, STR("a\xff\xc3\xa9\xe2\x82"));
    assert_string_equal(b.at, "a" UTF8_REPLACEMENT "\xc3\xa9" UTF8_REPLACEMENT UTF8_REPLACEMENT);
}

static void numbers_of_four_bytes_begin_with_the_most_significant(void **state)
{
    static const uint32_t numbers[] = {0, 1, 0x12345678, 0xfffefdfc, UINT32_MAX};
    struct buf b = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++)
        buf_add_u32(&b, numbers[i]);
    assert_memory_equal(b.at + 8, "\x12\x34\x56\x78", 4);
    for (size_t i = 0; i < COUNT(numbers); i++)
        assert_int_equal(str_u32(b.at + 4 * i), numbers[i]);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_at_separators_to_the_end),
        cmocka_unit_test(equal_are_the_same_bytes),
        cmocka_unit_test(knows_starts_and_ends),
        cmocka_unit_test(a_buffer_grows_and_stays_terminated),
        cmocka_unit_test(a_buffer_keeps_to_its_cap),
        cmocka_unit_test(stealing_nothing_gives_empty_text),
        cmocka_unit_test(measures_the_first_character_of_utf8),
        cmocka_unit_test(replaces_what_is_not_utf8),
        cmocka_unit_test(numbers_of_four_bytes_begin_with_the_most_significant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
