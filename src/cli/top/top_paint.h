/* top_paint.h - text and colours on the screen, and the wall; for top_draw.c */
#pragma once

#include "cli/top/top_draw.h"

enum {
    TOP_HEAD_ROWS = 2,
    TOP_FOOT_ROWS = 2
};

/* Colour is never the only sign: each state has its letter or word. */
enum top_paint {
    PAINT_PLAIN,
    PAINT_HEAD,
    PAINT_DIM,
    PAINT_SELECTED,
    PAINT_BUSY,
    PAINT_IDLE,
    PAINT_BAD,
    PAINTS
};

/* Without colour, paints differ in brightness only. */
void top_paint_begin(bool has_colour);
void top_paint(enum top_paint p);

/* Writes at most `width` columns of a text. */
void top_put(int y, int x, int width, const char *text);

/* Draws the wall; returns the line of the selected gpu, which the caller frees. */
char *top_wall_draw(const struct top_view *v, struct top_look *look, int64_t now_ns);
