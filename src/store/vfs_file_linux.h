/*
 * vfs_file_linux.h - files beside the database, through SQLite's VFS, so that the tests' disk model
 * sees them
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/* Opens a file for reading and writing; `flags` may add SQLITE_OPEN_CREATE. `path` must outlive the
 * file. NULL: the file cannot be opened. */
sqlite3_file *vfs_file_open(sqlite3_vfs *vfs, const char *path, int flags);
void vfs_file_close(sqlite3_file *file); /* accepts NULL */

bool vfs_file_exists(sqlite3_vfs *vfs, const char *path);

/*
 * Writes a file's present content again and syncs the file, so that the content that readers see is
 * durable. After an earlier failed sync, another sync alone would not ensure that. A file larger
 * than `size_max_bytes` is only synced. True for a missing file.
 */
bool vfs_file_rewrite(sqlite3_vfs *vfs, const char *path, sqlite3_int64 size_max_bytes);

/* Makes the names in the directory of `path` durable. */
bool vfs_sync_directory(sqlite3_vfs *vfs, const char *path);
