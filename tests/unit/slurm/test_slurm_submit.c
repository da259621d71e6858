/* test_slurm_submit.c - options, #SBATCH lines and variables of submissions, and the spec they make
 */

#include "base/mem.h"
#include "slurm/script.h"
#include "slurm/submit_het.h"
#include "test.h"

static const char *const no_words[] = {NULL};

static size_t count(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static const char *some_variables(const char *name)
{
    return text_equal(name, "SBATCH_PARTITION")   ? "from-variable"
           : text_equal(name, "SBATCH_TIMELIMIT") ? "30"
                                                  : NULL;
}

/* Plays the files of a submission: their paths are their texts, with ';' for the byte 0. */
static struct err *read_path(const char *path, size_t cap, struct buf *ret)
{
    (void)cap;
    if (text_equal(path, "none"))
        return err_new(ERR_NOT_FOUND, "none: no such file");
    for (const char *c = path; *c; c++)
        buf_add_char(ret, (char)(*c == ';' ? '\0' : *c));
    return NULL;
}

/* Applies a script, variables and words; the error, whose message is that of sbatch. */
static struct err *submit(const char *script, const char *(*find)(const char *),
                          const char *const *words, struct slurm_submit *ret)
{
    AUTO_FREE struct slurm_option *options = slurm_submit_options(SLURM_SBATCH);
    AUTO(slurm_script_done) struct slurm_script parsed = {0};
    AUTO(slurm_words_done) struct slurm_words lines = {0};
    AUTO(slurm_words_done) struct slurm_words line = {0};

    ret->now_s = 1795519800;
    ret->cwd = "/home/ann";
    ret->read_file = read_path;
    TRY(slurm_words_parse(options, true, count(words), words, &line));
    TRY(slurm_script_parse(str_of(script), "job.sh", &parsed));
    TRY(slurm_words_parse(options, false, parsed.words.n, (const char *const *)parsed.words.at,
                          &lines));
    TRY(slurm_submit_apply(ret, &lines));
    TRY(slurm_submit_apply_variables(ret, find));
    return slurm_submit_apply(ret, &line);
}

static void makes_the_spec(void **state)
{
    static const struct {
        const char *script;
        const char *const words[12];
        const char *spec;
    } cases[] = {
        {"#!/bin/sh\n", {NULL}, "{}"},
        {"#!/bin/sh\n",
         {"--gres=gpu:1", "--mem=16G", "--time=04:00:00", "train.sh", "--mem=1"},
         "{\"gres\":\"gpu:1\",\"memoryPerNode\":\"16384Mi\",\"timeLimitMinutes\":240}"},
        {"#!/bin/sh\n",
         {"-n4", "-c", "2", "-N", "1-2", "-J", "a b", "-HA", "team"},
         "{\"tasks\":4,\"cpusPerTask\":2,\"nodesMin\":1,\"nodesMax\":2,\"name\":\"a b\","
         "\"hold\":\"user\",\"account\":\"team\"}"},
        {"#!/bin/sh\n#SBATCH -J one # two\n\n# text\n#SBATCH --output='a \"b'.out\n"
         "echo\n#SBATCH -J three\n",
         {NULL},
         "{\"name\":\"one\",\"stdout\":\"a \\\"b.out\"}"},
        {"#!/bin/sh\n#SBATCH -p from-script -t 10\n#SBATCH -A team\n",
         {"-t", "UNLIMITED"},
         "{\"partition\":\"from-variable\",\"timeLimitMinutes\":0,\"account\":\"team\"}"},
        {"#!/bin/sh\n#SBATCH --mem-per-cpu=1G\n", {"--mem=0"}, "{\"memoryPerNode\":\"0\"}"},
        {"#!/bin/sh\n",
         {"--array=0-15:5%4", "--signal=B:USR2@30", "--nice", "-D", "sub", "--exclusive",
          "--no-requeue"},
         "{\"array\":{\"indexes\":\"0,5,10,15\",\"limit\":4,\"step\":5},\"signal\":{\"number\":12,"
         "\"secondsBefore\":30,\"batch\":true},\"nice\":100,\"workDir\":\"/home/ann/sub\","
         "\"exclusive\":true,\"requeue\":false}"},
        {"#!/bin/sh\n", {"--contiguous"}, "{\"contiguous\":true}"},
        {"#!/bin/sh\n", {"-N", "2-0"}, "{\"nodesMin\":2,\"nodesMax\":0}"},
        {"#!/bin/sh\n",
         {"-b", "now+1hour", "-G", "h100:2", "--gpus-per-node=1", "--tres-per-task=cpu=3"},
         "{\"beginTime\":\"2026-11-24T12:30:00Z\",\"gpus\":\"h100:2\",\"gpusPerNode\":\"1\","
         "\"cpusPerTask\":3}"},
        {"#!/bin/sh\n",
         {"--container-image=ubuntu", "--container-mounts=/a:/b", "--container-readonly",
          "--container-env=PATH", "--no-container-mount-home", "--open-mode=a"},
         "{\"container\":{\"image\":\"ubuntu\",\"mounts\":\"/a:/b\",\"isReadOnly\":true,"
         "\"variables\":\"PATH\"},"
         "\"openMode\":\"append\"}"},
        {"#!/bin/sh\n",
         {"-F", "n3,n[1-2]\nn1\n", "--prefer=a&b", "--mincpus=2", "--switches=2@5:00", "--tmp=2G"},
         "{\"nodeList\":\"n[1-3]\",\"prefer\":\"a&b\",\"cpusMin\":2,\"switches\":2,"
         "\"switchesWait\":300,"
         "\"tmpPerNode\":\"2048Mi\"}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_submit_done) struct slurm_submit s = {0};
        AUTO(err_freep)
        struct err *e =
            submit(cases[i].script, i == 4 ? some_variables : no_variable, cases[i].words, &s);
        AUTO_FREE char *spec = NULL;

        if (e)
            fail_msg("%zu: %s", i, err_message(e));
        spec = json_format(s.spec);
        assert_string_equal(spec, cases[i].spec);
    }
}

/* Applies "A : B" as two components; the error of the second one. */
static struct err *submit_two(const char *const *first, const char *const *second,
                              struct slurm_submit *ret)
{
    AUTO_FREE struct slurm_option *options = slurm_submit_options(SLURM_SBATCH);
    AUTO(slurm_words_done) struct slurm_words one = {0};
    AUTO(slurm_words_done) struct slurm_words two = {0};
    AUTO(slurm_submit_done) struct slurm_submit next = {0};

    TRY(slurm_words_parse(options, true, count(first), first, &one));
    TRY(slurm_words_parse(options, true, count(second), second, &two));
    TRY(slurm_submit_apply(ret, &one));
    slurm_submit_component_begin(ret, &next);
    TRY(slurm_submit_apply(&next, &two));
    return slurm_submit_component_end(ret, &next);
}

static void adds_components(void **state)
{
    static const struct {
        const char *const first[10];
        const char *const second[4];
        const char *spec; /* or the error */
    } cases[] = {
        {{"-n4", "-c2", "-J", "a", "--mem=1G", "-t5", "-o", "out"},
         {"-n1", "-Jb", "-pgpu"},
         "{\"tasks\":4,\"cpusPerTask\":2,\"name\":\"a\",\"memoryPerNode\":\"1024Mi\","
         "\"timeLimitMinutes\":5,\"stdout\":\"out\",\"components\":[{\"name\":\"b\","
         "\"partition\":\"gpu\",\"tasks\":1,\"memoryPerNode\":\"1024Mi\"}]}"},
        {{"-N2"}, {NULL}, "{\"nodesMin\":2,\"nodesMax\":2,\"components\":[{}]}"},
        {{"-t5"},
         {"-t6"},
         "components with another 'timeLimitMinutes' than the first one are not available yet"},
        {{"-n1"},
         {"-H"},
         "components with another 'hold' than the first one are not available yet"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_submit_done) struct slurm_submit s = {0};
        AUTO(err_freep) struct err *e = submit_two(cases[i].first, cases[i].second, &s);
        AUTO_FREE char *spec = json_format(s.spec);

        assert_string_equal(e ? err_message(e) : spec, cases[i].spec);
    }
}

static void finds_the_components_of_a_script(void **state)
{
    AUTO(slurm_script_done) struct slurm_script s = {0};

    (void)state;
    assert_null(
        slurm_script_parse(STR("#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob \n#SBATCH -J hetjob\n"
                               "#SBATCH packjob\n"),
                           "job.sh", &s));
    assert_int_equal(s.words.n, 3);
    assert_int_equal(s.groups.n, 2);
    assert_int_equal(s.groups.at[0], 1);
    assert_int_equal(s.groups.at[1], 3);
}

static void says_what_sbatch_says(void **state)
{
    static const struct {
        const char *script;
        const char *const words[4];
        const char *message;
        int http; /* 400: exit code 255 */
    } cases[] = {
        {"#!/bin/sh\n", {"--foo"}, "unrecognized option '--foo'", 422},
        {"#!/bin/sh\n", {"--mem"}, "option '--mem' requires an argument", 422},
        {"#!/bin/sh\n",
         {"--cpus-per", "3"},
         "option '--cpus-per' is ambiguous; possibilities: '--cpus-per-gpu' '--cpus-per-task'",
         422},
        {"#!/bin/sh\n", {"-y"}, "invalid option -- 'y'", 422},
        {"#!/bin/sh\n", {"-J"}, "option requires an argument -- 'J'", 422},
        {"#!/bin/sh\n", {"--parsable=x"}, "option '--parsable' doesn't allow an argument", 422},
        {"#!/bin/sh\n", {"-t", "xx"}, "Invalid --time specification", 400},
        {"#!/bin/sh\n", {"--mem=abc"}, "Invalid --mem specification", 400},
        {"#!/bin/sh\n", {"-n", "x"}, "Invalid numeric value \"x\" for --ntasks.", 422},
        {"#!/bin/sh\n", {"-c", "0"}, "Invalid numeric value \"0\" for --cpus-per-task.", 422},
        {"#!/bin/sh\n",
         {"-N", "4-2"},
         "Maximum node count 2 is less than minimum node count 4",
         400},
        {"#!/bin/sh\n", {"--signal=FOO"}, "Invalid --signal specification", 400},
        {"#!/bin/sh\n", {"--mail-type=foo"}, "Invalid --mail-type specification", 400},
        {"#!/bin/sh\n", {"--open-mode=foo"}, "Invalid --open-mode specification", 400},
        {"#!/bin/sh\n", {"--exclusive=foo"}, "Invalid --exclusive specification", 400},
        {"#!/bin/sh\n", {"--gres=gpu:x:y:z"}, "Invalid generic resource (gres) specification", 422},
        {"#!/bin/sh\n",
         {"--mem=1G", "--mem-per-cpu=1G"},
         "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.",
         422},
        {"#!/bin/sh\n", {"--tmp=x"}, "Invalid --tmp specification", 400},
        {"#!/bin/sh\n", {"-F", "none"}, "--nodefile: none: no such file", 404},
        {"#!/bin/sh\n", {"-F", "n[1"}, "--nodefile=n[1: hostlist: '[' without ']'", 422},
        {"#!/bin/sh\n", {"-F", "\n"}, "--nodefile=\n: the file names no node", 422},
        {"#!/bin/sh\n", {"--export-file=none"}, "--export-file: none: no such file", 404},
        {"#!/bin/sh\n", {"--switches=x"}, "Invalid --switches specification", 400},
        {"#!/bin/sh\n", {"--switches=1@x"}, "Invalid --switches specification", 400},
        {"#!/bin/sh\n",
         {"--sockets-per-node=2"},
         "--sockets-per-node is not available yet: sockets and cores of nodes are not chosen",
         422},
        {"", {NULL}, "Batch script is empty!", 422},
        {"#!/bin/sh\r\n",
         {NULL},
         "Batch script contains DOS line breaks (\\r\\n)\n"
         "instead of expected UNIX line breaks (\\n).",
         422},
        {"#!/bin/sh\n#SBATCH -J \"a b\n", {NULL}, "job.sh: line 2: Unmatched `\"`", 422},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(slurm_submit_done) struct slurm_submit s = {0};
        AUTO(err_freep) struct err *e = submit(cases[i].script, no_variable, cases[i].words, &s);

        if (!e)
            fail_msg("taken: %s", cases[i].message);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_http(e), cases[i].http);
    }
}

static void warns_of_options_without_effect(void **state)
{
    static const char *const words[] = {"--cpu-freq=high", "--mail-type=end,FAIL,STAGE_OUT", NULL};
    AUTO(slurm_submit_done) struct slurm_submit s = {0};
    AUTO(err_freep) struct err *e = submit("#!/bin/sh\n", no_variable, words, &s);

    (void)state;
    assert_null(e);
    assert_int_equal(s.warnings.n, 2);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are two */
    assert_string_equal(s.warnings.at[0], "--cpu-freq: the cpu frequency is not set");
    assert_string_equal(s.warnings.at[1],
                        "--mail-type: no mail is sent for STAGE_OUT and parts of the time limit");
    assert_string_equal(json_text(s.spec, "mailType"), "END,FAIL");
}

static void exports_what_is_asked_for(void **state)
{
    static const char *const environment[] = {"PATH=/bin", "HOME=/home/ann", "SLURM_X=1", NULL};
    static const struct {
        const char *word;
        const char *environment;
    } cases[] = {
        {NULL, "[\"PATH=/bin\",\"HOME=/home/ann\",\"SLURM_X=1\"]"},
        {"--export=ALL", "[\"PATH=/bin\",\"HOME=/home/ann\",\"SLURM_X=1\"]"},
        {"--export=ALL,PATH=/usr/bin,B=2",
         "[\"HOME=/home/ann\",\"SLURM_X=1\",\"PATH=/usr/bin\",\"B=2\"]"},
        {"--export=NONE", "[\"SLURM_X=1\",\"SLURM_EXPORT_ENV=NONE\"]"},
        {"--export-file=HOME=/h;B=a=b;C", "[\"PATH=/bin\",\"SLURM_X=1\",\"HOME=/h\",\"B=a=b\"]"},
        {"--export=HOME,B=2",
         "[\"HOME=/home/ann\",\"SLURM_X=1\",\"B=2\",\"SLURM_EXPORT_ENV=HOME,B=2\"]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const words[] = {cases[i].word, NULL};
        AUTO(slurm_submit_done) struct slurm_submit s = {0};
        AUTO(err_freep)
        struct err *e = submit("#!/bin/sh\n", no_variable, cases[i].word ? words : no_words, &s);
        AUTO_FREE char *text = NULL;

        assert_null(e);
        slurm_submit_put_environment(&s, environment);
        text = json_format(json_object_get(s.spec, "environment"));
        assert_string_equal(text, cases[i].environment);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_spec),
        cmocka_unit_test(adds_components),
        cmocka_unit_test(finds_the_components_of_a_script),
        cmocka_unit_test(says_what_sbatch_says),
        cmocka_unit_test(warns_of_options_without_effect),
        cmocka_unit_test(exports_what_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
