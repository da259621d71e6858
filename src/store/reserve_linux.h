/*
 * reserve_linux.h - a file of zeros beside the database, given up when the disk is full
 *
 * What it frees lets the store go on with what ends or frees something, while new things are
 * refused. Made through SQLite's VFS, so that the disk model of the tests sees it. Its being there
 * also says that there was a database once.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct reserve;

/* For the database at `path`. Makes nothing yet; a size of 0 is never held nor missed. */
struct reserve *reserve_new(sqlite3_vfs *vfs, const char *path, int64_t size_bytes);
void reserve_free(struct reserve *r); /* accepts NULL; the file stays */

bool reserve_was_made(const struct reserve *r);
bool reserve_is_held(const struct reserve *r);

/* Writes it in full where it is not; false (and nothing held) where the disk has no room. */
bool reserve_take(struct reserve *r);
void reserve_release(struct reserve *r);
