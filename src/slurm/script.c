/* script.c - reads the options in batch scripts */

#include "slurm/script.h"

#include "base/mem.h"

enum {
    SCRIPT_WORDS_MAX = 4096,
    SCRIPT_GROUPS_MAX = 128
};

/* Reads one word of a line: parts in quotes, and bytes behind a backslash, are literal. */
static struct err *script_read_word(struct str *line, struct buf *word)
{
    char quote = 0;

    while (line->size > 0) {
        char c = *line->at;

        if (!quote && (c == ' ' || c == '\t'))
            break;
        line->at++;
        line->size--;
        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = (char)(quote ? 0 : c);
        } else if (c == '\\' && quote != '\'' && line->size > 0) {
            buf_add_char(word, *line->at++);
            line->size--;
        } else {
            buf_add_char(word, c);
        }
    }
    return quote ? err_new(ERR_INVALID, "Unmatched `%c`", quote) : NULL;
}

static struct err *script_read_line(struct str line, struct slurm_script *s)
{
    for (;;) {
        struct buf word = {0};
        struct err *e;

        while (line.size > 0 && (*line.at == ' ' || *line.at == '\t')) {
            line.at++;
            line.size--;
        }
        if (line.size == 0 || *line.at == '#')
            return NULL;
        e = script_read_word(&line, &word);
        if (!e && s->words.n >= SCRIPT_WORDS_MAX)
            e = err_new(ERR_INVALID, "more than %d words in #SBATCH lines", SCRIPT_WORDS_MAX);
        if (e) {
            buf_done(&word);
            return e;
        }
        vec_add(&s->words, buf_steal(&word));
    }
}

static bool is_blank(struct str line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.at[i] != ' ' && line.at[i] != '\t')
            return false;
    return true;
}

/* Does the line begin the next component of a heterogeneous job? */
static bool is_separator(struct str line)
{
    while (line.size > 0 && (*line.at == ' ' || *line.at == '\t')) {
        line.at++;
        line.size--;
    }
    while (line.size > 0 && (line.at[line.size - 1] == ' ' || line.at[line.size - 1] == '\t'))
        line.size--;
    return str_equal(line, STR("hetjob")) || str_equal(line, STR("packjob"));
}

static struct err *script_read_directive(struct str line, struct slurm_script *s)
{
    if (!is_separator(line))
        return script_read_line(line, s);
    if (s->groups.n >= SCRIPT_GROUPS_MAX)
        return err_new(ERR_INVALID, "more than %d components", SCRIPT_GROUPS_MAX);
    vec_add(&s->groups, s->words.n);
    return NULL;
}

static struct err *script_read_lines(struct str script, const char *name, struct slurm_script *s)
{
    for (int number = 1; script.at; number++) {
        struct str line = str_cut(&script, '\n');
        struct err *e = NULL;

        if (line.size == 0 || is_blank(line))
            continue;
        if (*line.at != '#')
            return NULL;
        if (str_starts_with(line, STR("#SBATCH")))
            e = script_read_directive((struct str){line.at + 7, line.size - 7}, s);
        s->has_pbs = s->has_pbs || str_starts_with(line, STR("#PBS"));
        if (e)
            return err_wrap(e, "%s: line %d", name, number);
    }
    return NULL;
}

static struct err *script_check(struct str script)
{
    if (script.size == 0 || is_blank(script))
        return err_new(ERR_INVALID, "Batch script is empty!");
    if (!str_starts_with(script, STR("#!")))
        return err_new(ERR_INVALID,
                       "This does not look like a batch script.  The first\n"
                       "line must start with #! followed by the path to an interpreter.\n"
                       "For instance: #!/bin/sh");
    if (memchr(script.at, 0, script.size))
        return err_new(ERR_INVALID, "The batch script contains a NULL character");
    if (memmem(script.at, script.size, "\r\n", 2))
        return err_new(ERR_INVALID, "Batch script contains DOS line breaks (\\r\\n)\n"
                                    "instead of expected UNIX line breaks (\\n).");
    return NULL;
}

struct err *slurm_script_parse(struct str script, const char *name, struct slurm_script *ret)
{
    struct slurm_script s = {0};
    struct err *e;

    TRY(script_check(script));
    e = script_read_lines(script, name, &s);
    if (e) {
        slurm_script_done(&s);
        return e;
    }
    *ret = s;
    return NULL;
}

void slurm_script_done(struct slurm_script *s)
{
    VEC_EACH (&s->words, word)
        free(*word);
    vec_done(&s->words);
    vec_done(&s->groups);
}

char *slurm_script_wrap(const char *command)
{
    return mem_format("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n%s\n", command);
}
