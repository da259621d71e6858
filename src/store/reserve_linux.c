#include "store/reserve_linux.h"

#include "base/mem.h"

enum {
    CHUNK_BYTES = 64 * 1024
};

struct reserve {
    sqlite3_vfs *vfs;
    sqlite3_file *file; /* NULL: not opened */
    char *path;         /* the VFS keeps a pointer to it */
    char *sync_path;
    int64_t size_bytes;
    bool is_held;
};

struct reserve *reserve_new(sqlite3_vfs *vfs, const char *path, int64_t size_bytes)
{
    struct reserve *r = mem_alloc(sizeof(*r));

    r->vfs = vfs;
    r->path = mem_format("%s-reserve", path);
    r->sync_path = mem_format("%s-sync", path);
    r->size_bytes = size_bytes;
    return r;
}

/* Freed with free(); NULL where it cannot be opened. */
static sqlite3_file *open_file(struct reserve *r, const char *path)
{
    sqlite3_file *file = mem_alloc((size_t)r->vfs->szOsFile);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_TEMP_DB;

    if (r->vfs->xOpen(r->vfs, path, file, flags, NULL) == SQLITE_OK)
        return file;
    free(file);
    return NULL;
}

static void close_file(sqlite3_file *file)
{
    if (!file)
        return;
    (void)file->pMethods->xClose(file); /* nothing of it needs to last */
    free(file);
}

void reserve_free(struct reserve *r)
{
    if (!r)
        return;
    close_file(r->file);
    free(r->path);
    free(r->sync_path);
    free(r);
}

bool reserve_was_made(const struct reserve *r)
{
    int is_there = 0;

    return r->vfs->xAccess(r->vfs, r->path, SQLITE_ACCESS_EXISTS, &is_there) == SQLITE_OK &&
           is_there;
}

bool reserve_is_held(const struct reserve *r)
{
    return r->is_held || r->size_bytes == 0;
}

static bool fill(const struct reserve *r, int64_t from)
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
        r->file = open_file(r, r->path);
    if (!r->file || r->file->pMethods->xFileSize(r->file, &size) != SQLITE_OK)
        return false;
    r->is_held = fill(r, size);
    if (!r->is_held)
        (void)r->file->pMethods->xTruncate(r->file, 0); /* not held either way */
    return r->is_held;
}

void reserve_release(struct reserve *r)
{
    if (r->file)
        (void)r->file->pMethods->xTruncate(r->file, 0); /* the write that follows will tell */
    r->is_held = false;
}

/* A VFS syncs a directory when it deletes in it. */
bool reserve_sync_directory(struct reserve *r)
{
    sqlite3_file *file = open_file(r, r->sync_path);

    if (!file)
        return false;
    close_file(file);
    return r->vfs->xDelete(r->vfs, r->sync_path, 1) == SQLITE_OK;
}
