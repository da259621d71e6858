/* program.h - programs of this machine that the node starts (program_linux.c) */
#pragma once

#include "base/err.h"

/* Where a program is, in the usual directories whatever PATH says. ERR_NOT_FOUND says how to get
 * it. The caller frees it. */
struct err *program_find(const char *name, char **ret) MUST_CHECK;
