/* openb_engine.h - an engine with the nodes and pods of an openb trace */
#pragma once

#include "mete/engine.h"
#include "sim/openb.h"

/* Makes an engine with the trace's nodes, named in the order of their ranks, and the typical pods
 * as demand. The caller frees it. */
struct err *openb_engine_new(const struct openb *o, const struct mete_options *options,
                             const struct openb_list *ranks, struct mete_engine **ret) MUST_CHECK;

/* Tries to place the pod as a workload: `*ret` says whether it got its gpus. A workload that does
 * not fit is removed again. */
struct err *openb_engine_try(struct mete_engine *e, const struct openb_pod *pod, uint64_t id,
                             int64_t now_ns, bool *ret) MUST_CHECK;
