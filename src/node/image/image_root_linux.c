/* image_root_linux.c - overlay mounts of the root file systems of attempts */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/host.h"
#include "node/image/images.h"
#include "node/runtime/userns.h"

enum {
    OPTIONS_MAX = 4095 /* a page with the NUL */
};

static struct err *make_owned(const char *path, uint32_t owner)
{
    TRY(dir_make(path, 0755));
    if (chown(path, owner, owner) < 0)
        return err_errno(errno, "give %s to %u", path, owner);
    return NULL;
}

/* Mounts the layers with shifted owners and opens them as `*ret`. Unmounted once overlay has its
 * own mounts. */
static struct err *open_layers(const struct image_root *r, const char *shifted, int *ret)
{
    const char *path = r->layer_dir;

    if (r->uid_base != IMAGE_UID_BASE) {
        TRY(dir_make(shifted, 0700));
        TRY(userns_mount_idmapped(r->layer_dir, shifted, IMAGE_UID_BASE, r->uid_base,
                                  IMAGE_UID_COUNT));
        path = shifted;
    }
    *ret = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *ret < 0 ? err_errno(errno, "open %s", path) : NULL;
}

/*
 * Mount options fit in a page, but an image may have 127 layers: so layers have short names, below
 * descriptors. userxattr, because the unpacker has no privilege to write trusted attributes.
 */
static struct err *mount_overlay(const struct image_root *r, int layers, int own)
{
    AUTO(buf_done) struct buf options = {.cap = OPTIONS_MAX};
    AUTO_FREE char *root = mem_format("%s/root", r->dir);
    struct str rest = str_of(r->lower_dirs);

    buf_add_text(&options, "userxattr,lowerdir=");
    while (rest.at && rest.size > 0) {
        struct str layer = str_cut(&rest, ':');

        buf_printf(&options, "/proc/self/fd/%d/" STR_FMT "%s", layers, STR_ARG(layer),
                   rest.at ? ":" : "");
    }
    buf_printf(&options, ",upperdir=/proc/self/fd/%d/upper,workdir=/proc/self/fd/%d/work", own,
               own);
    if (options.overflow)
        return err_new(ERR_INVALID, "the image has more layers than can be mounted");
    if (mount("overlay", root, "overlay", MS_NODEV, options.at) < 0)
        return err_errno(errno, "mount the image's layers at %s", root);
    return NULL;
}

struct err *image_root_mount(const struct image_root *r)
{
    AUTO_FREE char *root = mem_format("%s/root", r->dir);
    AUTO_FREE char *upper = mem_format("%s/upper", r->dir);
    AUTO_FREE char *work = mem_format("%s/work", r->dir);
    AUTO_FREE char *shifted = mem_format("%s/layers", r->dir);
    AUTO(fd_closep) int layers = -1;
    AUTO(fd_closep) int own = -1;
    struct err *e;

    if (host_is_mount(root))
        return NULL;
    TRY(dir_make(r->dir, 0711));
    TRY(dir_make(root, 0755));
    TRY(make_owned(upper, r->uid_base));
    TRY(make_owned(work, r->uid_base));
    TRY(host_unmount(shifted)); /* left by an interrupted start */
    own = open(r->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (own < 0)
        return err_errno(errno, "open %s", r->dir);
    e = open_layers(r, shifted, &layers);
    if (!e)
        e = mount_overlay(r, layers, own);
    fd_close(fd_take(&layers));
    if (r->uid_base != IMAGE_UID_BASE) {
        struct err *left = host_unmount(shifted);

        if (e)
            err_free(left); /* report the first error */
        else
            e = left;
    }
    return e;
}

struct err *image_root_remove(const char *dir)
{
    AUTO_FREE char *root = mem_format("%s/root", dir);
    AUTO_FREE char *shifted = mem_format("%s/layers", dir);

    TRY(host_unmount(root));
    TRY(host_unmount(shifted));
    return dir_remove(dir);
}
