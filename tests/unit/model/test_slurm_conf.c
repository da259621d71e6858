/* test_slurm_conf.c - files in the form of slurm.conf */

#include "base/mem.h"
#include "model/slurm_conf.h"
#include "prop.h"
#include "test.h"

/* Files by their names; each name is followed by its text, NULL ends the list. */
static struct err *read_made(void *arg, const char *path, struct buf *ret)
{
    for (const char *const *at = arg; *at; at += 2)
        if (text_equal(at[0], path)) {
            buf_add_text(ret, at[1]);
            return NULL;
        }
    return err_new(ERR_NOT_FOUND, "open %s: no such file or directory", path);
}

static struct err *load(const char *const *files, struct slurm_conf *ret)
{
    return slurm_conf_load(files[0], read_made, (void *)(uintptr_t)files, ret);
}

static void assert_wrong(const char *text, const char *message)
{
    const char *const files[] = {"/etc/s.conf", text, NULL};
    struct slurm_conf conf = {0};
    AUTO(err_freep) struct err *e = load(files, &conf);

    assert_non_null(e);
    assert_string_equal(err_message(e), message);
    assert_int_equal(conf.lines.n, 0);
}

static void lines_are_pairs_with_their_place(void **state)
{
    static const char text[] = "# a comment\n"
                               "ClusterName=x # behind\n"
                               "\n"
                               "NodeName=n[1-3] CPUs = 8 \\\n"
                               "   Reason=\"bad disk\" Feature=a\\#b\r\n"
                               "  partitionname=p nodes=ALL";
    const char *const files[] = {"/etc/s.conf", text, NULL};
    struct slurm_conf conf = {0};

    (void)state;
    assert_null(load(files, &conf));
    assert_int_equal(conf.lines.n, 3);
    assert_string_equal(slurm_conf_get(&conf.lines.at[0], "CLUSTERNAME"), "x");
    assert_int_equal(conf.lines.at[0].number, 2);
    assert_string_equal(slurm_conf_get(&conf.lines.at[1], "NodeName"), "n[1-3]");
    assert_string_equal(slurm_conf_get(&conf.lines.at[1], "cpus"), "8");
    assert_string_equal(slurm_conf_get(&conf.lines.at[1], "Reason"), "bad disk");
    assert_string_equal(slurm_conf_get(&conf.lines.at[1], "Feature"), "a#b");
    assert_int_equal(conf.lines.at[1].number, 4);
    assert_string_equal(slurm_conf_get(&conf.lines.at[2], "PartitionName"), "p");
    assert_int_equal(conf.lines.at[2].number, 6);
    assert_null(slurm_conf_get(&conf.lines.at[2], "State"));
    slurm_conf_done(&conf);
}

static void files_include_others_in_place(void **state)
{
    const char *const files[] = {"/etc/s.conf",
                                 "ClusterName=Blue\nInclude %c.conf\ninclude /other\nMinJobAge=1",
                                 "/etc/blue.conf",
                                 "KillWait=2",
                                 "/other",
                                 "",
                                 NULL};
    const char *const loop[] = {"/s", "Include /s", NULL};
    struct slurm_conf conf = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    assert_null(load(files, &conf));
    assert_int_equal(conf.lines.n, 3);
    assert_string_equal(conf.lines.at[1].file, "/etc/blue.conf");
    assert_string_equal(slurm_conf_get(&conf.lines.at[2], "MinJobAge"), "1");
    slurm_conf_done(&conf);
    e = load(loop, &conf);
    assert_string_equal(err_message(e), "/s:1: files include each other too deeply");
}

static void says_what_is_wrong_and_where(void **state)
{
    (void)state;
    assert_wrong("A=1\nword", "/etc/s.conf:2: want KEY=VALUE, not 'word'");
    assert_wrong("=1", "/etc/s.conf:1: want KEY=VALUE, not '=1'");
    assert_wrong("A=1 B+=2", "/etc/s.conf:1: want KEY=VALUE, not 'B'");
    assert_wrong("\n\nA=\"open", "/etc/s.conf:3: a value begins with '\"' and has no second one");
    assert_wrong("A=\"b\"c", "/etc/s.conf:1: want a blank after '\"'");
    assert_wrong("Include none",
                 "/etc/s.conf:1: Include: open /etc/none: no such file or directory");
}

/* A line that is read has pairs. */
static void any_bytes_are_read_or_refused(void **state)
{
    static const char alphabet[] = "aN=\"\\#\n\r \t[1-3],Include";
    const struct prop_seeds seeds = prop_seeds(2000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        char text[64] = "";
        const char *const files[] = {"/s", text, NULL};
        size_t n = prop_below(&p, sizeof(text) - 1);
        struct slurm_conf conf = {0};
        AUTO(err_freep) struct err *e = NULL;

        for (size_t i = 0; i < n; i++)
            text[i] = alphabet[prop_below(&p, sizeof(alphabet) - 1)];
        e = load(files, &conf);
        VEC_EACH (&conf.lines, line)
            assert_true(line->pairs.n > 0 && line->number > 0);
        slurm_conf_done(&conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_pairs_with_their_place),
        cmocka_unit_test(files_include_others_in_place),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(any_bytes_are_read_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
