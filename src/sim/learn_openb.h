/* learn_openb.h - what is in an openb trace, as learning takes it */
#pragma once

#include "sim/learn.h"
#include "sim/openb.h"

/* From its nodes and its pods, each row as often as the others. */
struct err *learn_openb(const struct openb *o, uint64_t seed, struct value_table **ret) MUST_CHECK;
