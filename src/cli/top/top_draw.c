/*
 * top_draw.c - head, foot, lists and pages of text of `mete top`, on ncurses
 *
 * A full screen has 80 columns and 24 rows; with 60 columns a row of the wall has fewer cells, and
 * lists have fewer columns.
 */

#include "cli/top/top_draw.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/term/text_escape.h"
#include "cli/top/curses_linux.h"
#include "cli/top/top_paint.h"

enum {
    LATE_REFRESHES = 3,
    ESCAPE_MS = 25 /* a key that begins with Esc is complete by then */
};

struct err *top_draw_begin(bool has_colour)
{
    TRY(curses_load());
    (void)setlocale(LC_CTYPE, ""); /* unknown: only ASCII is drawn */
    if (!sym_newterm(NULL, stdout, stdin))
        return err_new(ERR_INVALID, "this terminal is not known: is TERM right?");
    (void)sym_set_escdelay(ESCAPE_MS);
    (void)sym_cbreak();
    (void)sym_noecho();
    (void)sym_nodelay(*sym_stdscr, TRUE);
    (void)sym_keypad(*sym_stdscr, TRUE);
    (void)sym_curs_set(0);
    top_paint_begin(has_colour);
    return NULL;
}

void top_draw_end(void)
{
    (void)sym_endwin();
}

void top_draw_resize(void)
{
    (void)sym_endwin();
    /* endwin also ended the keypad mode, which curses begins again at the next wgetch only. A key
     * pressed before that comes in the terminal's other form, and is read as Esc and letters. */
    (void)sym_keypad(*sym_stdscr, TRUE);
    (void)sym_wrefresh(*sym_stdscr);
}

int top_draw_key(void)
{
    return sym_wgetch(*sym_stdscr);
}

int64_t top_draw_rows(const struct top_look *look)
{
    bool has_names = top_columns_of(look->screen) != NULL;
    int64_t rows = *sym_LINES - TOP_HEAD_ROWS - TOP_FOOT_ROWS - has_names;

    return rows > 1 ? rows : 1;
}

/* ---- head and foot ---- */

/* "12 waiting, 3 running   1 of 15   filter x   by state" */
static char *title_of(const struct top_show *s, const struct top_look *look)
{
    const char *const *sorts = top_sorts_of(look->screen);
    const struct top_page *p = s->page->screen == look->screen ? s->page : NULL;
    struct buf b = {0};

    if (p && p->title)
        buf_add_text(&b, p->title);
    if (p && p->total > 0)
        buf_printf(&b, "%s%" PRId64 " of %" PRId64, b.size > 0 ? "   " : "",
                   look->selected[look->screen] + 1, p->total);
    if (*look->filter[look->screen])
        buf_printf(&b, "   filter %s", look->filter[look->screen]);
    if (sorts[0])
        buf_printf(&b, "   by %s%s", look->is_backwards[look->screen] ? "-" : "",
                   sorts[look->sort[look->screen]]);
    if (look->screen == TOP_JOBS && *look->states && !text_equal(look->states, TOP_ACTIVE))
        buf_printf(&b, "   only %s", look->states);
    return buf_steal(&b);
}

static void draw_head(const struct top_show *s, const struct top_look *look, int64_t now_ns)
{
    const struct top_view *v = s->view;
    const size_t *n = v->counts;
    bool is_late = v->at_ns > 0 && now_ns - v->at_ns > LATE_REFRESHES * look->refresh_ns;
    int64_t age_s = (now_ns - v->at_ns) / NS_PER_SEC;
    char stamp[STAMP_TEXT_SIZE];
    AUTO_FREE char *sums = NULL;
    AUTO_FREE char *title = title_of(s, look);
    AUTO_FREE char *late = NULL;

    stamp_format(now_ns, stamp);
    stamp[19] = '\0';
    sums =
        mem_format("%zu GPUs: %zu free, %zu held, %zu idle, %zu drained, %zu sick, %zu no answer",
                   top_view_count(v), n[TOP_FREE], n[TOP_HELD], n[TOP_IDLE], n[TOP_DRAINED],
                   n[TOP_SICK], n[TOP_NO_ANSWER]);
    if (is_late)
        late = mem_format("the numbers are %" PRId64 " s old%s%s", age_s,
                          *look->trouble ? "; trying again: " : "", look->trouble);
    else if (*look->trouble)
        late = mem_format("trying again: %s", look->trouble);
    top_paint(PAINT_HEAD);
    top_put(0, 0, *sym_COLS - 9, v->at_ns > 0 ? sums : "asking for the GPUs");
    top_put(0, *sym_COLS - 8, 8, stamp + 11);
    top_paint(late ? PAINT_BAD : PAINT_PLAIN);
    top_put(1, 0, *sym_COLS, late ? late : title);
    top_paint(PAINT_PLAIN);
}

static void draw_foot(const struct top_look *look, const char *detail)
{
    AUTO_FREE char *typed =
        mem_format("%s%s_", look->typing == TOP_TYPES_FILTER ? "/" : ":", look->line);
    const char *keys = look->is_local
                           ? "1 wall  / filter  arrows select  ? help  q quit"
                           : "1 wall 2 jobs 3 queue 4 nodes 5 events  / : s Enter  ? help  q quit";

    top_put(*sym_LINES - 2, 0, *sym_COLS, detail);
    top_paint(*look->question ? PAINT_HEAD : PAINT_DIM);
    top_put(*sym_LINES - 1, 0, *sym_COLS,
            *look->question  ? look->question
            : look->typing   ? typed
            : *look->message ? look->message
                             : keys);
    top_paint(PAINT_PLAIN);
}

/* ---- lists ---- */

/* Calls for each column that fits: its place and width. Returns the number of columns. */
static size_t layout(enum top_screen screen, int at[TOP_COLUMNS], int width[TOP_COLUMNS])
{
    const struct top_column *columns = top_columns_of(screen);
    size_t n = 0;
    int x = 0;

    for (; columns[n].name; n++) {
        at[n] = x;
        width[n] = columns[n].from > *sym_COLS ? 0 : columns[n].width;
        if (columns[n].width == 0 && columns[n].from <= *sym_COLS)
            width[n] = *sym_COLS - x;
        x += width[n] > 0 ? width[n] + 1 : 0;
    }
    return n;
}

/* Moves the selection into [0, total), and the first line so that the selected one is shown. */
static void keep_selected(struct top_look *look, int64_t total)
{
    int64_t *selected = &look->selected[look->screen];
    int64_t *first = &look->first[look->screen];
    int64_t rows = top_draw_rows(look);

    *selected = *selected < total ? *selected : total - 1;
    *selected = *selected > 0 ? *selected : 0;
    if (*first > *selected)
        *first = *selected;
    if (*first <= *selected - rows)
        *first = *selected - rows + 1;
}

static void draw_row(const struct top_show *s, const struct top_look *look,
                     const struct top_row *row, int y)
{
    int at[TOP_COLUMNS] = {0};
    int width[TOP_COLUMNS];
    size_t n = layout(look->screen, at, width);

    for (size_t i = 0; i < n; i++)
        top_put(y, at[i], width[i], text_or_empty(row->cells[i]));
    if (s->is_tagged(s->arg, row))
        top_put(y, at[1] - 1, 1, "*");
}

/* Returns the line below the list: of the selected row. Borrowed. */
static const char *draw_list(const struct top_show *s, struct top_look *look)
{
    const struct top_page *p = s->page;
    const struct top_column *columns = top_columns_of(look->screen);
    int64_t rows = top_draw_rows(look);
    const char *detail = "";
    int at[TOP_COLUMNS];
    int width[TOP_COLUMNS];
    size_t n = layout(look->screen, at, width);

    top_paint(PAINT_HEAD);
    for (size_t i = 0; i < n; i++)
        top_put(TOP_HEAD_ROWS, at[i], width[i], columns[i].name);
    top_paint(PAINT_PLAIN);
    if (p->screen != look->screen)
        return "";
    keep_selected(look, p->total);
    for (int64_t i = 0; i < rows; i++) {
        int64_t k = look->first[look->screen] + i - p->offset;
        bool is_selected = look->first[look->screen] + i == look->selected[look->screen];

        if (k < 0 || k >= (int64_t)p->rows.n)
            continue;
        top_paint(is_selected ? PAINT_SELECTED : PAINT_PLAIN);
        draw_row(s, look, &p->rows.at[k], TOP_HEAD_ROWS + 1 + (int)i);
        top_paint(PAINT_PLAIN);
        if (is_selected)
            detail = text_or_empty(p->rows.at[k].detail);
    }
    return p->total == 0 ? "nothing here" : detail;
}

/* ---- pages of text ---- */

static void put_lines(const struct top_lines *l, size_t first, int y, int rows)
{
    for (int i = 0; i < rows && first + (size_t)i < top_lines_count(l); i++)
        top_put(y + i, 0, *sym_COLS, top_lines_at(l, first + (size_t)i));
}

static void draw_paper(const struct top_show *s, struct top_look *look)
{
    int64_t rows = top_draw_rows(look);
    int64_t n = s->lines ? (int64_t)top_lines_count(s->lines) : 0;
    int64_t *first = &look->first[TOP_PAPER];

    *first = *first > n - rows ? n - rows : *first;
    *first = *first > 0 ? *first : 0;
    if (s->lines)
        put_lines(s->lines, (size_t)*first, TOP_HEAD_ROWS, (int)rows);
}

/* The facts, and below them as much of the log as fits; up and down move in the log. */
static void draw_job(const struct top_show *s, struct top_look *look)
{
    int64_t rows = top_draw_rows(look);
    int64_t n_facts = s->lines && !look->is_log_only ? (int64_t)top_lines_count(s->lines) : 0;
    int64_t n_log = s->log ? (int64_t)top_lines_count(s->log) : 0;
    int64_t *back = &look->first[TOP_JOB]; /* lines of the log below the screen */
    int64_t room;

    if (n_facts > rows - (n_log > 0 ? 4 : 0))
        n_facts = rows - (n_log > 0 ? 4 : 0);
    if (n_facts > 0)
        put_lines(s->lines, 0, TOP_HEAD_ROWS, (int)n_facts);
    room = rows - n_facts - 1;
    *back = *back > n_log - room ? n_log - room : *back;
    *back = *back > 0 ? *back : 0;
    if (room <= 0 || n_log == 0)
        return;
    top_paint(PAINT_HEAD);
    top_put(TOP_HEAD_ROWS + (int)n_facts, 0, *sym_COLS, *back > 0 ? "log (not the end)" : "log");
    top_paint(PAINT_PLAIN);
    put_lines(s->log, (size_t)(n_log - *back > room ? n_log - *back - room : 0),
              TOP_HEAD_ROWS + (int)n_facts + 1, (int)room);
}

void top_draw(const struct top_show *s, struct top_look *look, int64_t now_ns)
{
    AUTO_FREE char *made = NULL;
    const char *detail = "";

    (void)sym_werase(*sym_stdscr);
    draw_head(s, look, now_ns);
    if (look->screen == TOP_WALL)
        detail = made = top_wall_draw(s->view, look, now_ns);
    else if (look->screen == TOP_PAPER)
        draw_paper(s, look);
    else if (look->screen == TOP_JOB)
        draw_job(s, look);
    else
        detail = draw_list(s, look);
    if (*s->estimate)
        detail = made = mem_format("%s   %s", s->estimate, detail);
    draw_foot(look, text_or_empty(detail));
    (void)sym_wrefresh(*sym_stdscr);
}
