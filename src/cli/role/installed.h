/* installed.h - where the files that come with the program lie (installed_linux.c) */
#pragma once

#include "base/err.h"

struct installed {
    const char *what;      /* for the error: "the emulated driver" */
    const char *variable;  /* of the environment: names the directory */
    const char *built;     /* in a build tree, below its root */
    const char *installed; /* where the program's own installation put it */
    const char *probe;     /* a file in it */
};

/*
 * Finds the directory: the variable's, else that of the build tree of the program at `self_path`,
 * else the installed one. ERR_NOT_FOUND names where it was looked for. The caller frees `*ret`.
 */
struct err *installed_find(const char *self_path, const struct installed *i, char **ret) MUST_CHECK;
