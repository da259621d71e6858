/* sqlite_row_linux.h - a change as a row of the table, with a checksum */
#pragma once

#include <sqlite3.h>

#include "store/storage.h"

/* A value; the texts are borrowed from its source. */
struct sqlite_row {
    int64_t id;
    int64_t type; /* the column's value */
    int64_t before;
    int64_t created;
    struct store_key key;
    struct str bytes;
};

/* The revision of a row's id. */
int64_t sqlite_row_revision(int64_t id);

/* The present row of a statement, valid until the statement's next step. ERR_INTERNAL: the checksum
 * is wrong, or the row is malformed. */
struct err *sqlite_row_read(sqlite3_stmt *s, struct sqlite_row *ret) MUST_CHECK;

/* Passes the row to `fn` as a record. */
struct err *sqlite_row_load(const struct sqlite_row *row, storage_load_fn fn, void *arg) MUST_CHECK;

/* What a sealed row is bound to: its id and its key. */
void sqlite_row_bound(const struct sqlite_row *row, struct buf *ret);
/* The checksum of a row with these bytes. */
int64_t sqlite_row_sum(const struct sqlite_row *row);

/* The record as a row, valid as long as the record. */
struct sqlite_row sqlite_row_of(const struct storage_record *record);

/* Binds the row to the INSERT statement; returns SQLite's result. The texts are not copied. */
int sqlite_row_bind(sqlite3_stmt *s, const struct sqlite_row *row);
