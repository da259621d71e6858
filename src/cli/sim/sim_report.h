/* sim_report.h - a page with a table and plots that needs nothing else: --report FILE.html */
#pragma once

#include "cli/sim/sim.h"
#include "sim/plot.h"

/* Writes the page to where --report says; without it nothing. */
struct err *sim_report(struct cli *c, const struct sim_column *columns, size_t n_columns,
                       const json_t *rows, const struct plot *plots, size_t n) MUST_CHECK;
