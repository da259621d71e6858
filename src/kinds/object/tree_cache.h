/*
 * tree_cache.h - the trees of stored objects that are read with every write, parsed once a version
 *
 * An entry belongs to one store_object, of which it holds a ref: a key that was written since, or
 * taken back with a full disk, is another one. So nothing in here can be stale.
 */
#pragma once

#include "base/json.h"
#include "store/store.h"

struct tree_cache;

struct tree_cache *tree_cache_new(void);
void tree_cache_free(struct tree_cache *c); /* accepts NULL */

/* The tree of `o`: a new reference, which is shared and not to be changed. */
struct err *tree_cache_get(struct tree_cache *c, const struct store_object *o,
                           json_t **ret) MUST_CHECK;
/* `tree` is what `o` says; NULL objects are ignored. Takes a reference of its own. */
void tree_cache_put(struct tree_cache *c, const struct store_object *o, json_t *tree);
