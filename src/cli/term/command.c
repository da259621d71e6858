/* command.c - parses command lines by the table of commands */

#include "cli/term/command.h"

#include <assert.h>

#include "base/num.h"
#include "base/stamp.h"
#include "model/time_limit.h"

static const char *const formats[] = {"table", "wide", "name", "json",
                                      "jsonl", "yaml", "csv",  NULL};

static const struct flag server_flags[] = {
    {.name = "data",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "data directory of the local server to use. Default: $METE_DATA; if neither $METE_DATA "
            "nor $KUBECONFIG is set, in a pod its cluster, else /var/lib/mete"},
    {.name = "kubeconfig",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "kubeconfig of the server to use. Default: $METE_KUBECONFIG; if $METE_DATA is not set, "
            "$KUBECONFIG"},
    {.name = "context",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "context of the kubeconfig. Default: its current-context"},
    {0},
};

static const struct flag namespace_flags[] = {
    {.name = "namespace",
     .letter = 'n',
     .type = FLAG_TEXT,
     .value = "NS",
     .doc = "namespace. Default: \"default\""},
    {0},
};

static const struct flag all_flags[] = {
    {.name = "all-namespaces", .letter = 'A', .type = FLAG_SWITCH, .doc = "all namespaces"},
    {0},
};

static const struct flag output_flags[] = {
    {.name = "output",
     .letter = 'o',
     .type = FLAG_TEXT,
     .value = "FORMAT",
     .fallback = "table",
     .values = formats,
     .doc = "output format: table, wide, name, json, jsonl, yaml or csv. Default: table"},
    {.name = "no-headers", .type = FLAG_SWITCH, .doc = "omit the header line of tables and csv"},
    {0},
};

static const struct flag limit_flags[] = {
    {.name = "limit",
     .type = FLAG_COUNT,
     .value = "N",
     .doc = "print at most N lines; 0: all. Default: 50 for tables, all for other formats"},
    {0},
};

static const struct flag help_flags[] = {
    {.name = "help", .type = FLAG_SWITCH, .doc = "print this help; -h prints only usage and flags"},
    {0},
};

static void each_of(const struct flag *flags, void (*fn)(void *arg, const struct flag *f),
                    void *arg)
{
    for (const struct flag *f = flags; f && f->name; f++)
        fn(arg, f);
}

void command_each_flag(const struct command *c, void (*fn)(void *arg, const struct flag *f),
                       void *arg)
{
    each_of(c->flags, fn, arg);
    if (c->groups & FLAGS_NAMESPACE)
        each_of(namespace_flags, fn, arg);
    if (c->groups & FLAGS_ALL)
        each_of(all_flags, fn, arg);
    if (c->groups & FLAGS_LIMIT)
        each_of(limit_flags, fn, arg);
    if (c->groups & FLAGS_OUTPUT)
        each_of(output_flags, fn, arg);
    if (c->groups & FLAGS_SERVER)
        each_of(server_flags, fn, arg);
    each_of(help_flags, fn, arg);
}

struct search {
    struct str name;
    char letter;
    const struct flag *found;
};

static void match_flag(void *arg, const struct flag *f)
{
    struct search *s = arg;

    if (s->found)
        return;
    if (s->letter ? f->letter == s->letter : str_equal(str_of(f->name), s->name))
        s->found = f;
}

const struct flag *command_find_flag(const struct command *c, struct str name, char letter)
{
    struct search s = {.name = name, .letter = letter};

    command_each_flag(c, match_flag, &s);
    return s.found;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (text_equal(commands[i]->name, name))
            return commands[i];
    return NULL;
}

/* Commands of later versions: an error names them, so that a user does not suspect a misspelling.
 */
static const char *const planned[] = {
    "submit", "explain", "context", "backup", "upgrade", NULL,
};

bool command_is_planned(const char *name)
{
    for (size_t i = 0; planned[i]; i++)
        if (text_equal(planned[i], name))
            return true;
    return false;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

enum {
    WORD_MAX = 40
};

/* Edit distance with swapped neighbours as one step (optimal string alignment). Words longer than
 * WORD_MAX are far from all words. */
static size_t word_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1] = {0};
    size_t n = strlen(a);
    size_t m = strlen(b);

    if (n > WORD_MAX || m > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3];
        const size_t *before = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = smallest(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

struct nearest {
    const char *name;
    const char *best;
    size_t distance;
};

static void command_consider(struct nearest *n, const char *candidate)
{
    size_t d = word_distance(n->name, candidate);

    if (d < n->distance) {
        n->best = candidate;
        n->distance = d;
    }
}

/* The largest accepted edit distance: a third of the word; for a short word, one letter. */
static size_t reach(const char *name)
{
    return strlen(name) / 3 + 2;
}

const char *command_nearest(const char *name)
{
    struct nearest n = {.name = name, .distance = reach(name)};

    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->is_hidden)
            command_consider(&n, commands[i]->name);
    return n.best;
}

static void consider_flag(void *arg, const struct flag *f)
{
    if (!f->is_hidden)
        command_consider(arg, f->name);
}

static const char *nearest_flag(const struct command *c, const char *name)
{
    struct nearest n = {.name = name, .distance = reach(name)};

    command_each_flag(c, consider_flag, &n);
    return n.best;
}

static struct err *check_word(const struct flag *f, const char *text)
{
    struct buf words = {0};
    AUTO_FREE char *list = NULL;

    for (size_t i = 0; f->values[i]; i++)
        if (text_equal(f->values[i], text))
            return NULL;
    for (size_t i = 0; f->values[i]; i++)
        buf_printf(&words, "%s%s", i == 0 ? "" : f->values[i + 1] ? ", " : " or ", f->values[i]);
    list = buf_steal(&words);
    return err_new(ERR_BAD_REQUEST, "--%s: \"%s\" is not known: want %s", f->name, text, list);
}

static struct err *check_value(const struct flag *f, const char *text)
{
    int64_t number = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (f->values)
        return check_word(f, text);
    if (f->type == FLAG_COUNT)
        e = num_parse_int64(str_of(text), 0, INT64_MAX, &number);
    if (e)
        return err_new(ERR_BAD_REQUEST, "--%s: \"%s\" is not a whole number", f->name, text);
    if (f->type == FLAG_DURATION)
        e = time_limit_parse(text, &number);
    return e ? err_wrap(TAKE(e), "--%s", f->name) : NULL;
}

struct parser {
    struct invocation *in;
    size_t n;
    const char *const *words;
    size_t at; /* index of the present word */
};

static struct err *parser_add(struct parser *p, const struct flag *f, const char *text)
{
    if (text)
        TRY(check_value(f, text));
    vec_add(&p->in->given, (struct given){.flag = f, .text = text});
    return NULL;
}

static struct err *next_value(struct parser *p, const struct flag *f, const char **ret)
{
    if (p->at + 1 >= p->n)
        return err_new(ERR_BAD_REQUEST, "--%s needs a value: %s", f->name,
                       f->value ? f->value : "VALUE");
    *ret = p->words[++p->at];
    return NULL;
}

static struct err *unknown_flag(const struct command *c, const char *word)
{
    AUTO_FREE char *name = mem_strndup(word + 2, strcspn(word + 2, "="));
    const char *near = nearest_flag(c, name);

    if (near)
        return err_new(ERR_BAD_REQUEST, "%s has no flag \"--%s\": did you mean \"--%s\"?", c->name,
                       name, near);
    return err_new(ERR_BAD_REQUEST, "%s has no flag \"--%s\"", c->name, name);
}

static struct err *switch_value(const struct flag *f, const char *text, bool *ret)
{
    if (text_equal(text, "true") || text_equal(text, "false")) {
        *ret = text_equal(text, "true");
        return NULL;
    }
    return err_new(ERR_BAD_REQUEST, "--%s: want no value, true or false", f->name);
}

static struct err *parse_long(struct parser *p, const char *word)
{
    const char *equals = strchr(word, '=');
    struct str name = {.at = word + 2,
                       .size = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2};
    const struct flag *f = command_find_flag(p->in->command, name, 0);
    const char *text = equals ? equals + 1 : NULL;
    bool is_on = true;

    if (!f)
        return unknown_flag(p->in->command, word);
    if (f->type == FLAG_SWITCH) {
        if (text)
            TRY(switch_value(f, text, &is_on));
        return parser_add(p, f, is_on ? NULL : "false");
    }
    if (!text)
        TRY(next_value(p, f, &text));
    return parser_add(p, f, text);
}

static struct err *parse_letters(struct parser *p, const char *word)
{
    for (const char *at = word + 1; *at; at++) {
        const struct flag *f = command_find_flag(p->in->command, (struct str){0}, *at);
        const char *text = at + 1;

        if (*at == 'h') {
            p->in->wants_short = true;
            continue;
        }
        if (!f)
            return err_new(ERR_BAD_REQUEST, "%s has no flag \"-%c\"", p->in->command->name, *at);
        if (f->type == FLAG_SWITCH) {
            TRY(parser_add(p, f, NULL));
            continue;
        }
        if (*text == '=')
            text++;
        if (!*text)
            TRY(next_value(p, f, &text));
        return parser_add(p, f, text);
    }
    return NULL;
}

static struct err *parse_words(struct parser *p)
{
    struct invocation *in = p->in;
    bool is_over = false;

    for (; p->at < p->n; p->at++) {
        const char *word = p->words[p->at];

        if (is_over || in->command->reads_words || word[0] != '-' || !word[1]) {
            vec_add(&in->arguments, word);
            is_over = is_over || in->command->passes_on;
        } else if (text_equal(word, "--")) {
            is_over = true;
        } else if (word[1] == '-') {
            TRY(parse_long(p, word));
        } else {
            TRY(parse_letters(p, word));
        }
    }
    return NULL;
}

static struct err *check_arguments(const struct invocation *in)
{
    const struct command *c = in->command;

    if (in->wants_help || in->wants_short)
        return NULL;
    if (in->arguments.n < c->n_min)
        return err_new(ERR_BAD_REQUEST, "%s needs %s", c->name, c->arguments);
    if (in->arguments.n > c->n_max)
        return err_new(ERR_BAD_REQUEST, "%s: \"%s\" is one argument too many", c->name,
                       in->arguments.at[c->n_max]);
    return NULL;
}

struct err *invocation_parse(const struct command *c, size_t n, const char *const *words,
                             struct invocation *ret)
{
    struct invocation in = {.command = c};
    struct parser p = {.in = &in, .n = n, .words = words};
    struct err *e = parse_words(&p);

    if (!e) {
        in.wants_help = flag_switch(&in, "help");
        e = check_arguments(&in);
    }
    if (e) {
        invocation_done(&in);
        return e;
    }
    *ret = in;
    return NULL;
}

void invocation_done(struct invocation *in)
{
    vec_done(&in->given);
    vec_done(&in->arguments);
    *in = (struct invocation){0};
}

static const struct given *last_given(const struct invocation *in, const char *name,
                                      const struct flag **ret_flag)
{
    const struct given *found = NULL;

    *ret_flag = command_find_flag(in->command, str_of(name), 0);
    assert(*ret_flag);
    for (size_t i = 0; i < in->given.n; i++)
        if (in->given.at[i].flag == *ret_flag)
            found = &in->given.at[i];
    return found;
}

const char *flag_text(const struct invocation *in, const char *name)
{
    const struct flag *f = NULL;
    const struct given *g = last_given(in, name, &f);

    return g ? g->text : f->fallback;
}

bool flag_switch(const struct invocation *in, const char *name)
{
    const struct flag *f = NULL;
    const struct given *g = last_given(in, name, &f);

    return g && !g->text;
}

int64_t flag_count(const struct invocation *in, const char *name, int64_t absent)
{
    const char *text = flag_text(in, name);
    int64_t count = absent;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX,
                                 &count)); /* the parser has checked the text */
    return count;
}

int64_t flag_duration_ns(const struct invocation *in, const char *name, int64_t absent_ns)
{
    const char *text = flag_text(in, name);
    int64_t ns = absent_ns;

    if (text)
        err_free(time_limit_parse(text, &ns)); /* the parser has checked the text */
    return ns;
}

const char *flag_repeated(const struct invocation *in, const char *name, size_t i)
{
    const struct flag *f = command_find_flag(in->command, str_of(name), 0);

    assert(f && f->is_repeated);
    for (size_t at = 0; at < in->given.n; at++)
        if (in->given.at[at].flag == f && i-- == 0)
            return in->given.at[at].text;
    return NULL;
}
