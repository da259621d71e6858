/* image_archive_linux.c - libarchive readers, and writes within a limit */

#include "node/image/image_archive_linux.h"

#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

static struct archive *reader_new(void)
{
    struct archive *a = sym_archive_read_new();

    if (!a)
        abort(); /* out of memory */
    return a;
}

/* Both filters are compiled into Debian's libarchive, so registration cannot fail. */
static void must(int r)
{
    if (r != ARCHIVE_OK)
        abort();
}

struct archive *image_archive_new(void)
{
    struct archive *a = reader_new();

    must(sym_archive_read_support_filter_gzip(a));
    must(sym_archive_read_support_filter_zstd(a));
    must(sym_archive_read_support_format_tar(a));
    return a;
}

struct archive *image_archive_raw_new(void)
{
    struct archive *a = reader_new();

    must(sym_archive_read_support_filter_gzip(a));
    must(sym_archive_read_support_filter_zstd(a));
    must(sym_archive_read_support_format_raw(a));
    must(sym_archive_read_support_format_empty(a));
    return a;
}

void image_archive_free(struct archive *a)
{
    if (a)
        (void)sym_archive_read_free(a); /* a reader loses nothing */
}

struct err *image_archive_error(struct archive *a, const char *what)
{
    const char *text = sym_archive_error_string(a);

    if (text_equal(text, "Unrecognized archive format"))
        text = "not a tar archive, plain or compressed by gzip or zstd";
    return err_new(ERR_INVALID, "archive: '%.200s': %.200s", what, text ? text : "cannot be read");
}

struct err *image_write(int fd, const void *at, size_t size, int64_t offset, int64_t *left_bytes)
{
    const char *bytes = at;
    size_t done = 0;
    int64_t end = 0;

    if (offset < 0 || __builtin_add_overflow(offset, (int64_t)size, &end))
        return err_new(ERR_INVALID, "archive: a file has a hole past its end");
    if ((int64_t)size > *left_bytes)
        return err_new(ERR_INVALID,
                       "archive: unpacked, the image is too large for this machine's disk");
    *left_bytes -= (int64_t)size;
    while (done < size) {
        ssize_t n = pwrite(fd, bytes + done, size - done, offset + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(errno, "write a file");
        done += (size_t)n;
    }
    return NULL;
}
