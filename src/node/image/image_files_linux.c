/* image_files_linux.c - the members of an image archive, by name */

#include "node/image/image_files_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive_linux.h"
#include "base/file.h"
#include "base/map.h"
#include "node/image/image_archive_linux.h"

enum {
    MEMBERS_MAX = 10000,
    NAME_MAX_BYTES = 1024
};

struct member {
    struct map_handle handle;
    char *name;
    char *path; /* of the written file; NULL: a link */
    char *link; /* the name of another member */
};

struct image_files {
    char *dir;
    struct member *members;
    bool is_dir;
};

/* ---- names ---- */

/* Removes "./" and empty parts; the caller frees the result. Refuses a leading "/" and "..". */
static struct err *plain_name(const char *name, char **ret)
{
    AUTO(buf_done) struct buf plain = {.cap = NAME_MAX_BYTES};
    struct str rest = str_of(name);

    if (!name || *name == '/')
        return err_new(ERR_INVALID, "archive: member '%.100s' has an absolute name",
                       name ? name : "");
    while (rest.at) {
        struct str part = str_cut(&rest, '/');

        if (str_equal(part, STR("..")))
            return err_new(ERR_INVALID, "archive: member '%.100s' has '..' in its name", name);
        if (part.size == 0 || str_equal(part, STR(".")))
            continue;
        if (plain.size > 0)
            buf_add_char(&plain, '/');
        buf_add(&plain, part.at, part.size);
    }
    if (plain.overflow)
        return err_new(ERR_INVALID, "archive: a member's name is longer than %d bytes",
                       NAME_MAX_BYTES);
    *ret = buf_steal(&plain);
    return NULL;
}

/* The member to which a link `name` to `target` leads; allows one "../", as written by Docker. */
static struct err *link_target(const char *name, const char *target, char **ret)
{
    const char *slash = strrchr(name, '/');
    AUTO_FREE char *joined = NULL;

    if (slash && text_starts_with(target, "../") &&
        memchr(name, '/', (size_t)(slash - name)) == NULL)
        return plain_name(target + 3, ret);
    joined = mem_format("%.*s%s", slash ? (int)(slash - name + 1) : 0, name, target);
    return plain_name(joined, ret);
}

static struct member *find_name(const struct image_files *s, const char *name)
{
    struct member *m = NULL;

    if (s->members)
        map_find_text(handle, s->members, name, m);
    return m;
}

static const struct member *find_member(const struct image_files *s, const char *name)
{
    const struct member *m = find_name(s, name);

    if (m && m->link)
        m = find_name(s, m->link);
    return m && m->path ? m : NULL;
}

/* ---- reading ---- */

static struct err *keep_file(struct archive *a, const char *path, const char *name,
                             int64_t *left_bytes)
{
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const void *at = NULL;
    size_t size = 0;
    int64_t offset = 0;
    int r;

    if (fd < 0)
        return err_errno(errno, "create %s", path);
    while ((r = sym_archive_read_data_block(a, &at, &size, &offset)) == ARCHIVE_OK)
        TRY(image_write(fd, at, size, offset, left_bytes));
    if (r != ARCHIVE_EOF)
        return image_archive_error(a, name);
    return NULL;
}

static struct err *member_keep(struct image_files *s, struct archive *a,
                               struct archive_entry *entry, int64_t *left_bytes)
{
    const char *link = sym_archive_entry_symlink(entry);
    const char *raw = sym_archive_entry_pathname(entry);
    mode_t type = sym_archive_entry_filetype(entry);
    AUTO_FREE char *name = NULL;
    struct member *m = NULL;

    TRY(plain_name(raw, &name));
    if (type == AE_IFDIR || !name || *name == '\0')
        return NULL;
    if (sym_archive_entry_hardlink(entry) || (type != AE_IFREG && type != AE_IFLNK))
        return err_new(ERR_INVALID, "archive: member '%s' is no file, directory or symbolic link",
                       name);
    if (find_name(s, name))
        return err_new(ERR_INVALID, "archive: member '%s' comes twice", name);
    if (map_count(handle, s->members) >= MEMBERS_MAX)
        return err_new(ERR_INVALID, "archive: more than %d members", MEMBERS_MAX);
    m = mem_alloc(sizeof(*m));
    m->name = TAKE(name);
    map_add(handle, s->members, m->name, strlen(m->name), m);
    if (type == AE_IFLNK)
        return link_target(m->name, link ? link : "", &m->link);
    m->path = mem_format("%s/%u", s->dir, map_count(handle, s->members));
    return keep_file(a, m->path, m->name, left_bytes);
}

struct err *image_files_read(int fd, const char *dir, const struct image_limits *limits,
                             struct image_files **ret)
{
    AUTO(image_files_freep) struct image_files *s = mem_alloc(sizeof(*s));
    AUTO(image_archive_freep) struct archive *a = image_archive_new();
    struct archive_entry *entry = NULL;
    int64_t left_bytes = limits->bytes_max;
    int r;

    s->dir = mem_strdup(dir);
    if (sym_archive_read_open_fd(a, fd, IMAGE_PIECE_SIZE) != ARCHIVE_OK)
        return image_archive_error(a, "open it");
    while ((r = sym_archive_read_next_header(a, &entry)) == ARCHIVE_OK)
        TRY(member_keep(s, a, entry, &left_bytes));
    if (r != ARCHIVE_EOF)
        return image_archive_error(a, "read it");
    *ret = TAKE(s);
    return NULL;
}

struct image_files *image_files_of_dir(const char *dir)
{
    struct image_files *s = mem_alloc(sizeof(*s));

    s->dir = mem_strdup(dir);
    s->is_dir = true;
    return s;
}

void image_files_free(struct image_files *s)
{
    struct member *m = NULL;
    struct member *next = NULL;

    if (!s)
        return;
    map_each (handle, s->members, m, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; removed from the map */
        map_remove(handle, s->members, m);
        free(m->name);
        free(m->path);
        free(m->link);
        free(m);
    }
    free(s->dir);
    free(s);
}

/* ---- opening ---- */

/* NULL: no such file. The caller frees the path. */
static char *path_of(const struct image_files *s, const char *name)
{
    const struct member *m = NULL;

    if (s->is_dir)
        return strchr(name, '/') ? NULL : mem_format("%s/%s", s->dir, name);
    m = find_member(s, name);
    return m ? mem_strdup(m->path) : NULL;
}

bool image_files_has(const struct image_files *s, const char *name)
{
    AUTO_FREE char *path = path_of(s, name);

    return path && file_exists(path);
}

struct err *image_files_open(const struct image_files *s, const char *name, int *ret_fd)
{
    AUTO_FREE char *path = path_of(s, name);
    struct stat st = {0};
    AUTO(fd_closep)
    int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

    if (!path || (fd < 0 && errno == ENOENT))
        return err_new(ERR_INVALID, "archive: '%.200s' is missing", name);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(errno, "open '%.200s'", name);
    if (!S_ISREG(st.st_mode))
        return err_new(ERR_INVALID, "archive: '%.200s' is not a file", name);
    *ret_fd = fd_take(&fd);
    return NULL;
}

struct err *image_files_text(const struct image_files *s, const char *name, size_t cap,
                             struct buf *ret)
{
    AUTO_FREE char *path = path_of(s, name);
    AUTO(fd_closep) int fd = -1;
    struct err *e = image_files_open(s, name, &fd); /* fails with the reason */

    if (e)
        return e;
    e = file_read(path, cap, ret);
    if (!e)
        return NULL;
    e = err_wrap(e, "'%.200s'", name);
    if (err_code(e) != ERR_TOO_LARGE)
        return e;
    err_free(e);
    return err_new(ERR_INVALID, "archive: '%.200s' is larger than %zu bytes", name, cap);
}
