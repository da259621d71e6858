/* bind_linux.c - race-free opens and bind mounts */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/as_user.h"
#include "node/runtime/userns.h"
#include "node/volume/bind.h"

void bind_done(struct bind *b)
{
    free(b->base);
    free(b->root);
    free(b->path);
    free(b->sub_path);
    free(b->target);
    *b = (struct bind){0};
}

/* ---- opens ---- */

static int open_at(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
    return file_walk(dir, path, flags, resolve | RESOLVE_NO_MAGICLINKS);
}

/* The error of a failed open, in terms of the manifest. */
static struct err *open_failed(const char *what, const char *path)
{
    int number = errno;

    if (number == EXDEV)
        return err_new(ERR_FORBIDDEN, "%s '%s' leads out of its allowed directory", what, path);
    if (number == ELOOP)
        return err_new(ERR_FORBIDDEN, "%s '%s' has a symlink in it: not followed", what, path);
    return err_errno(number, "%s '%s'", what, path);
}

static struct err *open_root(const struct bind *b, int *ret)
{
    AUTO(fd_closep) int base = open(b->base, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (base < 0)
        return err_errno(errno, "open %s", b->base);
    if (!b->root) {
        *ret = fd_take(&base);
        return NULL;
    }
    *ret = open_at(base, b->root, O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT);
    return *ret < 0 ? open_failed("host path root", b->root) : NULL;
}

static uint64_t resolve_of(const struct bind *b)
{
    return b->has_links ? RESOLVE_IN_ROOT : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
}

/* Cuts the first part: "a/b/" becomes "a", the rest "b/"; false: the end. */
static bool next_part(struct str *rest, char part[256])
{
    while (rest->at) {
        struct str name = str_cut(rest, '/');

        if (name.size == 0 || name.size > 255)
            continue;
        (void)snprintf(part, 256, STR_FMT, STR_ARG(name));
        return true;
    }
    return false;
}

/* Makes the directory `name` in `dir`, with owner and mode of `model`; leaves an existing entry. */
static struct err *make_dir_like(int dir, const char *name, const struct stat *model)
{
    AUTO(fd_closep) int fd = -1;
    struct stat is = {0};

    if (mkdirat(dir, name, 0700) < 0)
        return errno == EEXIST ? NULL : err_errno(errno, "make '%s'", name);
    fd = open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_BENEATH);
    if (fd < 0 || fstat(fd, &is) < 0)
        return err_errno(errno, "open the new '%s'", name);
    if (is.st_uid != geteuid() && is.st_uid != model->st_uid)
        return err_new(ERR_CONFLICT, "'%s' was replaced during its creation", name);
    if (fchown(fd, model->st_uid, model->st_gid) < 0 || fchmod(fd, model->st_mode & 07777) < 0)
        return err_errno(errno, "change the owner of the new '%s'", name);
    return NULL;
}

struct path_making {
    int top; /* a directory that nothing is made outside of */
    uint64_t resolve;
    const struct stat *model; /* of new directories; NULL: the present user's defaults */
    bool is_file;             /* the last part is a file */
};

/* Makes the missing parts of `path`, one at a time. */
static struct err *make_path(const struct path_making *m, const char *path)
{
    AUTO(buf_done) struct buf so_far = {0};
    struct str rest = str_of(path);
    char part[256];

    while (next_part(&rest, part)) {
        bool is_last = !rest.at || rest.size == 0;
        AUTO(fd_closep) int parent = -1;
        AUTO(fd_closep) int fd = -1;

        parent = open_at(m->top, so_far.at ? so_far.at : "", O_PATH | O_DIRECTORY, m->resolve);
        if (parent < 0)
            return open_failed("directory", so_far.at ? so_far.at : "");
        buf_printf(&so_far, "%s%s", so_far.size > 0 ? "/" : "", part);
        if (is_last && m->is_file) {
            fd = open_at(parent, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, RESOLVE_BENEATH);
            if (fd < 0 && errno != EEXIST)
                return err_errno(errno, "make '%s'", so_far.at);
        } else if (m->model) {
            TRY(make_dir_like(parent, part, m->model));
        } else if (mkdirat(parent, part, 0755) < 0 && errno != EEXIST) {
            return err_errno(errno, "make '%s'", so_far.at);
        }
    }
    return NULL;
}

static struct err *open_path(const struct bind *b, int root, int *ret)
{
    const struct path_making m = {
        .top = root, .resolve = resolve_of(b), .is_file = b->type == BIND_FILE};

    *ret = open_at(root, b->path, O_PATH, resolve_of(b));
    if (*ret >= 0)
        return NULL;
    if (errno != ENOENT || !b->is_made)
        return open_failed("path", b->path);
    TRY(make_path(&m, b->path));
    *ret = open_at(root, b->path, O_PATH, resolve_of(b));
    return *ret < 0 ? open_failed("path", b->path) : NULL;
}

static struct err *check_type(const struct bind *b, int fd)
{
    struct stat st = {0};

    if (fstat(fd, &st) < 0)
        return err_errno(errno, "look at '%s'", b->path);
    if (b->type == BIND_DIR && !S_ISDIR(st.st_mode))
        return err_new(ERR_INVALID, "hostPath type check failed: /%s is not a directory", b->path);
    if (b->type == BIND_FILE && !S_ISREG(st.st_mode))
        return err_new(ERR_INVALID, "hostPath type check failed: /%s is not a file", b->path);
    if (b->type == BIND_SOCKET && !S_ISSOCK(st.st_mode))
        return err_new(ERR_INVALID, "hostPath type check failed: /%s is not a socket file",
                       b->path);
    return NULL;
}

static struct err *open_sub_path(const struct bind *b, int dir, int *ret)
{
    struct stat st = {0};
    const struct path_making m = {
        .top = dir, .resolve = RESOLVE_BENEATH, .model = b->is_ours ? &st : NULL};

    *ret = open_at(dir, b->sub_path, O_PATH, RESOLVE_BENEATH);
    if (*ret >= 0)
        return NULL;
    if (errno != ENOENT || !b->is_sub_path_made)
        return open_failed("subPath", b->sub_path);
    if (fstat(dir, &st) < 0)
        return err_errno(errno, "look at the volume");
    TRY(make_path(&m, b->sub_path));
    *ret = open_at(dir, b->sub_path, O_PATH, RESOLVE_BENEATH);
    return *ret < 0 ? open_failed("subPath", b->sub_path) : NULL;
}

static struct err *open_source(const struct bind *b, int root, int *ret)
{
    AUTO(fd_closep) int fd = -1;

    TRY(open_path(b, root, &fd));
    TRY(check_type(b, fd));
    if (b->sub_path[0] == '\0') {
        *ret = fd_take(&fd);
        return NULL;
    }
    return open_sub_path(b, fd, ret);
}

static struct err *open_as(const struct bind *b, int root, int *ret)
{
    struct err *e = NULL;

    if (!b->has_user || b->user.uid == 0)
        return open_source(b, root, ret);
    e = as_user_begin(&b->user);
    if (!e)
        e = open_source(b, root, ret);
    as_user_end();
    return e;
}

/* ---- mounts ---- */

static struct err *set_attributes(const struct bind *b, int tree)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                              .propagation = MS_PRIVATE};
    struct mount_attr shift = {.attr_set = MOUNT_ATTR_IDMAP};
    const struct userns_map map = {.inside = 0, .outside = b->id_base, .count = USERNS_SIZE};
    AUTO(fd_closep) int userns = -1;

    if (b->is_read_only)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
        return err_errno(errno, "set the rights of a mount");
    if (b->id_base == 0)
        return NULL;
    TRY(userns_open(&map, &userns));
    shift.userns_fd = (unsigned)userns;
    if (mount_setattr(tree, "", AT_EMPTY_PATH, &shift, sizeof(shift)) < 0)
        return err_errno(errno, "the file system of '/%s' cannot shift owners", b->path);
    return NULL;
}

/* Makes the mount point, a directory or a file like the mounted path. */
static struct err *make_target(const char *target, bool is_dir)
{
    AUTO(fd_closep) int fd = -1;

    if (is_dir)
        return dir_make(target, 0700);
    fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? err_errno(errno, "make %s", target) : NULL;
}

static struct err *mount_fd(const struct bind *b, int fd, bool *ret_is_dir)
{
    AUTO(fd_closep)
    int tree =
        open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    struct stat st = {0};

    if (tree < 0)
        return err_errno(errno, "take the mount of '/%s'", b->path);
    if (fstat(tree, &st) < 0)
        return err_errno(errno, "look at '/%s'", b->path);
    TRY(set_attributes(b, tree));
    TRY(make_target(b->target, S_ISDIR(st.st_mode)));
    if (move_mount(tree, "", AT_FDCWD, b->target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(errno, "mount at %s", b->target);
    *ret_is_dir = S_ISDIR(st.st_mode);
    return NULL;
}

static struct err *make_parent(const char *target)
{
    const char *slash = strrchr(target, '/');
    AUTO_FREE char *parent = mem_strndup(target, (size_t)(slash - target));

    return dir_make(parent, 0700);
}

struct err *bind_mount(const struct bind *b, bool *ret_is_dir)
{
    AUTO(fd_closep) int root = -1;
    AUTO(fd_closep) int fd = -1;

    TRY(make_parent(b->target));
    TRY(bind_unmount(b->target));
    TRY(open_root(b, &root));
    TRY(open_as(b, root, &fd));
    return mount_fd(b, fd, ret_is_dir);
}

struct err *bind_unmount(const char *target)
{
    TRY(host_unmount(target));
    if (unlink(target) == 0 || errno == ENOENT)
        return NULL;
    if (errno != EISDIR || rmdir(target) < 0)
        return err_errno(errno, "remove %s", target);
    return NULL;
}
