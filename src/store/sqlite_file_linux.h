/*
 * sqlite_file_linux.h - one SQLite file as the store keeps it: opened, read, written, checked
 *
 * Belongs to one thread at a time. Nothing here knows of loops, threads or locks.
 */
#pragma once

#include "store/storage.h"

struct sqlite_file;

enum {
    SQLITE_FILE_WHY_SIZE = 256
};

/*
 * Of `options` it takes `vfs`, `reserve_bytes` and `checkpoint_pages`. What a killed process wrote
 * and did not sync is synced before this returns. ERR_INTERNAL says what is wrong and what to do.
 */
struct err *sqlite_file_open(const char *path, const struct storage_sqlite_options *options,
                             struct sqlite_file **ret) MUST_CHECK;

/* storage_ops.load */
struct err *sqlite_file_load(struct sqlite_file *f, storage_load_fn fn, void *arg,
                             int64_t *ret_revision, int64_t *ret_compacted) MUST_CHECK;

/* All of the batch, synced, or nothing of it. `why` is "" after success. */
enum storage_result sqlite_file_write(struct sqlite_file *f, const struct storage_batch *batch,
                                      char why[SQLITE_FILE_WHY_SIZE]);

/*
 * Copies the log into the file once it has grown, so that it begins anew. To be called after each
 * write, when its result was passed on; what goes wrong is the result of the next write.
 */
void sqlite_file_checkpoint(struct sqlite_file *f);

void sqlite_file_close(struct sqlite_file *f); /* accepts NULL */
