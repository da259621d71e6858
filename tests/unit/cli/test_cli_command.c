/* test_cli_command.c - parsing of command lines, help, and docs/commands.md */

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/term/command.h"
#include "model/time_limit.h"
#include "test.h"

enum {
    WORDS_MAX = 16
};

/* Splits at spaces outside of quotes; the words point into `line`. */
static size_t split(char *line, const char *words[WORDS_MAX])
{
    size_t n = 0;

    for (char *at = line; *at;) {
        char until = *at == '\'' ? '\'' : ' ';
        char *end;

        at += until == '\'';
        end = strchrnul(at, until);
        assert_true(n < WORDS_MAX);
        words[n++] = at;
        at = end + (*end == '\'');
        at += strspn(at, " ");
        *end = '\0';
    }
    return n;
}

static struct err *parse(const char *line, char **ret_line, struct invocation *in)
{
    const char *words[WORDS_MAX] = {NULL};
    const struct command *c;
    size_t n;

    *ret_line = mem_strdup(line);
    n = split(*ret_line, words);
    assert_true(n > 0);
    c = command_find(words[0]);
    assert_non_null(c);
    return invocation_parse(c, n - 1, words + 1, in);
}

static void says_what_is_wrong_with_a_command_line(void **state)
{
    static const struct {
        const char *line;
        const char *message;
    } cases[] = {
        {"ps --al", "ps has no flag \"--al\": did you mean \"--all\"?"},
        {"ps --frobnicate", "ps has no flag \"--frobnicate\""},
        {"ps -z", "ps has no flag \"-z\""},
        {"ps -n", "--namespace needs a value: NS"},
        {"ps --limit=many", "--limit: \"many\" is not a whole number"},
        {"ps --limit -1", "--limit: \"-1\" is not a whole number"},
        {"ps -o xml",
         "--output: \"xml\" is not known: want table, wide, name, json, jsonl, yaml or csv"},
        {"ps extra", "ps: \"extra\" is one argument too many"},
        {"ps --all=maybe", "--all: want no value, true or false"},
        {"logs", "logs needs JOB"},
        {"run --time 0 -- x", "--time: \"0\" is not a time of at least a second: want 90s, 1h30m, "
                              "2d, or 90 (minutes), 1:30:00, 2-12"},
        {"run", "run needs [--] COMMAND [ARGUMENT...]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct invocation in = {0};
        AUTO_FREE char *line = NULL;
        AUTO(err_freep) struct err *e = parse(cases[i].line, &line, &in);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

static void reads_flags_in_every_form(void **state)
{
    static const char *const lines[] = {"ps --limit 7 -n team -A -a", "ps -Aa --limit=7 -nteam",
                                        "ps -aAn team --limit 3 --limit 7",
                                        "ps -n=team --all --all-namespaces=true --limit=7"};

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct invocation in = {0};
        AUTO_FREE char *line = NULL;

        assert_null(parse(lines[i], &line, &in));
        assert_int_equal(flag_count(&in, "limit", 1), 7);
        assert_string_equal(flag_text(&in, "namespace"), "team");
        assert_true(flag_switch(&in, "all-namespaces"));
        assert_true(flag_switch(&in, "all"));
        assert_false(flag_switch(&in, "no-headers"));
        assert_string_equal(flag_text(&in, "output"), "table");
        invocation_done(&in);
    }
}

static void what_is_run_keeps_its_own_flags(void **state)
{
    static const char *const lines[] = {"run -g 2 -e A=1 --env B=2 -- nvidia-smi -L --gpus",
                                        "run --gpus=2 -eA=1 -e B=2 nvidia-smi -L --gpus"};

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct invocation in = {0};
        AUTO_FREE char *line = NULL;

        assert_null(parse(lines[i], &line, &in));
        assert_int_equal(in.arguments.n, 3);
        assert_string_equal(in.arguments.at[0], "nvidia-smi");
        assert_string_equal(in.arguments.at[2], "--gpus");
        assert_string_equal(flag_text(&in, "gpus"), "2");
        assert_string_equal(flag_repeated(&in, "env", 0), "A=1");
        assert_string_equal(flag_repeated(&in, "env", 1), "B=2");
        assert_null(flag_repeated(&in, "env", 2));
        invocation_done(&in);
    }
}

static void check_flag(void *arg, const struct flag *f)
{
    const struct command *c = arg;

    if (f->is_hidden)
        return;
    if (!f->doc || strlen(f->doc) < 4)
        fail_msg("mete %s --%s is not documented", c->name, f->name);
    if ((f->type != FLAG_SWITCH) != (f->value != NULL))
        fail_msg("mete %s --%s: a value has a name for help", c->name, f->name);
    if (f->letter == 'h')
        fail_msg("mete %s --%s takes -h away", c->name, f->name);
}

struct letters {
    const struct command *command;
    bool seen[128];
};

static void check_letter(void *arg, const struct flag *f)
{
    struct letters *l = arg;

    if (f->letter && l->seen[(int)f->letter])
        fail_msg("mete %s has -%c twice", l->command->name, f->letter);
    l->seen[(int)f->letter] = true;
}

static void each_flag_is_documented_and_each_letter_means_one(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        struct letters letters = {.command = commands[i]};
        union {
            const struct command *in;
            void *out;
        } arg = {.in = commands[i]};

        command_each_flag(commands[i], check_flag, arg.out);
        command_each_flag(commands[i], check_letter, &letters);
    }
}

/* Cuts an example before what the shell itself handles: " > FILE", " | COMMAND". */
static char *words_of(const char *example)
{
    size_t n = strcspn(example, ">|");

    return mem_strndup(example, n && example[n] ? n - 1 : n);
}

static void each_command_has_two_examples_that_parse(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];
        size_t n = 0;

        for (; c->examples[n].line; n++) {
            struct invocation in = {0};
            AUTO_FREE char *line = NULL;
            AUTO_FREE char *words = words_of(c->examples[n].line);
            AUTO(err_freep) struct err *e = parse(words, &line, &in);

            if (e)
                fail_msg("mete %s: %s", c->examples[n].line, err_message(e));
            if (!c->is_hidden)
                assert_true(text_starts_with(c->examples[n].line, c->name));
            assert_non_null(c->examples[n].does);
            invocation_done(&in);
        }
        assert_true(n >= 2);
        assert_non_null(c->summary);
        assert_false(text_ends_with(c->summary, "."));
    }
}

static void help_opens_with_the_examples_and_names_each_flag(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        AUTO_FREE char *help = help_format_command(commands[i], false);
        AUTO_FREE char *brief = help_format_command(commands[i], true);
        const char *example = strstr(help, commands[i]->examples[0].line);

        assert_non_null(example);
        assert_true(example < strstr(help, "\nusage: "));
        assert_non_null(strstr(help, "--help"));
        assert_true(strlen(brief) < strlen(help));
    }
}

static void finds_what_was_meant(void **state)
{
    static const struct {
        const char *typed;
        const char *meant;
    } cases[] = {{"psx", "ps"},   {"lgos", "logs"},     {"cancle", "cancel"}, {"delte", "delete"},
                 {"gpu", "gpus"}, {"evnets", "events"}, {"xyzzyplugh", NULL}, {"serverr", NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *near = command_nearest(cases[i].typed);

        if (cases[i].meant)
            assert_string_equal(near ? near : "nothing", cases[i].meant);
        else
            assert_null(near);
    }
}

static void later_commands_are_known_by_name_only(void **state)
{
    (void)state;
    assert_true(command_is_planned("submit"));
    assert_false(command_is_planned("run"));
    for (size_t i = 0; commands[i]; i++)
        assert_false(command_is_planned(commands[i]->name));
}

static void reads_time_limits_as_people_and_sbatch_write_them(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* 0: an error */
    } cases[] = {
        {"90s", 90},
        {"1h30m", 5400},
        {"2d", 172800},
        {"90", 5400},
        {"1:30", 90},
        {"1:30:00", 5400},
        {"2-12", 216000},
        {"0-1:30", 5400},
        {"1-02:03:04", 93784},
        {"0", 0},
        {"", 0},
        {"1:2:3:4", 0},
        {"-5", 0},
        {"5 minutes", 0},
        {"1-", 0},
        {"1:", 0},
        {"99999999999999", 0},
        {"500ms", 0},
        {"1-2:3:4:5", 0},
        {"x", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns = 42;
        AUTO(err_freep) struct err *e = time_limit_parse(cases[i].text, &ns);

        if (cases[i].seconds == 0) {
            if (!e)
                fail_msg("\"%s\" was taken", cases[i].text);
            assert_int_equal(ns, 42);
            continue;
        }
        if (e)
            fail_msg("%s", err_message(e));
        assert_int_equal(ns, cases[i].seconds * NS_PER_SEC);
    }
}

static void the_page_of_commands_is_the_table(void **state)
{
    const char *root = getenv("METE_SOURCE_ROOT");
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *made = help_format_markdown();
    struct buf page = {0};

    (void)state;
    assert_non_null(root);
    path = mem_format("%s/docs/commands.md", root);
    assert_null(file_read(path, 1 << 20, &page));
    if (!text_equal(page.at, made))
        fail_msg("%s", "docs/commands.md is not what `mete help --markdown` prints");
    buf_done(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong_with_a_command_line),
        cmocka_unit_test(reads_flags_in_every_form),
        cmocka_unit_test(what_is_run_keeps_its_own_flags),
        cmocka_unit_test(each_flag_is_documented_and_each_letter_means_one),
        cmocka_unit_test(each_command_has_two_examples_that_parse),
        cmocka_unit_test(help_opens_with_the_examples_and_names_each_flag),
        cmocka_unit_test(finds_what_was_meant),
        cmocka_unit_test(later_commands_are_known_by_name_only),
        cmocka_unit_test(reads_time_limits_as_people_and_sbatch_write_them),
        cmocka_unit_test(the_page_of_commands_is_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
