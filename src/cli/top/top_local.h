/*
 * top_local.h - the gpus of this machine for `mete top --local`: straight from the driver, by a
 * helper process with deadlines, without a server
 */
#pragma once

#include "base/loop.h"
#include "cli/cli.h"
#include "cli/top/top_view.h"

struct top_local;

/* `on_round` comes after each round of samples, and when the list has changed. $METE_DRIVER_ROOT
 * and $METE_GPUSIM_MACHINE name an emulated machine. */
struct err *top_local_new(struct loop *loop, struct cli *c, loop_fn on_round, void *arg,
                          struct top_local **ret) MUST_CHECK;
void top_local_free(struct top_local *l); /* accepts NULL */
static inline void top_local_freep(struct top_local **l)
{
    top_local_free(*l);
}

/* Is the list of gpus there, and has each gpu that answers a sample? */
bool top_local_is_ready(const struct top_local *l);
/* Why the machine has no gpus; "": it has some, or the driver has not answered yet. */
const char *top_local_problem(const struct top_local *l);

/* The present view; the caller ends it. */
struct top_view top_local_view(const struct top_local *l);
