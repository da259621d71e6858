/* root.c - struct root, and the paths of device nodes */

#include "node/image/root.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

void root_free(struct root *r)
{
    if (!r)
        return;
    free(r->layer_dir);
    free(r->lower_dirs);
    free(r->dir);
    free(r->user);
    free(r->device_dir);
    driver_tree_free(r->driver);
    free(r);
}

char *root_device_path(const char *dir, int64_t major, int64_t minor)
{
    return mem_format("%s/c-%" PRId64 "-%" PRId64, dir, major, minor);
}
