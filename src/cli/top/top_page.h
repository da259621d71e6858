/* top_page.h - the lists of `mete top`: jobs, a queue, nodes, events; a page of each at a time */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "cli/top/top_view.h"

enum top_screen {
    TOP_WALL,
    TOP_JOBS,
    TOP_QUEUE,
    TOP_NODES,
    TOP_EVENTS,
    TOP_JOB,   /* one job */
    TOP_PAPER, /* help, or the output of a command */
    TOP_SCREENS
};

enum {
    TOP_COLUMNS = 12
};

/* The states of jobs that the list shows at first. */
#define TOP_ACTIVE "waiting,starting,running,ending"

/* A column of a list. A list leaves out columns whose terminal is too narrow. */
struct top_column {
    const char *name; /* NULL: the end */
    int width;        /* 0: the rest of the line */
    int from;         /* least width of the terminal */
};

/* A line of a list. Texts are harmless for a terminal, and owned. */
struct top_row {
    char *cells[TOP_COLUMNS];
    char *id; /* number of a job; NULL: the row is no job that the user may see */
    char *ns;
    char *name;
    char *object; /* "pod" or "job" */
    char *state;
    char *detail; /* the line below the list */
};

void top_row_done(struct top_row *r);

/* Rows [offset, offset + rows.n) of `total`. */
struct top_page {
    enum top_screen screen;
    VEC(struct top_row) rows;
    int64_t offset;
    int64_t total;
    char *title; /* of the list: sums, or the queue */
    char *queue; /* that is shown; NULL: none */
    char *next_queue;
};

void top_page_done(struct top_page *p);

/* What the user wants to see of a list. Texts are borrowed. */
struct top_wish {
    enum top_screen screen;
    int64_t offset;
    int64_t limit;
    const char *filter; /* "": all */
    const char *states; /* of jobs; "": all */
    const char *user;
    const char *queue;
    size_t sort; /* of top_sorts */
    bool is_backwards;
};

/* The columns of a screen that is a list; NULL: it is none. */
const struct top_column *top_columns_of(enum top_screen screen);
/* The sort orders of a screen, with NULL at the end: words of the API. */
const char *const *top_sorts_of(enum top_screen screen);

/* The request for a page. NULL: the screen asks for none. The caller frees it. */
char *top_page_path(const struct top_wish *w);
/* Reads the answer. */
void top_page_read(struct top_page *p, const struct top_wish *w, const json_t *answer,
                   int64_t now_ns);

/* An event of the API as a row of the events. */
struct top_row top_event_row(const json_t *event);

/* A copy of a text of others, harmless, on one line; NULL is "". */
char *top_text(const char *text);
