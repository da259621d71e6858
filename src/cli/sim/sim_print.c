/* sim_print.c - output and progress of `mete sim` */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/sim/sim.h"
#include "cli/sim/stopwatch.h"
#include "cli/term/output.h"

static json_t *cell_of(const json_t *value)
{
    AUTO_FREE char *text = NULL;

    if (!value || json_is_null(value))
        return json_null();
    if (!json_is_real(value))
        return json_deep_copy(value);
    text = mem_format("%.*f", json_real_value(value) < 10 ? 3 : 1, json_real_value(value));
    return json_string(text);
}

static struct err *print_table(struct cli *c, const struct sim_column *columns, size_t n,
                               const json_t *rows)
{
    struct listing l;
    struct err *e;
    const json_t *row;
    size_t at;

    listing_init(&l, "SimulationList");
    for (size_t i = 0; i < n; i++)
        if (columns[i].title)
            listing_column(&l, columns[i].title);
    json_array_foreach (rows, at, row) {
        json_t *cells = json_array();

        for (size_t i = 0; i < n; i++)
            if (columns[i].title)
                (void)json_array_append_new(cells, cell_of(json_object_get(row, columns[i].key)));
        listing_add(&l, cells, NULL);
    }
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

static void add_field(struct buf *out, const json_t *value)
{
    if (json_is_string(value))
        buf_add_text(out, json_string_value(value));
    else if (value && !json_is_null(value))
        json_add(out, value);
}

static void format_csv(struct cli *c, const struct sim_column *columns, size_t n,
                       const json_t *rows, struct buf *ret)
{
    const json_t *row;
    size_t at;

    for (size_t i = 0; i < n && !flag_switch(c->in, "no-headers"); i++)
        buf_printf(ret, "%s%s", columns[i].key, i + 1 < n ? "," : "\n");
    json_array_foreach (rows, at, row) {
        for (size_t i = 0; i < n; i++) {
            add_field(ret, json_object_get(row, columns[i].key));
            buf_add_char(ret, i + 1 < n ? ',' : '\n');
        }
    }
}

struct err *sim_print(struct cli *c, const struct sim_column *columns, size_t n, const json_t *rows)
{
    AUTO(buf_done) struct buf out = {0};
    const char *format = flag_text(c->in, "output");

    if (text_equal(format, "table"))
        return print_table(c, columns, n, rows);
    if (text_equal(format, "csv")) {
        format_csv(c, columns, n, rows, &out);
    } else {
        AUTO_FREE char *text = json_format_pretty(rows);

        buf_add_text(&out, text);
        buf_add_char(&out, '\n');
    }
    return output_write(c, (struct str){out.at, out.size});
}

bool sim_list_at(const char *list, size_t i, struct str *ret)
{
    struct str rest = str_of(list);

    for (size_t at = 0; rest.at; at++) {
        struct str word = str_cut(&rest, ',');

        if (at == i) {
            *ret = word;
            return true;
        }
    }
    return false;
}

void sim_progress_begin(struct sim_progress *p, struct cli *c, const char *what, size_t total)
{
    *p = (struct sim_progress){.cli = c, .what = what, .total = total, .began_ns = stopwatch_ns()};
}

void sim_progress_show(struct sim_progress *p, size_t done)
{
    const int64_t now = stopwatch_ns();
    const struct terminal *t = &p->cli->terminal;

    if (!t->err || t->is_plain) { /* one line every half minute */
        if (now - (p->said_ns ? p->said_ns : p->began_ns) < 30 * NS_PER_SEC)
            return;
        p->said_ns = now;
        cli_say(p->cli, "sim: %s: %zu of %zu, %" PRId64 " s", p->what, done, p->total,
                (now - p->began_ns) / NS_PER_SEC);
        return;
    }
    if (now - p->began_ns < NS_PER_SEC || now - p->said_ns < NS_PER_SEC / 10)
        return;
    p->said_ns = now;
    (void)fprintf(p->cli->err, "\r\033[Kmete: sim: %s: %zu of %zu, %" PRId64 " s", p->what, done,
                  p->total, (now - p->began_ns) / NS_PER_SEC);
    (void)fflush(p->cli->err);
}

void sim_progress_end(struct sim_progress *p)
{
    if (p->said_ns != 0 && p->cli->terminal.err && !p->cli->terminal.is_plain)
        (void)fputs("\r\033[K", p->cli->err);
    p->said_ns = 0;
}
