/* archive_linux.c - the table of libarchive's functions */

#include "base/archive_linux.h"

#include "base/library_linux.h"

#define X(name) __typeof__(name) *sym_##name;
ARCHIVE_CALLS(X)
#undef X

struct err *archive_load(void)
{
    static const struct library_symbol symbols[] = {
#define X(name) {#name, &sym_##name},
        ARCHIVE_CALLS(X)
#undef X
    };
    static struct library library = {.file = "libarchive.so.13",
                                     .symbols = symbols,
                                     .n_symbols = COUNT(symbols),
                                     .mutex = PTHREAD_MUTEX_INITIALIZER};

    return library_load(&library);
}
