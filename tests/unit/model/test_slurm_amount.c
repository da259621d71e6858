/* test_slurm_amount.c - memory sizes and generic resources of Slurm's commands */

#include "base/mem.h"
#include "model/slurm_amount.h"
#include "test.h"

static void reads_and_writes_memory(void **state)
{
    static const struct {
        const char *text;
        int64_t mib; /* -1: an error */
        const char *again;
    } cases[] = {
        {"16G", 16384, "16G"}, {"500", 500, "500M"},   {"1500M", 1500, "1500M"},
        {"1T", 1 << 20, "1T"}, {"100K", 1, "1M"},      {"2048K", 2, "2M"},
        {"0", 0, "0"},         {"2gb", 2048, "2G"},    {"", -1, NULL},
        {"x", -1, NULL},       {"G", -1, NULL},        {"-1", -1, NULL},
        {"1.5G", -1, NULL},    {"9999999T", -1, NULL},
    };
    char text[SLURM_AMOUNT_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t mib = -1;
        AUTO(err_freep) struct err *e = slurm_memory_parse(str_of(cases[i].text), &mib);

        if ((e != NULL) != (cases[i].mib < 0))
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "taken");
        if (e)
            continue;
        assert_int_equal(mib, cases[i].mib);
        slurm_memory_format(mib, text);
        assert_string_equal(text, cases[i].again);
    }
}

static void writes_bytes(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0"},           {1024, "1K"}, {1286144, "1256K"},
        {1572864, "1536K"}, {500, "500"}, {INT64_C(3) << 30, "3G"},
    };
    char text[SLURM_AMOUNT_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        slurm_bytes_format(cases[i].bytes, text);
        if (!text_equal(text, cases[i].text))
            fail_msg("%s, not %s", text, cases[i].text);
    }
}

static void reads_and_writes_gres(void **state)
{
    static const struct {
        const char *text;
        const char *name;
        const char *again; /* NULL: an error */
    } cases[] = {
        {"gpu:2", NULL, "gpu:2"},
        {"gpu", NULL, "gpu:1"},
        {"gpu:h100", NULL, "gpu:h100:1"},
        {"gpu:h100:2,shard:4", NULL, "gpu:h100:2,shard:4"},
        {"gpu:1g.10gb:1", NULL, "gpu:1g.10gb:1"},
        {"gpu:1g.10gb", NULL, "gpu:1g.10gb:1"},
        {"gres/gpu:1", NULL, "gpu:1"},
        {"gres:gpu:1", NULL, "gpu:1"},
        {"mps:1K", NULL, "mps:1024"},
        {"none", NULL, ""},
        {"", NULL, ""},
        {"2", "gpu", "gpu:2"},
        {"h100:2", "gpu", "gpu:h100:2"},
        {"h100:2,a100:1", "gpu", "gpu:h100:2,gpu:a100:1"},
        {"gpu:1,gpu:h100:1", NULL, NULL},
        {"gpu:x:y", NULL, NULL},
        {"gpu:x:y:1", NULL, NULL},
        {":1", NULL, NULL},
        {"gpu:", NULL, NULL},
        {"gpu:-1", NULL, NULL},
        {"a b:1", NULL, NULL},
        {"gpu:1,", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_gres_list_done) struct slurm_gres_list list = {0};
        AUTO(err_freep)
        struct err *e = slurm_gres_parse(str_of(cases[i].text), cases[i].name, &list);
        AUTO_FREE char *again = NULL;

        if ((e != NULL) != (cases[i].again == NULL))
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "taken");
        if (e)
            continue;
        again = slurm_gres_format(&list, "");
        assert_string_equal(again, cases[i].again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_memory),
        cmocka_unit_test(writes_bytes),
        cmocka_unit_test(reads_and_writes_gres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
