/* installed_linux.c - looks for files that come with the program */

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/installed.h"

struct err *installed_find(const char *self_path, const struct installed *i, char **ret)
{
    const char *given = getenv(i->variable); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *slash = strrchr(self_path, '/');
    AUTO_FREE char *beside =
        mem_format("%.*s/../../%s", slash ? (int)(slash - self_path) : 0, self_path, i->built);
    const char *const places[] = {given && *given ? given : beside, beside, i->installed};

    for (size_t at = 0; at < COUNT(places); at++) {
        AUTO_FREE char *path = mem_format("%s/%s", places[at], i->probe);

        if (!file_exists(path))
            continue;
        *ret = mem_strdup(places[at]);
        return NULL;
    }
    return err_new(ERR_NOT_FOUND, "%s is not installed: looked in %s, %s", i->what, places[0],
                   i->installed);
}
