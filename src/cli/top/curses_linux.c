/* curses_linux.c - loads ncurses at its first use */

#include "cli/top/curses_linux.h"

#include "base/library_linux.h"
#include "base/vec.h"

#define X(name) __typeof__(name) *sym_##name;
CURSES_CALLS(X)
#undef X

struct err *curses_load(void)
{
    static const struct library_symbol symbols[] = {
#define X(name) {#name, &sym_##name},
        CURSES_CALLS(X)
#undef X
    };
    static struct library library = {.file = "libncursesw.so.6",
                                     .symbols = symbols,
                                     .n_symbols = COUNT(symbols),
                                     .mutex = PTHREAD_MUTEX_INITIALIZER};

    return library_load(&library);
}
