/* complete.c - candidates for the completion of a command line */

#include "cli/term/complete.h"

#include "base/mem.h"
#include "cli/term/command.h"
#include "kinds/kind/kind.h"

struct completion {
    const char *prefix;
    const char *before; /* prefix of each candidate: "--output=" */
    struct buf *out;
    live_fn live;
    void *arg;
};

static void candidate_add(const struct completion *c, const char *word, const char *doc)
{
    if (text_starts_with(word, c->prefix))
        buf_printf(c->out, "%s%s\t%s\n", c->before, word, doc ? doc : "");
}

static void offer_live(const struct completion *c, enum live which)
{
    AUTO(buf_done) struct buf names = {0};

    c->live(c->arg, which, &names);
    for (struct str rest = {names.at, names.size}; rest.at;) {
        struct str line = str_cut(&rest, '\n');
        AUTO_FREE char *name = mem_strndup(line.at, line.size);

        if (line.size > 0)
            candidate_add(c, name, "");
    }
}

static void offer_commands(const struct completion *c)
{
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->is_hidden)
            candidate_add(c, commands[i]->name, commands[i]->summary);
}

/* Has an earlier kind the same plural? Two API groups may share one: pods, and the metrics of pods.
 */
static bool is_named_before(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!kinds[i]->is_question && text_equal(kinds[i]->plural, kinds[at]->plural))
            return true;
    return false;
}

static void offer_kinds(const struct completion *c)
{
    for (size_t i = 0; i < kinds_count; i++)
        if (!kinds[i]->is_question && !is_named_before(i))
            candidate_add(c, kinds[i]->plural, kinds[i]->doc);
}

static void offer_flag(void *arg, const struct flag *f)
{
    AUTO_FREE char *word = mem_format("--%s", f->name);

    if (!f->is_hidden)
        candidate_add(arg, word, f->doc);
}

static void offer_values(const struct completion *c, const struct flag *f)
{
    for (size_t i = 0; f->values && f->values[i]; i++)
        candidate_add(c, f->values[i], "");
    if (text_equal(f->name, "namespace") || (f->value && text_equal(f->value, "NAMESPACE")))
        offer_live(c, LIVE_NAMESPACES);
    else if (text_equal(f->name, "queue"))
        offer_live(c, LIVE_QUEUES);
    else if (text_equal(f->name, "node"))
        offer_live(c, LIVE_NODES);
    else if (f->value && (text_starts_with(f->value, "FILE") || text_starts_with(f->value, "DIR")))
        buf_add_text(c->out, ":files\n");
}

/* Returns the flag of `word`; NULL: no flag, or a flag with its value in the same word. */
static const struct flag *flag_of(const struct command *c, const char *word)
{
    if (text_starts_with(word, "--"))
        return command_find_flag(c, (struct str){word + 2, strcspn(word + 2, "=")}, 0);
    if (word[0] == '-' && word[1] && !word[2])
        return command_find_flag(c, (struct str){0}, word[1]);
    return NULL;
}

static bool waits_for_value(const struct command *c, const char *word)
{
    const struct flag *f = flag_of(c, word);

    return f && f->type != FLAG_SWITCH && !strchr(word, '=');
}

/* The meaning of the earlier words for the last word. */
struct state {
    const struct flag *waiting; /* the last word is the value of this flag */
    size_t n_arguments;
    bool is_over; /* no more flags */
};

static struct state read_words(const struct command *c, const char *const *words, size_t n)
{
    struct state s = {0};

    for (size_t i = 0; i < n; i++) {
        if (s.waiting) {
            s.waiting = NULL;
        } else if (!s.is_over && text_equal(words[i], "--")) {
            s.is_over = true;
        } else if (!s.is_over && words[i][0] == '-' && words[i][1]) {
            s.waiting = waits_for_value(c, words[i]) ? flag_of(c, words[i]) : NULL;
        } else {
            s.n_arguments++;
            s.is_over = s.is_over || c->passes_on;
        }
    }
    return s;
}

static void offer_arguments(const struct completion *c, const struct command *command, size_t at)
{
    if (command->words && at == 0) {
        for (size_t i = 0; command->words[i]; i++)
            candidate_add(c, command->words[i], "");
        return;
    }
    switch (command->takes) {
    case TAKES_NOTHING:
        return;
    case TAKES_JOBS:
        offer_live(c, LIVE_JOBS);
        return;
    case TAKES_JOB:
        if (at == 0)
            offer_live(c, LIVE_JOBS);
        return;
    case TAKES_PLACES:
        offer_live(c, LIVE_JOBS);
        buf_add_text(c->out, ":files\n");
        return;
    case TAKES_JOBS_QUEUE:
        offer_live(c, LIVE_JOBS);
        if (at > 0)
            offer_live(c, LIVE_QUEUES);
        return;
    case TAKES_QUEUES:
        offer_live(c, LIVE_QUEUES);
        return;
    case TAKES_NODES:
        offer_live(c, LIVE_NODES);
        return;
    case TAKES_KINDS:
        if (at == 0)
            offer_kinds(c);
        return;
    case TAKES_COMMANDS:
        offer_commands(c);
        return;
    case TAKES_FILES:
        buf_add_text(c->out, ":files\n");
        return;
    }
}

static void complete_of(struct completion *c, const struct command *command,
                        const char *const *words, size_t n)
{
    const char *last = words[n - 1];
    const struct state s = read_words(command, words, n - 1);
    const char *equals = strchr(last, '=');
    AUTO_FREE char *before = NULL;

    if (s.waiting) {
        offer_values(c, s.waiting);
    } else if (!s.is_over && text_starts_with(last, "--") && equals) {
        before = mem_strndup(last, (size_t)(equals - last) + 1);
        c->before = before;
        c->prefix = equals + 1;
        if (flag_of(command, last))
            offer_values(c, flag_of(command, last));
    } else if (!s.is_over && last[0] == '-') {
        command_each_flag(command, offer_flag, c);
    } else if (s.n_arguments < command->n_max || command->passes_on) {
        offer_arguments(c, command, s.n_arguments);
    }
}

void complete_words(const char *const *words, size_t n, live_fn live, void *arg, struct buf *ret)
{
    struct completion c = {.before = "", .out = ret, .live = live, .arg = arg};
    const struct command *command = NULL;

    if (n == 0)
        return;
    c.prefix = words[n - 1];
    if (n == 1) {
        offer_commands(&c);
        return;
    }
    command = command_find(words[0]);
    if (command)
        complete_of(&c, command, words + 1, n - 1);
}
