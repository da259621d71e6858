/*
 * storage.h - the seam between store and disk: takes whole batches, answers durable or an error
 *
 * storage_sqlite_linux.c owns one SQLite connection (WAL, synchronous=FULL, locking_mode=EXCLUSIVE)
 * in one thread and a flock on the directory; a batch becomes one SQLite transaction. Tests run the
 * same code without the thread, on a VFS that models the disk.
 */
#pragma once

#include "store/store.h"

/* A change's place on disk. Places ascend. A revision has 2^STORAGE_PLACE_BITS places; a
 * transaction with more changes also takes the places of the following revisions, which no other
 * transaction gets. */
enum {
    STORAGE_PLACE_BITS = 12
};

static inline int64_t storage_place(int64_t revision, unsigned ordinal)
{
    return (revision << STORAGE_PLACE_BITS) + (int64_t)ordinal;
}

/* The number of revisions that a transaction of `n` changes takes beyond its own. */
static inline int64_t storage_extra_revisions(uint64_t n)
{
    return n > 0 ? (int64_t)((n - 1) >> STORAGE_PLACE_BITS) : 0;
}

/* A change on disk. */
struct storage_record {
    int64_t revision;
    enum store_change_type type;
    const struct store_object *object; /* after the change; for a deletion the last state */
    const struct store_object *before; /* NULL for a creation, and always in `load` */
    int64_t before_place;              /* 0 for a creation */
    uint16_t ordinal;                  /* place in its transaction: (revision, ordinal) is unique */
};

struct storage_batch {
    const struct storage_record *records; /* in order of (revision, ordinal) */
    size_t n;
    int64_t revision;        /* the highest revision that the batch takes */
    int64_t compact_through; /* forget changes up to this revision, the last of a transaction; 0:
                                forget nothing */
    bool is_probe;           /* the disk was full: try to take the reserve again */
    const struct str *notes; /* lines for storage_sqlite_options.notes, in order */
    size_t n_notes;
};

/*
 * Notes are lines that become durable in the same transaction as the changes of their batch. The
 * keeper of the notes completes each line, and copies the lines into files of its own; the database
 * forgets a line after the keeper has synced it, but for the last one. All functions run in the
 * storage's thread, or before it starts.
 */
struct storage_notes {
    /* The end of the chain at the start: the lines that the database still holds, in order. */
    struct err *(*restore)(void *self, struct str line);
    /* Completes a line; the result is valid until the next call. Numbers ascend. */
    struct str (*seal)(void *self, struct str line, int64_t *ret_number);
    /* The sealed lines are durable in the database, or (`is_kept` false) are taken back. Returns
     * the number of the last line that the keeper has synced. */
    int64_t (*settle)(void *self, bool is_kept);
    /* Syncs the keeper's files if that is due; called after the result was passed on. */
    void (*sync)(void *self);
    void *self;
};

/*
 * Some objects are sealed on disk: encrypted, and bound to the place of their row. All functions
 * run in the storage's thread, or before it starts.
 */
struct storage_seal {
    bool (*covers)(const struct store_key *key);
    /* Appends the sealed form of `bytes`. `bound` is of the row, and the same when it is opened. */
    void (*seal)(void *self, struct str bytes, struct str bound, struct buf *ret);
    /* Appends the bytes of a sealed row, or of one that was written before rows were sealed. The
     * message says what to do. */
    struct err *(*open)(void *self, struct str sealed, struct str bound, struct buf *ret);
    /* Is the row sealed with the present key? */
    bool (*is_present)(void *self, struct str sealed);
    /* storage_reseal begins. False: it cannot, and does not. */
    bool (*begin)(void *self);
    /* All rows are durable under the present key; `why` not NULL: they are not. */
    void (*end)(void *self, const char *why);
    void *self;
};

enum storage_result {
    STORAGE_DURABLE,
    STORAGE_FULL,       /* nothing of the batch was kept; the store may retry */
    STORAGE_FAILED,     /* the state on disk is unknown; final */
    STORAGE_DURABLE_LOW /* durable, but the reserve is in use: refuse creations */
};

/* `why` is "" for the durable results, and valid during the call. */
typedef void (*storage_done_fn)(void *arg, enum storage_result result, const char *why);

/* An implementation that keeps r->object refs it. */
typedef struct err *(*storage_load_fn)(void *arg, const struct storage_record *r);

struct storage_ops {
    /*
     * Calls `fn` for each kept record, in order of (revision, ordinal). Up to `*ret_compacted`,
     * which is set before the first call, these are the last writes of objects that were live then;
     * after it, all changes.
     */
    struct err *(*load)(void *self, storage_load_fn fn, void *arg, int64_t *ret_revision,
                        int64_t *ret_compacted);
    /*
     * One batch is under way at a time. The batch lives until `done`, which is called from the
     * loop, never from inside.
     */
    void (*commit)(void *self, const struct storage_batch *batch, storage_done_fn done, void *arg);
    /* storage_reseal */
    void (*reseal)(void *self);
    /* Waits for the commit in flight, if any, and returns its result instead of calling `done`. */
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
    const char *vfs; /* NULL: the system's VFS. Otherwise `dir` is a prefix of names in the VFS, and
                        not locked */
    bool is_threaded;      /* false: commits run in the loop's thread, in their own turn (tests) */
    int64_t reserve_bytes; /* size of the reserve; 0: 8 MiB; negative: none */
    int checkpoint_pages;  /* log pages before a checkpoint; 0: 1000 (4 MB) */
    const struct storage_notes *notes; /* borrowed; NULL: batches have no notes */
    const struct storage_seal *seal;   /* borrowed; NULL: no object is sealed */
};

/* ERR_CONFLICT: another process, which the message names, has the directory. ERR_INTERNAL: the file
 * is damaged, another program's or of a newer format; the message says what to do. */
struct err *storage_sqlite_new(const struct storage_sqlite_options *options,
                               struct storage **ret) MUST_CHECK;
void storage_free(struct storage *s); /* accepts NULL */

/* Seals all rows with the present key of the seal, a few at a time and between the commits. Call it
 * after the load. */
void storage_reseal(struct storage *s);
