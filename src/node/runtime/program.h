/* program.h - finds the programs that the node starts (program_linux.c) */
#pragma once

#include "base/err.h"

/* The path of a program, searched in the usual directories; PATH is ignored. ERR_NOT_FOUND tells
 * how to install it. The caller frees the path. */
struct err *program_find(const char *name, char **ret) MUST_CHECK;
