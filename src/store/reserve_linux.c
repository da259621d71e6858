/* reserve_linux.c - the file of zeros, written and truncated */

#include "store/reserve_linux.h"

#include "base/mem.h"
#include "store/vfs_file_linux.h"

enum {
    CHUNK_BYTES = 64 * 1024
};

struct reserve {
    sqlite3_vfs *vfs;
    sqlite3_file *file; /* NULL: not opened */
    char *path;         /* the VFS keeps a pointer to this text */
    int64_t size_bytes;
    bool is_held;
};

struct reserve *reserve_new(sqlite3_vfs *vfs, const char *path, int64_t size_bytes)
{
    struct reserve *r = mem_alloc(sizeof(*r));

    r->vfs = vfs;
    r->path = mem_format("%s-reserve", path);
    r->size_bytes = size_bytes;
    return r;
}

void reserve_free(struct reserve *r)
{
    if (!r)
        return;
    vfs_file_close(r->file);
    free(r->path);
    free(r);
}

bool reserve_was_made(const struct reserve *r)
{
    return vfs_file_exists(r->vfs, r->path);
}

bool reserve_is_held(const struct reserve *r)
{
    return r->is_held || r->size_bytes == 0;
}

static bool reserve_fill(const struct reserve *r, int64_t from)
{
    AUTO_FREE char *zeros = mem_alloc(CHUNK_BYTES);

    for (int64_t at = from; at < r->size_bytes; at += CHUNK_BYTES) {
        int64_t left = r->size_bytes - at;
        int size = left < CHUNK_BYTES ? (int)left : CHUNK_BYTES;

        if (r->file->pMethods->xWrite(r->file, zeros, size, at) != SQLITE_OK)
            return false;
    }
    return true;
}

bool reserve_take(struct reserve *r)
{
    sqlite3_int64 size = 0;

    if (reserve_is_held(r))
        return true;
    if (!r->file)
        r->file = vfs_file_open(r->vfs, r->path, SQLITE_OPEN_CREATE);
    if (!r->file || r->file->pMethods->xFileSize(r->file, &size) != SQLITE_OK)
        return false;
    r->is_held = reserve_fill(r, size);
    if (!r->is_held)
        (void)r->file->pMethods->xTruncate(r->file, 0); /* the reserve is not held in any case */
    return r->is_held;
}

void reserve_release(struct reserve *r)
{
    if (!r->file)
        r->file = vfs_file_open(r->vfs, r->path, 0);
    if (r->file)
        (void)r->file->pMethods->xTruncate(r->file, 0); /* the next write reports a failure */
    r->is_held = false;
}
