/* multi_prog.c - reads the file of srun --multi-prog */

#include "slurm/multi_prog.h"

#include <inttypes.h>

#include "base/mem.h"
#include "model/index_set.h"

enum {
    RANKS_MAX = 1 << 16
};

/* A place in the file. */
struct program_file {
    struct str rest;
    int64_t line;
};

static char file_next(struct program_file *f)
{
    char c = *f->rest.at;

    f->rest.at++;
    f->rest.size--;
    f->line += c == '\n';
    return c;
}

/* Reads a word of the line. False: the line has no more words. */
static bool read_word(struct program_file *f, struct buf *word)
{
    char quote = 0;
    bool has_any = false;

    buf_clear(word);
    while (f->rest.size > 0 && (*f->rest.at == ' ' || *f->rest.at == '\t'))
        (void)file_next(f);
    if (f->rest.size > 0 && *f->rest.at == '#')
        while (f->rest.size > 0 && *f->rest.at != '\n')
            (void)file_next(f);
    while (f->rest.size > 0 && (quote || !strchr(" \t\n", *f->rest.at))) {
        char c = file_next(f);

        has_any = true;
        if (c == '\\' && quote != '\'' && f->rest.size > 0) {
            c = file_next(f);
            if (c != '\n')
                buf_add_char(word, c);
            else
                has_any = word->size > 0;
            if (c == '\n' && !has_any)
                return read_word(f, word);
        } else if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? 0 : c;
        } else {
            buf_add_char(word, c);
        }
    }
    return has_any;
}

/* Replaces %t and %o. */
static char *program_argument(const char *text, size_t rank, size_t place)
{
    struct buf out = {0};

    for (const char *at = text; *at; at++) {
        if (at[0] == '%' && (at[1] == 't' || at[1] == 'o')) {
            buf_printf(&out, "%zu", at[1] == 't' ? rank : place);
            at++;
        } else {
            buf_add_char(&out, *at);
        }
    }
    return buf_steal(&out);
}

static void put_program(json_t *all, size_t rank, size_t place, const json_t *words)
{
    json_t *argv = json_array();

    for (size_t i = 0; i < json_array_size(words); i++) {
        AUTO_FREE char *text =
            program_argument(json_string_value(json_array_get(words, i)), rank, place);

        (void)json_array_append_new(argv, json_sprintf("%s", text)); /* fresh: cannot fail */
    }
    (void)json_array_set_new(all, rank, argv);
}

/* Gives the line's program to its ranks that have none. */
static struct err *put_programs(json_t *all, const char *ranks, const json_t *words, int64_t line)
{
    AUTO(index_set_done) struct index_set set = {0};
    bool is_rest = text_equal(ranks, "*");
    AUTO(err_freep)
    struct err *e = is_rest ? NULL : index_set_parse(str_of(ranks), RANKS_MAX, &set);
    size_t place = 0;

    if (e || json_array_size(words) == 0)
        return err_new(ERR_INVALID, "Line %" PRId64 " of configuration file is invalid", line);
    for (size_t i = 0; i < json_array_size(all); i++) {
        bool is_free = json_is_null(json_array_get(all, i));

        if (is_rest ? is_free : index_set_has(&set, i)) {
            if (!is_free)
                return err_new(ERR_INVALID,
                               "Line %" PRId64 " of configuration file: task %zu has a program",
                               line, i);
            put_program(all, i, place++, words);
        }
    }
    return NULL;
}

struct err *multi_prog_read(struct str text, int64_t tasks, json_t **ret)
{
    struct program_file f = {.rest = text, .line = 1};
    AUTO(json_freep) json_t *all = json_array();
    AUTO(buf_done) struct buf word = {0};

    for (int64_t i = 0; i < tasks; i++)
        (void)json_array_append_new(all, json_null());
    while (f.rest.size > 0) {
        int64_t line = f.line;
        AUTO_FREE char *ranks = NULL;
        AUTO(json_freep) json_t *words = json_array();

        if (read_word(&f, &word)) {
            ranks = mem_strndup(word.at, word.size);
            while (read_word(&f, &word))
                (void)json_array_append_new(words, json_sprintf("%s", text_or_empty(word.at)));
            TRY(put_programs(all, ranks, words, line));
        }
        if (f.rest.size > 0)
            (void)file_next(&f);
    }
    for (int64_t i = 0; i < tasks; i++)
        if (json_is_null(json_array_get(all, (size_t)i)))
            return err_new(ERR_INVALID,
                           "Configuration file %" PRId64 " invalid: no program for this task rank",
                           i);
    *ret = TAKE(all);
    return NULL;
}
