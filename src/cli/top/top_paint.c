/* top_paint.c - text and colours, by the 16 colours of the terminal's palette */

#include "cli/top/top_paint.h"

#include "cli/term/text_escape.h"
#include "cli/top/curses_linux.h"

enum {
    PAIR_BUSY = 1,
    PAIR_IDLE,
    PAIR_BAD
};

static chtype paints[PAINTS];

/* Blue for load and orange for trouble differ for all common kinds of colour blindness. */
void top_paint_begin(bool has_colour)
{
    paints[PAINT_PLAIN] = A_NORMAL;
    paints[PAINT_HEAD] = A_BOLD;
    paints[PAINT_DIM] = A_DIM;
    paints[PAINT_SELECTED] = A_REVERSE;
    paints[PAINT_BUSY] = paints[PAINT_IDLE] = A_NORMAL;
    paints[PAINT_BAD] = A_BOLD;
    if (!has_colour || !sym_has_colors() || sym_start_color() == ERR ||
        sym_use_default_colors() == ERR)
        return;
    (void)sym_init_pair(PAIR_BUSY, COLOR_BLUE, -1);
    (void)sym_init_pair(PAIR_IDLE, COLOR_CYAN, -1);
    (void)sym_init_pair(PAIR_BAD, COLOR_YELLOW, -1);
    paints[PAINT_BUSY] = (chtype)COLOR_PAIR(PAIR_BUSY);
    paints[PAINT_IDLE] = (chtype)COLOR_PAIR(PAIR_IDLE);
    paints[PAINT_BAD] = (chtype)COLOR_PAIR(PAIR_BAD) | A_BOLD;
}

void top_paint(enum top_paint p)
{
    (void)sym_wattrset(*sym_stdscr, (int)paints[p]);
}

void top_put(int y, int x, int width, const char *text)
{
    if (y < 0 || y >= *sym_LINES || x >= *sym_COLS || width <= 0)
        return;
    width = width < *sym_COLS - x ? width : *sym_COLS - x;
    if (sym_wmove(*sym_stdscr, y, x) != ERR)
        (void)sym_waddnstr(*sym_stdscr, text, (int)text_escape_fit(text, (size_t)width));
}
