/* image_layer_linux.c - decompression and digests of one layer */

#include "node/image/image_layer_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/archive_linux.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/image/image_archive_linux.h"
#include "node/image/image_tree_linux.h"
#include "node/image/sha256_linux.h"

static const int64_t progress_bytes = 1 << 20;

/*
 * Two readers: the first decompresses the blob, the second reads the resulting tar. The digest of
 * the blob is computed before the first, the diff id between the two.
 */
struct unpacking {
    const struct image_layer_job *job;
    struct archive *raw;
    struct sha256 *blob;
    struct sha256 *diff;
    char *piece;
    int64_t read_bytes;
    int64_t told_bytes;
    bool is_failed; /* a read failed */
    int number;     /* the errno of that */
};

static la_ssize_t read_blob(struct archive *a, void *arg, const void **ret)
{
    struct unpacking *u = arg;
    ssize_t n;

    (void)a;
    do
        n = read(u->job->fd, u->piece, IMAGE_PIECE_SIZE);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        u->is_failed = true;
        u->number = errno;
        return -1;
    }
    sha256_add(u->blob, u->piece, (size_t)n);
    u->read_bytes += n;
    if (u->read_bytes - u->told_bytes >= progress_bytes && u->job->progress) {
        u->told_bytes = u->read_bytes;
        u->job->progress(u->job->arg, u->read_bytes);
    }
    *ret = u->piece;
    return n;
}

/* Reads the next piece of the tar; 0: the end, -1: an error. */
static la_ssize_t read_raw(struct archive *a, void *arg, const void **ret)
{
    struct unpacking *u = arg;
    size_t size = 0;
    int64_t offset = 0;
    int r = sym_archive_read_data_block(u->raw, ret, &size, &offset);

    if (r == ARCHIVE_EOF)
        return 0;
    if (r != ARCHIVE_OK) {
        if (a)
            sym_archive_set_error(a, sym_archive_errno(u->raw), "%s",
                                  sym_archive_error_string(u->raw));
        return -1;
    }
    sha256_add(u->diff, *ret, size);
    return (la_ssize_t)size;
}

/* Begins to decompress. An empty blob is an empty tar. */
static struct err *open_raw(struct unpacking *u, bool *ret_is_empty)
{
    struct archive_entry *entry = NULL;
    int r = ARCHIVE_OK;

    if (sym_archive_read_open(u->raw, u, NULL, read_blob, NULL) != ARCHIVE_OK)
        return image_archive_error(u->raw, u->job->name);
    r = sym_archive_read_next_header(u->raw, &entry);
    if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
        return image_archive_error(u->raw, u->job->name);
    *ret_is_empty = r == ARCHIVE_EOF;
    return NULL;
}

/* Reads the bytes after the tar's end, which are part of the digests. */
static struct err *layer_drain(struct unpacking *u)
{
    const void *at = NULL;
    la_ssize_t n;

    while ((n = read_raw(NULL, u, &at)) > 0)
        continue;
    if (n < 0)
        return image_archive_error(u->raw, u->job->name);
    while ((n = read_blob(NULL, u, &at)) > 0)
        continue;
    return u->is_failed ? err_errno(u->number, "read '%.200s'", u->job->name) : NULL;
}

static struct err *layer_check(struct sha256 *s, const char *what, const char *want)
{
    char found[IMAGE_DIGEST_SIZE];

    sha256_end(s, found);
    if (!want || text_equal(found, want))
        return NULL;
    return err_new(ERR_INVALID, "%s does not match: want %s, found %s", what, want, found);
}

static struct err *unpack_tar(struct unpacking *u, struct image_tree *tree)
{
    AUTO(image_archive_freep) struct archive *tar = sym_archive_read_new();
    struct archive_entry *entry = NULL;
    int r;

    if (!tar)
        abort(); /* out of memory */
    if (sym_archive_read_support_format_tar(tar) != ARCHIVE_OK)
        return image_archive_error(tar, u->job->name);
    if (sym_archive_read_open(tar, u, NULL, read_raw, NULL) != ARCHIVE_OK)
        return image_archive_error(tar, u->job->name);
    while ((r = sym_archive_read_next_header(tar, &entry)) == ARCHIVE_OK)
        TRY(image_tree_add(tree, tar, entry));
    return r == ARCHIVE_EOF ? NULL : image_archive_error(tar, u->job->name);
}

static struct err *layer_unpack(struct unpacking *u, struct image_layer_result *ret)
{
    const struct image_tree_options o = {
        .dir = u->job->dir, .left_bytes = u->job->left_bytes, .left_entries = u->job->left_entries};
    AUTO(image_tree_freep) struct image_tree *tree = NULL;
    bool is_empty = false;

    TRY(open_raw(u, &is_empty));
    if (u->job->dir)
        TRY(image_tree_new(&o, &tree));
    if (tree && !is_empty)
        TRY(unpack_tar(u, tree));
    if (tree)
        TRY(image_tree_end(tree, &ret->size_bytes, &ret->is_opaque));
    if (!is_empty)
        TRY(layer_drain(u));
    TRY(layer_check(u->blob, "digest of the layer's blob", u->job->blob));
    return layer_check(u->diff, "diff id of the layer", u->job->diff_id);
}

struct err *image_layer_unpack(const struct image_layer_job *job, struct image_layer_result *ret)
{
    AUTO(image_archive_freep) struct archive *raw = image_archive_raw_new();
    AUTO(sha256_freep) struct sha256 *blob = sha256_new();
    AUTO(sha256_freep) struct sha256 *diff = sha256_new();
    AUTO_FREE char *piece = mem_alloc(IMAGE_PIECE_SIZE);
    struct unpacking u = {.job = job, .raw = raw, .blob = blob, .diff = diff, .piece = piece};
    struct err *e = layer_unpack(&u, ret);

    if (e && u.is_failed) {
        err_free(e);
        return err_errno(u.number, "read '%.200s'", job->name);
    }
    return e;
}
