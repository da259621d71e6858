/*
 * tree_cache.h - parsed trees of stored objects that every write reads, one a version
 *
 * An entry belongs to one store_object, of which it holds a ref. A key that was written since, or
 * taken back with a full disk, has another store_object: no entry can be stale.
 */
#pragma once

#include "base/json.h"
#include "store/store.h"

struct tree_cache;

struct tree_cache *tree_cache_new(void);
void tree_cache_free(struct tree_cache *c); /* accepts NULL */

/* The tree of `o`: a new reference. The tree is shared: do not change it. */
struct err *tree_cache_get(struct tree_cache *c, const struct store_object *o,
                           json_t **ret) MUST_CHECK;
/* Stores `tree` as the tree of `o`, with a reference of its own. A NULL `o` is ignored. */
void tree_cache_put(struct tree_cache *c, const struct store_object *o, json_t *tree);
