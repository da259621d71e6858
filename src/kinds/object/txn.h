/* txn.h - a store transaction while it is put together: operations, and the texts that they borrow
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "store/store.h"

/* {0} is empty; txn_done frees. Keys passed in are copied, trees are formatted. */
struct txn {
    VEC(struct store_op) ops;
    VEC(char *) texts;
    uint32_t *slots; /* where many are in it: numbers of operations + 1 by their keys' hashes */
    size_t n_slots;  /* a power of two, 0: not that many */
};

void txn_put(struct txn *t, struct store_key key, const json_t *object, int64_t if_version);
/* As txn_put, for what must be written down when something ends: made also on a full disk, as long
 * as the store's reserve lasts. */
void txn_put_owed(struct txn *t, struct store_key key, const json_t *object, int64_t if_version);
/* Takes `text`, which comes from malloc. */
void txn_put_text(struct txn *t, struct store_key key, char *text, int64_t if_version);
void txn_delete(struct txn *t, struct store_key key, int64_t if_version);
void txn_check(struct txn *t, struct store_key key, int64_t if_version);

/* Whether an operation on `key` is in it already. */
bool txn_has(const struct txn *t, struct store_key key);

struct err *txn_commit(const struct txn *t, struct store *s, store_done_fn done, void *arg,
                       int64_t *ret_revision) MUST_CHECK;
void txn_done(struct txn *t);
