/* plot.h - lines over a plane as SVG, for pages that need nothing else */
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
    bool is_log; /* x in powers of ten: from 1 on, what is less stands at 1 */
    const struct plot_series *series;
    size_t n; /* at most PLOT_SERIES_MAX: asserted */
};

/* Adds an <svg> element. Points that are not finite are left out. */
void plot_add(struct buf *out, const struct plot *p);

/* Adds text with what HTML would read otherwise replaced. */
void html_add(struct buf *out, const char *text);
