/* top_act.c - the actions of `mete top`: the same commands that users type, after a question */

#include <stdio.h>

#include "base/mem.h"
#include "cli/term/text_escape.h"
#include "cli/top/top_private.h"

/* A verb that changes something. */
struct top_verb {
    const char *name;
    bool is_about_places; /* of gpus and nodes; else of jobs */
    bool has_argument;
    const char *wants; /* the argument, for the message */
};

static const struct top_verb verbs[] = {
    {.name = "cancel"},
    {.name = "hold"},
    {.name = "release"},
    {.name = "requeue"},
    {.name = "move", .has_argument = true, .wants = "QUEUE"},
    {.name = "drain", .is_about_places = true, .has_argument = true, .wants = "REASON"},
    {.name = "resume", .is_about_places = true}};

static const struct top_verb *verb_find(const char *name)
{
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (text_equal(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

/* ---- what an action is about ---- */

/* "12", "pod/train". The caller frees it. */
static char *row_word(const struct top_row *row)
{
    return row->id ? mem_strdup(row->id) : mem_format("%s/%s", row->object, row->name);
}

static size_t tag_find(const struct top *t, const char *ns, const char *word)
{
    size_t i = 0;

    while (i < t->tags.n &&
           (!text_equal(t->tags.at[i].ns, ns) || !text_equal(t->tags.at[i].word, word)))
        i++;
    return i;
}

bool top_is_tagged(void *arg, const struct top_row *row)
{
    const struct top *t = arg;
    AUTO_FREE char *word = row->name && t->tags.n > 0 ? row_word(row) : NULL;

    return word && tag_find(t, row->ns, word) < t->tags.n;
}

static void tags_clear(struct top *t)
{
    VEC_EACH (&t->tags, tag) {
        free(tag->ns);
        free(tag->word);
    }
    vec_clear(&t->tags);
}

void top_toggle_tag(struct top *t)
{
    const struct top_row *row = top_selected(t);
    AUTO_FREE char *word = row && row->name ? row_word(row) : NULL;
    size_t i;

    if (!word) {
        top_say(t, "only jobs are marked");
        return;
    }
    i = tag_find(t, row->ns, word);
    if (i == t->tags.n) {
        vec_add(&t->tags, (struct top_tag){.ns = mem_strdup(row->ns), .word = TAKE(word)});
        return;
    }
    free(t->tags.at[i].ns);
    free(t->tags.at[i].word);
    vec_remove(&t->tags, i);
}

/* "NODE/gpu3" on the wall, "NODE" in the list of nodes; NULL: neither. The caller frees it. */
static char *place_word(struct top *t)
{
    const struct top_row *row = top_selected(t);
    int64_t left = t->look.selected[TOP_WALL];

    if (t->look.screen == TOP_NODES)
        return row ? mem_strdup(row->cells[0]) : NULL;
    if (t->look.screen != TOP_WALL)
        return NULL;
    VEC_EACH (&t->view.gpus, g)
        if (top_draw_matches(&t->look, g) && left-- == 0)
            return mem_format("%s/%lld", g->node, (long long)g->index);
    return NULL;
}

/* ---- the question ---- */

static void words_clear(struct top *t)
{
    VEC_EACH (&t->words, word)
        free(*word);
    vec_clear(&t->words);
}

/* Adds the jobs of one namespace; returns their number. All marked jobs of other namespaces wait
 * for a command of their own. */
static size_t add_jobs(struct top *t, const char **ret_ns)
{
    const struct top_row *row = top_selected(t);
    size_t n = 0;

    if (t->tags.n == 0) {
        if (!row || !row->name)
            return 0;
        vec_add(&t->words, row_word(row));
        *ret_ns = row->ns;
        return 1;
    }
    *ret_ns = t->tags.at[0].ns;
    VEC_EACH (&t->tags, tag) {
        if (!text_equal(tag->ns, *ret_ns))
            continue;
        vec_add(&t->words, mem_strdup(tag->word));
        n++;
    }
    return n;
}

static bool is_refused(struct top *t, const struct top_verb *verb, const char *argument)
{
    if (t->is_readonly)
        top_say(t, "--readonly: this screen changes nothing");
    else if (t->look.is_local)
        top_say(t, "--local: there is no server to ask");
    else if (verb->has_argument && (!argument || !*argument))
        top_say(t, "%s needs %s", verb->name, verb->wants);
    else
        return false;
    return true;
}

void top_act(struct top *t, const char *name, const char *argument)
{
    const struct top_verb *verb = verb_find(name);
    AUTO_FREE char *place = verb && verb->is_about_places ? place_word(t) : NULL;
    const char *ns = NULL;
    size_t n = 1;

    if (!verb || is_refused(t, verb, argument))
        return;
    words_clear(t);
    vec_add(&t->words, mem_strdup(name));
    if (text_equal(name, "cancel"))
        vec_add(&t->words, mem_strdup("--yes"));
    if (text_equal(name, "drain"))
        vec_add(&t->words, mem_format("--reason=%s", argument));
    if (place)
        vec_add(&t->words, mem_strdup(place));
    else
        n = verb->is_about_places ? 0 : add_jobs(t, &ns);
    if (text_equal(name, "move"))
        vec_add(&t->words, mem_strdup(argument));
    vec_add(&t->words, NULL);
    if (n == 0) {
        top_say(t,
                verb->is_about_places ? "%s: select a GPU on the wall, or a node"
                                      : "%s: select a job",
                name);
        return;
    }
    free(t->word);
    t->word = ns ? mem_strdup(ns) : NULL;
    if (n > 1)
        (void)snprintf(t->look.question, sizeof(t->look.question),
                       "%s %zu jobs of namespace %s? y or n", name, n, ns);
    else
        (void)snprintf(t->look.question, sizeof(t->look.question), "%s %s%s%s? y or n", name,
                       place ? place : t->words.at[t->words.n - (text_equal(name, "move") ? 3 : 2)],
                       argument && *argument ? ": " : "", text_or_empty(argument));
}

void top_answer(struct top *t, bool is_yes)
{
    *t->look.question = '\0';
    if (!is_yes) {
        top_say(t, "nothing was changed");
        return;
    }
    if (t->tags.n > 0 && t->word)
        for (size_t i = t->tags.n; i > 0; i--) {
            struct top_tag tag = t->tags.at[i - 1];

            if (!text_equal(tag.ns, t->word))
                continue;
            free(tag.ns);
            free(tag.word);
            vec_remove(&t->tags, i - 1);
        }
    t->wants_paper = false;
    top_say(t, "%s ...", t->words.at[0]);
    top_run_add(t->run, (const char *const *)t->words.at, t->word, false);
}

/* ---- commands that print ---- */

void top_print(struct top *t, const char *const *words)
{
    const struct top_row *row = top_selected(t);
    AUTO_FREE char *word = row && row->name ? row_word(row) : NULL;
    const char *all[8] = {0};
    size_t n = 0;

    if (!word) {
        top_say(t, "%s: select a job", words[0]);
        return;
    }
    for (; words[n] && n + 2 < COUNT(all); n++)
        all[n] = words[n];
    all[n] = word;
    t->wants_paper = true;
    top_run_add(t->run, all, row->ns, false);
}

static void top_exec(struct top *t)
{
    const struct top_row *row = top_selected(t);
    AUTO_FREE char *word = row && row->name ? row_word(row) : NULL;
    const char *words[] = {"exec", "--stdin", "--tty", word, "--", "sh", NULL};

    if (!word || t->is_readonly) {
        top_say(t, t->is_readonly ? "--readonly: this screen changes nothing"
                                  : "exec: select a running job");
        return;
    }
    t->wants_paper = false;
    top_use_terminal(t, false);
    top_run_add(t->run, words, row->ns, true);
}

/* A failed command tells why in its first line. */
void top_on_run_end(void *arg, bool is_ok, struct str output)
{
    struct top *t = arg;
    AUTO_FREE char *text = text_escape(output, TEXT_ESCAPE_LINES);
    size_t line = strcspn(text, "\n");

    if (t->is_terminal_lent) {
        top_use_terminal(t, true);
        if (!is_ok)
            top_say(t, "the shell failed; mete exec tells why");
    } else if (is_ok && t->wants_paper) {
        top_lines_done(&t->paper);
        top_lines_add(&t->paper, output);
        if (t->paper.rest.size > 0)
            top_lines_end(&t->paper);
        top_go(t, TOP_PAPER);
    } else {
        top_say(t, "%.*s", (int)line, line > 0 ? text : is_ok ? "done" : "failed");
    }
    t->wants_paper = false;
    top_ask_now(t);
    top_show(t);
}

/* ---- command lines ---- */

static bool go_by_name(struct top *t, const char *word)
{
    static const struct {
        const char *name;
        enum top_screen screen;
    } screens[] = {{"wall", TOP_WALL},   {"gpus", TOP_WALL},   {"jobs", TOP_JOBS},
                   {"queue", TOP_QUEUE}, {"nodes", TOP_NODES}, {"events", TOP_EVENTS}};

    for (size_t i = 0; i < COUNT(screens); i++) {
        if (!text_equal(screens[i].name, word))
            continue;
        top_go(t, screens[i].screen);
        return true;
    }
    return false;
}

/* Sets a wish about the list of jobs, or the queue. */
static bool set_wish(struct top *t, const char *word, const char *argument)
{
    const char *const *sorts = top_sorts_of(t->look.screen);
    bool is_all = !argument || text_equal(argument, "all");

    if (text_equal(word, "state")) {
        (void)snprintf(t->look.states, sizeof(t->look.states), "%s", is_all ? "" : argument);
        top_go(t, TOP_JOBS);
    } else if (text_equal(word, "user")) {
        free(t->user);
        t->user = is_all ? NULL : mem_strdup(argument);
        top_go(t, TOP_JOBS);
    } else if (text_equal(word, "sort") && argument) {
        for (size_t i = 0; sorts[i]; i++)
            if (text_equal(sorts[i], argument + (*argument == '-'))) {
                t->look.sort[t->look.screen] = i;
                t->look.is_backwards[t->look.screen] = *argument == '-';
                top_ask_now(t);
                return true;
            }
        top_say(t, "this list is not sorted by %.40s", argument);
    } else {
        return false;
    }
    return true;
}

static void command_run(struct top *t, const char *word, char *argument)
{
    static const char *const why[] = {"why", NULL};
    static const char *const yaml[] = {"show", "--output=yaml", NULL};

    if (text_equal(word, "queue") && argument) {
        free(t->queue);
        t->queue = text_equal(argument, "all") ? NULL : mem_strdup(argument);
        top_go(t, t->look.screen == TOP_JOBS ? TOP_JOBS : TOP_QUEUE);
    } else if (verb_find(word)) {
        top_act(t, word, argument);
    } else if (text_equal(word, "why")) {
        top_print(t, why);
    } else if (text_equal(word, "yaml")) {
        top_print(t, yaml);
    } else if (text_equal(word, "exec")) {
        top_exec(t);
    } else if (text_equal(word, "q") || text_equal(word, "quit")) {
        top_quit(t);
    } else if (!go_by_name(t, word) && !set_wish(t, word, argument)) {
        top_say(t, "no such command: %.40s; ? lists them", word);
    }
}

void top_command(struct top *t, char *line)
{
    char *word = line + strspn(line, " ");
    size_t size = strcspn(word, " ");
    char *argument = word[size] ? word + size + 1 : NULL;

    if (argument) {
        word[size] = '\0';
        argument += strspn(argument, " ");
    }
    if (*word)
        command_run(t, word, argument && *argument ? argument : NULL);
}

void top_act_done(struct top *t)
{
    tags_clear(t);
    vec_done(&t->tags);
    words_clear(t);
    vec_done(&t->words);
    free(t->word);
    free(t->queue);
    free(t->user);
    top_lines_done(&t->paper);
}
