/* store_private.h - what store.c, watch.c and list.c share */
#pragma once

#include "base/vec.h"
#include "store/history.h"
#include "store/index.h"
#include "store/storage.h"

/* Somebody who waits for a transaction. */
struct waiter {
    int64_t revision;
    store_done_fn done;
    void *arg;
};

/* Transactions that become durable together. Holds refs on the objects of its records. */
struct batch {
    VEC(struct storage_record) records;
    VEC(struct waiter) waiters;
    int64_t revision; /* the highest in it; 0: it changes nothing */
    int64_t bytes;
};

struct store_watch {
    struct store_watch *prev;
    struct store_watch *next;
    struct store *store;
    struct store_range range; /* its texts are owned */
    int64_t from_revision;
    uint64_t next_change; /* its number in the history */
    bool is_current;      /* was told that it is */
    store_watch_fn fn;
    void *arg;
};

struct store {
    struct store_options options;
    struct index objects; /* what is durable */
    struct index pending; /* over it: what is applied and not durable; is_absent for deletions */
    struct history history;

    int64_t revision;
    int64_t applied_revision;
    int64_t compacted;         /* what was promised to be forgotten */
    int64_t compacted_on_disk; /* and is: the history begins after it */

    struct batch open;   /* collects */
    struct batch flying; /* is with the storage, as `sent` */
    struct storage_batch sent;
    bool is_flying;
    bool is_starting; /* start_timer is set */
    struct loop_timer *start_timer;

    bool is_full;
    bool is_probe_due;
    bool is_resting; /* compaction found no space: until the next probe */
    struct loop_timer *probe_timer;
    struct err *failure; /* of the disk; final */

    struct store_watch *watches;
    struct store_watch *told;      /* the one whose fn runs; NULL once it freed itself */
    struct store_watch *told_next; /* after it */
    struct loop_timer *catch_up_timer;
};

/* Batches go on where something waits: transactions, or a compaction that a watch held up. */
void store_schedule(struct store *s);

/* ERR_EXPIRED for a revision that was compacted. */
struct err *store_check_kept(const struct store *s, int64_t revision) MUST_CHECK;

/* Tells each watch what it has not seen. Some at a time where it is much; the rest from the loop.
 */
void watches_tell(struct store *s);
void watches_catch_up(void *store);

/* The number of the first change that some watch has not seen; the end if all saw all. */
uint64_t watches_first_unseen(const struct store *s);
