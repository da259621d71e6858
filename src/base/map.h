/*
 * map.h - maps from text or bytes to objects: uthash, included here only
 *
 * The object carries the handle: `struct map_handle handle;` (UT_hash_handle) and its key. Keys are
 * hashed with a key of the process (map_seed), so that clients cannot choose collisions. Iteration
 * is in order of insertion; no result may depend on it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

uint32_t map_hash(const void *key, size_t size); /* SipHash-1-3 with the process's key */

/* Sets the process's key; call it once, first in main. Tests keep the fixed default. */
void map_seed(const uint8_t key[16]);

#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = map_hash((keyptr), (size_t)(keylen)))
#define uthash_fatal(msg)                    abort()
#define uthash_malloc(size)                  mem_alloc(size)
#define uthash_free(p, size)                 free(p)
#include <uthash.h>

#define map_handle UT_hash_handle

/* `head` is a pointer to the object type, NULL when empty; `handle` the member's name. */
#define map_add(handle, head, key_at, key_size, item) \
    HASH_ADD_KEYPTR(handle, head, key_at, key_size, item)
#define map_find(handle, head, key_at, key_size, item) \
    HASH_FIND(handle, head, key_at, key_size, item)
#define map_find_text(handle, head, text, item) HASH_FIND(handle, head, text, strlen(text), item)
#define map_remove(handle, head, item)          HASH_DELETE(handle, head, item)
#define map_count(handle, head)                 HASH_CNT(handle, head)
/* Safe against removal of `item` in the body; `tmp` is a variable of the same type. */
#define map_each(handle, head, item, tmp) HASH_ITER (handle, head, item, tmp)
