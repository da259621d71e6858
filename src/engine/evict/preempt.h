/* preempt.h - room made by evicting others: see preempt.c for who may evict whom */
#pragma once

#include "engine/queue/queue.h"

/* Decides who has to go for `w`, which waits, and keeps their room for it. False: nobody, or
 * nothing more than before; or it moves, and has its place when those who move with it are gone. */
bool preempt_for(struct mete_engine *e, struct workload *w, int64_t now_ns);

/* Counts what `w`, which waits for its victims, will hold; its limits are kept for it. */
void preempt_count(struct mete_engine *e, struct workload *w);
bool preempt_is_pending(const struct mete_engine *e, const struct workload *w);
/* It is not counted any more: it starts, or does not wait for victims. Nothing where it did not. */
void preempt_forget(struct mete_engine *e, struct workload *w);

/* `w` gives back what it held. */
void preempt_gone(struct mete_engine *e, struct workload *w);

/* The first by id of those that have to go for it; NULL. */
const struct workload *preempt_first(const struct mete_engine *e, const struct workload *w);
