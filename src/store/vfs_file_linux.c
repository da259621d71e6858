/* vfs_file_linux.c - files through SQLite's VFS: opened, rewritten, synced */

#include "store/vfs_file_linux.h"

#include "base/mem.h"

enum {
    CHUNK_BYTES = 64 * 1024
};

sqlite3_file *vfs_file_open(sqlite3_vfs *vfs, const char *path, int flags)
{
    sqlite3_file *file = mem_alloc((size_t)vfs->szOsFile);

    if (vfs->xOpen(vfs, path, file, flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_TEMP_DB, NULL) ==
        SQLITE_OK)
        return file;
    free(file);
    return NULL;
}

void vfs_file_close(sqlite3_file *file)
{
    if (!file)
        return;
    (void)file->pMethods->xClose(file); /* all that must last was synced */
    free(file);
}

bool vfs_file_exists(sqlite3_vfs *vfs, const char *path)
{
    int is_there = 0;

    return vfs->xAccess(vfs, path, SQLITE_ACCESS_EXISTS, &is_there) == SQLITE_OK && is_there;
}

static bool rewrite_bytes(sqlite3_file *file, sqlite3_int64 size)
{
    AUTO_FREE char *bytes = mem_alloc(CHUNK_BYTES);

    for (sqlite3_int64 at = 0; at < size; at += CHUNK_BYTES) {
        int n = size - at < CHUNK_BYTES ? (int)(size - at) : CHUNK_BYTES;

        if (file->pMethods->xRead(file, bytes, n, at) != SQLITE_OK ||
            file->pMethods->xWrite(file, bytes, n, at) != SQLITE_OK)
            return false;
    }
    return true;
}

bool vfs_file_rewrite(sqlite3_vfs *vfs, const char *path, sqlite3_int64 size_max_bytes)
{
    sqlite3_file *file;
    sqlite3_int64 size = 0;
    bool is_done;

    if (!vfs_file_exists(vfs, path))
        return true;
    file = vfs_file_open(vfs, path, 0);
    if (!file)
        return false;
    is_done = file->pMethods->xFileSize(file, &size) == SQLITE_OK &&
              (size > size_max_bytes || rewrite_bytes(file, size)) &&
              file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK;
    vfs_file_close(file);
    return is_done;
}

/* Creates and deletes a file: a VFS syncs the directory when it deletes. */
bool vfs_sync_directory(sqlite3_vfs *vfs, const char *path)
{
    AUTO_FREE char *other = mem_format("%s-sync", path);
    sqlite3_file *file = vfs_file_open(vfs, other, SQLITE_OPEN_CREATE);

    if (!file)
        return false;
    vfs_file_close(file);
    return vfs->xDelete(vfs, other, 1) == SQLITE_OK;
}
