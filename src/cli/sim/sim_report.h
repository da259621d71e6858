/* sim_report.h - the self-contained page with a table and plots of --report FILE.html */
#pragma once

#include "cli/sim/sim.h"
#include "sim/plot.h"

/* Writes the page to the file of --report; does nothing without the flag. */
struct err *sim_report(struct cli *c, const struct sim_column *columns, size_t n_columns,
                       const json_t *rows, const struct plot *plots, size_t n) MUST_CHECK;
