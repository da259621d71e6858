/* plot.c - line plots as SVG */

#include "sim/plot.h"

#include <assert.h>
#include <math.h>

enum {
    WIDTH = 760,
    HEIGHT = 380,
    LEFT = 70,
    RIGHT = 150, /* of the legend */
    TOP = 34,
    BOTTOM = 48,
    TICKS = 5
};

static const char *const colours[] = {"#1b6ca8", "#d1495b", "#3a7d44", "#edae49",
                                      "#7b4b94", "#00798c", "#8d5524", "#555555"};

struct range {
    double from;
    double to;
};

struct axes {
    struct range x;
    struct range y;
};

static double x_of(const struct plot *p, double x)
{
    if (!p->is_log)
        return x;
    return x > 1 ? log10(x) : 0;
}

static void widen(struct range *r, double value)
{
    if (!isfinite(value))
        return;
    r->from = value < r->from ? value : r->from;
    r->to = value > r->to ? value : r->to;
}

static void close_range(struct range *r)
{
    if (r->from > r->to)
        *r = (struct range){0, 1};
    if (r->to - r->from < 1e-9)
        r->to = r->from + 1;
}

static struct axes find_axes(const struct plot *p)
{
    struct axes a = {{HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, -HUGE_VAL}};

    for (size_t s = 0; s < p->n; s++) {
        for (size_t i = 0; i < p->series[s].n; i++) {
            widen(&a.x, x_of(p, p->series[s].points[i].x));
            widen(&a.y, p->series[s].points[i].y);
        }
    }
    close_range(&a.x);
    close_range(&a.y);
    return a;
}

static double at_x(const struct axes *a, double x)
{
    return LEFT + (x - a->x.from) / (a->x.to - a->x.from) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct axes *a, double y)
{
    return HEIGHT - BOTTOM - (y - a->y.from) / (a->y.to - a->y.from) * (HEIGHT - TOP - BOTTOM);
}

void html_add(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            buf_add_text(out, "&lt;");
            break;
        case '>':
            buf_add_text(out, "&gt;");
            break;
        case '&':
            buf_add_text(out, "&amp;");
            break;
        case '"':
            buf_add_text(out, "&quot;");
            break;
        default:
            buf_add_char(out, *text);
        }
    }
}

static void add_label(struct buf *out, double x, double y, const char *anchor, const char *text)
{
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    html_add(out, text);
    buf_add_text(out, "</text>\n");
}

static void add_number(struct buf *out, double x, double y, const char *anchor, double value)
{
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.4g</text>\n", x, y, anchor,
               value);
}

static void add_grid(struct buf *out, const struct plot *p, const struct axes *a)
{
    for (int i = 0; i <= TICKS; i++) {
        const double x = a->x.from + (a->x.to - a->x.from) * i / TICKS;
        const double y = a->y.from + (a->y.to - a->y.from) * i / TICKS;

        buf_printf(out, "<path d=\"M%.1f %dV%d M%d %.1fH%d\" stroke=\"#ddd\"/>\n", at_x(a, x), TOP,
                   HEIGHT - BOTTOM, LEFT, at_y(a, y), WIDTH - RIGHT);
        add_number(out, at_x(a, x), HEIGHT - BOTTOM + 16, "middle", p->is_log ? pow(10, x) : x);
        add_number(out, LEFT - 6, at_y(a, y) + 4, "end", y);
    }
}

static void add_line(struct buf *out, const struct plot *p, const struct axes *a, size_t s)
{
    const struct plot_series *series = &p->series[s];
    const char *colour = colours[s % (COUNT(colours))];
    const double legend = TOP + 16 + 18 * (double)s;
    bool is_begun = false;

    buf_printf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" d=\"", colour);
    for (size_t i = 0; i < series->n; i++) {
        const double x = x_of(p, series->points[i].x);

        if (!isfinite(x) || !isfinite(series->points[i].y))
            continue;
        buf_printf(out, "%c%.1f %.1f", is_begun ? 'L' : 'M', at_x(a, x),
                   at_y(a, series->points[i].y));
        is_begun = true;
    }
    buf_add_text(out, "\"/>\n");
    buf_printf(out, "<path d=\"M%d %.1fh18\" stroke=\"%s\" stroke-width=\"3\"/>\n",
               WIDTH - RIGHT + 10, legend - 4, colour);
    add_label(out, WIDTH - RIGHT + 34, legend, "start", series->name);
}

void plot_add(struct buf *out, const struct plot *p)
{
    const struct axes a = find_axes(p);

    assert(p->n <= PLOT_SERIES_MAX);
    buf_printf(out,
               "<svg viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"sans-serif\" "
               "font-size=\"11\">\n",
               WIDTH, HEIGHT);
    add_label(out, LEFT, TOP - 14, "start", p->title);
    add_grid(out, p, &a);
    add_label(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "middle", p->x_label);
    add_label(out, 6, TOP - 14, "start", p->y_label);
    for (size_t s = 0; s < p->n; s++)
        add_line(out, p, &a, s);
    buf_add_text(out, "</svg>\n");
}
