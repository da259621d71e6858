/* test_strigger.c - strigger: its words, the jobs that it makes, and its table */

#include "base/mem.h"
#include "slurm/strigger.h"
#include "test.h"

static struct err *read(const char *const *words, struct slurm_words *parsed, struct strigger *ret)
{
    size_t n = 0;

    while (words[n])
        n++;
    TRY(slurm_words_parse(strigger_options, false, n, words, parsed));
    return strigger_read(parsed, ret);
}

static void makes_jobs(void **state)
{
    static const struct {
        const char *const words[8];
        const char *trigger;
    } cases[] = {
        {{"--set", "-j", "12", "-f", "-p", "/bin/a b"},
         "{\"event\":\"fini\",\"program\":\"/bin/a b\",\"jobId\":12}"},
        {{"--set", "--jobid=12", "--time", "--offset=-60", "--program=/bin/a"},
         "{\"event\":\"time\",\"program\":\"/bin/a\",\"jobId\":12,\"offsetSeconds\":-60}"},
        {{"--set", "-d", "-p", "/bin/a"},
         "{\"event\":\"down\",\"program\":\"/bin/a\",\"nodes\":\"*\"}"},
        {{"--set", "--node=n[1-3]", "-u", "-p", "/bin/a"},
         "{\"event\":\"up\",\"program\":\"/bin/a\",\"nodes\":\"n[1-3]\"}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_words_done) struct slurm_words words = {0};
        struct strigger t = {0};
        AUTO(err_freep) struct err *e = read(cases[i].words, &words, &t);
        AUTO(json_freep) json_t *object = e ? NULL : strigger_object(&t);
        AUTO_FREE char *text = NULL;

        if (e)
            fail_msg("%zu: %s", i, err_message(e));
        text = json_format(json_at(object, "spec", "trigger", NULL));
        assert_string_equal(text, cases[i].trigger);
        assert_true(text_starts_with(json_text_at(object, "spec", "script", NULL),
                                     "#!/bin/sh\nexec /bin/a"));
    }
}

static void says_what_strigger_says(void **state)
{
    static const struct {
        const char *const words[8];
        const char *message;
    } cases[] = {
        {{NULL}, "You must use exactly one of the following options: --set, --get or --clear"},
        {{"--set", "--get"},
         "You must use exactly one of the following options: --set, --get or --clear"},
        {{"--clear"}, "You must specify a --id, --jobid, or --user to clear"},
        {{"--set", "-j", "x", "-f"}, "Invalid jobid x"},
        {{"--set", "-p", "/bin/a"}, "You must specify a trigger (--down, --up, --time, --fini)"},
        {{"--set", "-f", "-p", "/bin/a"}, "You must specify a --jobid value"},
        {{"--set", "-f", "-j1"}, "You must specify a --program value"},
        {{"--set", "-d", "-p", "bin/a"}, "The --program value must start with \"/\""},
        {{"--set", "-f", "-j1", "-p", "/bin/a", "-o", "32001"},
         "The --offset parameter must be between +/-32000"},
        {{"--set", "-I", "-p", "/bin/a"},
         "--idle is not available: want one of --fini, --time, --down, --up"},
        {{"--set", "-d", "-p", "/bin/a", "--flags=PERM"},
         "--flags is not available: want one of --fini, --time, --down, --up"},
        {{"--set", "-d", "-u", "-p", "/bin/a"},
         "--down with --up is not available: want one event"},
        {{"--set", "-d", "-j1", "-p", "/bin/a"},
         "--down with --jobid is not available: want --node"},
        {{"--set", "-d", "-o", "5", "-p", "/bin/a"}, "--offset with --down is not available"},
        {{"--set", "-d", "-nn[1-", "-p", "/bin/a"}, "Invalid node name specified"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_words_done) struct slurm_words words = {0};
        struct strigger t = {.id = 42};
        AUTO(err_freep) struct err *e = read(cases[i].words, &words, &t);

        if (!e)
            fail_msg("%zu: taken", i);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(t.id, 42);
    }
}

static void lists_those_that_are_wanted(void **state)
{
    static const char rows[] =
        "[{\"jobId\":5,\"user\":\"ann\",\"uid\":1000,\"trigger\":{\"event\":\"fini\",\"jobId\":3,"
        "\"program\":\"/bin/a b\",\"offsetSeconds\":-60}},"
        "{\"jobId\":6,\"user\":\"bob\",\"uid\":1001,\"trigger\":{\"event\":\"down\",\"nodes\":"
        "\"*\",\"program\":\"/bin/c\"}}]";
    static const struct {
        const char *const words[4];
        const char *table;
    } cases[] = {
        {{"--get"},
         "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS "
         "PROGRAM\n"
         "      5 job             3 fini                                   -60 ann            "
         "/bin/a b\n"
         "      6 node            * down                                     0 bob            "
         "/bin/c\n"},
        {{"--get", "-N", "--jobid=3"},
         "      5 job             3 fini                                   -60 ann            "
         "/bin/a b\n"},
        {{"--get", "-N", "--user=1001"},
         "      6 node            * down                                     0 bob            "
         "/bin/c\n"},
        {{"--get", "--id=7"}, ""},
    };
    AUTO(json_freep) json_t *all = NULL;

    (void)state;
    assert_null(json_parse(STR(rows), &all));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_words_done) struct slurm_words words = {0};
        AUTO(json_freep) json_t *chosen = json_array();
        AUTO(buf_done) struct buf out = {0};
        struct strigger t = {0};
        AUTO(err_freep) struct err *e = read(cases[i].words, &words, &t);

        assert_null(e);
        for (size_t k = 0; k < json_array_size(all); k++)
            if (strigger_wants(&t, json_array_get(all, k)))
                json_array_append(chosen, json_array_get(all, k));
        strigger_print(&t, chosen, &out);
        assert_string_equal(text_or_empty(out.at), cases[i].table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_jobs),
        cmocka_unit_test(says_what_strigger_says),
        cmocka_unit_test(lists_those_that_are_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
