/*
 * group_cache.h - groups of workloads that were read lately, found by what is asked for
 *
 * Most workloads ask for what another one asked for a moment ago, and for nothing but gpus and
 * amounts. They need not be read again: the group is compared with what is asked for, without
 * interning, checking and spelling it. A cache: what it does not find is read.
 */
#pragma once

#include "engine/state.h"

struct recent *recent_new(void);
void recent_free(struct recent *r);

/* The group that reading `w` would give, or NULL: it has to be read. `user` is the number of its
 * user's name. */
struct group *recent_find(struct mete_engine *e, const struct mete_workload *w, uint32_t user);

/* `g` is what reading `w` gave. */
void recent_note(struct mete_engine *e, const struct mete_workload *w, struct group *g);

/* The group is about to be freed. */
void recent_forget(const struct group *g);

/* NULL, or what is wrong with it. */
const char *recent_check(const struct mete_engine *e);
