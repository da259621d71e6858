/*
 * image_reader_linux.c - an archive file or a directory as a stream of bytes for `mete image
 * import`
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive_linux.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/admin/image.h"

enum {
    PIECE_SIZE = 64 << 10
};

struct image_reader {
    char *path;
    char *piece;
    int fd;               /* of a file */
    struct archive *disk; /* of a directory; NULL: a file */
    struct archive *tar;
    struct archive_entry *entry;
    struct buf out; /* output of `tar` */
    int file;       /* the file being packed; -1: none */
    bool is_over;
};

static struct err *tar_error(const struct image_reader *r, struct archive *a)
{
    const char *text = sym_archive_error_string(a);

    return err_new(ERR_INTERNAL, "read %s: %s", r->path, text ? text : "unknown error");
}

static la_ssize_t on_write(struct archive *a, void *arg, const void *bytes, size_t size)
{
    struct image_reader *r = arg;

    (void)a;
    buf_add(&r->out, bytes, size);
    return (la_ssize_t)size;
}

static struct err *open_dir(struct image_reader *r)
{
    TRY(archive_load());
    r->disk = sym_archive_read_disk_new();
    r->tar = sym_archive_write_new();
    r->entry = sym_archive_entry_new();
    if (!r->disk || !r->tar || !r->entry)
        abort(); /* out of memory */
    if (sym_archive_write_set_format_pax_restricted(r->tar) != ARCHIVE_OK ||
        sym_archive_write_set_bytes_per_block(r->tar, 0) != ARCHIVE_OK ||
        sym_archive_write_open(r->tar, r, NULL, on_write, NULL) != ARCHIVE_OK)
        return tar_error(r, r->tar);
    if (sym_archive_read_disk_open(r->disk, r->path) != ARCHIVE_OK)
        return tar_error(r, r->disk);
    return NULL;
}

struct err *image_reader_open(const char *path, struct image_reader **ret)
{
    struct image_reader *r = mem_alloc(sizeof(*r));
    struct stat st = {0};
    struct err *e = NULL;

    *r = (struct image_reader){.path = mem_strdup(path), .fd = -1, .file = -1};
    r->piece = mem_alloc(PIECE_SIZE);
    if (text_equal(path, "-"))
        r->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    else if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        r->fd = open(path, O_RDONLY | O_CLOEXEC);
    else
        e = open_dir(r);
    if (!e && !r->disk && r->fd < 0)
        e = err_errno(errno, "open %s", path);
    if (e) {
        image_reader_free(r);
        return e;
    }
    *ret = r;
    return NULL;
}

void image_reader_free(struct image_reader *r)
{
    if (!r)
        return;
    if (r->entry) /* a file is read without libarchive */
        sym_archive_entry_free(r->entry);
    if (r->disk)
        (void)sym_archive_read_free(r->disk);
    if (r->tar)
        (void)sym_archive_write_free(r->tar); /* writes to memory: cannot fail */
    buf_done(&r->out);
    fd_close(r->file);
    fd_close(r->fd);
    free(r->piece);
    free(r->path);
    free(r);
}

static struct err *read_some(const struct image_reader *r, int fd, size_t *ret)
{
    ssize_t n;

    do
        n = read(fd, r->piece, PIECE_SIZE);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_errno(errno, "read %s", r->path);
    *ret = (size_t)n;
    return NULL;
}

/* Returns the path below the directory, which is the name in the tar. */
static const char *name_below(const struct image_reader *r, const char *path)
{
    const char *name = text_starts_with(path, r->path) ? path + strlen(r->path) : path;

    while (*name == '/')
        name++;
    return name;
}

static struct err *next_entry(struct image_reader *r)
{
    int result = sym_archive_read_next_header2(r->disk, r->entry);
    AUTO_FREE char *name = NULL;

    if (result == ARCHIVE_EOF) {
        r->is_over = true;
        return sym_archive_write_close(r->tar) == ARCHIVE_OK ? NULL : tar_error(r, r->tar);
    }
    if (result != ARCHIVE_OK || sym_archive_read_disk_descend(r->disk) < ARCHIVE_WARN)
        return tar_error(r, r->disk);
    name = mem_strdup(name_below(r, sym_archive_entry_pathname(r->entry)));
    if (sym_archive_entry_filetype(r->entry) != AE_IFREG || *name == '\0')
        return NULL;
    r->file = open(sym_archive_entry_sourcepath(r->entry), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (r->file < 0)
        return err_errno(errno, "open %s", sym_archive_entry_sourcepath(r->entry));
    sym_archive_entry_set_pathname(r->entry, name);
    sym_archive_entry_set_hardlink(r->entry, NULL);
    sym_archive_entry_acl_clear(r->entry);
    sym_archive_entry_xattr_clear(r->entry);
    return sym_archive_write_header(r->tar, r->entry) == ARCHIVE_OK ? NULL : tar_error(r, r->tar);
}

/* Packs one header or one piece of a file. */
static struct err *tar_some(struct image_reader *r)
{
    size_t size = 0;

    if (r->file < 0)
        return next_entry(r);
    TRY(read_some(r, r->file, &size));
    if (size == 0)
        fd_close(fd_take(&r->file));
    else if (sym_archive_write_data(r->tar, r->piece, size) < 0)
        return tar_error(r, r->tar);
    return NULL;
}

struct err *image_reader_next(struct image_reader *r, struct buf *ret)
{
    size_t size = 0;

    if (!r->disk) {
        TRY(read_some(r, r->fd, &size));
        buf_add(ret, r->piece, size);
        return NULL;
    }
    while (!r->is_over && r->out.size < PIECE_SIZE)
        TRY(tar_some(r));
    buf_add(ret, r->out.at, r->out.size);
    buf_clear(&r->out);
    return NULL;
}
