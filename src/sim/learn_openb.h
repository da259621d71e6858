/* learn_openb.h - learning from an openb trace */
#pragma once

#include "sim/learn.h"
#include "sim/openb.h"

/* Learns from the trace's nodes and pods; all pod rows have equal weight. */
struct err *learn_openb(const struct openb *o, uint64_t seed, struct value_table **ret) MUST_CHECK;
