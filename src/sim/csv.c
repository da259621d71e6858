/* csv.c - the strict reader of csv.h */

#include "sim/csv.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"

struct err *csv_error(const struct csv *c, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    return err_new(ERR_INVALID, "%s:%" PRIu64 ": %s", c->file, c->line, text);
}

struct err *csv_wrap(const struct csv *c, size_t column, struct err *cause)
{
    return err_wrap(cause, "%s:%" PRIu64 ": " STR_FMT, c->file, c->line,
                    STR_ARG(c->columns[column]));
}

static struct err *check_field(const struct csv *c, struct str field)
{
    if (field.size > CSV_FIELD_MAX)
        return csv_error(c, "a field of %zu bytes: want at most %d", field.size, CSV_FIELD_MAX);
    for (size_t i = 0; i < field.size; i++) {
        if (field.at[i] == '"')
            return csv_error(c, "a quote: want plain fields, without quotes and commas");
        if ((unsigned char)field.at[i] < ' ' || field.at[i] == '\x7f')
            return csv_error(c, "a control byte (%d): want plain text", field.at[i]);
    }
    return NULL;
}

/* Splits the next line into `fields`; `*ret` is their number, 0 at the end of the text. */
static struct err *read_line(struct csv *c, struct str fields[CSV_COLUMNS_MAX], size_t *ret)
{
    struct str line;
    size_t n = 0;

    *ret = 0;
    if (c->rest.size == 0)
        return NULL;
    line = str_cut(&c->rest, '\n');
    c->line++;
    if (line.size > 0 && line.at[line.size - 1] == '\r')
        line.size--;
    while (line.at) {
        if (n == CSV_COLUMNS_MAX)
            return csv_error(c, "over %d fields", CSV_COLUMNS_MAX);
        fields[n] = str_cut(&line, ',');
        TRY(check_field(c, fields[n]));
        n++;
    }
    *ret = n;
    return NULL;
}

struct err *csv_open(struct csv *c, const char *file, struct str text)
{
    *c = (struct csv){.file = file, .rest = text};
    TRY(read_line(c, c->columns, &c->n_columns));
    if (c->n_columns == 0)
        return err_new(ERR_INVALID, "%s:1: empty: want a header, then a record a line", file);
    for (size_t i = 0; i < c->n_columns; i++) {
        if (c->columns[i].size == 0)
            return csv_error(c, "column %zu has no name", i + 1);
        for (size_t j = 0; j < i; j++)
            if (str_equal(c->columns[i], c->columns[j]))
                return csv_error(c, "column '" STR_FMT "' is there twice", STR_ARG(c->columns[i]));
    }
    return NULL;
}

struct err *csv_next(struct csv *c, bool *ret)
{
    size_t n = 0;

    TRY(read_line(c, c->fields, &n));
    if (n > 0 && n != c->n_columns)
        return csv_error(c, "%zu fields: want %zu, as the header has", n, c->n_columns);
    *ret = n > 0;
    return NULL;
}

size_t csv_find(const struct csv *c, const char *column)
{
    for (size_t i = 0; i < c->n_columns; i++)
        if (str_equal(c->columns[i], str_of(column)))
            return i;
    return CSV_NONE;
}

struct err *csv_need(const struct csv *c, const char *column, size_t *ret)
{
    AUTO(buf_done) struct buf names = {0};
    size_t found = csv_find(c, column);

    if (found != CSV_NONE) {
        *ret = found;
        return NULL;
    }
    for (size_t i = 0; i < c->n_columns && i < 16; i++)
        buf_printf(&names, "%s" STR_FMT, i > 0 ? "," : "", STR_ARG(c->columns[i]));
    return err_new(ERR_INVALID, "%s:1: no column '%s': the header has %s", c->file, column,
                   names.at);
}

struct err *csv_int64(const struct csv *c, size_t column, int64_t min, int64_t max, int64_t *ret)
{
    struct err *e = num_parse_int64(c->fields[column], min, max, ret);

    return e ? csv_wrap(c, column, e) : NULL;
}

struct err *csv_optional(const struct csv *c, size_t column, int64_t min, int64_t max, int64_t *ret)
{
    if (csv_text(c, column).size == 0)
        return NULL;
    return csv_int64(c, column, min, max, ret);
}

struct str csv_text(const struct csv *c, size_t column)
{
    return column == CSV_NONE ? STR("") : c->fields[column];
}
