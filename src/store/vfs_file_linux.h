/* vfs_file_linux.h - files beside the database, through SQLite's VFS: what tests model is all there
 * is */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/*
 * Opens for reading and writing, `flags` may add SQLITE_OPEN_CREATE. `path` must outlive the file.
 * NULL where it cannot be opened.
 */
sqlite3_file *vfs_file_open(sqlite3_vfs *vfs, const char *path, int flags);
void vfs_file_close(sqlite3_file *file); /* accepts NULL */

bool vfs_file_exists(sqlite3_vfs *vfs, const char *path);

/*
 * Writes all of a file anew as it reads, and syncs it: what is seen is durable then, which a sync
 * alone does not make it where an earlier one failed. True where there is no such file or it is
 * larger than `size_max_bytes` (then it is only synced).
 */
bool vfs_file_rewrite(sqlite3_vfs *vfs, const char *path, sqlite3_int64 size_max_bytes);

/* Makes the names in the directory of `path` durable. */
bool vfs_sync_directory(sqlite3_vfs *vfs, const char *path);
