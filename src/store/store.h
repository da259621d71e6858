/*
 * store.h - versioned objects in memory and on disk: transactions, watches, compaction
 *
 * Objects are bytes under a key (group, resource, namespace, name). One global revision grows with
 * every committed transaction; an object's version is the revision of its last write. A transaction
 * is checked against the *applied* state (every accepted transaction) and becomes visible when it
 * is *durable*. Reads, lists, watches and the done callback wait for that: no client ever sees a
 * revision that a crash can take back. The first failed sync ends the process (options.on_fatal).
 *
 * The store is single-threaded: all calls and callbacks happen in the loop's thread. The disk is
 * behind `struct storage` (storage.h), which takes whole batches and answers later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

struct store;
struct storage; /* storage.h */

/* Calls borrow all four texts. No text may contain NUL; `ns` and `group` may be "". */
struct store_key {
    const char *group;
    const char *resource; /* plural: "pods" */
    const char *ns;       /* "" for cluster-wide objects */
    const char *name;
};

/* Immutable and shared. A caller that keeps an object refs it with store_object_ref. */
struct store_object {
    struct store_key key;
    int64_t version;          /* revision of the last write */
    int64_t created_revision; /* revision of the write that created it */
    struct str bytes;         /* a NUL follows, which is not counted */
    unsigned refs;            /* this and the members below are private */
    uint16_t ordinal;         /* place of its operation in the transaction */
    bool is_absent;           /* stands for a deletion that is not durable yet */
};

const struct store_object *store_object_ref(const struct store_object *o);
void store_object_unref(const struct store_object *o); /* accepts NULL */
static inline void store_object_unrefp(const struct store_object **o)
{
    store_object_unref(*o);
}

#define STORE_ANY    INT64_C(-1) /* precondition: none */
#define STORE_ABSENT INT64_C(0)  /* precondition: the object is absent */
#define STORE_EXISTS INT64_C(-2) /* precondition: the object exists */

enum store_op_type {
    STORE_PUT,
    STORE_DELETE,
    STORE_CHECK
};

struct store_op {
    enum store_op_type type;
    struct store_key key;
    struct str bytes;   /* STORE_PUT */
    int64_t if_version; /* a version, or STORE_ANY, STORE_ABSENT, STORE_EXISTS */
    bool is_owed; /* STORE_PUT: may create an object from the reserve while the disk is full */
};

enum {
    STORE_TXN_OPS_MAX = 32768,
    STORE_KEY_BYTES_MAX = 2048,        /* of all four parts together */
    STORE_BYTES_MAX = 16 << 20,        /* of one object */
    STORE_PENDING_BYTES_MAX = 64 << 20 /* accepted, not yet durable */
};

/*
 * `e` is NULL when the transaction is durable. Otherwise `e` is borrowed, the store kept nothing of
 * the transaction, and its revision may go to another transaction. ERR_NO_SPACE: the disk was full
 * ("no space left on the disk of the data directory"). ERR_UNAVAILABLE: the store is being closed
 * (after on_fatal the state on disk is unknown, as after a crash).
 */
typedef void (*store_done_fn)(void *arg, const struct err *e, int64_t revision);

struct store_options {
    struct loop *loop;
    struct storage *storage;   /* borrowed, outlives the store */
    int64_t history_max_bytes; /* changes kept for watches and old lists; 0: 64 MiB */
    void (*on_fatal)(void *arg,
                     const struct err *e); /* the disk failed: report `e` and end the process */
    void *arg;
    void (*on_sync)(void *sync_arg,
                    int64_t ns); /* a batch is durable, after so long; may be NULL */
    void *sync_arg;
};

/* Reads the whole storage. ERR_INTERNAL: the format is damaged or newer; the message says what to
 * do. */
struct err *store_open(const struct store_options *options, struct store **ret) MUST_CHECK;
/* Waits for the batch in flight. Transactions that are not durable after it get ERR_UNAVAILABLE
 * from inside this call. Frees the remaining watches. */
void store_free(struct store *s); /* accepts NULL */
static inline void store_freep(struct store **s)
{
    store_free(*s);
}

/* The durable revision, the applied revision, and the oldest revision that watches and lists may
 * still name. The applied revision falls back to the durable one when the disk was full. */
int64_t store_revision(const struct store *s);
int64_t store_applied_revision(const struct store *s);
int64_t store_compacted_revision(const struct store *s);

/* Is the disk full? No object can be created until there is room again. */
bool store_is_full(const struct store *s);

/*
 * Commits all operations or none. Preconditions are checked at once, against the state before the
 * transaction: ERR_CONFLICT, ERR_EXISTS and ERR_NOT_FOUND name the key. Deleting an absent object
 * under STORE_ANY changes nothing. ERR_INVALID: a key is written twice. ERR_TOO_LARGE: a limit
 * above is passed. ERR_BUSY: too many bytes wait for a slow disk. ERR_NO_SPACE: the disk is full,
 * and the transaction would create an object that is not owed; changes and deletions go on out of a
 * reserve. ERR_UNAVAILABLE: the disk failed earlier.
 *
 * On success `*ret_revision` (may be NULL) is the revision that the transaction will have, and
 * `done` (may be NULL) is called exactly once, later, never from inside. A transaction that changes
 * nothing takes no revision and is done at the present one. A very large transaction takes several
 * consecutive revisions and has the first of them.
 */
struct err *store_commit(struct store *s, const struct store_op *ops, size_t n, store_done_fn done,
                         void *arg, int64_t *ret_revision) MUST_CHECK;

/*
 * Adds a line to the notes (storage.h) of the transactions that were accepted in this turn of the
 * loop: the line and their changes become durable together, or not at all. Copies `line`. `done`
 * (may be NULL) as for store_commit. A full disk refuses no line beforehand: `done` gets
 * ERR_NO_SPACE. ERR_UNAVAILABLE: the disk failed earlier.
 */
struct err *store_note(struct store *s, struct str line, store_done_fn done, void *arg) MUST_CHECK;

/* The durable object, or NULL. Borrowed until the loop runs again: ref it to keep it. Use
 * store_get_applied for read-modify-write only, never for a reply. */
const struct store_object *store_get(const struct store *s, struct store_key key);
const struct store_object *store_get_applied(const struct store *s, struct store_key key);
/* A set of keys: a resource (group and resource), optionally in one namespace (NULL: all). */
struct store_range {
    const char *group;
    const char *resource; /* NULL: all groups and resources */
    const char *ns;
};

/*
 * Walks the objects of `range`, which names a resource, in order of (namespace, name): the first
 * object after `after` (NULL: the first of all), or NULL. Borrowed as by store_get and
 * store_get_applied; O(log n) a call.
 */
const struct store_object *store_next(const struct store *s, const struct store_range *range,
                                      const struct store_key *after);
const struct store_object *store_next_applied(const struct store *s,
                                              const struct store_range *range,
                                              const struct store_key *after);

struct store_list {
    const struct store_object **at; /* each ref'd */
    size_t n;
    int64_t revision; /* the snapshot's */
    bool has_more;
    size_t n_after; /* has_more, of a range that names a resource: objects after the last one */
};

/*
 * Lists objects of `range` in order of (namespace, name), after (`after_ns`, `after_name`) if these
 * are not NULL (then `range` names a resource), at most `limit` (0: all), as of `at_revision` (0:
 * now). ERR_EXPIRED: the revision was compacted. ERR_TIMEOUT: the revision is in the future. The
 * cost of a list of the past grows with the number of changes since. Free with store_list_done,
 * after success only.
 */
struct err *store_list(const struct store *s, const struct store_range *range, const char *after_ns,
                       const char *after_name, size_t limit, int64_t at_revision,
                       struct store_list *ret) MUST_CHECK;
void store_list_done(struct store_list *list);

enum store_change_type {
    STORE_CREATED,
    STORE_UPDATED,
    STORE_DELETED
};

struct store_change {
    enum store_change_type type;
    int64_t revision;
    const struct store_object
        *object; /* after the change; for a deletion the last state, with its own version */
    const struct store_object *before; /* NULL for a creation */
};

struct store_watch;

/*
 * `change` is NULL for progress: the watch has seen every change up to `revision`. Progress comes
 * after each durable batch, and after the changes of the past. `change` is borrowed: ref its
 * objects to keep them.
 */
typedef void (*store_watch_fn)(void *arg, const struct store_change *change, int64_t revision);

/*
 * Tells every durable change of `range` with a revision above `from_revision`, once and in order,
 * from the loop, never from inside this call; changes of the past come first. ERR_EXPIRED:
 * `from_revision` was compacted. `fn` may free this watch and make others, but must not free the
 * store. `range` is copied.
 */
struct err *store_watch_new(struct store *s, const struct store_range *range, int64_t from_revision,
                            store_watch_fn fn, void *arg, struct store_watch **ret) MUST_CHECK;
void store_watch_free(struct store_watch *w); /* accepts NULL */

/*
 * Forgets changes up to and including `revision` (at most the durable one): older watches and lists
 * get ERR_EXPIRED from now on. The disk follows in small steps. Past history_max_bytes the store
 * compacts by itself.
 */
void store_compact(struct store *s, int64_t revision);
