/* host_driver.c - the plan of the mount points of the image `host` */

#include "node/image/host_driver.h"

#include <stdlib.h>

#include "base/mem.h"

static void add_point(struct host_driver *h, const struct driver_file *file)
{
    static const char *const dirs[DRIVER_KINDS] = {[DRIVER_LIBRARY] = HOST_DRIVER_LIBRARIES,
                                                   [DRIVER_LIBRARY_32] = HOST_DRIVER_LIBRARIES_32,
                                                   [DRIVER_PROGRAM] = HOST_DRIVER_PROGRAMS};

    if (dirs[file->kind])
        vec_add(&h->points, mem_format("%s/%s", dirs[file->kind], file->name));
}

struct host_driver *host_driver_new(const struct driver_root *root, const char *node_dir,
                                    const char *rootfs)
{
    struct host_driver *h = mem_alloc(sizeof(*h));

    h->rootfs = mem_strdup(rootfs);
    h->has_gpu = root != NULL;
    if (!root || text_equal(root->dir, "/"))
        return h;
    h->dir = mem_format("%s/driver/%s", node_dir, root->version);
    VEC_EACH (&root->files, file)
        add_point(h, file);
    return h;
}

void host_driver_free(struct host_driver *h)
{
    if (!h)
        return;
    VEC_EACH (&h->points, point)
        free(*point);
    vec_done(&h->points);
    free(h->rootfs);
    free(h->dir);
    free(h);
}
