/* openb_engine.h - what is in an openb trace, as the engine takes it */
#pragma once

#include "mete/engine.h"
#include "sim/openb.h"

/* An engine with the trace's nodes, named by rank so that the lowest rank has the first name, and
 * its typical pods as the demand. The caller frees it. */
struct err *openb_engine_new(const struct openb *o, const struct mete_options *options,
                             const struct openb_list *ranks, struct mete_engine **ret) MUST_CHECK;

/* The pod as a workload to be placed at once, or not: `*ret` says whether it holds its gpus now.
 * One that is not placed is gone again. */
struct err *openb_engine_try(struct mete_engine *e, const struct openb_pod *pod, uint64_t id,
                             int64_t now_ns, bool *ret) MUST_CHECK;
