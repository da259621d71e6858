/* output.c - tables, CSV, JSON and YAML from a listing */

#include "cli/term/output.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "cli/term/text_escape.h"
#include "model/quantity.h"

enum {
    CELL_GAP = 3,
    COLUMN_LEAST = 8
};

void listing_init(struct listing *l, const char *kind)
{
    *l = (struct listing){.api_version = "mete.dev/v1", .kind = kind};
    l->rows = json_array();
    l->objects = json_array();
}

void listing_done(struct listing *l)
{
    VEC_EACH (&l->columns, column)
        free(column->name);
    vec_done(&l->columns);
    json_decref(l->rows);
    json_decref(l->objects);
    *l = (struct listing){0};
}

void size_format(int64_t bytes, char ret[SIZE_TEXT_SIZE])
{
    static const char units[][3] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    const size_t n_units = COUNT(units);
    double value = (double)bytes;
    size_t i = 0;

    while (value >= 1023.95 && i + 1 < n_units) { /* 1023.95 would be printed as 1024.0 */
        value /= 1024;
        i++;
    }
    (void)snprintf(ret, SIZE_TEXT_SIZE, i == 0 ? "%.0f%s" : "%.1f%s", value, units[i]);
}

char *gpus_format(int64_t milli)
{
    char *text = milli % 1000 == 0
                     ? mem_format("%" PRId64, milli / 1000)
                     : mem_format("%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000);

    while (milli % 1000 != 0 && text_ends_with(text, "0"))
        text[strlen(text) - 1] = '\0';
    return text;
}

char *amount_format(const char *resource, const char *quantity)
{
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (!quantity || !text_equal(resource, "gpu"))
        return quantity ? mem_strdup(quantity) : NULL;
    e = quantity_parse(str_of(quantity), &q);
    return e || q.milli < 0 ? mem_strdup(quantity) : gpus_format(q.milli);
}

void listing_column(struct listing *l, const char *name)
{
    struct output_column column = {0};

    for (; *name && strchr("!#%", *name); name++) {
        column.is_wide = column.is_wide || *name == '!';
        column.is_bytes = column.is_bytes || *name == '%';
        column.is_right = column.is_right || *name != '!';
    }
    column.name = mem_strdup(name);
    vec_add(&l->columns, column);
}

void listing_add(struct listing *l, json_t *row, json_t *object)
{
    (void)json_array_append_new(l->rows, row);
    (void)json_array_append(l->objects, object ? object : json_null());
}

enum output_format output_format_of(const struct invocation *in)
{
    static const char *const names[] = {"table", "wide", "name", "json", "jsonl", "yaml", "csv"};
    const char *text = flag_text(in, "output");

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(names[i], text))
            return (enum output_format)i;
    return OUTPUT_TABLE;
}

/* Returns the text of a cell; NULL: unknown. The caller frees it. */
static char *cell_text(const json_t *cell)
{
    if (json_is_string(cell))
        return text_escape(
            (struct str){.at = json_string_value(cell), .size = json_string_length(cell)},
            TEXT_ESCAPE_LINE);
    if (json_is_integer(cell))
        return mem_format("%" PRId64, (int64_t)json_integer_value(cell));
    if (json_is_boolean(cell))
        return mem_strdup(json_is_true(cell) ? "true" : "false");
    return NULL;
}

/* Returns the text of a cell in a table. The caller frees it. */
static char *cell_shown(const json_t *cell, const struct output_column *column)
{
    char size[SIZE_TEXT_SIZE];

    if (!column->is_bytes || !json_is_integer(cell))
        return cell_text(cell);
    size_format(json_integer_value(cell), size);
    return mem_strdup(size);
}

/* A table: the cells of the shown columns, row by row. */
struct grid {
    const struct listing *listing;
    VEC(size_t) shown;  /* indices of columns */
    VEC(size_t) widths; /* of each shown column */
    VEC(char *) cells;
};

static void grid_done(struct grid *g)
{
    VEC_EACH (&g->cells, cell)
        free(*cell);
    vec_done(&g->cells);
    vec_done(&g->widths);
    vec_done(&g->shown);
}

static void grid_put(struct grid *g, size_t i, char *text)
{
    size_t width = text_escape_width(text);

    if (width > g->widths.at[i])
        g->widths.at[i] = width;
    vec_add(&g->cells, text);
}

static void grid_fill(struct grid *g, const struct listing *l, bool is_wide, bool has_headers)
{
    json_t *row;
    size_t n;

    for (size_t i = 0; i < l->columns.n; i++) {
        if (l->columns.at[i].is_wide && !is_wide)
            continue;
        vec_add(&g->shown, i);
        vec_add(&g->widths, (size_t)0);
    }
    for (size_t i = 0; has_headers && i < g->shown.n; i++)
        grid_put(g, i, text_escape(str_of(l->columns.at[g->shown.at[i]].name), TEXT_ESCAPE_LINE));
    json_array_foreach (l->rows, n, row) {
        for (size_t i = 0; i < g->shown.n; i++) {
            char *text =
                cell_shown(json_array_get(row, g->shown.at[i]), &l->columns.at[g->shown.at[i]]);

            grid_put(g, i, text && text[0] ? text : mem_strdup("-"));
            if (text && !text[0])
                free(text);
        }
    }
}

static size_t widest_of(const struct grid *g)
{
    size_t widest = 0;

    for (size_t i = 1; i < g->widths.n; i++)
        if (g->widths.at[i] > g->widths.at[widest])
            widest = i;
    return widest;
}

/* Narrows the widest column until the table fits, or until no column can get narrower. */
static void grid_narrow(struct grid *g, size_t columns)
{
    size_t total = g->widths.n > 0 ? (g->widths.n - 1) * CELL_GAP : 0;

    VEC_EACH (&g->widths, width)
        total += *width;
    while (columns > 0 && total > columns && g->widths.n > 0) {
        size_t widest = widest_of(g);

        if (g->widths.at[widest] <= COLUMN_LEAST)
            return;
        g->widths.at[widest]--;
        total--;
    }
}

static void output_add_cell(const struct grid *g, size_t i, const char *text, struct buf *b)
{
    size_t width = text_escape_width(text);
    size_t room = g->widths.at[i];
    bool is_last = i + 1 == g->widths.n;
    bool is_right = g->listing->columns.at[g->shown.at[i]].is_right;

    if (width > room) {
        buf_add(b, text, text_escape_fit(text, room - 1));
        buf_add_text(b, "…");
    } else {
        buf_printf(b, "%*s%s", is_right ? (int)(room - width) : 0, "", text);
        if (!is_right && !is_last)
            buf_printf(b, "%*s", (int)(room - width), "");
    }
    if (!is_last)
        buf_printf(b, "%*s", (int)CELL_GAP, "");
}

static void format_table(const struct listing *l, bool is_wide, bool has_headers, size_t columns,
                         struct buf *b)
{
    struct grid g = {.listing = l};

    grid_fill(&g, l, is_wide, has_headers);
    grid_narrow(&g, columns);
    for (size_t at = 0; g.shown.n > 0 && at < g.cells.n; at++) {
        size_t i = at % g.shown.n;

        output_add_cell(&g, i, g.cells.at[at], b);
        if (i + 1 == g.shown.n)
            buf_add_char(b, '\n');
    }
    grid_done(&g);
}

/* Quotes as RFC 4180; a text that a spreadsheet would read as a formula gets a leading apostrophe.
 */
static void add_csv(struct buf *b, const char *text, bool is_text)
{
    bool is_formula = is_text && text[0] && strchr("=+-@", text[0]);

    if (!is_formula && !strpbrk(text, ",\"\r\n")) {
        buf_add_text(b, text);
        return;
    }
    buf_add_text(b, is_formula ? "\"'" : "\"");
    for (; *text; text++) {
        if (*text == '"')
            buf_add_char(b, '"');
        buf_add_char(b, *text);
    }
    buf_add_char(b, '"');
}

static void format_csv(const struct listing *l, bool has_headers, struct buf *b)
{
    json_t *row;
    size_t n;

    for (size_t i = 0; has_headers && i < l->columns.n; i++) {
        add_csv(b, l->columns.at[i].name, true);
        buf_add_char(b, i + 1 < l->columns.n ? ',' : '\n');
    }
    json_array_foreach (l->rows, n, row) {
        for (size_t i = 0; i < l->columns.n; i++) {
            const json_t *cell = json_array_get(row, i);
            AUTO_FREE char *text = cell_text(cell);

            add_csv(b, text ? text : "", json_is_string(cell));
            buf_add_char(b, i + 1 < l->columns.n ? ',' : '\n');
        }
    }
}

static void format_names(const struct listing *l, struct buf *b)
{
    json_t *object;
    size_t n;

    json_array_foreach (l->objects, n, object) {
        const char *name = json_text_at(object, "metadata", "name", NULL);
        AUTO_FREE char *clean =
            text_escape(str_of(name ? name : json_text(object, "name")), TEXT_ESCAPE_LINE);
        const char *prefix = l->prefix_of ? l->prefix_of(object) : l->prefix;

        buf_printf(b, "%s%s%s\n", prefix ? prefix : "", prefix ? "/" : "", clean);
    }
}

/* New reference. */
static json_t *document_of(const struct listing *l)
{
    json_t *list;

    if (l->is_single && json_array_size(l->objects) == 1)
        return json_incref(json_array_get(l->objects, 0));
    list = json_object();
    json_put_text(list, "apiVersion", l->api_version);
    json_put_text(list, "kind", l->kind);
    json_put(list, "items", json_incref(l->objects));
    return list;
}

static void format_document(const struct listing *l, bool is_yaml, struct buf *b)
{
    AUTO(json_freep) json_t *document = document_of(l);
    AUTO_FREE char *text = is_yaml ? yaml_format(document) : json_format_pretty(document);

    buf_add_text(b, text);
    if (!text_ends_with(text, "\n"))
        buf_add_char(b, '\n');
}

static void format_lines(const struct listing *l, struct buf *b)
{
    json_t *object;
    size_t n;

    json_array_foreach (l->objects, n, object) {
        AUTO_FREE char *text = json_format(object);

        buf_printf(b, "%s\n", text);
    }
}

void listing_format(const struct listing *l, enum output_format format, bool has_headers,
                    size_t columns, struct buf *ret)
{
    switch (format) {
    case OUTPUT_TABLE:
    case OUTPUT_WIDE:
        format_table(l, format == OUTPUT_WIDE, has_headers, columns, ret);
        return;
    case OUTPUT_NAME:
        format_names(l, ret);
        return;
    case OUTPUT_JSON:
    case OUTPUT_YAML:
        format_document(l, format == OUTPUT_YAML, ret);
        return;
    case OUTPUT_JSONL:
        format_lines(l, ret);
        return;
    case OUTPUT_CSV:
        format_csv(l, has_headers, ret);
        return;
    }
}

struct err *output_write(struct cli *c, struct str bytes)
{
    if (fwrite(bytes.at ? bytes.at : "", 1, bytes.size, c->out) != bytes.size ||
        fflush(c->out) != 0)
        return err_new(ERR_INTERNAL, "write to standard output failed");
    return NULL;
}

struct err *listing_print(struct cli *c, const struct listing *l)
{
    struct buf b = {.cap = (size_t)1 << 30};
    struct err *e;

    listing_format(l, output_format_of(c->in), !flag_switch(c->in, "no-headers"),
                   c->terminal.columns, &b);
    e = b.overflow ? err_new(ERR_TOO_LARGE, "more than %zu bytes to print: use --limit", b.cap)
                   : output_write(c, (struct str){.at = b.at, .size = b.size});
    buf_done(&b);
    return e;
}
