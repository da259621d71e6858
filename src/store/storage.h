/*
 * storage.h - the disk below the store: whole batches in, durable or an error out
 *
 * storage_sqlite_linux.c owns one SQLite connection (WAL, synchronous=FULL, locking_mode=EXCLUSIVE) in
 * one thread and a flock on the directory; a batch becomes one SQLite transaction. Tests run the same
 * code on a VFS that models the disk, without the thread.
 */
#pragma once

#include "store/store.h"

/* One change as the disk keeps it. */
struct storage_record {
    int64_t revision;
    enum store_change_type type;
    const struct store_object *object;
    const struct store_object *before;
};

struct storage_batch {
    const struct storage_record *records;
    size_t n;
    int64_t revision;        /* the highest in it */
    int64_t compact_through; /* forget changes up to this revision; 0: nothing */
};

enum storage_result { STORAGE_DURABLE, STORAGE_FULL, STORAGE_FAILED };

/* STORAGE_FULL: nothing of the batch was kept, it may be tried again. STORAGE_FAILED: never again. */
typedef void (*storage_done_fn)(void *arg, enum storage_result result, const char *why);

struct storage_ops {
    /* Calls `object` for each live object, then `change` for each kept change in order. */
    struct err *(*load)(void *self, void (*object)(void *arg, const struct store_object *o),
                        void (*change)(void *arg, const struct storage_record *r), void *arg,
                        int64_t *ret_revision, int64_t *ret_compacted);
    /* One at a time; the batch lives until `done`, which is called in the loop, never from inside. */
    void (*commit)(void *self, const struct storage_batch *batch, storage_done_fn done, void *arg);
    void (*free)(void *self);
};

struct storage {
    const struct storage_ops *ops;
    void *self;
};

struct storage_sqlite_options {
    struct loop *loop;
    const char *dir;      /* holds state.db; made if missing; locked */
    const char *vfs;      /* NULL: the system's; tests: the disk model */
    bool is_threaded;     /* false: commits run in the loop's thread (tests) */
};

/* ERR_CONFLICT when another process holds the directory, naming it. */
struct err *storage_sqlite_new(const struct storage_sqlite_options *options, struct storage **ret) MUST_CHECK;
void storage_free(struct storage *s);
