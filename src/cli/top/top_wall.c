/* top_wall.c - the wall of `mete top`: a cell for each gpu or slice, in rows by node */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/top/curses_linux.h"
#include "cli/top/top_paint.h"

enum {
    CELL_WIDTH = 20,
    BAR_WIDTH = 4
};

int64_t top_draw_cells(void)
{
    return *sym_COLS >= CELL_WIDTH ? *sym_COLS / CELL_WIDTH : 1;
}

bool top_draw_matches(const struct top_look *look, const struct top_gpu *g)
{
    const char *filter = look->filter[TOP_WALL];

    return !*filter || strcasestr(g->node, filter) || strcasestr(g->model, filter) ||
           strcasestr(g->holder, filter) || strcasestr(g->user, filter);
}

/* " 3 ####  82%  40G H" */
static void draw_cell(const struct top_gpu *g, int y, int x, int64_t now_ns)
{
    static const char letters[TOP_STATES] = {'-', 'H', 'i', 'D', 'S', '?'};
    char name[48];
    char text[TOP_REASON + 64];

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
    top_put(y, x, CELL_WIDTH - 1, text);
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

/* The place of a cell on an endless page: a row for each node's name, then its cells. */
struct wall_place {
    const struct top_gpu *gpu;
    int64_t row;
    int64_t cell; /* in the row */
    bool is_new;  /* the first of its node */
};

typedef VEC(struct wall_place) wall_places;

static void wall_lay_out(const struct top_view *v, const struct top_look *look, wall_places *ret)
{
    int64_t cells = top_draw_cells();
    struct wall_place at = {.row = -1};

    VEC_EACH (&v->gpus, g) {
        if (!top_draw_matches(look, g))
            continue;
        at.is_new = ret->n == 0 || strcmp(g->node, at.gpu->node) != 0;
        at.cell = at.is_new || at.cell + 1 == cells ? 0 : at.cell + 1;
        at.row += at.is_new ? 2 : at.cell == 0;
        at.gpu = g;
        vec_add(ret, at);
    }
}

static enum top_paint paint_of(const struct top_gpu *g)
{
    return g->state >= TOP_DRAINED ? PAINT_BAD
           : g->state == TOP_HELD  ? PAINT_BUSY
           : g->state == TOP_IDLE  ? PAINT_IDLE
                                   : PAINT_PLAIN;
}

/* Returns the row of the page that is at the top of the screen. */
static int64_t wall_first_row(const wall_places *places, int64_t selected, int64_t rows)
{
    int64_t first = places->n > 0 ? places->at[selected].row - rows + 1 : 0;

    return first > 0 ? first : 0;
}

char *top_wall_draw(const struct top_view *v, struct top_look *look, int64_t now_ns)
{
    int64_t rows = *sym_LINES - TOP_HEAD_ROWS - TOP_FOOT_ROWS;
    int64_t *selected = &look->selected[TOP_WALL];
    wall_places places = {0};
    char *detail = NULL;
    int64_t first;

    wall_lay_out(v, look, &places);
    *selected = *selected < (int64_t)places.n ? *selected : (int64_t)places.n - 1;
    *selected = *selected > 0 ? *selected : 0;
    first = wall_first_row(&places, *selected, rows);
    VEC_EACH (&places, p) {
        int64_t y = p->row - first;

        if (p->is_new && y > 0 && y <= rows)
            top_put((int)(y - 1) + TOP_HEAD_ROWS, 0, *sym_COLS, p->gpu->node);
        if (y < 0 || y >= rows)
            continue;
        top_paint(p == &places.at[*selected] ? PAINT_SELECTED : paint_of(p->gpu));
        draw_cell(p->gpu, (int)y + TOP_HEAD_ROWS, (int)p->cell * CELL_WIDTH, now_ns);
        top_paint(PAINT_PLAIN);
    }
    if (places.n > 0)
        detail = draw_gpu_detail(places.at[*selected].gpu, now_ns);
    vec_done(&places);
    return detail;
}
