/*
 * group_cache.h - recently used groups, found by a workload's requests
 *
 * Most workloads repeat the plain requests (gpus and amounts) of a recent workload. The cache
 * compares these with its groups, which saves interning, checking and spelling them. The caller
 * reads the requests that the cache does not find.
 */
#pragma once

#include "engine/state.h"

struct group_cache *group_cache_new(void);
void group_cache_free(struct group_cache *r);

/* The group that reading `w` would give, or NULL: not cached. `user` is the interned user name. */
struct group *group_cache_find(struct mete_engine *e, const struct mete_workload *w, uint32_t user);

/* Remembers `g` as the group of `w`. */
void group_cache_note(struct mete_engine *e, const struct mete_workload *w, struct group *g);

/* The group is about to be freed. */
void group_cache_forget(const struct group *g);

/* NULL, or the first inconsistency. */
const char *group_cache_check(const struct mete_engine *e);
