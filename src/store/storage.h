/*
 * storage.h - the disk below the store: whole batches in, durable or an error out
 *
 * storage_sqlite_linux.c owns one SQLite connection (WAL, synchronous=FULL, locking_mode=EXCLUSIVE)
 * in one thread and a flock on the directory; a batch becomes one SQLite transaction. Tests run the
 * same code on a VFS that models the disk, without the thread.
 */
#pragma once

#include "store/store.h"

/*
 * Where the disk keeps a change: places ascend, and a transaction with more changes than one
 * revision has places for takes those of the revisions after its own, which nobody else has.
 */
enum {
    STORAGE_PLACE_BITS = 12
};

static inline int64_t storage_place(int64_t revision, unsigned ordinal)
{
    return (revision << STORAGE_PLACE_BITS) + (int64_t)ordinal;
}

/* How many revisions beyond its own a transaction of `n` changes takes. */
static inline int64_t storage_extra_revisions(uint64_t n)
{
    return n > 0 ? (int64_t)((n - 1) >> STORAGE_PLACE_BITS) : 0;
}

/* One change as the disk keeps it. */
struct storage_record {
    int64_t revision;
    enum store_change_type type;
    const struct store_object *object; /* after the change; for a deletion the last one */
    const struct store_object *before; /* NULL for a creation, and in `load` */
    int64_t before_place;              /* 0 for a creation */
    uint16_t ordinal;                  /* place in its transaction: (revision, ordinal) is unique */
};

struct storage_batch {
    const struct storage_record *records; /* in order of (revision, ordinal) */
    size_t n;
    int64_t revision;        /* the highest in it, or taken by it */
    int64_t compact_through; /* forget changes up to this revision, the last that a transaction
                              * takes; 0: nothing */
    bool is_probe;           /* see whether a disk that was full has room for the reserve again */
};

enum storage_result {
    STORAGE_DURABLE,
    STORAGE_FULL,       /* nothing of the batch was kept; it may be tried again */
    STORAGE_FAILED,     /* what was kept is unknown; never again */
    STORAGE_DURABLE_LOW /* durable, but out of the reserve: the disk is full for anything new */
};

/* `why` is "" for the durable ones; valid during the call. */
typedef void (*storage_done_fn)(void *arg, enum storage_result result, const char *why);

/* Takes a ref on r->object where it keeps it. */
typedef struct err *(*storage_load_fn)(void *arg, const struct storage_record *r);

struct storage_ops {
    /*
     * Calls `fn` for everything kept, in order of (revision, ordinal): up to `*ret_compacted`,
     * which is set before the first call, the last write of each object that was live then; after
     * it every change.
     */
    struct err *(*load)(void *self, storage_load_fn fn, void *arg, int64_t *ret_revision,
                        int64_t *ret_compacted);
    /* One at a time; the batch lives until `done`, which is called in the loop, never from inside.
     */
    void (*commit)(void *self, const struct storage_batch *batch, storage_done_fn done, void *arg);
    /* Waits for the commit in flight, if any, and returns its result in place of calling `done`. */
    enum storage_result (*finish)(void *self);
    void (*free)(void *self);
};

struct storage {
    const struct storage_ops *ops;
    void *self;
};

struct storage_sqlite_options {
    struct loop *loop;
    const char *dir; /* holds state.db; made if missing (0700); locked */
    const char
        *vfs; /* NULL: the system's. Else `dir` is only a prefix of names in that VFS, not locked */
    bool is_threaded; /* false: commits run in the loop's thread, in a turn of their own (tests) */
    int64_t reserve_bytes; /* kept free for when the disk is full; 0: 8 MiB; negative: none */
    int checkpoint_pages;  /* of log that are copied into the file; 0: 1000 (4 MB) */
};

/*
 * ERR_CONFLICT when another process holds the directory, naming it. ERR_INTERNAL for a file that is
 * damaged, not ours or of a newer format, saying what to do.
 */
struct err *storage_sqlite_new(const struct storage_sqlite_options *options,
                               struct storage **ret) MUST_CHECK;
void storage_free(struct storage *s); /* accepts NULL */
