/*
 * preempt.h - evictions that make room for a waiting workload: the rules are in preempt.c, those
 * of classes in evict_class.c
 */
#pragma once

#include "engine/queue/queue.h"

/* Chooses victims for the waiting workload `w` and keeps their room for it. False: no choice, or
 * `w` already waits for victims, or `w` is being moved and gets its place after that. */
bool preempt_for(struct mete_engine *e, struct workload *w, int64_t now_ns);

/* May `w` evict the victim by their classes? */
bool preempt_by_class(const struct mete_engine *e, const struct workload *w,
                      const struct workload *victim);

/* Counts the charge of `w`, which waits for its victims, as held, so that no other workload gets
 * the quota. */
void preempt_count(struct mete_engine *e, struct workload *w);
bool preempt_is_pending(const struct mete_engine *e, const struct workload *w);
/* Stops counting: the workload starts, or does not wait for victims any more. Does nothing if it
 * did not wait for victims. */
void preempt_forget(struct mete_engine *e, struct workload *w);

/* The victim `w` has given back its devices. */
void preempt_gone(struct mete_engine *e, struct workload *w);

/* The workload's first victim by id; NULL: none. */
const struct workload *preempt_first(const struct mete_engine *e, const struct workload *w);
