/* words.c - parses command lines with the rules of getopt_long */

#include "slurm/words.h"

#include <assert.h>

#include "base/mem.h"

struct words_parser {
    const struct slurm_option *options;
    struct slurm_words *words;
    const char *const *at;
    const char *const *end;
};

static const char *option_name(const struct slurm_option *o)
{
    return o->same ? o->same : o->name;
}

static struct err *words_ambiguous(const struct words_parser *p, struct str name)
{
    struct buf all = {0};
    struct err *e;

    for (const struct slurm_option *o = p->options; o->name; o++)
        if (str_starts_with(str_of(o->name), name))
            buf_printf(&all, " '--%s'", o->name);
    e = err_new(ERR_INVALID, "option '--" STR_FMT "' is ambiguous; possibilities:%s", STR_ARG(name),
                all.at);
    buf_done(&all);
    return e;
}

/* The option of the name, or the only one that begins with it. */
static struct err *words_find(const struct words_parser *p, struct str name,
                              const struct slurm_option **ret)
{
    const struct slurm_option *found = NULL;

    for (const struct slurm_option *o = p->options; o->name; o++) {
        if (str_equal(str_of(o->name), name)) {
            *ret = o;
            return NULL;
        }
        if (!str_starts_with(str_of(o->name), name))
            continue;
        if (found && !text_equal(option_name(found), option_name(o)))
            return words_ambiguous(p, name);
        found = o;
    }
    if (!found)
        return err_new(ERR_INVALID, "unrecognized option '--" STR_FMT "'", STR_ARG(name));
    *ret = found;
    return NULL;
}

static struct err *words_read_long(struct words_parser *p, const char *word)
{
    struct str value = str_of(word + 2);
    struct str name = str_cut(&value, '=');
    const struct slurm_option *o = NULL;
    const char *text = value.at;

    TRY(words_find(p, name, &o));
    assert(o);
    if (text && o->takes == SLURM_TAKES_NOTHING)
        return err_new(ERR_INVALID, "option '--%s' doesn't allow an argument", o->name);
    if (!text && o->takes == SLURM_TAKES_VALUE) {
        if (p->at == p->end)
            return err_new(ERR_INVALID, "option '--%s' requires an argument", o->name);
        text = *p->at++;
    }
    vec_add(&p->words->given, (struct slurm_given){option_name(o), text});
    return NULL;
}

static const struct slurm_option *words_find_letter(const struct words_parser *p, char letter)
{
    for (const struct slurm_option *o = p->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static struct err *words_read_letters(struct words_parser *p, const char *word)
{
    for (const char *c = word + 1; *c; c++) {
        const struct slurm_option *o = words_find_letter(p, *c);
        const char *text = c[1] ? c + 1 : NULL;

        if (!o)
            return err_new(ERR_INVALID, "invalid option -- '%c'", *c);
        if (o->takes == SLURM_TAKES_NOTHING) {
            vec_add(&p->words->given, (struct slurm_given){option_name(o), NULL});
            continue;
        }
        if (!text && o->takes == SLURM_TAKES_VALUE) {
            if (p->at == p->end)
                return err_new(ERR_INVALID, "option requires an argument -- '%c'", *c);
            text = *p->at++;
        }
        vec_add(&p->words->given, (struct slurm_given){option_name(o), text});
        return NULL;
    }
    return NULL;
}

static struct err *words_read(struct words_parser *p, bool stops)
{
    bool is_over = false;

    while (p->at < p->end) {
        const char *word = *p->at++;

        if (is_over || word[0] != '-' || !word[1]) {
            vec_add(&p->words->arguments, word);
            is_over = is_over || stops;
        } else if (text_equal(word, "--")) {
            is_over = true;
        } else if (word[1] == '-') {
            TRY(words_read_long(p, word));
        } else {
            TRY(words_read_letters(p, word));
        }
    }
    return NULL;
}

struct err *slurm_words_parse(const struct slurm_option *options, bool stops, size_t n,
                              const char *const *words, struct slurm_words *ret)
{
    struct slurm_words w = {0};
    struct words_parser p = {.options = options, .words = &w, .at = words};
    struct err *e = NULL;

    p.end = n > 0 ? words + n : words; /* `words` may be NULL */
    e = words_read(&p, stops);

    if (e) {
        slurm_words_done(&w);
        return e;
    }
    *ret = w;
    return NULL;
}

const char *slurm_words_value(const struct slurm_words *w, const char *name)
{
    for (size_t i = w->given.n; i > 0; i--)
        if (text_equal(w->given.at[i - 1].name, name))
            return text_or_empty(w->given.at[i - 1].value);
    return NULL;
}

bool slurm_words_has(const struct slurm_words *w, const char *name)
{
    return slurm_words_value(w, name) != NULL;
}

void slurm_words_done(struct slurm_words *w)
{
    vec_done(&w->given);
    vec_done(&w->arguments);
}
