/*
 * holders.h - which pods hold each gpu, from the scheduler's pods: for clusters without a ledger
 *
 * Valid until the loop's next turn.
 */
#pragma once

#include "control/scheduler/scheduler.h"

struct holders;

struct holders *holders_new(const struct scheduler *scheduler);
void holders_free(struct holders *h); /* accepts NULL */
static inline void holders_freep(struct holders **h)
{
    holders_free(*h);
}

/* As scheduler_gpu_holder; by namespace and name of the pod. */
bool holders_find(const struct holders *h, const char *uuid, size_t i,
                  struct scheduler_holder *ret);
