/* pmix_linux.c - loads libpmix */

#include "cli/slurm/pmix_linux.h"

#include <string.h>

#include "base/library_linux.h"
#include "base/vec.h"

#define X(name) __typeof__(&(name)) sym_##name;
PMIX_CALLS(X)
#undef X

struct err *pmix_load(void)
{
    static const struct library_symbol symbols[] = {
#define X(name) {#name, &sym_##name},
        PMIX_CALLS(X)
#undef X
    };
    static struct library library = {.file = "libpmix.so.2",
                                     .symbols = symbols,
                                     .n_symbols = COUNT(symbols),
                                     .mutex = PTHREAD_MUTEX_INITIALIZER};
    struct err *e = library_load(&library);

    if (!e || !strstr(err_message(e), "No such file"))
        return e;
    err_free(e);
    return err_new(ERR_INTERNAL, "libpmix.so.2 is not installed: apt install libpmix2");
}
