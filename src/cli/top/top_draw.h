/* top_draw.h - the screens of `mete top`, on ncurses */
#pragma once

#include "cli/top/top_lines.h"
#include "cli/top/top_page.h"

enum top_typing {
    TOP_TYPES_NOTHING,
    TOP_TYPES_FILTER,
    TOP_TYPES_COMMAND
};

/* What the user looks at. A value; texts are harmless. */
struct top_look {
    enum top_screen screen;
    enum top_screen behind;       /* the list that Esc leads to from a job */
    enum top_screen behind_paper; /* the same from a paper */
    int64_t selected[TOP_SCREENS];
    int64_t first[TOP_SCREENS]; /* of the lines that are shown */
    char filter[TOP_SCREENS][TOP_TEXT];
    size_t sort[TOP_SCREENS];
    bool is_backwards[TOP_SCREENS];
    char states[TOP_TEXT]; /* of jobs */
    enum top_typing typing;
    char line[TOP_REASON];     /* what is typed */
    char question[TOP_REASON]; /* that waits for y or n; "": none */
    char message[TOP_REASON];
    char trouble[TOP_REASON]; /* of the server; "": none */
    int64_t refresh_ns;       /* the present time between two refreshes */
    bool is_log_only;         /* the log fills the screen of a job */
    bool is_local;
    bool is_utf8;
};

/* What there is to draw. Borrowed. */
struct top_show {
    const struct top_view *view;
    const struct top_page *page;   /* of the screen, or of another one: then nothing is known */
    const struct top_lines *lines; /* of a job or of a paper; NULL: none */
    const char *estimate;          /* of the selected job of the queue; "": none */
    const struct top_lines *log;   /* of a job; NULL: none */
    bool (*is_tagged)(void *arg, const struct top_row *row);
    void *arg;
};

/* Takes the terminal. ERR_INVALID: ncurses does not know it. */
struct err *top_draw_begin(bool has_colour) MUST_CHECK;
void top_draw_end(void);
/* The terminal's size has changed, or another program has used it. */
void top_draw_resize(void);
/* The next key, as ncurses names it; negative: none waits. */
int top_draw_key(void);

/* The number of lines of a list, and of cells beside each other on the wall. */
int64_t top_draw_rows(const struct top_look *look);
int64_t top_draw_cells(void);

/* Does the gpu match the filter of the wall? */
bool top_draw_matches(const struct top_look *look, const struct top_gpu *g);

/* Draws; moves the selection back into what is there. */
void top_draw(const struct top_show *s, struct top_look *look, int64_t now_ns);
