/*
 * reserve_linux.h - a file of zeros beside the database, given up when the disk is full
 *
 * The freed space lets the store go on with writes that end or free something; creations are
 * refused meanwhile. SQLite's VFS makes the file, so that the tests' disk model sees it. The file's
 * presence also proves that a database once existed.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct reserve;

/* The reserve of the database at `path`. Does not make the file yet. With a size of 0 the reserve
 * always counts as held. */
struct reserve *reserve_new(sqlite3_vfs *vfs, const char *path, int64_t size_bytes);
void reserve_free(struct reserve *r); /* accepts NULL; the file stays */

bool reserve_was_made(const struct reserve *r);
bool reserve_is_held(const struct reserve *r);

/*
 * Writes the reserve in full unless it is held. False: the disk has no room, and nothing is held.
 */
bool reserve_take(struct reserve *r);
void reserve_release(struct reserve *r);
