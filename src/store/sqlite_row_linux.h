/* sqlite_row_linux.h - a change as a row of the table, with its checksum */
#pragma once

#include <sqlite3.h>

#include "store/storage.h"

/* A value; its texts belong to whom it was made from. */
struct sqlite_row {
    int64_t id;
    int64_t type; /* as in its column */
    int64_t before;
    int64_t created;
    struct store_key key;
    struct str bytes;
};

/* The revision of a row's id. */
int64_t sqlite_row_revision(int64_t id);

/* The row that a statement is at, valid until its next step. ERR_INTERNAL where the checksum is
 * wrong, or where it makes no sense. */
struct err *sqlite_row_read(sqlite3_stmt *s, struct sqlite_row *ret) MUST_CHECK;

/* As a record, to `fn`. */
struct err *sqlite_row_load(const struct sqlite_row *row, storage_load_fn fn, void *arg) MUST_CHECK;

/* Valid as long as the record. */
struct sqlite_row sqlite_row_of(const struct storage_record *record);

/* What SQLite says to it; the texts are not copied. */
int sqlite_row_bind(sqlite3_stmt *s, const struct sqlite_row *row);
