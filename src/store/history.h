/* history.h - durable changes, oldest first, each under a number that never changes */
#pragma once

#include "store/object.h"

/* {0} is empty. Holds refs on the objects of its changes. */
struct history {
    struct store_change *ring;
    size_t room; /* a power of two */
    uint64_t first;
    uint64_t end;  /* the number of the next change */
    int64_t bytes; /* memory of the kept changes */
};

void history_done(struct history *h);
void history_add(struct history *h, const struct store_change *c);

/* Borrowed until the next add or drop. `number` is in [first, end). */
const struct store_change *history_at(const struct history *h, uint64_t number);

/* The number of the first kept change with a revision above `revision`; `end` if there is none. */
uint64_t history_after(const struct history *h, int64_t revision);

/* `revision`, or the last revision of the transaction that `revision` belongs to. */
int64_t history_whole(const struct history *h, int64_t revision);

/* Forgets the changes up to and including `revision`. */
void history_drop(struct history *h, int64_t revision);

/* The lowest revision for history_drop that leaves at most `bytes`; 0: nothing needs to go. */
int64_t history_excess(const struct history *h, int64_t bytes);
