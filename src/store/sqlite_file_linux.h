/*
 * sqlite_file_linux.h - the store's SQLite file: opened, checked, read, written
 *
 * A sqlite_file belongs to one thread at a time and knows nothing of loops, threads or locks.
 */
#pragma once

#include "store/storage.h"

struct sqlite_file;

enum {
    SQLITE_FILE_WHY_SIZE = 256
};

/* Uses `vfs`, `reserve_bytes` and `checkpoint_pages` of `options`. Syncs writes that a killed
 * process left unsynced before it returns. ERR_INTERNAL says what is wrong and what to do. */
struct err *sqlite_file_open(const char *path, const struct storage_sqlite_options *options,
                             struct sqlite_file **ret) MUST_CHECK;

/* storage_ops.load */
struct err *sqlite_file_load(struct sqlite_file *f, storage_load_fn fn, void *arg,
                             int64_t *ret_revision, int64_t *ret_compacted) MUST_CHECK;

/* Writes and syncs the whole batch, or nothing of it. `why` is "" after success. */
enum storage_result sqlite_file_write(struct sqlite_file *f, const struct storage_batch *batch,
                                      char why[SQLITE_FILE_WHY_SIZE]);

/* Copies the log into the file once the log has grown, so that the log restarts. Call it after each
 * write, when the write's result was passed on. The next write reports a failure of the copy. */
void sqlite_file_checkpoint(struct sqlite_file *f);

/* Begins to seal all rows with the present key of the seal, and does a part of it. False: nothing
 * is left to do. Each part is a transaction of its own. */
void sqlite_file_reseal(struct sqlite_file *f);
bool sqlite_file_reseal_more(struct sqlite_file *f);

void sqlite_file_close(struct sqlite_file *f); /* accepts NULL */
