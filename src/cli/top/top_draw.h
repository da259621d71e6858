/* top_draw.h - the screens of `mete top`, on ncurses */
#pragma once

#include "cli/top/top_view.h"

enum top_screen {
    TOP_WALL,
    TOP_JOBS
};

/* What the user looks at. A value. */
struct top_look {
    enum top_screen screen;
    size_t selected[2]; /* on each screen */
    char filter[TOP_TEXT];
    bool is_typing; /* the filter */
    char message[TOP_REASON];
    int64_t refresh_ns; /* the present time between two refreshes */
};

/* Takes the terminal. ERR_INVALID: ncurses does not know it. */
struct err *top_draw_begin(void) MUST_CHECK;
void top_draw_end(void);
/* The terminal's size has changed. */
void top_draw_resize(void);
/* The next key, as ncurses names it; negative: none waits. */
int top_draw_key(void);

/* Draws the view; moves the selection back into what is there. */
void top_draw(const struct top_view *v, struct top_look *look, int64_t now_ns);

/* The number of items beside each other, for the keys up and down. */
size_t top_draw_columns(const struct top_look *look);
