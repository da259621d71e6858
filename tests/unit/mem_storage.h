/*
 * mem_storage.h - a disk below the store that is memory: durable one turn of the loop later, and
 * read back by the next store_open on it
 *
 * For tests of what stands above the store: it lives across stores, so that closing one and opening
 * the next plays a restart.
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

/* The next commits are refused with STORAGE_FULL until it is set to false. */
void mem_storage_set_full(struct storage *s, bool is_full);
/* ... are kept out of the reserve, until false. */
void mem_storage_set_low(struct storage *s, bool is_low);
/*
 * The next batch with such a change is refused with STORAGE_FULL, once: the store takes back what
 * it had accepted. `resource` is static.
 */
void mem_storage_refuse_once(struct storage *s, const char *resource, enum store_change_type type);
