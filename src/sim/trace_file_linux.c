/* trace_file_linux.c - a trace's file, read through libarchive */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive_linux.h"
#include "base/file.h"
#include "base/mem.h"
#include "sim/trace_file.h"

enum {
    PIECE = 1 << 16
};

static void archive_freep(struct archive **a)
{
    if (*a)
        (void)sym_archive_read_free(*a); /* only read: an error loses nothing */
}

static struct err *broken(struct archive *a, const char *path)
{
    const char *text = sym_archive_error_string(a);

    return err_new(ERR_INVALID, "%s: %.200s", path, text ? text : "cannot be read");
}

static struct err *read_pieces(struct archive *a, const char *path, struct buf *ret)
{
    static const size_t size = PIECE;
    AUTO_FREE char *piece = mem_alloc(size);

    for (;;) {
        la_ssize_t n = sym_archive_read_data(a, piece, size);

        if (n < 0)
            return broken(a, path);
        if (n == 0)
            return NULL;
        buf_add(ret, piece, (size_t)n);
        if (ret->overflow)
            return err_new(ERR_TOO_LARGE, "%s: over %d MiB of text", path, TRACE_FILE_MAX >> 20);
    }
}

struct err *trace_file_read(const char *path, struct buf *ret)
{
    AUTO(archive_freep) struct archive *a = NULL;
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    AUTO(buf_done) struct buf text = {.cap = TRACE_FILE_MAX};
    struct archive_entry *entry = NULL;
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) != 0)
        return err_errno(errno, "read %s", path);
    if (S_ISDIR(st.st_mode))
        return err_new(ERR_INVALID, "read %s: a directory: want a file", path);
    TRY(archive_load());
    a = sym_archive_read_new();
    if (!a || sym_archive_read_support_filter_gzip(a) != ARCHIVE_OK ||
        sym_archive_read_support_format_raw(a) != ARCHIVE_OK ||
        sym_archive_read_support_format_empty(a) != ARCHIVE_OK ||
        sym_archive_read_open_fd(a, fd, PIECE) != ARCHIVE_OK)
        return err_new(ERR_INTERNAL, "%s: libarchive cannot read it", path);
    r = sym_archive_read_next_header(a, &entry);
    if (r == ARCHIVE_OK)
        TRY(read_pieces(a, path, &text));
    else if (r != ARCHIVE_EOF)
        return broken(a, path);
    *ret = text;
    text = (struct buf){0};
    return NULL;
}
