/*
 * top_draw.c - the screens of `mete top`, on ncurses
 *
 * A full screen has 80 columns and 24 rows; with 60 columns a row has fewer cells, and columns of
 * the table go from the right.
 */

#include "cli/top/top_draw.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/term/text_escape.h"
#include "cli/top/curses_linux.h"

enum {
    CELL_WIDTH = 20,
    BAR_WIDTH = 4,
    HEAD_ROWS = 2,
    FOOT_ROWS = 2,
    LATE_REFRESHES = 3
};

struct err *top_draw_begin(void)
{
    TRY(curses_load());
    (void)setlocale(LC_CTYPE, ""); /* unknown: only ASCII is drawn */
    if (!sym_newterm(NULL, stdout, stdin))
        return err_new(ERR_INVALID, "this terminal is not known: is TERM right?");
    (void)sym_cbreak();
    (void)sym_noecho();
    (void)sym_nodelay(*sym_stdscr, TRUE);
    (void)sym_keypad(*sym_stdscr, TRUE);
    (void)sym_curs_set(0);
    return NULL;
}

void top_draw_end(void)
{
    (void)sym_endwin();
}

void top_draw_resize(void)
{
    (void)sym_endwin();
    (void)sym_wrefresh(*sym_stdscr);
}

int top_draw_key(void)
{
    return sym_wgetch(*sym_stdscr);
}

static void set_attributes(chtype attributes)
{
    (void)sym_wattrset(*sym_stdscr, (int)attributes);
}

/* Writes at most `width` columns of a text. */
static void put_text(int y, int x, int width, const char *text)
{
    if (y >= *sym_LINES || x >= *sym_COLS || width <= 0)
        return;
    width = width < *sym_COLS - x ? width : *sym_COLS - x;
    if (sym_wmove(*sym_stdscr, y, x) != ERR)
        (void)sym_waddnstr(*sym_stdscr, text, (int)text_escape_fit(text, (size_t)width));
}

static bool draw_matches(const struct top_look *look, const char *a, const char *b, const char *c)
{
    return !*look->filter || strstr(a, look->filter) || strstr(b, look->filter) ||
           strstr(c, look->filter);
}

static void draw_head(const struct top_view *v, const struct top_look *look, int64_t now_ns)
{
    char stamp[STAMP_TEXT_SIZE];
    AUTO_FREE char *text = NULL;
    const size_t *n = v->counts;

    stamp_format(now_ns, stamp);
    text = mem_format(
        "%zu GPUs: %zu free, %zu held, %zu idle, %zu drained, %zu sick, %zu no answer", v->gpus.n,
        n[TOP_FREE], n[TOP_HELD], n[TOP_IDLE], n[TOP_DRAINED], n[TOP_SICK], n[TOP_NO_ANSWER]);
    (void)sym_wattr_on(*sym_stdscr, A_BOLD, NULL);
    put_text(0, 0, *sym_COLS - 9, text);
    stamp[19] = '\0';
    put_text(0, *sym_COLS - 8, 8, stamp + 11);
    (void)sym_wattr_off(*sym_stdscr, A_BOLD, NULL);
    if (v->at_ns > 0 && now_ns - v->at_ns > LATE_REFRESHES * look->refresh_ns) {
        AUTO_FREE char *late =
            mem_format("the numbers are %" PRId64 " s old", (now_ns - v->at_ns) / NS_PER_SEC);

        put_text(1, 0, *sym_COLS, late);
    }
}

static void draw_foot(const struct top_look *look, const char *detail)
{
    AUTO_FREE char *filter = mem_format("filter: %s%s", look->filter, look->is_typing ? "_" : "");

    put_text(*sym_LINES - 2, 0, *sym_COLS, detail);
    (void)sym_wattr_on(*sym_stdscr, A_DIM, NULL);
    put_text(*sym_LINES - 1, 0, *sym_COLS,
             *look->message ? look->message
             : look->is_typing || *look->filter
                 ? filter
                 : "1 wall  2 jobs  / filter  arrows select  q quit");
    (void)sym_wattr_off(*sym_stdscr, A_DIM, NULL);
}

/* ---- the wall ---- */

size_t top_draw_columns(const struct top_look *look)
{
    return look->screen == TOP_WALL && *sym_COLS >= CELL_WIDTH ? (size_t)(*sym_COLS / CELL_WIDTH)
                                                               : 1;
}

/* " 3 ####  82%  40G H" */
static void draw_cell(const struct top_gpu *g, int y, int x, int64_t now_ns)
{
    static const char letters[TOP_STATES] = {'-', 'H', 'i', 'D', 'S', '?'};
    char name[16];
    char text[TOP_REASON + 32];

    (void)snprintf(name, sizeof(name), g->slice >= 0 ? "%" PRId64 ".%" PRId64 : "%" PRId64,
                   g->index, g->slice);
    if (g->state >= TOP_DRAINED) {
        char trouble[TOP_REASON];

        top_gpu_trouble(g, now_ns, trouble);
        (void)snprintf(text, sizeof(text), "%3s %s", name, trouble);
    } else if (g->utilization_pct < 0) {
        (void)snprintf(text, sizeof(text), "%3s %-*s   -   -  %c", name, BAR_WIDTH, "",
                       letters[g->state]);
    } else {
        char bar[BAR_WIDTH + 1] = "";
        int64_t filled = (g->utilization_pct * BAR_WIDTH + 99) / 100;

        for (int64_t i = 0; i < filled && i < BAR_WIDTH; i++)
            bar[i] = '#';
        (void)snprintf(text, sizeof(text), "%3s %-*s%3" PRId64 "%%%4" PRId64 "G %c", name,
                       BAR_WIDTH, bar, g->utilization_pct,
                       g->memory_used_bytes < 0 ? -1 : (g->memory_used_bytes + (1 << 29)) >> 30,
                       letters[g->state]);
    }
    put_text(y, x, CELL_WIDTH - 1, text);
}

static char *draw_gpu_detail(const struct top_gpu *g, int64_t now_ns)
{
    char trouble[TOP_REASON] = "";
    struct buf b = {0};

    if (g->state >= TOP_DRAINED)
        top_gpu_trouble(g, now_ns, trouble);
    buf_printf(&b, "%s/%" PRId64 " %s %s %s", g->node, g->index, g->model,
               *trouble ? trouble : top_state_name(g->state), g->holder);
    if (*g->user)
        buf_printf(&b, " (%s)", g->user);
    if (g->memory_used_bytes >= 0 && g->memory_bytes > 0)
        buf_printf(&b, " %" PRId64 "/%" PRId64 " GiB", g->memory_used_bytes >> 30,
                   g->memory_bytes >> 30);
    if (g->temperature_c >= 0)
        buf_printf(&b, " %" PRId64 " C", g->temperature_c);
    if (g->power_mw >= 0)
        buf_printf(&b, " %" PRId64 " W", g->power_mw / 1000);
    if (g->sampled_ns > 0 && now_ns - g->sampled_ns > 10 * NS_PER_SEC)
        buf_printf(&b, " %" PRId64 " s ago", (now_ns - g->sampled_ns) / NS_PER_SEC);
    return buf_steal(&b);
}

/* The row of each cell on an endless page: a row for each node's name, then its cells. */
static char *draw_wall(const struct top_view *v, struct top_look *look, int64_t now_ns)
{
    size_t columns = top_draw_columns(look);
    VEC(const struct top_gpu *) shown = {0};
    size_t *selected = &look->selected[TOP_WALL];
    char *detail = NULL;
    int *rows;
    int row = -1;
    size_t x = 0;
    int first;

    VEC_EACH (&v->gpus, g)
        if (draw_matches(look, g->node, g->holder, g->user))
            vec_add(&shown, g);
    *selected = *selected < shown.n ? *selected : shown.n > 0 ? shown.n - 1 : 0;
    rows = mem_alloc((shown.n + 1) * sizeof(*rows));
    for (size_t i = 0; i < shown.n; i++) {
        bool is_new = i == 0 || strcmp(shown.at[i]->node, shown.at[i - 1]->node) != 0;

        x = is_new || x + 1 == columns ? 0 : x + 1;
        row += is_new ? 2 : x == 0;
        rows[i] = row;
    }
    first = shown.n > 0 ? rows[*selected] - (*sym_LINES - HEAD_ROWS - FOOT_ROWS) + 1 : 0;
    first = first > 0 ? first : 0;
    x = 0;
    for (size_t i = 0; i < shown.n; i++) {
        const struct top_gpu *g = shown.at[i];
        bool is_new = i == 0 || strcmp(g->node, shown.at[i - 1]->node) != 0;
        int y = rows[i] - first + HEAD_ROWS;

        x = is_new || x + 1 == columns ? 0 : x + 1;
        if (is_new && y > HEAD_ROWS && y - 1 < *sym_LINES - FOOT_ROWS)
            put_text(y - 1, 0, *sym_COLS, g->node);
        if (y < HEAD_ROWS || y >= *sym_LINES - FOOT_ROWS)
            continue;
        set_attributes(i == *selected ? A_REVERSE : g->state >= TOP_DRAINED ? A_BOLD : A_NORMAL);
        draw_cell(g, y, (int)x * CELL_WIDTH, now_ns);
        set_attributes(A_NORMAL);
    }
    if (shown.n > 0)
        detail = draw_gpu_detail(shown.at[*selected], now_ns);
    free(rows);
    vec_done(&shown);
    return detail;
}

/* ---- jobs ---- */

static void draw_job(const struct top_job *j, int y, int64_t now_ns)
{
    char age[STAMP_TEXT_SIZE] = "";

    if (j->from_ns > 0 && now_ns > j->from_ns)
        stamp_format_age(now_ns - j->from_ns, age);
    put_text(y, 0, 6, j->id);
    put_text(y, 7, 16, j->name);
    put_text(y, 24, 8, j->user);
    put_text(y, 33, 9, j->state);
    put_text(y, 43, 8, j->gpus);
    put_text(y, 52, 7, age);
    put_text(y, 60, *sym_COLS - 60, *j->reason ? j->reason : j->node);
}

static char *draw_jobs(const struct top_view *v, struct top_look *look, int64_t now_ns)
{
    VEC(const struct top_job *) shown = {0};
    size_t *selected = &look->selected[TOP_JOBS];
    int room = *sym_LINES - HEAD_ROWS - FOOT_ROWS - 1;
    size_t first = 0;
    char *detail = NULL;

    VEC_EACH (&v->jobs, j)
        if (draw_matches(look, j->name, j->user, j->queue))
            vec_add(&shown, j);
    *selected = *selected < shown.n ? *selected : shown.n > 0 ? shown.n - 1 : 0;
    if (room > 0 && *selected >= (size_t)room)
        first = *selected - (size_t)room + 1;
    (void)sym_wattr_on(*sym_stdscr, A_BOLD, NULL);
    put_text(HEAD_ROWS, 0, *sym_COLS,
             "JOB    NAME             USER     STATE     GPUS     TIME    REASON, NODE");
    (void)sym_wattr_off(*sym_stdscr, A_BOLD, NULL);
    for (size_t i = first; i < shown.n && (int)(i - first) < room; i++) {
        set_attributes(i == *selected ? A_REVERSE : A_NORMAL);
        draw_job(shown.at[i], HEAD_ROWS + 1 + (int)(i - first), now_ns);
        set_attributes(A_NORMAL);
    }
    if (shown.n > 0) {
        const struct top_job *j = shown.at[*selected];

        detail = mem_format("%s/%s %s, queue %s%s%s%s", j->ns, j->name, j->state, j->queue,
                            *j->reason ? ": " : "", j->reason,
                            v->has_more_jobs ? "  (there are more jobs: mete ps)" : "");
    }
    vec_done(&shown);
    return detail;
}

void top_draw(const struct top_view *v, struct top_look *look, int64_t now_ns)
{
    AUTO_FREE char *detail = NULL;

    (void)sym_werase(*sym_stdscr);
    draw_head(v, look, now_ns);
    detail = look->screen == TOP_WALL ? draw_wall(v, look, now_ns) : draw_jobs(v, look, now_ns);
    draw_foot(look, text_or_empty(detail));
    (void)sym_wrefresh(*sym_stdscr);
}
