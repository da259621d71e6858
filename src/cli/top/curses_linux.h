/* curses_linux.h - ncurses, loaded by the one command that draws on a terminal */
#pragma once

#include <curses.h>

#include "base/err.h"

/* The functions and variables of ncurses that Mete uses, each as sym_NAME, a pointer to it. */
/* clang-format off */
#define CURSES_CALLS(X)                                                                       \
    X(COLS) X(LINES) X(cbreak) X(curs_set) X(endwin) X(has_colors) X(init_pair) X(keypad)     \
    X(newterm) X(nodelay) X(noecho) X(set_escdelay) X(start_color) X(stdscr) X(use_default_colors)            \
    X(waddnstr) X(wattrset) X(werase) X(wgetch) X(wmove) X(wrefresh)
/* clang-format on */

#define X(name) extern __typeof__(name) *sym_##name;
CURSES_CALLS(X)
#undef X

/* Loads ncurses. Call it before any other function. ERR_INTERNAL: ncurses is not installed. */
struct err *curses_load(void) MUST_CHECK;
