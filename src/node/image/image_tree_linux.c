/* image_tree_linux.c - the files of one layer, made entry by entry */

#include "node/image/image_tree_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "node/image/image_archive_linux.h"
#include "node/image/images.h"

enum {
    PATH_BYTES_MAX = 4095,
    PART_BYTES_MAX = 255,
    DIRS_MAX = 500000,
    XATTRS_MAX = 64
};

static const char whiteout_prefix[] = ".wh.";
static const char whiteout_reserved[] = ".wh..wh.";
static const char whiteout_opaque[] = ".wh..wh..opq";

/* The time of a directory, set once it is complete. */
struct dir_time {
    char *path;
    struct timespec modified;
};

struct image_tree {
    int root;
    struct image_tree_options o;
    int64_t size_bytes;
    bool is_opaque;
    VEC(struct dir_time) dirs;
};

/* The place of an entry: a name in an open directory. */
struct place {
    int dir;
    char path[PATH_BYTES_MAX + 1]; /* plain, relative; "" is the root */
    const char *name;              /* its last part */
};

static struct err *place_refused(const struct place *p, const char *why)
{
    return err_new(ERR_INVALID, "layer: '%.300s' %s", p->path, why);
}

static struct err *place_failed(const struct place *p, const char *what)
{
    return err_errno(errno, "layer: '%.300s': %s", p->path, what);
}

/* ---- places ---- */

static struct err *plain_path(const char *raw, char ret[PATH_BYTES_MAX + 1])
{
    struct str rest = str_of(raw);
    size_t size = 0;

    if (!raw || *raw == '/')
        return err_new(ERR_INVALID, "layer: '%.300s' is an absolute name", raw ? raw : "");
    while (rest.at) {
        struct str part = str_cut(&rest, '/');

        if (str_equal(part, STR("..")))
            return err_new(ERR_INVALID, "layer: '%.300s' has '..' in its name", raw);
        if (part.size == 0 || str_equal(part, STR(".")))
            continue;
        if (part.size > PART_BYTES_MAX || size + part.size + 1 > PATH_BYTES_MAX)
            return err_new(ERR_INVALID, "layer: '%.100s...' is too long a name", raw);
        if (size > 0)
            ret[size++] = '/';
        memcpy(ret + size, part.at, part.size);
        size += part.size;
    }
    ret[size] = '\0';
    return NULL;
}

static int open_below(const struct image_tree *t, const char *path, uint64_t flags)
{
    return file_walk(t->root, path, flags,
                     RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
}

/* Makes parent directories that the layer does not contain, owned by root. */
static struct err *make_parents(const struct image_tree *t, const char *path)
{
    for (size_t size = strcspn(path, "/");; size += 1 + strcspn(path + size + 1, "/")) {
        AUTO_FREE char *part = mem_strndup(path, size);
        AUTO(fd_closep) int dir = -1;
        char *slash = strrchr(part, '/');
        const char *name = slash ? slash + 1 : part;

        if (slash)
            *slash = '\0';
        dir = open_below(t, slash ? part : "", O_PATH | O_DIRECTORY);
        if (dir < 0 || (mkdirat(dir, name, 0755) < 0 && errno != EEXIST))
            return err_errno(errno, "layer: make '%.300s'", path);
        if (path[size] == '\0')
            return NULL;
    }
}

/* Opens the directory `path`, following links within the layer. */
static struct err *open_dir(const struct image_tree *t, const char *path, int *ret)
{
    int fd = open_below(t, path, O_PATH | O_DIRECTORY);

    if (fd < 0 && errno == ENOENT) {
        TRY(make_parents(t, path));
        fd = open_below(t, path, O_PATH | O_DIRECTORY);
    }
    if (fd < 0 && errno == EXDEV)
        return err_new(ERR_INVALID, "layer: '%.300s' leads out of the layer", path);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT))
        return err_new(ERR_INVALID, "layer: '%.300s' is not a directory", path);
    if (fd < 0)
        return err_errno(errno, "layer: open '%.300s'", path);
    *ret = fd;
    return NULL;
}

static struct err *find_place(const struct image_tree *t, const char *raw, struct place *p)
{
    char *slash;

    TRY(plain_path(raw, p->path));
    slash = strrchr(p->path, '/');
    p->name = slash ? slash + 1 : p->path;
    if (!slash)
        return open_dir(t, "", &p->dir);
    *slash = '\0';
    {
        struct err *e = open_dir(t, p->path, &p->dir);

        *slash = '/';
        return e;
    }
}

/* ---- files ---- */

/* Removes an earlier entry of the same name. */
static struct err *make_room(const struct place *p)
{
    if (unlinkat(p->dir, p->name, 0) == 0 || errno == ENOENT)
        return NULL;
    if (errno == EISDIR && unlinkat(p->dir, p->name, AT_REMOVEDIR) == 0)
        return NULL;
    return errno == ENOTEMPTY || errno == EEXIST
               ? place_refused(p, "replaces a directory that is not empty")
               : place_failed(p, "remove the earlier entry");
}

static struct err *make_directory(const struct place *p)
{
    struct stat st = {0};

    if (*p->name == '\0')
        return NULL; /* the root exists */
    if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISDIR(st.st_mode))
            return NULL;
        TRY(make_room(p));
    }
    return mkdirat(p->dir, p->name, 0700) < 0 ? place_failed(p, "make a directory") : NULL;
}

static struct err *write_data(struct image_tree *t, const struct place *p, struct archive *a,
                              int fd, int64_t size_bytes)
{
    const void *at = NULL;
    size_t size = 0;
    int64_t offset = 0;
    int r;

    if (size_bytes < 0 || size_bytes > *t->o.left_bytes)
        return place_refused(p, "is too large for this machine's disk");
    while ((r = sym_archive_read_data_block(a, &at, &size, &offset)) == ARCHIVE_OK)
        TRY(image_write(fd, at, size, offset, t->o.left_bytes));
    if (r != ARCHIVE_EOF)
        return image_archive_error(a, p->path);
    if (ftruncate(fd, size_bytes) < 0) /* a hole at its end */
        return place_failed(p, "set its size");
    t->size_bytes += size_bytes;
    return NULL;
}

static struct err *make_file(struct image_tree *t, const struct place *p, struct archive *a,
                             struct archive_entry *entry)
{
    AUTO(fd_closep) int fd = -1;

    TRY(make_room(p));
    fd = openat(p->dir, p->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return place_failed(p, "create it");
    return write_data(t, p, a, fd, sym_archive_entry_size(entry));
}

static struct err *make_hard_link(struct image_tree *t, const struct place *p, const char *target)
{
    struct place to = {.dir = -1};
    struct err *e = find_place(t, target, &to);
    struct stat st = {0};
    AUTO(fd_closep) int dir = to.dir;

    if (e)
        return err_wrap(e, "layer: '%.300s' is a hard link", p->path);
    if (*to.name == '\0' || fstatat(dir, to.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        S_ISDIR(st.st_mode))
        return err_new(ERR_INVALID,
                       "layer: '%.300s' is a hard link to '%.300s', which is no file of this layer",
                       p->path, target);
    if (text_equal(p->path, to.path))
        return place_refused(p, "is a hard link to itself");
    TRY(make_room(p));
    return linkat(dir, to.name, p->dir, p->name, 0) < 0 ? place_failed(p, "link it") : NULL;
}

static struct err *make_symlink(const struct place *p, const char *target)
{
    if (!target || *target == '\0' || strlen(target) > PATH_BYTES_MAX)
        return place_refused(p, "is a symbolic link to nothing or too long a name");
    TRY(make_room(p));
    return symlinkat(target, p->dir, p->name) < 0 ? place_failed(p, "make a symbolic link") : NULL;
}

static struct err *make_fifo(const struct place *p)
{
    TRY(make_room(p));
    return mkfifoat(p->dir, p->name, 0600) < 0 ? place_failed(p, "make a named pipe") : NULL;
}

static struct err *refuse_type(const struct place *p, mode_t type)
{
    if (type == AE_IFCHR || type == AE_IFBLK)
        return place_refused(p, "is a device node: not allowed in images");
    return place_refused(p, "is no file, directory, link or named pipe");
}

/* ---- metadata ---- */

/* Is the attribute the image's to set? The kernel's and the overlay's are not. */
static bool is_kept_xattr(const char *name)
{
    return text_equal(name, "security.capability") ||
           (text_starts_with(name, "user.") && !text_starts_with(name, "user.overlay."));
}

static struct err *set_xattrs(const struct place *p, int fd, struct archive_entry *entry)
{
    const char *name = NULL;
    const void *value = NULL;
    size_t size = 0;
    int n = sym_archive_entry_xattr_reset(entry);

    if (n > XATTRS_MAX)
        return place_refused(p, "has too many extended attributes");
    while (sym_archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
        if (!name || !is_kept_xattr(name))
            continue;
        if (fsetxattr(fd, name, value, size, 0) < 0 && errno != ENOTSUP)
            return place_failed(p, "set an extended attribute");
    }
    return NULL;
}

static struct err *set_owner(const struct place *p, struct archive_entry *entry)
{
    int64_t uid = sym_archive_entry_uid(entry);
    int64_t gid = sym_archive_entry_gid(entry);

    if (uid < 0 || uid >= IMAGE_UID_COUNT || gid < 0 || gid >= IMAGE_UID_COUNT)
        return err_new(ERR_INVALID,
                       "layer: '%.300s' belongs to %" PRId64 ":%" PRId64 ": want ids below %d",
                       p->path, uid, gid, IMAGE_UID_COUNT);
    if (fchownat(p->dir, *p->name ? p->name : ".", (uid_t)uid, (gid_t)gid, AT_SYMLINK_NOFOLLOW) < 0)
        return place_failed(p, "set the owner");
    return NULL;
}

static struct timespec time_of(struct archive_entry *entry)
{
    return (struct timespec){.tv_sec = sym_archive_entry_mtime(entry),
                             .tv_nsec = sym_archive_entry_mtime_nsec(entry)};
}

static struct err *set_time(int dir, const char *name, struct timespec modified, const char *path)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, modified};

    if (utimensat(dir, *name ? name : ".", times, AT_SYMLINK_NOFOLLOW) < 0)
        return err_errno(errno, "layer: set the time of '%.300s'", path);
    return NULL;
}

/* Sets the owner first, as chown clears the setuid bit. */
static struct err *set_metadata(struct image_tree *t, const struct place *p, mode_t type,
                                struct archive_entry *entry)
{
    AUTO(fd_closep) int fd = -1;

    TRY(set_owner(p, entry));
    if (type != AE_IFLNK) {
        fd = openat(p->dir, *p->name ? p->name : ".",
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            return place_failed(p, "open again");
        if (type != AE_IFIFO)
            TRY(set_xattrs(p, fd, entry));
        if (fchmod(fd, sym_archive_entry_perm(entry) & 07777) < 0)
            return place_failed(p, "set its mode");
    }
    if (type != AE_IFDIR)
        return set_time(p->dir, p->name, time_of(entry), p->path);
    if (t->dirs.n >= DIRS_MAX)
        return err_new(ERR_INVALID, "layer: more than %d directories", DIRS_MAX);
    vec_add(&t->dirs, (struct dir_time){.path = mem_strdup(p->path), .modified = time_of(entry)});
    return NULL;
}

/* ---- whiteouts ---- */

static struct err *add_whiteout(struct image_tree *t, struct place *p)
{
    const char *hidden = p->name + strlen(whiteout_prefix);

    if (text_equal(p->name, whiteout_opaque)) {
        AUTO(fd_closep) int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (!strchr(p->path, '/'))
            t->is_opaque = true;
        if (fd < 0 || fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) < 0)
            return place_failed(p, "mark the directory opaque");
        return NULL;
    }
    if (text_starts_with(p->name, whiteout_reserved))
        return NULL; /* aufs's own metadata */
    if (*hidden == '\0' || text_equal(hidden, ".") || text_equal(hidden, ".."))
        return place_refused(p, "is a whiteout of nothing");
    if (mknodat(p->dir, hidden, S_IFCHR | 0600, makedev(0, 0)) < 0 && errno != EEXIST)
        return place_failed(p, "make a whiteout"); /* EEXIST: an entry of this layer, which the
                                                whiteout does not hide */
    return NULL;
}

/* ---- the tree ---- */

static struct err *add_at(struct image_tree *t, struct place *p, struct archive *a,
                          struct archive_entry *entry)
{
    const char *hard_link = sym_archive_entry_hardlink(entry);
    mode_t type = sym_archive_entry_filetype(entry);

    if (text_starts_with(p->name, whiteout_prefix))
        return add_whiteout(t, p);
    if (*p->name == '\0' && type != AE_IFDIR)
        return err_new(ERR_INVALID, "layer: the root is not a directory");
    if (hard_link)
        return make_hard_link(t, p, hard_link);
    if (type == AE_IFREG)
        TRY(make_file(t, p, a, entry));
    else if (type == AE_IFDIR)
        TRY(make_directory(p));
    else if (type == AE_IFLNK)
        TRY(make_symlink(p, sym_archive_entry_symlink(entry)));
    else if (type == AE_IFIFO)
        TRY(make_fifo(p));
    else
        return refuse_type(p, type);
    return set_metadata(t, p, type, entry);
}

struct err *image_tree_add(struct image_tree *t, struct archive *a, struct archive_entry *entry)
{
    struct place p = {.dir = -1};
    struct err *e;

    if (--*t->o.left_entries < 0)
        return err_new(ERR_INVALID, "layer: too many files");
    e = find_place(t, sym_archive_entry_pathname(entry), &p);
    if (!e)
        e = add_at(t, &p, a, entry);
    fd_close(p.dir);
    return e;
}

struct err *image_tree_end(struct image_tree *t, int64_t *ret_size_bytes, bool *ret_is_opaque)
{
    for (size_t i = t->dirs.n; i > 0; i--) {
        const struct dir_time *d = &t->dirs.at[i - 1];
        AUTO(fd_closep) int fd = open_below(t, d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

        if (fd >= 0) /* a later entry may have replaced it */
            TRY(set_time(fd, "", d->modified, d->path));
    }
    *ret_size_bytes = t->size_bytes;
    *ret_is_opaque = t->is_opaque;
    return NULL;
}

struct err *image_tree_new(const struct image_tree_options *o, struct image_tree **ret)
{
    AUTO(image_tree_freep) struct image_tree *t = mem_alloc(sizeof(*t));

    t->o = *o;
    t->root = -1;
    if (mkdirat(AT_FDCWD, o->dir, 0755) < 0)
        return err_errno(errno, "make %s", o->dir);
    t->root = open(o->dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (t->root < 0)
        return err_errno(errno, "open %s", o->dir);
    *ret = TAKE(t);
    return NULL;
}

void image_tree_free(struct image_tree *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->dirs.n; i++)
        free(t->dirs.at[i].path);
    vec_done(&t->dirs);
    fd_close(t->root);
    free(t);
}
