/* usage_cells.h - queries for reports of usage, and the cells of their tables */
#pragma once

#include "cli/cli.h"
#include "cli/term/output.h"

/* The UTC offset of this machine (TZ, /etc/localtime) at a time. */
int64_t query_zone(int64_t utc_ns);

/* Adds the time of a flag as RFC 3339 to a query: the server does not know the user's zone. */
struct err *query_add_moment(struct cli *c, struct buf *path, const char *name, const char *flag,
                             const char *text, int64_t now_ns) MUST_CHECK;
/* Adds the text of a flag, if it is given. */
void query_add_flag(struct cli *c, struct buf *path, const char *flag, const char *parameter);

/* An amount {"seconds", "nanos"} in hours, rounded to thousandths. New references; unknown is
 * null, as in the following. */
json_t *cell_hours(const json_t *amount);
/* Millionths of a currency, rounded to hundredths. */
json_t *cell_money(int64_t micro);
/* Adds a cell to a row. Takes `cell`. */
void row_add_cell(json_t *row, json_t *cell);

/* Adds the column of costs in the report's currency. */
void listing_add_cost(struct listing *l, const json_t *report, const char *title);
