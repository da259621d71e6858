/*
 * budgets.h - the status of PodDisruptionBudgets: how many pods may be evicted now, for people to
 * see
 *
 * An eviction counts for itself (kinds/object/disruption.h, and in the scheduler
 * scheduler/scheduler_budgets.c) and does not trust these numbers.
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct budgets;

/* `objects` is borrowed and outlives this, with its store. */
struct err *budgets_new(struct loop *l, struct objects *objects, struct budgets **ret) MUST_CHECK;
void budgets_free(struct budgets *b); /* accepts NULL */
