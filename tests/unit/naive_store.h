/*
 * naive_store.h - what a store is to answer, the slow and plain way: a list of all changes there
 * were
 *
 * Every question is answered by reading the list. Written to be compared with src/store, with which
 * it shares nothing but the types of its interface.
 */
#pragma once

#include "base/vec.h"
#include "store/store.h"

struct naive_change {
    int64_t revision;
    enum store_change_type type;
    struct store_key key; /* its texts are owned */
    char *bytes;          /* what was put */
    size_t size;
    int64_t created;
    int64_t before; /* version that it replaced, or 0 */
};

struct naive_store {
    VEC(struct naive_change) changes;
    int64_t applied;
    int64_t durable;
};

void naive_done(struct naive_store *n);

/* What a commit would fail with: an enum err_code, or -1. */
int naive_check(const struct naive_store *n, const struct store_op *ops, size_t count,
                bool is_full);

/* All of them, under the next revision; returns what is applied then. */
int64_t naive_apply(struct naive_store *n, const struct store_op *ops, size_t count);

/* Nothing after `revision` was ever there. */
void naive_cut(struct naive_store *n, int64_t revision);

/* What stood there as of `revision`, or NULL. */
const struct naive_change *naive_get(const struct naive_store *n, const struct store_key *key,
                                     int64_t revision);

bool naive_in_range(const struct store_key *key, const struct store_range *range);

struct naive_list {
    VEC(const struct naive_change *) found;
};

/* As store_list, without its limit. The caller frees `found` with vec_done. */
struct naive_list naive_list(const struct naive_store *n, const struct store_range *range,
                             const char *after_ns, const char *after_name, int64_t revision);
