/* complete.h - candidates for the next word of a command line, for shells */
#pragma once

#include "base/str.h"

/* Values that only the server knows. */
enum live {
    LIVE_JOBS,
    LIVE_NODES,
    LIVE_NAMESPACES,
    LIVE_QUEUES
};

/* Adds names to `b`, one in each line; adds nothing if the server does not answer at once. */
typedef void (*live_fn)(void *arg, enum live which, struct buf *b);

/*
 * Completes the words after "mete"; the last word is being typed (may be ""). Adds a line
 * "WORD\tDESCRIPTION" for each candidate, or the one line ":files" if the shell shall complete
 * file names.
 */
void complete_words(const char *const *words, size_t n, live_fn live, void *arg, struct buf *ret);
