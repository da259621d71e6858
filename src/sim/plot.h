/* plot.h - line plots as SVG, for self-contained pages */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum {
    PLOT_SERIES_MAX = 16
};

struct plot_point {
    double x;
    double y;
};

struct plot_series {
    const char *name;
    const struct plot_point *points; /* by x */
    size_t n;
};

struct plot {
    const char *title;
    const char *x_label;
    const char *y_label;
    bool is_log; /* a logarithmic x axis from 1 on; smaller values are drawn at 1 */
    const struct plot_series *series;
    size_t n; /* at most PLOT_SERIES_MAX: asserted */
};

/* Adds an <svg> element. Points that are not finite are left out. */
void plot_add(struct buf *out, const struct plot *p);

/* Adds text with HTML's special characters escaped. */
void html_add(struct buf *out, const char *text);
