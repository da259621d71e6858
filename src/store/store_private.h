/* store_private.h - structures shared by store.c, watch.c and list.c */
#pragma once

#include "base/vec.h"
#include "store/history.h"
#include "store/index.h"
#include "store/storage.h"

/* A callback that waits for a transaction to become durable. */
struct waiter {
    int64_t revision;
    store_done_fn done;
    void *arg;
};

/* Transactions that become durable together. Holds refs on the objects of its records. */
struct batch {
    VEC(struct storage_record) records;
    VEC(struct waiter) waiters;
    VEC(struct str) notes; /* each owns its text */
    int64_t revision;      /* the highest in the batch; 0: the batch changes nothing */
    int64_t bytes;
};

struct store_watch {
    struct store_watch *prev;
    struct store_watch *next;
    struct store *store;
    struct store_range range; /* owns its texts */
    int64_t from_revision;
    uint64_t next_change; /* number in the history */
    bool is_current;      /* progress was told, and no change came since */
    store_watch_fn fn;
    void *arg;
};

struct store {
    struct store_options options;
    struct index objects; /* the durable state */
    struct index pending; /* applied, not durable: covers `objects`; is_absent marks deletions */
    struct history history;

    int64_t revision;
    int64_t applied_revision;
    int64_t compacted;         /* older watches and lists get ERR_EXPIRED */
    int64_t compacted_on_disk; /* the disk has forgotten up to here; the history begins after it */

    struct batch open;   /* collects transactions */
    struct batch flying; /* in the storage's hands, as `sent` */
    struct storage_batch sent;
    bool is_flying;
    int64_t flown_ns; /* monotonic, when the batch in flight was sent */
    bool is_starting; /* start_timer is set */
    struct loop_timer *start_timer;

    bool is_full;
    bool is_probe_due;
    bool is_resting; /* compaction found no space: pause until the next probe */
    struct loop_timer *probe_timer;
    struct err *failure; /* the disk's failure; final */

    struct store_watch *watches;
    struct store_watch *told;      /* the watch whose `fn` runs; NULL once `fn` freed it */
    struct store_watch *told_next; /* the watch after `told` */
    struct loop_timer *catch_up_timer;
};

/* Starts a batch in a later turn of the loop if transactions, a probe or a compaction wait. */
void store_schedule(struct store *s);

/* ERR_EXPIRED: the revision was compacted. */
struct err *store_check_kept(const struct store *s, int64_t revision) MUST_CHECK;

/* Tells each watch the changes that it has not seen, a limited number at a time; the loop tells the
 * rest later. */
void watches_tell(struct store *s);
void watches_catch_up(void *store);

/* The number of the first change that some watch has not seen; the end of the history if there is
 * none. */
uint64_t watches_first_unseen(const struct store *s);
