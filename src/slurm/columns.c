/* columns.c - formats, cells and the order of rows of Slurm's tables */

#include "slurm/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/mem.h"

enum {
    WIDTH_LONG_NAME = 20
};

/* ---- cells ---- */

char *slurm_cell_text(const struct slurm_column *column, const json_t *row,
                      const struct slurm_view *v)
{
    const json_t *member = column->key ? json_object_get(row, column->key) : NULL;
    struct buf out = {0};

    if (column->write)
        column->write(row, v, &out);
    else if (json_is_integer(member))
        buf_printf(&out, "%" PRId64, (int64_t)json_integer_value(member));
    else if (json_is_string(member) && json_string_length(member) > 0)
        buf_add_text(&out, json_string_value(member));
    else
        buf_add_text(&out, text_or_empty(column->absent));
    return buf_steal(&out);
}

const struct slurm_column *slurm_column_find(const struct slurm_column *columns, struct str name)
{
    for (const struct slurm_column *c = columns; c->header; c++) {
        if (name.size == 1 && c->letter == *name.at)
            return c;
        if (c->name && strlen(c->name) == name.size &&
            strncasecmp(c->name, name.at, name.size) == 0)
            return c;
    }
    return NULL;
}

/* ---- formats ---- */

/* Reads the digits at `*at`. */
static int format_read_width(const char **at)
{
    int width = 0;

    for (; **at >= '0' && **at <= '9'; (*at)++)
        if (width < SLURM_WIDTH_LARGEST)
            width = width * 10 + (**at - '0');
    return width < SLURM_WIDTH_LARGEST ? width : SLURM_WIDTH_LARGEST;
}

/* Reads the text up to the next '%'. */
static char *format_read_text(const char **at)
{
    size_t size = strcspn(*at, "%");
    char *text = size > 0 ? mem_strndup(*at, size) : NULL;

    *at += size;
    return text;
}

static struct err *format_read_letters(const char *at, const struct slurm_column *columns,
                                       struct slurm_format *f)
{
    f->prefix = format_read_text(&at);
    while (*at) {
        struct slurm_cell cell = {0};

        at++; /* '%' */
        if (*at == '#') {
            cell.width = SLURM_WIDTH_LONGEST;
            at++;
        }
        if (*at == '.') {
            cell.is_right = true;
            at++;
        }
        if (cell.width == 0)
            cell.width = format_read_width(&at);
        for (const struct slurm_column *c = columns; *at && c->header; c++)
            if (c->letter == *at && !cell.column)
                cell.column = c;
        if (!cell.column)
            return err_new(ERR_INVALID, "Invalid job format specification: %c", *at ? *at : '%');
        at++;
        cell.suffix = format_read_text(&at);
        vec_add(&f->cells, cell);
    }
    return NULL;
}

struct err *slurm_format_parse_letters(const char *text, const struct slurm_column *columns,
                                       struct slurm_format *ret)
{
    struct slurm_format f = {0};
    struct err *e = format_read_letters(text, columns, &f);

    if (e) {
        slurm_format_done(&f);
        return e;
    }
    *ret = f;
    return NULL;
}

static struct err *format_read_name(struct str item, const struct slurm_column *columns,
                                    struct slurm_format *f)
{
    struct str rest = item;
    struct str name = str_cut(&rest, ':');
    struct slurm_cell cell = {.width = WIDTH_LONG_NAME};
    AUTO_FREE char *form = rest.at ? mem_strndup(rest.at, rest.size) : NULL;
    const char *at = form;

    cell.column = name.size > 1 ? slurm_column_find(columns, name) : NULL;
    if (!cell.column)
        return err_new(ERR_INVALID, "Invalid job format specification: " STR_FMT, STR_ARG(name));
    if (at) {
        cell.is_right = *at == '.';
        at += cell.is_right ? 1 : 0;
        cell.width = format_read_width(&at);
        cell.suffix = *at ? mem_strdup(at) : NULL;
    }
    vec_add(&f->cells, cell);
    return NULL;
}

struct err *slurm_format_parse_names(const char *text, const struct slurm_column *columns,
                                     struct slurm_format *ret)
{
    struct slurm_format f = {0};
    struct str rest = str_of(text);

    while (rest.at) {
        struct str item = str_cut(&rest, ',');
        struct err *e = NULL;

        while (item.size > 0 && *item.at == ' ')
            item = (struct str){item.at + 1, item.size - 1};
        if (item.size > 0)
            e = format_read_name(item, columns, &f);
        if (e) {
            slurm_format_done(&f);
            return e;
        }
    }
    *ret = f;
    return NULL;
}

void slurm_format_done(struct slurm_format *f)
{
    VEC_EACH (&f->cells, cell)
        free(cell->suffix);
    vec_done(&f->cells);
    free(f->prefix);
    *f = (struct slurm_format){0};
}

/* ---- tables ---- */

static void format_add(const struct slurm_format *f, const struct slurm_cell *cell, int width,
                       const char *text, struct buf *out)
{
    int size = (int)strlen(text);

    if (width == 0)
        buf_add_text(out, text);
    else if (f->cut == SLURM_CUT_PLUS && size > width)
        buf_printf(out, "%.*s+", width - 1, text);
    else if (cell->is_right)
        buf_printf(out, "%*.*s", width, width, text);
    else
        buf_printf(out, "%-*.*s", width, width, text);
    buf_add_text(out, text_or_empty(cell->suffix));
}

/* The width of column `i`; `texts` has the cells of all lines, `n` a line. */
static int format_width(const struct slurm_cell *cell, char *const *texts, size_t n, size_t lines,
                        size_t i)
{
    size_t longest = 1;

    if (cell->width != SLURM_WIDTH_LONGEST)
        return cell->width;
    for (size_t line = 0; line < lines; line++) {
        size_t size = texts[line * n + i] ? strlen(texts[line * n + i]) : 0;

        longest = size > longest ? size : longest;
    }
    return longest < SLURM_WIDTH_LARGEST ? (int)longest : SLURM_WIDTH_LARGEST;
}

/* The cells of all lines; the first line has the headers. */
static char **format_texts(const struct slurm_format *f, const json_t *rows,
                           const struct slurm_view *v)
{
    size_t n = f->cells.n;
    size_t count = json_array_size(rows);
    char **texts = mem_alloc((count + 1) * (n + 1) * sizeof(*texts));

    for (size_t i = 0; i < n; i++)
        texts[i] = mem_strdup(f->cells.at[i].column->header);
    for (size_t row = 0; row < count; row++)
        for (size_t i = 0; i < n; i++)
            texts[(row + 1) * n + i] =
                slurm_cell_text(f->cells.at[i].column, json_array_get(rows, row), v);
    return texts;
}

void slurm_format_print(const struct slurm_format *f, const json_t *rows,
                        const struct slurm_view *v, bool has_header, struct buf *out)
{
    size_t lines = json_array_size(rows) + 1;
    size_t n = f->cells.n;
    char **texts = format_texts(f, rows, v);

    for (size_t line = has_header ? 0 : 1; line < lines; line++) {
        buf_add_text(out, text_or_empty(f->prefix));
        for (size_t i = 0; i < n; i++)
            format_add(f, &f->cells.at[i], format_width(&f->cells.at[i], texts, n, lines, i),
                       texts[line * n + i], out);
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < lines * n; i++)
        free(texts[i]);
    free(texts);
}

/* ---- order ---- */

struct sort_term {
    const struct slurm_column *column;
    bool is_reversed;
};

struct sort_order {
    VEC(struct sort_term) terms;
    const struct slurm_view *view;
    slurm_rank_fn rank;
};

struct sort_row {
    json_t *row;
    size_t place;
};

static int sort_compare_cells(const struct sort_order *o, const struct slurm_column *column,
                              const json_t *a, const json_t *b)
{
    AUTO_FREE char *x = NULL;
    AUTO_FREE char *y = NULL;
    int64_t left = 0;
    int64_t right = 0;

    if (o->rank && o->rank(column, a, &left) && o->rank(column, b, &right))
        return left < right ? -1 : left > right;
    x = slurm_cell_text(column, a, o->view);
    y = slurm_cell_text(column, b, o->view);
    return strcmp(x, y);
}

static int sort_compare(const void *left, const void *right, void *arg)
{
    const struct sort_order *o = arg;
    const struct sort_row *a = left;
    const struct sort_row *b = right;

    VEC_EACH (&o->terms, term) {
        int order = sort_compare_cells(o, term->column, a->row, b->row);

        if (order != 0)
            return term->is_reversed ? -order : order;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static void sort_rows(json_t *rows, struct sort_order *o)
{
    size_t n = json_array_size(rows);
    struct sort_row *all = mem_alloc((n + 1) * sizeof(*all));

    for (size_t i = 0; i < n; i++)
        all[i] = (struct sort_row){json_incref(json_array_get(rows, i)), i};
    qsort_r(all, n, sizeof(*all), sort_compare, o);
    json_array_clear(rows);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(rows, all[i].row);
    free(all);
}

struct err *slurm_rows_sort(json_t *rows, const char *spec, const struct slurm_column *columns,
                            const struct slurm_view *v, slurm_rank_fn rank)
{
    struct sort_order o = {.view = v, .rank = rank};
    bool is_reversed = false;

    for (; *spec; spec++) {
        const struct slurm_column *c;

        if (*spec == ',' || *spec == '+' || *spec == '#')
            continue;
        if (*spec == '-') {
            is_reversed = true;
            continue;
        }
        c = slurm_column_find(columns, (struct str){spec, 1});
        if (!c) {
            vec_done(&o.terms);
            return err_new(ERR_INVALID, "Invalid sort specification: %c", *spec);
        }
        vec_add(&o.terms, (struct sort_term){c, is_reversed});
        is_reversed = false;
    }
    sort_rows(rows, &o);
    vec_done(&o.terms);
    return NULL;
}
