/* txn.h - a store transaction in the making: operations, and the texts that they borrow */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "store/store.h"

/* {0} is empty; txn_done frees. Keys passed in are copied, trees are formatted. */
struct txn {
    VEC(struct store_op) ops;
    VEC(char *) texts;
    uint32_t *slots; /* hash table of many operations: their numbers + 1, by key */
    size_t n_slots;  /* a power of two; 0: few operations, no table */
};

void txn_put(struct txn *t, struct store_key key, const json_t *object, int64_t if_version);
/* As txn_put, for records that the end of an object must leave: written on a full disk too, as long
 * as the store's reserve lasts. */
void txn_put_owed(struct txn *t, struct store_key key, const json_t *object, int64_t if_version);
/* Takes `text`, which comes from malloc. */
void txn_put_text(struct txn *t, struct store_key key, char *text, int64_t if_version);
void txn_delete(struct txn *t, struct store_key key, int64_t if_version);
void txn_check(struct txn *t, struct store_key key, int64_t if_version);

/* Does the transaction have an operation on `key`? */
bool txn_has(const struct txn *t, struct store_key key);

struct err *txn_commit(const struct txn *t, struct store *s, store_done_fn done, void *arg,
                       int64_t *ret_revision) MUST_CHECK;
void txn_done(struct txn *t);
