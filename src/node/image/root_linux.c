/* root_linux.c - makes the root of an attempt, and reads its user without leaving the root */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/image/driver_layer.h"
#include "node/image/root.h"

/* ---- reading ---- */

/* Opens a regular file below `root`; links stay inside. Checks the type before opening, so that no
 * fifo or device of the image is opened. */
static struct err *open_inside(int root, const char *path, int *ret)
{
    AUTO(fd_closep)
    int handle =
        file_walk(root, path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
    AUTO_FREE char *name = NULL;
    struct stat st = {0};

    if (handle < 0)
        return err_errno(errno, "open %s of the image", path);
    if (fstat(handle, &st) < 0)
        return err_errno(errno, "look at %s of the image", path);
    if (!S_ISREG(st.st_mode))
        return err_new(ERR_INVALID, "%s of the image is not a file", path);
    name = mem_format("/proc/self/fd/%d", handle);
    *ret = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return *ret < 0 ? err_errno(errno, "open %s of the image", path) : NULL;
}

static struct err *root_read_all(int fd, const char *path, struct buf *ret)
{
    char bytes[16384];
    ssize_t n = 0;

    while ((n = read(fd, bytes, sizeof(bytes))) > 0 && !ret->overflow)
        buf_add(ret, bytes, (size_t)n);
    if (n < 0)
        return err_errno(errno, "read %s of the image", path);
    if (ret->overflow)
        return err_new(ERR_INVALID, "%s of the image is over %d bytes", path, IMAGE_PASSWD_MAX);
    return NULL;
}

/* A missing file reads as empty. */
static struct err *read_inside(int root, const char *path, struct buf *ret)
{
    AUTO(fd_closep) int fd = -1;
    struct err *e = open_inside(root, path, &fd);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    if (e)
        return e;
    ret->cap = IMAGE_PASSWD_MAX;
    return root_read_all(fd, path, ret);
}

/*
 * Checks the directories in which the runtime mounts, and makes links and devices. Some runtimes do
 * not check them: runc 1.1.5 makes the links of /dev wherever a symlink /dev leads.
 */
static struct err *check_dirs(int root)
{
    static const char *const names[] = {"dev", "proc", "sys"};

    for (size_t i = 0; i < COUNT(names); i++) {
        struct stat st = {0};

        if (fstatat(root, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno != ENOENT) /* the runtime makes it */
                return err_errno(errno, "look at /%s of the image", names[i]);
        } else if (!S_ISDIR(st.st_mode)) {
            return err_new(ERR_INVALID, "/%s of the image is not a directory", names[i]);
        }
    }
    return NULL;
}

static struct err *look_into(struct root *r)
{
    AUTO_FREE char *path = mem_format("%s/root", r->dir);
    AUTO(fd_closep) int root = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO(buf_done) struct buf passwd = {0};
    AUTO(buf_done) struct buf group = {0};

    if (root < 0)
        return err_errno(errno, "open %s", path);
    TRY(check_dirs(root));
    if (r->n_devices > 0)
        image_loader_find(root, &r->loader);
    if (r->driver && r->loader.dir[0])
        TRY(driver_tree_bind(r->driver, root));
    TRY(read_inside(root, "etc/passwd", &passwd));
    TRY(read_inside(root, "etc/group", &group));
    r->ask.user = r->user;
    return image_user_find(&r->ask, (struct str){passwd.at, passwd.size},
                           (struct str){group.at, group.size}, &r->found);
}

/* ---- making ---- */

static struct err *make_device(const char *dir, const struct root_device *d)
{
    AUTO_FREE char *path = root_device_path(dir, d->major, d->minor);
    dev_t number = makedev((unsigned)d->major, (unsigned)d->minor);
    struct stat st = {0};

    if (mknod(path, S_IFCHR | 0600, number) < 0 && errno != EEXIST)
        return err_errno(errno, "make the device node %s", path);
    if (lstat(path, &st) < 0)
        return err_errno(errno, "look at %s", path);
    if (!S_ISCHR(st.st_mode) || st.st_rdev != number)
        return err_new(ERR_INTERNAL, "%s is another device node than expected", path);
    return chmod(path, 0666) < 0 ? err_errno(errno, "change the mode of %s", path) : NULL;
}

/* Only processes in the pod's user namespace may enter `roots`. */
static struct err *make_parent(const struct root *r)
{
    AUTO_FREE char *parent = mem_strdup(r->dir);
    char *slash = strrchr(parent, '/');

    if (!slash)
        return err_new(ERR_INTERNAL, "root '%s' has no parent", r->dir);
    *slash = '\0';
    TRY(dir_make(parent, 0700));
    if (chown(parent, r->uid_base, r->uid_base) < 0)
        return err_errno(errno, "give %s to the pod", parent);
    return NULL;
}

/* Mounts the image's layers, with a layer of links to the driver's files above them. */
static struct err *root_mount(const struct root *r)
{
    struct image_root mount = {.layer_dir = r->layer_dir,
                               .lower_dirs = r->lower_dirs,
                               .dir = r->dir,
                               .uid_base = r->uid_base};
    AUTO_FREE char *links = NULL;
    AUTO_FREE char *lower_dirs = NULL;

    if (!r->driver)
        return image_root_mount(&mount);
    TRY(driver_tree_make(r->driver));
    TRY(driver_layer_make(r->driver, &mount, &links));
    lower_dirs = mem_format("%s:%s", links, r->lower_dirs);
    mount.lower_dirs = lower_dirs;
    return image_root_mount(&mount);
}

struct err *root_make(struct root *r)
{
    TRY(make_parent(r));
    TRY(root_mount(r));
    for (size_t i = 0; i < r->n_devices; i++)
        TRY(make_device(r->device_dir, &r->devices[i]));
    return look_into(r);
}
