/* complete.h - what may stand next on a command line, for the shells */
#pragma once

#include "base/str.h"

/* Values that only the server knows. */
enum live {
    LIVE_JOBS,
    LIVE_NODES,
    LIVE_NAMESPACES,
    LIVE_QUEUES
};

/* Adds names as lines to `b`; knows nothing when the server does not answer at once. */
typedef void (*live_fn)(void *arg, enum live which, struct buf *b);

/*
 * The words after "mete", the last of which is being typed (may be ""). Adds a line "WORD\tWHAT IT
 * IS" a candidate, or the one line ":files" where names of files are wanted.
 */
void complete_words(const char *const *words, size_t n, live_fn live, void *arg, struct buf *ret);
