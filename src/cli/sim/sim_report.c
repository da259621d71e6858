/* sim_report.c - the HTML page of --report */

#include "cli/sim/sim_report.h"

#include "base/file.h"
#include "base/mem.h"

enum {
    REPORT_MODE = 0644
};

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>mete sim</title>\n"
    "<style>body{font:14px sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}th,td{padding:.2em .7em;text-align:right;"
    "border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}"
    "svg{width:100%;height:auto}</style></head><body>\n";

static void report_add_cell(struct buf *out, const json_t *value)
{
    if (json_is_real(value))
        buf_printf(out, "%.*f", json_real_value(value) < 10 ? 3 : 1, json_real_value(value));
    else if (json_is_string(value))
        html_add(out, json_string_value(value));
    else if (value && !json_is_null(value))
        json_add(out, value);
}

static void add_table(struct buf *out, const struct sim_column *columns, size_t n,
                      const json_t *rows)
{
    const json_t *row;
    size_t at;

    buf_add_text(out, "<table>\n<tr>");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "<th>%s</th>", columns[i].key);
    buf_add_text(out, "</tr>\n");
    json_array_foreach (rows, at, row) {
        buf_add_text(out, "<tr>");
        for (size_t i = 0; i < n; i++) {
            buf_add_text(out, "<td>");
            report_add_cell(out, json_object_get(row, columns[i].key));
            buf_add_text(out, "</td>");
        }
        buf_add_text(out, "</tr>\n");
    }
    buf_add_text(out, "</table>\n");
}

/* Adds the command line, so that a reader can repeat the run. */
static void add_question(struct buf *out, const struct cli *c)
{
    buf_add_text(out, "<h1>mete sim ");
    html_add(out, c->in->arguments.at[0]);
    buf_add_text(out, "</h1>\n<p><code>mete sim ");
    html_add(out, c->in->arguments.at[0]);
    for (size_t i = 0; i < c->in->given.n; i++) {
        buf_printf(out, " --%s ", c->in->given.at[i].flag->name);
        html_add(out, c->in->given.at[i].text ? c->in->given.at[i].text : "");
    }
    buf_add_text(out, "</code></p>\n");
}

struct err *sim_report(struct cli *c, const struct sim_column *columns, size_t n_columns,
                       const json_t *rows, const struct plot *plots, size_t n)
{
    const char *path = flag_text(c->in, "report");
    AUTO(buf_done) struct buf out = {0};

    if (!path)
        return NULL;
    buf_add_text(&out, head);
    add_question(&out, c);
    add_table(&out, columns, n_columns, rows);
    for (size_t i = 0; i < n; i++)
        plot_add(&out, &plots[i]);
    buf_add_text(&out, "</body></html>\n");
    if (out.overflow)
        return err_new(ERR_TOO_LARGE, "%s: the report would be over %zu MiB", path,
                       BUF_CAP_DEFAULT >> 20);
    return file_write(path, REPORT_MODE, (struct str){out.at, out.size});
}
