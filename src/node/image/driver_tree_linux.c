/* driver_tree_linux.c - mounts the tree of the driver's files, and links to it in containers */

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "gpu/share_state.h"
#include "node/host.h"
#include "node/image/driver_tree.h"
#include "node/spec/share_edits.h"

enum {
    TREE_BYTES = 4 << 20 /* directories and empty files */
};

/* ---- the tree ---- */

static struct err *make_parent_of(const char *path)
{
    AUTO_FREE char *parent = mem_strndup(path, (size_t)(strrchr(path, '/') - path));

    return dir_make(parent, 0755);
}

/* Binds a file at its place; the second name of a file has the same place. */
static struct err *tree_bind(const struct driver_tree *t, const struct driver_file *file)
{
    AUTO_FREE char *name = driver_tree_name(file);
    AUTO_FREE char *to = name ? mem_format("%s/%s", t->dir, name) : NULL;
    unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV;

    if (!to || file_exists(to))
        return NULL;
    if (file->kind == DRIVER_SOCKET)
        flags |= MS_NOEXEC;
    TRY(make_parent_of(to));
    TRY(file_write(to, 0444, STR("")));
    if (mount(file->path, to, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "bind %s at %s", file->path, to);
    if (mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0)
        return err_errno(errno, "make the mount of %s read-only", to);
    return NULL;
}

struct err *driver_tree_make(const struct driver_tree *t)
{
    static const struct host_owner owner = {.mode = 0755};
    AUTO_FREE char *complete = mem_format("%s/complete", t->dir);

    if (host_is_mount(t->dir) && file_exists(complete))
        return NULL;
    TRY(dir_make(t->dir, 0755));
    TRY(host_unmount(t->dir)); /* left by an interrupted start */
    TRY(host_mount_tmpfs(t->dir, TREE_BYTES, &owner));
    VEC_EACH (&t->files, file)
        TRY(tree_bind(t, file));
    TRY(file_write(complete, 0444, STR("")));
    if (mount(NULL, t->dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) <
        0)
        return err_errno(errno, "make %s read-only", t->dir);
    return NULL;
}

/* ---- links ---- */

/* Gives a new entry to the owner of its directory, a user of the container. */
static struct err *own_as_parent(int parent, const char *name)
{
    struct stat st = {0};

    if (fstat(parent, &st) < 0 ||
        fchownat(parent, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return err_errno(errno, "give %s to the container", name);
    return NULL;
}

/* Opens the directory `path` below `root`, and makes what is missing of it. */
static struct err *open_dir(int root, const char *path, int *ret)
{
    AUTO(fd_closep) int fd = -1;
    const char *slash = strrchr(path, '/');

    *ret = file_open_below(root, path[0] ? path : "/");
    if (*ret >= 0 || errno != ENOENT || !slash)
        return *ret >= 0 ? NULL : err_errno(errno, "open %s of the image", path);
    {
        AUTO_FREE char *parent = mem_strndup(path, (size_t)(slash - path));

        TRY(open_dir(root, parent, &fd));
    }
    if (mkdirat(fd, slash + 1, 0755) < 0 && errno != EEXIST)
        return err_errno(errno, "make %s in the container", path);
    TRY(own_as_parent(fd, slash + 1));
    *ret = file_open_below(root, path);
    return *ret >= 0 ? NULL : err_errno(errno, "open %s of the image", path);
}

/* Makes the name `dir`/`name` free: a file or link of the image goes. */
static struct err *clear_name(int parent, const char *name, const char *path, bool is_link_only)
{
    struct stat st = {0};

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? NULL : err_errno(errno, "look at %s of the image", path);
    if (is_link_only && !S_ISLNK(st.st_mode))
        return NULL;
    if (unlinkat(parent, name, 0) < 0)
        return err_errno(errno, "remove %s of the image", path);
    return NULL;
}

/* Makes a link in the place of what the image has there, and the directories above it. */
static struct err *link_put(int root, const char *path, const char *target)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = mem_strndup(path, (size_t)(slash - path));
    AUTO(fd_closep) int parent = -1;

    TRY(open_dir(root, dir, &parent));
    TRY(clear_name(parent, slash + 1, path, false));
    if (symlinkat(target, parent, slash + 1) < 0)
        return err_errno(errno, "link %s in the container", path);
    return own_as_parent(parent, slash + 1);
}

/* Removes a link of the image, as the runtime will mount a file there. */
static struct err *link_drop(int root, const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = mem_strndup(path, (size_t)(slash - path));
    AUTO(fd_closep) int parent = file_open_below(root, dir);

    return parent < 0 ? NULL : clear_name(parent, slash + 1, path, true);
}

/* The share library is mounted at the soname, the other names lead there, and the share library
 * finds the driver's own library below SHARE_DIR. */
static struct err *link_shared(int root, const char *path, const struct driver_file *file,
                               const struct share_library *library, const char *target)
{
    AUTO_FREE char *own = mem_format(SHARE_DIR "/%s", library->name);

    if (!text_equal(file->name, library->soname))
        return link_put(root, path, library->soname);
    if (file->kind == DRIVER_LIBRARY)
        TRY(link_put(root, own, target));
    return link_drop(root, path);
}

static struct err *link_file(const struct driver_tree *t, int root, const char *dir,
                             const struct driver_file *file)
{
    const struct share_library *library = t->is_shared ? share_library_of(file) : NULL;
    AUTO_FREE char *path = mem_format("%s%s%s", dir, dir[0] ? "/" : "", file->name);
    AUTO_FREE char *place = driver_tree_name(file);
    AUTO_FREE char *target = place ? mem_format(DRIVER_TREE_PATH "/%s", place) : NULL;

    if (!target)
        return link_drop(root, path);
    return library ? link_shared(root, path, file, library, target) : link_put(root, path, target);
}

struct err *driver_tree_bind(const struct driver_tree *t, int root)
{
    AUTO(fd_closep) int at = -1;
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *path = NULL;

    TRY(open_dir(root, DRIVER_TREE_PATH, &at));
    path = file_path_of(at);
    if (path && host_is_mount(path))
        return NULL;
    name = mem_format("/proc/self/fd/%d", at);
    if (mount(t->dir, name, NULL, MS_BIND | MS_REC, NULL) < 0)
        return err_errno(errno, "bind %s into the container", t->dir);
    return NULL;
}

struct err *driver_tree_strike(const char *root_dir)
{
    AUTO_FREE char *root_path = mem_format("%s/root", root_dir);
    AUTO(fd_closep) int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO(fd_closep) int at = root < 0 ? -1 : file_open_below(root, DRIVER_TREE_PATH);
    AUTO_FREE char *path = at < 0 ? NULL : file_path_of(at);

    return path && host_is_mount(path) ? host_unmount(path) : NULL;
}

struct err *driver_tree_link(const struct driver_tree *t, int root,
                             const struct image_loader *loader)
{
    AUTO(fd_closep) int at = -1;

    if (!loader->dir[0])
        return NULL;
    VEC_EACH (&t->files, file) {
        const char *dir = file->kind == DRIVER_LIBRARY      ? loader->dir
                          : file->kind == DRIVER_LIBRARY_32 ? loader->dir_32
                          : file->kind == DRIVER_PROGRAM    ? "/usr/bin"
                                                            : "";

        if (dir[0] || file->name[0] == '/')
            TRY(link_file(t, root, dir, file));
    }
    return open_dir(root, DRIVER_TREE_PATH, &at);
}
