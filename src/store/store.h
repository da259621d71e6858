/*
 * store.h - the memory: versioned bytes, transactions, watches, compaction
 *
 * Objects are bytes under a key (group, resource, namespace, name). One global revision grows with
 * every committed transaction; an object's version is the revision of its last write. A transaction
 * is checked against what is *applied* (everything accepted so far) and becomes visible only when
 * it is *durable*: reads, lists, watches and the done callback wait for that, so nobody ever sees a
 * revision that a crash can take back. The first failed sync ends the process (options.on_fatal).
 *
 * Single-threaded: all calls and callbacks happen in the loop's thread. The disk is behind
 * `struct storage` (storage.h), which takes whole batches and answers later.
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

/* All four are borrowed by calls; none may contain NUL; `ns` and `group` may be "". */
struct store_key {
    const char *group;
    const char *resource; /* plural: "pods" */
    const char *ns;       /* "" for cluster-wide objects */
    const char *name;
};

/* Immutable and shared: keep one with store_object_ref. */
struct store_object {
    struct store_key key;
    int64_t version;          /* revision of the last write */
    int64_t created_revision; /* revision of the write that made it */
    struct str bytes;         /* followed by a NUL that is not counted */
    unsigned refs;            /* private, as is what follows */
    uint16_t ordinal;         /* its operation's place in the transaction */
    bool is_absent;           /* stands for a deletion that is not durable yet */
};

const struct store_object *store_object_ref(const struct store_object *o);
void store_object_unref(const struct store_object *o); /* accepts NULL */
static inline void store_object_unrefp(const struct store_object **o)
{
    store_object_unref(*o);
}

#define STORE_ANY    INT64_C(-1) /* precondition: whatever is there, or nothing */
#define STORE_ABSENT INT64_C(0)  /* precondition: nothing is there */
#define STORE_EXISTS INT64_C(-2) /* precondition: something is there */

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
    bool is_owed;       /* STORE_PUT: may create while the disk is full, out of the reserve */
};

enum {
    STORE_TXN_OPS_MAX = 32768,
    STORE_KEY_BYTES_MAX = 2048,        /* of all four parts together */
    STORE_BYTES_MAX = 16 << 20,        /* of one object */
    STORE_PENDING_BYTES_MAX = 64 << 20 /* accepted and not durable yet */
};

/*
 * `e` is NULL once durable. Else it is borrowed, nothing of the transaction was kept and the
 * revision it would have had may be given to another: ERR_NO_SPACE, the disk was full ("no space
 * left on the disk of the data directory"), or ERR_UNAVAILABLE, the store is being closed (after
 * on_fatal what was kept is unknown, as after a crash).
 */
typedef void (*store_done_fn)(void *arg, const struct err *e, int64_t revision);

struct store_options {
    struct loop *loop;
    struct storage *storage;   /* borrowed, outlives the store */
    int64_t history_max_bytes; /* changes kept for watches and old lists; 0: 64 MiB */
    void (*on_fatal)(void *arg,
                     const struct err *e); /* the disk failed: say so and end the process */
    void *arg;
};

/* Reads all of the storage. Fails with ERR_INTERNAL for a damaged or newer format, saying what to
 * do. */
struct err *store_open(const struct store_options *options, struct store **ret) MUST_CHECK;
/*
 * Waits for the batch in flight; what is not durable then is answered with ERR_UNAVAILABLE, from
 * inside this call. Frees the watches that are left.
 */
void store_free(struct store *s); /* accepts NULL */
static inline void store_freep(struct store **s)
{
    store_free(*s);
}

/*
 * What is durable, what is applied, and the oldest revision that watches and lists may still name.
 * Applied falls back to durable when the disk was full.
 */
int64_t store_revision(const struct store *s);
int64_t store_applied_revision(const struct store *s);
int64_t store_compacted_revision(const struct store *s);

/* True from the moment the disk is full until there is room again: nothing new can be created. */
bool store_is_full(const struct store *s);

/*
 * All of the operations or none. Every precondition is about what was there before the transaction,
 * and is checked at once: ERR_CONFLICT, ERR_EXISTS or ERR_NOT_FOUND name the key. Deleting nothing
 * under STORE_ANY changes nothing. ERR_INVALID for a key written twice, ERR_TOO_LARGE past the
 * limits above, ERR_BUSY while too much waits for a slow disk. While the disk is full what would
 * create an object that is not owed is refused with ERR_NO_SPACE; changing and deleting go on out
 * of a reserve.
 * After the disk failed everything is ERR_UNAVAILABLE.
 *
 * On success `*ret_revision` (may be NULL) is the revision it will have and `done` (may be NULL) is
 * called exactly once, later, never from inside. A transaction that changes nothing takes no
 * revision and is done at the present one; a very large one takes several, of which it has the
 * first and no other transaction the rest.
 */
struct err *store_commit(struct store *s, const struct store_op *ops, size_t n, store_done_fn done,
                         void *arg, int64_t *ret_revision) MUST_CHECK;

/*
 * The durable object, or NULL. Borrowed until the loop runs again: ref it to keep it.
 * store_get_applied is for read-modify-write only, never for a reply.
 */
const struct store_object *store_get(const struct store *s, struct store_key key);
const struct store_object *store_get_applied(const struct store *s, struct store_key key);
/* A set of keys: a resource (group and resource), optionally in one namespace (NULL: all). */
struct store_range {
    const char *group;
    const char *resource; /* NULL: everything there is */
    const char *ns;
};

/*
 * One object of `range`, which names a resource, after the other, in order of (namespace, name):
 * the first after `after` (NULL: the first of all), or NULL. Borrowed as by store_get and
 * store_get_applied; O(log n) each.
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
};

/*
 * Objects of `range` ordered by (namespace, name), beginning after (`after_ns`, `after_name`) where
 * those are not NULL (then `range` names a resource), at most `limit` (0: all), as of `at_revision`
 * (0: now). ERR_EXPIRED where that was compacted, ERR_TIMEOUT where it is still to come. A list of
 * the past costs time for each change since. Free with store_list_done, after success only.
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
        *object; /* after the change; for a deletion the last one, its version not touched */
    const struct store_object *before; /* NULL for a creation */
};

struct store_watch;

/*
 * `change` is NULL for "you have seen everything up to `revision`": after each durable batch, and
 * once the past was told. `change` is borrowed; ref its objects to keep them.
 */
typedef void (*store_watch_fn)(void *arg, const struct store_change *change, int64_t revision);

/*
 * Every durable change of `range` with a revision above `from_revision`, each once and in order;
 * first those of the past, from the loop, never from inside this call. ERR_EXPIRED where
 * `from_revision` was compacted. `fn` may free the watch and make others, but not free the store.
 * `range` is copied.
 */
struct err *store_watch_new(struct store *s, const struct store_range *range, int64_t from_revision,
                            store_watch_fn fn, void *arg, struct store_watch **ret) MUST_CHECK;
void store_watch_free(struct store_watch *w); /* accepts NULL */

/*
 * Forgets changes up to and including `revision` (at most the durable one): from now on older
 * watches and lists get ERR_EXPIRED. The disk follows in small steps. Past history_max_bytes it
 * happens by itself.
 */
void store_compact(struct store *s, int64_t revision);
