/* driver_layer_linux.c - makes the layer of links of a driver and an image */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fnv.h"
#include "base/mem.h"
#include "node/host.h"
#include "node/image/driver_layer.h"

char *driver_layer_owner(const char *name)
{
    return mem_strndup(name, strcspn(name, "-"));
}

static char *layer_name(const struct driver_tree *t, const char *lower_dirs)
{
    uint64_t hash =
        fnv_byte(fnv_text(fnv_byte(fnv_text(FNV_START, lower_dirs), 0), t->dir), t->is_shared);

    return mem_format("%.*s-%016" PRIx64, (int)strcspn(lower_dirs, ":"), lower_dirs, hash);
}

static struct err *layer_fill(const struct driver_tree *t, const struct image_root *scratch)
{
    AUTO_FREE char *path = mem_format("%s/root", scratch->dir);
    AUTO(fd_closep) int root = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct image_loader loader = {0};

    if (root < 0)
        return err_errno(errno, "open %s", path);
    image_loader_find(root, &loader);
    return driver_tree_link(t, root, &loader);
}

/* Fills the writable layer of a root of the image, and keeps that layer as `path`. */
static struct err *layer_keep(const struct driver_tree *t, const struct image_root *scratch,
                              const char *path)
{
    AUTO_FREE char *root = mem_format("%s/root", scratch->dir);
    AUTO_FREE char *upper = mem_format("%s/upper", scratch->dir);

    TRY(image_root_mount(scratch));
    TRY(layer_fill(t, scratch));
    TRY(host_unmount(root));
    return rename(upper, path) < 0 ? err_errno(errno, "move %s to %s", upper, path) : NULL;
}

static struct err *layer_build(const struct driver_tree *t, const struct image_root *image,
                               const char *path)
{
    AUTO_FREE char *dir = mem_format("%s.new", path);
    const struct image_root scratch = {.layer_dir = image->layer_dir,
                                       .lower_dirs = image->lower_dirs,
                                       .dir = dir,
                                       .uid_base = IMAGE_UID_BASE};
    AUTO(err_freep) struct err *left = image_root_remove(dir); /* of an interrupted start */
    struct err *e = left ? TAKE(left) : layer_keep(t, &scratch, path);

    if (!e)
        return image_root_remove(dir);
    left = image_root_remove(dir); /* report the first error */
    return e;
}

struct err *driver_layer_make(const struct driver_tree *t, const struct image_root *image,
                              char **ret)
{
    AUTO_FREE char *name = layer_name(t, image->lower_dirs);
    AUTO_FREE char *path = mem_format("%s/%s", image->layer_dir, name);

    if (!file_exists(path)) {
        struct err *e = layer_build(t, image, path);

        if (e)
            return err_wrap(e, "links to the driver in %s", path);
    }
    *ret = TAKE(name);
    return NULL;
}
