/* columns.c - formats, cells and the order of rows of Slurm's tables */

#include "slurm/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/index_set.h"

enum {
    WIDTH_LONG_NAME = 20,
    LINES_MAX = 1000000 /* of indexes in a table */
};

/* ---- cells ---- */

static void cell_add(const struct slurm_column *column, const json_t *row,
                     const struct slurm_view *v, struct buf *out)
{
    const json_t *member = column->key ? json_object_get(row, column->key) : NULL;

    if (column->write)
        column->write(row, v, out);
    else if (json_is_integer(member))
        buf_printf(out, "%" PRId64, (int64_t)json_integer_value(member));
    else if (json_is_string(member) && json_string_length(member) > 0)
        buf_add_text(out, json_string_value(member));
    else
        buf_add_text(out, text_or_empty(column->absent));
}

char *slurm_cell_text(const struct slurm_column *column, const json_t *row,
                      const struct slurm_view *v)
{
    struct buf out = {0};

    cell_add(column, row, v, &out);
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

struct str slurm_field_cut(struct str item, int *ret_width)
{
    struct str width = item;
    struct str name = str_cut(&width, '%');
    int64_t n = 0;
    AUTO(err_freep)
    struct err *e =
        width.at ? num_parse_int64(width, -SLURM_WIDTH_LARGEST, SLURM_WIDTH_LARGEST, &n) : NULL;

    if (!e && n != 0)
        *ret_width = (int)n;
    return name;
}

static void format_add_field(const struct slurm_column *column, int width, const char *delimiter,
                             struct slurm_format *f)
{
    struct slurm_cell cell = {.column = column, .is_right = width > 0};

    cell.width = delimiter ? 0 : abs(width);
    cell.suffix = mem_strdup(delimiter ? delimiter : " ");
    vec_add(&f->cells, cell);
}

static struct err *format_read_field(struct str item, const struct slurm_column *columns,
                                     const char *delimiter, struct slurm_format *f)
{
    int width = 0;
    struct str name = slurm_field_cut(item, &width);
    const struct slurm_column *found = slurm_column_find(columns, name);

    if (str_equal(name, STR("ALL")) || str_equal(name, STR("all"))) {
        for (const struct slurm_column *c = columns; c->header; c++)
            format_add_field(c, c->width, delimiter, f);
        return NULL;
    }
    if (!found)
        return err_new(ERR_INVALID, "Invalid field requested: \"" STR_FMT "\"", STR_ARG(name));
    format_add_field(found, width != 0 ? width : found->width, delimiter, f);
    return NULL;
}

struct err *slurm_format_parse_fields(const char *text, const struct slurm_column *columns,
                                      const char *delimiter, bool is_ended,
                                      struct slurm_format *ret)
{
    struct slurm_format f = {.cut = SLURM_CUT_PLUS};
    struct str rest = str_of(text);

    while (rest.at) {
        struct str item = str_cut(&rest, ',');
        struct err *e = item.size > 0 ? format_read_field(item, columns, delimiter, &f) : NULL;

        if (e) {
            slurm_format_done(&f);
            return e;
        }
    }
    if (delimiter && !is_ended && f.cells.n > 0) {
        free(f.cells.at[f.cells.n - 1].suffix);
        f.cells.at[f.cells.n - 1].suffix = NULL;
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

/* ---- lines ---- */

/* A walk over rows. A row whose `member` is a set of indexes gives a line for each index. */
struct line_walk {
    const json_t *rows;
    const char *member; /* NULL: a line for each row */
    size_t next_row;
    size_t n_lines;
    struct index_set set; /* of `line` */
    size_t next_index;
    json_t *line; /* copy of the row, with the index instead of the set; NULL: none */
};

static void walk_done(struct line_walk *w)
{
    index_set_done(&w->set);
    json_decref(w->line);
    w->line = NULL;
}

/* Has the row's set of indexes a line for each of them? */
static bool walk_open(struct line_walk *w, json_t *row)
{
    const char *text = w->member ? json_text(row, w->member) : NULL;
    AUTO(err_freep) struct err *e = NULL;

    walk_done(w);
    if (!text)
        return false;
    e = index_set_parse(str_of(text), INDEX_SET_MAX, &w->set);
    if (e)
        return false;
    w->next_index = 0;
    w->line = json_copy(row);
    return true;
}

/* Borrowed until the next call; NULL: no more lines. */
static const json_t *walk_next(struct line_walk *w)
{
    for (;;) {
        json_t *row;

        while (w->line && w->next_index < w->set.n_words * 64 && w->n_lines < LINES_MAX) {
            size_t index = w->next_index++;

            if (!index_set_has(&w->set, index))
                continue;
            w->n_lines++;
            json_put_int(w->line, w->member, (int64_t)index);
            return w->line;
        }
        row = json_array_get(w->rows, w->next_row++);
        if (!row || !walk_open(w, row)) {
            w->n_lines++;
            return row;
        }
    }
}

/* ---- tables ---- */

static void add_blanks(struct buf *out, size_t n)
{
    static const char blanks[] = "                                ";

    for (; n >= sizeof(blanks); n -= sizeof(blanks) - 1)
        buf_add(out, blanks, sizeof(blanks) - 1);
    buf_add(out, blanks, n);
}

static void format_add(const struct slurm_format *f, const struct slurm_cell *cell, int width,
                       const struct buf *text, struct buf *out)
{
    size_t size = width > 0 && text->size > (size_t)width ? (size_t)width : text->size;
    size_t blanks = width > 0 ? (size_t)width - size : 0;
    bool is_marked = size < text->size && f->cut == SLURM_CUT_PLUS;

    if (cell->is_right)
        add_blanks(out, blanks);
    if (size > 0)
        buf_add(out, text->at, is_marked ? size - 1 : size);
    if (is_marked)
        buf_add_char(out, '+');
    if (!cell->is_right)
        add_blanks(out, blanks);
    buf_add_text(out, text_or_empty(cell->suffix));
}

/* The width of the cell's column. `text` is scratch space. */
static int format_width(const struct slurm_format *f, const struct slurm_cell *cell,
                        const json_t *rows, const struct slurm_view *v, struct buf *text)
{
    AUTO(walk_done) struct line_walk w = {.rows = rows, .member = f->expanded};
    size_t longest = strlen(cell->column->header);
    const json_t *line;

    if (cell->width != SLURM_WIDTH_LONGEST)
        return cell->width;
    while ((line = walk_next(&w))) {
        buf_clear(text);
        cell_add(cell->column, line, v, text);
        longest = text->size > longest ? text->size : longest;
    }
    longest = longest > 0 ? longest : 1;
    return longest < SLURM_WIDTH_LARGEST ? (int)longest : SLURM_WIDTH_LARGEST;
}

/* Adds a line: of the headers, if `row` is NULL. `text` is scratch space. */
static void format_add_line(const struct slurm_format *f, const int *widths, const json_t *row,
                            const struct slurm_view *v, struct buf *text, struct buf *out)
{
    buf_add_text(out, text_or_empty(f->prefix));
    for (size_t i = 0; i < f->cells.n; i++) {
        const struct slurm_column *column = f->cells.at[i].column;

        buf_clear(text);
        if (row)
            cell_add(column, row, v, text);
        else
            buf_add_text(text, column->header);
        format_add(f, &f->cells.at[i], widths[i], text, out);
    }
    buf_add_char(out, '\n');
}

void slurm_format_print(const struct slurm_format *f, const json_t *rows,
                        const struct slurm_view *v, bool has_header, struct buf *out)
{
    AUTO(walk_done) struct line_walk w = {.rows = rows, .member = f->expanded};
    AUTO_FREE int *widths = mem_alloc((f->cells.n + 1) * sizeof(*widths));
    AUTO(buf_done) struct buf text = {0};
    const json_t *line;

    for (size_t i = 0; i < f->cells.n; i++)
        widths[i] = format_width(f, &f->cells.at[i], rows, v, &text);
    if (has_header)
        format_add_line(f, widths, NULL, v, &text, out);
    while ((line = walk_next(&w)))
        format_add_line(f, widths, line, v, &text, out);
}

void slurm_format_add_dashes(const struct slurm_format *f, struct buf *out)
{
    VEC_EACH (&f->cells, cell) {
        for (int k = 0; k < cell->width; k++)
            buf_add_char(out, '-');
        buf_add_char(out, ' ');
    }
    buf_add_char(out, '\n');
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

/* The value of a cell. */
struct sort_key {
    char *text; /* NULL: the number counts */
    int64_t number;
};

struct sort_row {
    json_t *row;
    size_t place;
    struct sort_key *keys; /* of the terms */
};

static int sort_compare(const void *left, const void *right, void *arg)
{
    const struct sort_order *o = arg;
    const struct sort_row *a = left;
    const struct sort_row *b = right;

    for (size_t i = 0; i < o->terms.n; i++) {
        const struct sort_key *x = &a->keys[i];
        const struct sort_key *y = &b->keys[i];
        int order =
            x->text ? strcmp(x->text, y->text) : (x->number > y->number) - (x->number < y->number);

        if (order != 0)
            return o->terms.at[i].is_reversed ? -order : order;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static void sort_make_keys(const struct sort_order *o, const json_t *row, struct sort_key *keys)
{
    for (size_t i = 0; i < o->terms.n; i++) {
        const struct slurm_column *column = o->terms.at[i].column;

        if (!o->rank || !o->rank(column, row, &keys[i].number))
            keys[i].text = slurm_cell_text(column, row, o->view);
    }
}

static void sort_rows(json_t *rows, struct sort_order *o)
{
    size_t n = json_array_size(rows);
    AUTO_FREE struct sort_row *all = mem_alloc((n + 1) * sizeof(*all));
    AUTO_FREE struct sort_key *keys = mem_alloc((n * o->terms.n + 1) * sizeof(*keys));

    for (size_t i = 0; i < n; i++) {
        all[i] = (struct sort_row){json_incref(json_array_get(rows, i)), i, keys + i * o->terms.n};
        sort_make_keys(o, all[i].row, all[i].keys);
    }
    qsort_r(all, n, sizeof(*all), sort_compare, o);
    json_array_clear(rows);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(rows, all[i].row);
    for (size_t i = 0; i < n * o->terms.n; i++)
        free(keys[i].text);
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
