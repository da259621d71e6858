/*
 * mem_storage.h - a storage in memory below the store: writes are durable one turn of the loop
 * later, and the next store_open reads them back
 *
 * For tests of the code above the store. The storage outlives the store: closing a store and
 * opening the next one plays a restart.
 */
#pragma once

#include "base/loop.h"
#include "store/storage.h"

struct storage *mem_storage_new(struct loop *loop);

static inline void mem_storage_free(struct storage *s)
{
    if (s)
        s->ops->free(s->self);
}

/* Refuses commits with STORAGE_FULL until set to false. */
void mem_storage_set_full(struct storage *s, bool is_full);
/* Keeps commits out of the reserve until set to false. */
void mem_storage_set_low(struct storage *s, bool is_low);
/*
 * Refuses the next batch with such a change, once, with STORAGE_FULL: the store takes back the
 * accepted changes. `resource` is static.
 */
void mem_storage_refuse_once(struct storage *s, const char *resource, enum store_change_type type);
