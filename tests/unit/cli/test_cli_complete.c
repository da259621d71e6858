/* test_cli_complete.c - completion of command lines, and the manual pages */

#include "base/mem.h"
#include "cli/term/command.h"
#include "cli/term/complete.h"
#include "test.h"

static void add_names(void *arg, enum live which, struct buf *b)
{
    static const char *const names[] = {[LIVE_JOBS] = "train\ntest\n",
                                        [LIVE_NODES] = "gpu-01\n",
                                        [LIVE_NAMESPACES] = "default\nteam-a\n",
                                        [LIVE_QUEUES] = "research\n"};

    (void)arg;
    buf_add_text(b, names[which]);
}

/* Returns the candidates without their descriptions; "|" separates the words of a line. */
static char *complete(const char *line)
{
    AUTO(buf_done) struct buf all = {0};
    struct buf words = {0};
    const char *parts[8];
    AUTO_FREE char *copy = mem_strdup(line);
    size_t n = 0;

    for (char *at = copy; at; n++) {
        char *bar = strchr(at, '|');

        parts[n] = at;
        if (bar)
            *bar = '\0';
        at = bar ? bar + 1 : NULL;
    }
    complete_words(parts, n, add_names, NULL, &all);
    for (struct str rest = {all.at, all.size}; rest.at;) {
        struct str one = str_cut(&rest, '\n');
        struct str word = str_cut(&one, '\t');

        if (word.size > 0)
            buf_printf(&words, "%s" STR_FMT, words.size > 0 ? " " : "", STR_ARG(word));
    }
    buf_add_text(&words, "");
    return words.at ? buf_steal(&words) : mem_strdup("");
}

static void knows_what_may_stand_next(void **state)
{
    static const struct {
        const char *line;
        const char *words;
    } cases[] = {
        {"dr", "drain"},
        {"why|", "train test"},
        {"why|tr", "train"},
        {"why|train|", ""}, /* why takes one job */
        {"cancel|train|te", "test"},
        {"drain|", "gpu-01"},
        {"drain|gpu-01|--reas", "--reason"},
        {"get|po", "pods podtemplates poddisruptionbudgets podgroups"},
        {"exec|t", "train test"},
        {"exec|train|--|t", ""},
        {"cp|tr", "train :files"},
        {"image|", "import pull ls rm gc"},
        {"image|import|", ":files"},
        {"image|ls|--node|", "gpu-01"},
        {"usage|--of|te", "team-a"},
        {"get|poddis", "poddisruptionbudgets"},
        {"ps|-o|js", "json jsonl"},
        {"ps|--output=ya", "--output=yaml"},
        {"ps|-n|te", "team-a"},
        {"ps|--namespace=d", "--namespace=default"},
        {"apply|-f|", ":files"},
        {"completion|", "bash zsh fish"},
        {"help|comple", "completion"},
        {"run|--|ls|-", ""}, /* words after -- belong to the command */
        {"nonsense|", ""},
        {"comple", "completion"}, /* hidden commands are not offered */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *words = complete(cases[i].line);

        if (strcmp(words, cases[i].words) != 0)
            fail_msg("%s: %s", cases[i].line, words);
    }
}

struct page {
    const struct command *command;
    const char *text;
};

static void find_in_page(void *arg, const struct flag *f)
{
    const struct page *p = arg;
    struct buf name = {0};

    if (f->is_hidden)
        return;
    buf_add_text(&name, "\\fB\\-\\-");
    for (const char *at = f->name; *at; at++)
        buf_printf(&name, "%s%c", *at == '-' ? "\\" : "", *at);
    buf_add_text(&name, "\\fR");
    if (!strstr(p->text, name.at))
        fail_msg("mete %s: --%s is not in its page", p->command->name, f->name);
    buf_done(&name);
}

static void every_command_has_its_page(void **state)
{
    AUTO_FREE char *all = man_format(NULL);

    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        AUTO_FREE char *text = man_format(commands[i]);
        AUTO_FREE char *entry = mem_format("\\fBmete\\-%s\\fR(1)", commands[i]->name);
        struct page p = {.command = commands[i], .text = text};

        command_each_flag(commands[i], find_in_page, &p);
        assert_non_null(strstr(text, ".SH EXAMPLES"));
        assert_int_equal(strstr(all, entry) != NULL, !commands[i]->is_hidden);
    }
}

/* roff reads a line that begins with a dot as a request: all requests must be known to man(7). */
static void pages_hold_only_known_requests(void **state)
{
    static const char *const known[] = {".TH ", ".SH ", ".TP", ".PP", ".BR "};

    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        AUTO_FREE char *text = man_format(commands[i]);

        for (struct str rest = str_of(text); rest.at;) {
            struct str line = str_cut(&rest, '\n');
            bool is_known = line.size == 0 || (line.at[0] != '.' && line.at[0] != '\'');

            for (size_t k = 0; k < COUNT(known); k++)
                is_known |= str_starts_with(line, str_of(known[k]));
            if (!is_known)
                fail_msg("%s: " STR_FMT, commands[i]->name, STR_ARG(line));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_may_stand_next),
        cmocka_unit_test(every_command_has_its_page),
        cmocka_unit_test(pages_hold_only_known_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
