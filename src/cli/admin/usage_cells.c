/* usage_cells.c - queries for reports of usage, and the cells of their tables */

#include "cli/admin/usage_cells.h"

#include <inttypes.h>
#include <time.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "client/client.h"
#include "model/moment.h"

int64_t query_zone(int64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / NS_PER_SEC);
    struct tm local = {0};

    return localtime_r(&seconds, &local) ? local.tm_gmtoff * NS_PER_SEC : 0;
}

struct err *query_add_moment(struct cli *c, struct buf *path, const char *name, const char *flag,
                             const char *text, int64_t now_ns)
{
    zone_fn zone = flag_switch(c->in, "utc") ? NULL : query_zone;
    char stamp[STAMP_TEXT_SIZE];
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = moment_parse(str_of(text), now_ns, zone, &ns);

    if (e)
        return cli_usage(c, "--%s: %s", flag, err_message(e));
    stamp_format_nano(ns, stamp);
    buf_printf(path, "&%s=%s", name, stamp);
    return NULL;
}

void query_add_flag(struct cli *c, struct buf *path, const char *flag, const char *parameter)
{
    const char *text = flag_text(c->in, flag);

    if (!text)
        return;
    buf_printf(path, "&%s=", parameter);
    client_add_escaped(path, str_of(text));
}

json_t *cell_hours(const json_t *amount)
{
    int64_t seconds = json_int(amount, "seconds", -1);
    int64_t milli;
    AUTO_FREE char *text = NULL;

    if (seconds < 0)
        return json_null();
    milli = seconds / 3600 * 1000 + (seconds % 3600 * 1000 + 1800) / 3600;
    text = mem_format("%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000);
    return json_string(text);
}

json_t *cell_money(int64_t micro)
{
    int64_t cents;
    AUTO_FREE char *text = NULL;

    if (micro < 0)
        return json_null();
    cents = micro / 10000 + (micro % 10000 >= 5000);
    text = mem_format("%" PRId64 ".%02" PRId64, cents / 100, cents % 100);
    return json_string(text);
}

void row_add_cell(json_t *row, json_t *cell)
{
    (void)json_array_append_new(row, cell); /* a fresh value: cannot fail */
}

void listing_add_cost(struct listing *l, const json_t *report, const char *title)
{
    const char *currency = json_text(report, "currency");
    AUTO_FREE char *name =
        mem_format("#%s%s%s", title, currency ? " " : "", currency ? currency : "");

    listing_column(l, name);
}
