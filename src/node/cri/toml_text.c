/* toml_text.c - reads a TOML file piece by piece */

#include "node/cri/toml_text.h"

#include <string.h>

#include "base/mem.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct str trim(struct str s)
{
    while (s.size > 0 && (is_blank(s.at[0]) || s.at[0] == '\n')) {
        s.at++;
        s.size--;
    }
    while (s.size > 0 && (is_blank(s.at[s.size - 1]) || s.at[s.size - 1] == '\n'))
        s.size--;
    return s;
}

static size_t line_size(struct str s)
{
    const char *end = s.size > 0 ? memchr(s.at, '\n', s.size) : NULL;

    return end ? (size_t)(end - s.at) + 1 : s.size;
}

/* The size of the string that begins at `at`, with its quotes; 0: it does not end. */
static size_t string_size(struct str s, size_t at)
{
    char quote = s.at[at];
    size_t n = at + 2 < s.size && s.at[at + 1] == quote && s.at[at + 2] == quote ? 3 : 1;

    for (size_t i = at + n; i + n <= s.size; i++) {
        if (quote == '"' && s.at[i] == '\\')
            i++;
        else if (n == 1 && s.at[i] == '\n')
            return 0;
        else if (s.at[i] == quote && (n == 1 || (s.at[i + 1] == quote && s.at[i + 2] == quote)))
            return i + n - at;
    }
    return 0;
}

/* The size of a value from `at` on, up to the end of its last line. `*ret_end`: the end without a
 * comment. ERR_INVALID: the value does not end. */
static struct err *value_size(const struct toml_reader *r, size_t at, size_t *ret_size,
                              size_t *ret_end)
{
    struct str s = r->rest;
    int depth = 0;
    size_t end = at;

    for (size_t i = at; i < s.size; i++) {
        char c = s.at[i];

        if (c == '"' || c == '\'') {
            size_t n = string_size(s, i);

            if (n == 0)
                return err_new(ERR_INVALID, "line %u: a string without an end", r->line + 1);
            i += n - 1;
        } else if (c == '#') {
            i += line_size((struct str){.at = s.at + i, .size = s.size - i}) - 1;
            i -= s.at[i] == '\n' ? 1 : 0; /* the line's end is read next */
            continue;
        } else if (c == '\n') {
            if (depth == 0) {
                *ret_size = i + 1;
                *ret_end = end;
                return NULL;
            }
            continue;
        }
        depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (depth < 0)
            return err_new(ERR_INVALID, "line %u: a bracket too many", r->line + 1);
        end = is_blank(c) ? end : i + 1;
    }
    if (depth > 0)
        return err_new(ERR_INVALID, "line %u: an array or table without an end", r->line + 1);
    *ret_size = s.size;
    *ret_end = end;
    return NULL;
}

/* The position of `c` outside of quotes in the first line; the line's size: there is none. */
static size_t find_outside(struct str line, size_t from, char c)
{
    for (size_t i = from; i < line.size; i++) {
        if (line.at[i] == '"' || line.at[i] == '\'') {
            size_t n = string_size(line, i);

            if (n == 0)
                return line.size;
            i += n - 1;
        } else if (line.at[i] == c) {
            return i;
        }
    }
    return line.size;
}

static struct err *table_read(struct toml_reader *r, size_t at, struct toml_piece *ret)
{
    struct str line = {.at = r->rest.at, .size = line_size(r->rest)};
    size_t begin = at + (at + 1 < line.size && line.at[at + 1] == '[' ? 2 : 1);
    size_t end = find_outside(line, begin, ']');

    if (end == line.size)
        return err_new(ERR_INVALID, "line %u: want ']' behind a table's name", r->line + 1);
    *ret = (struct toml_piece){
        .kind = TOML_TABLE, .text = line, .name = trim((struct str){line.at + begin, end - begin})};
    return NULL;
}

static struct err *key_read(struct toml_reader *r, struct toml_piece *ret)
{
    struct str line = {.at = r->rest.at, .size = line_size(r->rest)};
    size_t equals = find_outside(line, 0, '=');
    size_t size = 0;
    size_t end = 0;

    if (equals == line.size)
        return err_new(ERR_INVALID, "line %u: want KEY = VALUE", r->line + 1);
    TRY(value_size(r, equals + 1, &size, &end));
    *ret = (struct toml_piece){.kind = TOML_KEY,
                               .text = {r->rest.at, size},
                               .name = trim((struct str){line.at, equals}),
                               .value = trim((struct str){line.at + equals + 1, end - equals - 1})};
    return NULL;
}

struct err *toml_next(struct toml_reader *r, struct toml_piece *ret)
{
    size_t at = 0;

    if (r->rest.size == 0) {
        *ret = (struct toml_piece){.kind = TOML_END};
        return NULL;
    }
    while (at < r->rest.size && is_blank(r->rest.at[at]))
        at++;
    if (at == r->rest.size || r->rest.at[at] == '\n' || r->rest.at[at] == '#')
        *ret = (struct toml_piece){.kind = TOML_OTHER, .text = {r->rest.at, line_size(r->rest)}};
    else if (r->rest.at[at] == '[')
        TRY(table_read(r, at, ret));
    else
        TRY(key_read(r, ret));
    for (size_t i = 0; i < ret->text.size; i++)
        r->line += ret->text.at[i] == '\n' ? 1 : 0;
    r->rest.at += ret->text.size;
    r->rest.size -= ret->text.size;
    return NULL;
}

struct err *toml_name(struct str name, char **ret)
{
    struct buf out = {0};

    for (bool is_first = true; is_first || name.size > 0; is_first = false) {
        size_t dot = find_outside(name, 0, '.');
        struct str part = trim((struct str){name.at, dot});
        bool is_quoted = part.size >= 2 && (part.at[0] == '"' || part.at[0] == '\'') &&
                         part.at[part.size - 1] == part.at[0];

        if (is_quoted)
            part = (struct str){part.at + 1, part.size - 2};
        if ((!is_quoted && part.size == 0) || (part.size > 0 && memchr(part.at, '\\', part.size)) ||
            (part.size > 0 && memchr(part.at, '"', part.size)) || dot + 1 == name.size) {
            buf_done(&out);
            return err_new(ERR_INVALID, "cannot read the name '" STR_FMT "'", STR_ARG(name));
        }
        buf_printf(&out, "%s\"" STR_FMT "\"", is_first ? "" : ".", STR_ARG(part));
        if (dot == name.size)
            break;
        name = (struct str){name.at + dot + 1, name.size - dot - 1};
    }
    *ret = buf_steal(&out);
    return NULL;
}

/* Reads the next piece, and keeps the name of the present table. */
static struct err *next_in_table(struct toml_reader *r, struct toml_piece *p, char **table)
{
    unsigned line = r->line;
    struct err *e;

    TRY(toml_next(r, p));
    if (p->kind != TOML_TABLE)
        return NULL;
    free(*table);
    *table = NULL;
    e = toml_name(p->name, table);
    return e ? err_wrap(e, "line %u", line + 1) : NULL;
}

struct err *toml_find(struct str text, const char *table, const char *key, struct toml_piece *ret)
{
    struct toml_reader r = {.rest = text};
    AUTO_FREE char *now = mem_strdup("");
    struct toml_piece p = {0};

    *ret = (struct toml_piece){0};
    do {
        TRY(next_in_table(&r, &p, &now));
        if (p.kind == TOML_KEY && text_equal(now, table) && str_equal(p.name, str_of(key))) {
            *ret = p;
            return NULL;
        }
    } while (p.kind != TOML_END);
    return NULL;
}

char *toml_text(struct str value)
{
    if (value.size < 2 || (value.at[0] != '"' && value.at[0] != '\'') ||
        value.at[value.size - 1] != value.at[0] || memchr(value.at, '\\', value.size) ||
        memchr(value.at + 1, value.at[0], value.size - 2))
        return NULL;
    return mem_strndup(value.at + 1, value.size - 2);
}

/* Is `name` the table, or one below it? */
static bool is_below(const char *name, const char *table)
{
    size_t size = strlen(table);

    return text_starts_with(name, table) && (name[size] == '\0' || name[size] == '.');
}

struct err *toml_copy(struct str text, const struct toml_copy *c, struct buf *out)
{
    struct toml_reader r = {.rest = text};
    AUTO_FREE char *now = mem_strdup("");
    struct toml_piece p = {0};
    bool is_in = false;

    for (;;) {
        TRY(next_in_table(&r, &p, &now));
        if (p.kind == TOML_END)
            return NULL;
        if (p.kind == TOML_TABLE) {
            is_in = is_below(now, c->from) && c->is_deep == !text_equal(now, c->from) &&
                    !(c->without_table && is_below(now, c->without_table));
            if (is_in && c->is_deep)
                buf_printf(out, "\n[%s%s]\n", c->to, now + strlen(c->from));
            continue;
        }
        if (!is_in || p.kind != TOML_KEY || (c->without && str_equal(p.name, str_of(c->without))))
            continue;
        buf_add(out, p.text.at, p.text.size);
        if (p.text.at[p.text.size - 1] != '\n')
            buf_add_char(out, '\n');
    }
}

struct err *toml_has(struct str text, const char *table, bool *ret)
{
    struct toml_reader r = {.rest = text};
    AUTO_FREE char *now = mem_strdup("");
    struct toml_piece p = {0};

    *ret = false;
    do {
        TRY(next_in_table(&r, &p, &now));
        *ret = *ret || (p.kind == TOML_TABLE && is_below(now, table));
    } while (p.kind != TOML_END);
    return NULL;
}
