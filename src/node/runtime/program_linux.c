/* program_linux.c - a search for programs in the usual directories */

#include <unistd.h>

#include "base/mem.h"
#include "node/runtime/program.h"

struct err *program_find(const char *name, char **ret)
{
    static const char *const dirs[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                       "/usr/bin",        "/sbin",          "/bin"};

    for (size_t i = 0; i < COUNT(dirs); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dirs[i], name);

        if (access(path, X_OK) == 0) {
            *ret = TAKE(path);
            return NULL;
        }
    }
    return err_new(ERR_NOT_FOUND, "%s is not installed: apt-get install %s", name, name);
}
