/* file_linux.c - files, notes, directories and random bytes by system calls */

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"

void fd_close(int fd)
{
    int kept = errno;

    if (fd >= 0)
        (void)close(fd); /* durable writes were synced before */
    errno = kept;
}

static void dir_closep(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

struct file_mark file_mark_of(const char *path)
{
    struct stat st = {0};

    if (stat(path, &st) != 0)
        return (struct file_mark){0};
    return (struct file_mark){.inode = (uint64_t)st.st_ino,
                              .size = (int64_t)st.st_size,
                              .changed_ns =
                                  st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec};
}

struct err *file_read_fd(int fd, const char *name, size_t cap, struct buf *ret)
{
    AUTO(buf_done) struct buf text = {.cap = cap ? cap : 1};
    char part[16384];
    ssize_t n;

    while ((n = read(fd, part, sizeof(part))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(errno, "read %s", name);
        if ((size_t)n > cap - text.size)
            return err_new(ERR_TOO_LARGE, "read %s: larger than %zu bytes", name, cap);
        buf_add(&text, part, (size_t)n);
    }
    buf_add(&text, "", 0); /* an empty file gives an empty text, not NULL */
    *ret = text;
    text = (struct buf){0};
    return NULL;
}

struct err *file_read(const char *path, size_t cap, struct buf *ret)
{
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    return file_read_fd(fd, path, cap, ret);
}

static struct err *write_all(int fd, const char *path, struct str bytes)
{
    size_t done = 0;

    while (done < bytes.size) {
        ssize_t n = write(fd, bytes.at + done, bytes.size - done);

        if (n < 0 && errno != EINTR)
            return err_errno(errno, "write %s", path);
        done += n > 0 ? (size_t)n : 0;
    }
    return NULL;
}

/* Makes the names in the directory of `path` durable. */
static struct err *sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *parent =
        slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    AUTO(fd_closep) int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(errno, "open %s", parent);
    if (fsync(fd) != 0)
        return err_errno(errno, "sync %s", parent);
    return NULL;
}

static struct err *file_fill(int fd, const char *path, mode_t mode, struct str bytes,
                             bool is_durable)
{
    if (fchmod(fd, mode) != 0)
        return err_errno(errno, "set the mode of %s", path);
    TRY(write_all(fd, path, bytes));
    if (is_durable && fsync(fd) != 0)
        return err_errno(errno, "sync %s", path);
    return NULL;
}

static struct err *file_replace(const char *path, mode_t mode, struct str bytes, bool is_durable)
{
    AUTO_FREE char *beside = mem_format("%s.tmp.XXXXXX", path);
    AUTO(fd_closep) int fd = mkostemp(beside, O_CLOEXEC);
    struct err *e;

    if (fd < 0)
        return err_errno(errno, "create a file beside %s", path);
    e = file_fill(fd, beside, mode, bytes, is_durable);
    if (!e && rename(beside, path) != 0)
        e = err_errno(errno, "rename %s to %s", beside, path);
    if (e) {
        (void)unlink(beside); /* report the first error only */
        return e;
    }
    return is_durable ? sync_parent(path) : NULL;
}

struct err *file_write_durable(const char *path, mode_t mode, struct str bytes)
{
    return file_replace(path, mode, bytes, true);
}

struct err *file_write(const char *path, mode_t mode, struct str bytes)
{
    return file_replace(path, mode, bytes, false);
}

static struct err *make_one(const char *path, mode_t mode)
{
    struct stat is;

    if (mkdir(path, mode) == 0) {
        if (chmod(path, mode) != 0) /* regardless of the umask */
            return err_errno(errno, "set the mode of %s", path);
        return NULL;
    }
    if (errno != EEXIST)
        return err_errno(errno, "create directory %s", path);
    if (stat(path, &is) != 0)
        return err_errno(errno, "look at %s", path);
    if (!S_ISDIR(is.st_mode))
        return err_new(ERR_EXISTS, "create directory %s: a file has this name", path);
    return NULL;
}

struct err *dir_make(const char *path, mode_t mode)
{
    AUTO_FREE char *part = NULL;
    struct err *e = make_one(path, mode);

    if (!e)
        return NULL; /* usually only the last part is missing */
    err_free(e);
    part = mem_strdup(path);
    for (char *slash = strchr(part + (*part == '/'), '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        TRY(make_one(part, mode));
        *slash = '/';
    }
    return make_one(path, mode);
}

/* A container may leave a tree of any depth, and each level costs a descriptor and a stack frame.
 * Directories DEEPEST levels down are moved to the top, where the next pass finds them. */
enum {
    DEEPEST = 32,
    WALKS_MAX = 100
};

struct removal {
    const char *path;
    int top;
};

static struct err *remove_children(const struct removal *r, int fd, unsigned depth);

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static struct err *remove_subdir(const struct removal *r, int dir, const char *name, unsigned depth)
{
    AUTO(fd_closep) int fd = -1;

    if (depth >= DEEPEST) {
        char unique[37];

        uuid_make(unique);
        if (renameat(dir, name, r->top, unique) != 0)
            return err_errno(errno, "remove %s: move up '%s'", r->path, name);
        return NULL;
    }
    fd = file_walk(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                   RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
    if (fd < 0 && errno == EXDEV)
        return err_new(ERR_BUSY, "remove %s: '%s' in it is a mount point", r->path, name);
    if (fd < 0)
        return err_errno(errno, "remove %s: open '%s'", r->path, name);
    TRY(remove_children(r, fd, depth));
    if (unlinkat(dir, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return err_errno(errno, "remove %s: '%s'", r->path, name);
    return NULL;
}

static struct err *remove_entry(const struct removal *r, int dir, const char *name, unsigned depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return NULL;
    if (errno != EISDIR)
        return err_errno(errno, "remove %s: '%s'", r->path, name);
    return remove_subdir(r, dir, name, depth);
}

/* Repeats passes until one finds nothing: reading a directory while it shrinks may skip entries. */
static struct err *remove_children(const struct removal *r, int fd, unsigned depth)
{
    AUTO(fd_closep) int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    AUTO(dir_closep) DIR *d = own < 0 ? NULL : fdopendir(own);
    const struct dirent *entry;
    bool found = true;

    if (!d)
        return err_errno(errno, "remove %s: read a directory", r->path);
    (void)fd_take(&own); /* closed with `d` */
    while (found) {
        found = false;
        rewinddir(d);
        while ((entry = readdir(d)) != NULL) {
            if (is_dots(entry->d_name))
                continue;
            found = true;
            TRY(remove_entry(r, fd, entry->d_name, depth + 1));
        }
    }
    return NULL;
}

struct err *dir_remove(const char *path)
{
    struct removal r = {.path = path};
    AUTO(fd_closep) int fd = -1;

    if (unlink(path) == 0 || errno == ENOENT)
        return NULL;
    if (errno != EISDIR)
        return err_errno(errno, "remove %s", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_errno(errno, "remove %s: open it", path);
    r.top = fd;
    TRY(remove_children(&r, fd, 0));
    if (rmdir(path) != 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", path);
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct err *dir_list(const char *path, char ***ret_names, size_t *ret_count)
{
    AUTO(dir_closep) DIR *d = opendir(path);
    VEC(char *) names = {0};
    const struct dirent *entry;

    if (!d)
        return err_errno(errno, "open %s", path);
    while (errno = 0, (entry = readdir(d)) != NULL)
        if (!is_dots(entry->d_name))
            vec_add(&names, mem_strdup(entry->d_name));
    if (errno != 0) {
        struct err *e = err_errno(errno, "read %s", path);

        names_free(names.at, names.n);
        return e;
    }
    if (names.n > 0)
        qsort(names.at, names.n, sizeof(names.at[0]), compare_names);
    *ret_names = names.at;
    *ret_count = names.n;
    return NULL;
}

void names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

struct err *note_write(const char *path, const char *text)
{
    if (symlink(text, path) < 0 && errno != EEXIST)
        return err_errno(errno, "write %s", path);
    return NULL;
}

struct err *note_read(const char *path, struct buf *ret)
{
    char text[PATH_MAX];
    ssize_t n = readlink(path, text, sizeof(text));

    if (n < 0)
        return err_errno(errno, "read %s", path);
    buf_add(ret, text, (size_t)n);
    return NULL;
}

bool file_exists(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0;
}

int file_walk(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = flags | O_CLOEXEC, .mode = flags & O_CREAT ? 0644 : 0, .resolve = resolve};
    int fd = -1;

    for (unsigned i = 0; i < WALKS_MAX; i++) {
        fd = (int)syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

int file_open_below(int root, const char *path)
{
    return file_walk(root, path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

size_t file_read_head(int handle, void *bytes, size_t size)
{
    AUTO_FREE char *name = mem_format("/proc/self/fd/%d", handle);
    AUTO(fd_closep) int fd = -1;
    struct stat st = {0};
    ssize_t n = 0;

    if (fstat(handle, &st) < 0 || !S_ISREG(st.st_mode)) /* before the open: no fifo, no device */
        return 0;
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    n = fd < 0 ? 0 : read(fd, bytes, size);
    return n > 0 ? (size_t)n : 0;
}

char *file_path_of(int handle)
{
    AUTO_FREE char *link = mem_format("/proc/self/fd/%d", handle);
    char target[PATH_MAX];
    ssize_t n = readlink(link, target, sizeof(target));

    return n > 0 && (size_t)n < sizeof(target) ? mem_strndup(target, (size_t)n) : NULL;
}

void random_bytes(void *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = getrandom((char *)bytes + done, size - done, 0);

        assert(n > 0 || errno == EINTR); /* all supported kernels have getrandom */
        done += n > 0 ? (size_t)n : 0;
    }
}

void uuid_make(char ret[37])
{
    uint8_t b[16];

    random_bytes(b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    (void)snprintf(ret, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
                   b[13], b[14], b[15]);
}
