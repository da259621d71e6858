/*
 * group_cache.h - groups of workloads that were read lately, found by what is asked for
 *
 * Most workloads ask for what another one asked for a moment ago, and for nothing but gpus and
 * amounts. They need not be read again: the group is compared with what is asked for, without
 * interning, checking and spelling it. A cache: what it does not find is read.
 */
#pragma once

#include "engine/state.h"

struct group_cache *group_cache_new(void);
void group_cache_free(struct group_cache *r);

/* The group that reading `w` would give, or NULL: it has to be read. `user` is the number of its
 * user's name. */
struct group *group_cache_find(struct mete_engine *e, const struct mete_workload *w, uint32_t user);

/* `g` is what reading `w` gave. */
void group_cache_note(struct mete_engine *e, const struct mete_workload *w, struct group *g);

/* The group is about to be freed. */
void group_cache_forget(const struct group *g);

/* NULL, or what is wrong with it. */
const char *group_cache_check(const struct mete_engine *e);
