/*
 * writes.h - the writes of one loop that the store has not answered yet
 *
 * The store takes a write at once and answers it later: the write is durable, or the store took it
 * back because the disk was full (store.h). A loop goes on as if the write were durable; the answer
 * tells the loop what to undo. Answers that come after writes_free are dropped.
 */
#pragma once

#include "control/cluster.h"

struct writes;

/*
 * `key` and `number` are the arguments of writes_begin. `e` (borrowed): the store took the write
 * back.
 */
typedef void (*writes_fn)(void *owner, const char *key, uint64_t number, const struct err *e);

struct writes *writes_new(void *owner);
void writes_free(struct writes *w); /* accepts NULL */
/* The number of writes without an answer. */
size_t writes_pending(const struct writes *w);

/* The answer for one write: `fn` is called once, later. `key` (may be NULL) is copied. */
struct cluster_answer writes_begin(struct writes *w, writes_fn fn, const char *key,
                                   uint64_t number);
/* Passes `e` on. If `e` is an error, the store did not take the write, and `fn` is not called. */
struct err *writes_end(struct cluster_answer a, struct err *e) MUST_CHECK;
