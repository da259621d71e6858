/* test_cli_output.c - tables, CSV, JSON, YAML and the escaping of text for terminals */

#include "base/mem.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "prop.h"
#include "test.h"

static void takes_out_what_moves_a_terminal(void **state)
{
    static const struct {
        const char *text;
        const char *line;
        const char *log;
    } cases[] = {
        {"plain", "plain", "plain"},
        {"a\033[31mred\033[0mb", "aredb", "aredb"},
        {"\033]0;title\007x", "x", "x"},
        {"\033]8;;http://evil\033\\link\033]8;;\033\\", "link", "link"},
        {"\033Pq#0\033\\y", "y", "y"},
        {"\033]0;never closed\nnext", " next", "\nnext"},
        {"10%\r20%\r\ndone", "10%20% done", "10%\n20%\ndone"},
        {"tab\tend\n", "tab end ", "tab\tend\n"},
        {"bell\a\b\x7f", "bell", "bell"},
        {"\xc2\x9b"
         "31mcsi",
         "csi", "csi"},
        /* NOLINTNEXTLINE(misc-misleading-bidirectional): does it go? */
        {"\xe2\x80\xae"
         "gnp.exe",
         "gnp.exe", "gnp.exe"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xff\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"cut \xe2\x82", "cut \xef\xbf\xbd", "cut \xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd", "\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *line = text_escape(str_of(cases[i].text), TEXT_ESCAPE_LINE);
        AUTO_FREE char *log = text_escape(str_of(cases[i].text), TEXT_ESCAPE_LOG);

        assert_string_equal(line, cases[i].line);
        assert_string_equal(log, cases[i].log);
    }
}

/* The output does not depend on the cuts between pieces, and contains no control byte. */
static void pieces_do_not_matter(void **state)
{
    /* NOLINTNEXTLINE(misc-misleading-bidirectional): do they go? */
    static const char alphabet[] = "ab\033[]\\;0m\n\r\t\a\xc2\x9b\xe2\x80\xae\xc3\xbc\xff";

    (void)state;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct prop p = {seed};
        struct text_escaper c = {.how = TEXT_ESCAPE_LOG};
        char text[64];
        size_t size = prop_below(&p, sizeof(text));
        struct buf whole = {0};
        struct buf pieces = {0};
        struct text_escaper once = {.how = TEXT_ESCAPE_LOG};

        for (size_t i = 0; i < size; i++)
            text[i] = alphabet[prop_below(&p, sizeof(alphabet) - 1)];
        text_escape_piece(&once, (struct str){.at = text, .size = size}, &whole);
        for (size_t at = 0; at < size;) {
            size_t n = 1 + prop_below(&p, size - at);

            text_escape_piece(&c, (struct str){.at = text + at, .size = n}, &pieces);
            at += n;
        }
        if (!text_equal(whole.at ? whole.at : "", pieces.at ? pieces.at : ""))
            fail_msg("seed %u: pieces differ", (unsigned)seed);
        for (size_t i = 0; whole.at && i < whole.size; i++) {
            unsigned char byte = (unsigned char)whole.at[i];

            if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
                fail_msg("seed %u: byte %d came through", (unsigned)seed, byte);
        }
        buf_done(&whole);
        buf_done(&pieces);
    }
}

static void knows_how_wide_a_text_is(void **state)
{
    (void)state;
    assert_int_equal(text_escape_width("abc"), 3);
    assert_int_equal(text_escape_width("gr\xc3\xbc"), 3);
    assert_int_equal(text_escape_width("\xe6\x97\xa5\xe6\x9c\xac"), 4);
    assert_int_equal(text_escape_width("e\xcc\x81"), 1);
    assert_int_equal(text_escape_fit("\xe6\x97\xa5\xe6\x9c\xac", 3), 3);
    assert_int_equal(text_escape_fit("abc", 10), 3);
}

static void fill(struct listing *l)
{
    AUTO(json_freep)
    json_t *first = json_pack("{s:{s:s}, s:i}", "metadata", "name", "train", "count", 7);
    AUTO(json_freep)
    json_t *second = json_pack("{s:{s:s}, s:n}", "metadata", "name", "a,\"b\"", "count");

    listing_init(l, "JobList");
    l->prefix = "pod";
    listing_column(l, "#N");
    listing_column(l, "NAME");
    listing_column(l, "!SECRET");
    listing_column(l, "REASON");
    listing_add(l, json_pack("[i, s, s, s]", 7, "train", "w", "needs 8 H100 on one node"), first);
    listing_add(l, json_pack("[n, s, s, s]", "a,\"b\"", "=1+1", "x\033[2Jy"), second);
}

static void one_listing_in_every_format(void **state)
{
    static const struct {
        enum output_format format;
        bool has_headers;
        size_t columns;
        const char *want;
    } cases[] = {
        {OUTPUT_TABLE, true, 0,
         "N   NAME    REASON\n7   train   needs 8 H100 on one node\n-   a,\"b\"   xy\n"},
        {OUTPUT_TABLE, false, 0, "7   train   needs 8 H100 on one node\n-   a,\"b\"   xy\n"},
        {OUTPUT_TABLE, false, 26, "7   train   needs 8 H100 …\n-   a,\"b\"   xy\n"},
        {OUTPUT_WIDE, false, 0,
         "7   train   w      needs 8 H100 on one node\n-   a,\"b\"   =1+1   xy\n"},
        {OUTPUT_NAME, true, 0, "pod/train\npod/a,\"b\"\n"},
        {OUTPUT_CSV, true, 0,
         "N,NAME,SECRET,REASON\n7,train,w,needs 8 H100 on one "
         "node\n,\"a,\"\"b\"\"\",\"'=1+1\",xy\n"},
        {OUTPUT_JSONL, true, 0,
         "{\"metadata\":{\"name\":\"train\"},\"count\":7}\n{\"metadata\":{\"name\":\"a,\\\"b\\\"\"}"
         ","
         "\"count\":null}\n"},
        {OUTPUT_YAML, true, 0,
         "apiVersion: mete.dev/v1\nkind: JobList\nitems:\n- metadata:\n    name: train\n  count: "
         "7\n- "
         "metadata:\n    name: "
         "a,\"b\"\n  count: null\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct listing l;
        struct buf b = {0};

        fill(&l);
        listing_format(&l, cases[i].format, cases[i].has_headers, cases[i].columns, &b);
        assert_string_equal(b.at, cases[i].want);
        buf_done(&b);
        listing_done(&l);
    }
}

static void json_of_one_is_bare_and_of_several_a_list(void **state)
{
    struct listing l;
    struct buf b = {0};
    AUTO(json_freep) json_t *list = NULL;
    AUTO(json_freep) json_t *one = NULL;

    (void)state;
    fill(&l);
    listing_format(&l, OUTPUT_JSON, true, 0, &b);
    assert_null(json_parse((struct str){.at = b.at, .size = b.size}, &list));
    assert_string_equal(json_text(list, "kind"), "JobList");
    assert_int_equal(json_array_size(json_object_get(list, "items")), 2);
    assert_true(
        json_is_null(json_object_get(json_array_get(json_object_get(list, "items"), 1), "count")));
    buf_clear(&b);
    (void)json_array_remove(l.objects, 1);
    l.is_single = true;
    listing_format(&l, OUTPUT_JSON, true, 0, &b);
    assert_null(json_parse((struct str){.at = b.at, .size = b.size}, &one));
    assert_int_equal(json_int(one, "count", 0), 7);
    buf_done(&b);
    listing_done(&l);
}

static void sizes_are_for_people_in_tables_and_plain_in_csv(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1023, "1023"},
        {1024, "1.0Ki"},
        {25276502016, "23.5Gi"},
        {85520809984, "79.6Gi"},
        {(1 << 20) - 1, "1.0Mi"}, /* not 1024.0Ki */
        {INT64_MAX, "8.0Ei"},
    };
    struct listing l;
    AUTO(buf_done) struct buf table = {0};
    AUTO(buf_done) struct buf csv = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[SIZE_TEXT_SIZE];

        size_format(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
    listing_init(&l, "NodeList");
    listing_column(&l, "%MEMORY");
    listing_add(&l, json_pack("[I]", (json_int_t)25276502016), NULL);
    listing_add(&l, json_pack("[n]"), NULL);
    listing_format(&l, OUTPUT_TABLE, true, 0, &table);
    listing_format(&l, OUTPUT_CSV, true, 0, &csv);
    assert_string_equal(table.at, "MEMORY\n23.5Gi\n     -\n");
    assert_string_equal(csv.at, "MEMORY\n25276502016\n\n");
    listing_done(&l);
}

static void gpus_are_decimals_for_people(void **state)
{
    static const struct {
        const char *resource;
        const char *quantity;
        const char *text;
    } cases[] = {
        {"gpu", "0", "0"},       {"gpu", "753m", "0.753"}, {"gpu", "1500m", "1.5"},
        {"gpu", "2", "2"},       {"gpu", "2k", "2000"},    {"gpu", "10", "10"},
        {"gpu", "50m", "0.05"},  {"gpu", "-1", "-1"},      {"gpu", "many", "many"},
        {"cpu", "500m", "500m"}, {"memory", "2Gi", "2Gi"}, {NULL, "753m", "753m"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = amount_format(cases[i].resource, cases[i].quantity);

        assert_string_equal(text, cases[i].text);
    }
    assert_null(amount_format("gpu", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_out_what_moves_a_terminal),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(knows_how_wide_a_text_is),
        cmocka_unit_test(one_listing_in_every_format),
        cmocka_unit_test(sizes_are_for_people_in_tables_and_plain_in_csv),
        cmocka_unit_test(gpus_are_decimals_for_people),
        cmocka_unit_test(json_of_one_is_bare_and_of_several_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
