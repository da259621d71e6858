/*
 * naive_store.h - a naive model of the store: a list of all changes
 *
 * Every answer comes from reading the list. The model is compared with src/store, and shares only
 * the types of its interface.
 */
#pragma once

#include "base/vec.h"
#include "store/store.h"

struct naive_change {
    int64_t revision;
    enum store_change_type type;
    struct store_key key; /* its texts are owned */
    char *bytes;          /* the object's bytes */
    size_t size;
    int64_t created;
    int64_t before; /* the replaced version; 0: none */
};

struct naive_store {
    VEC(struct naive_change) changes;
    int64_t applied;
    int64_t durable;
};

void naive_done(struct naive_store *n);

/* The enum err_code that a commit would fail with; -1: none. */
int naive_check(const struct naive_store *n, const struct store_op *ops, size_t count,
                bool is_full);

/* Applies all operations under the next revision. Returns the revision applied last. */
int64_t naive_apply(struct naive_store *n, const struct store_op *ops, size_t count);

/* Drops all changes after `revision`. */
void naive_cut(struct naive_store *n, int64_t revision);

/* The object's last change as of `revision`; NULL: no object. */
const struct naive_change *naive_get(const struct naive_store *n, const struct store_key *key,
                                     int64_t revision);

bool naive_in_range(const struct store_key *key, const struct store_range *range);

struct naive_list {
    VEC(const struct naive_change *) found;
};

/* As store_list, without its limit. The caller frees `found` with vec_done. */
struct naive_list naive_list(const struct naive_store *n, const struct store_range *range,
                             const char *after_ns, const char *after_name, int64_t revision);
