/*
 * crilog.h - one line of a container's log as conmon writes it (the CRI format)
 *
 *   2026-11-21T09:06:07.539995732+00:00 stdout F text of a whole line
 *   2026-11-21T09:06:07.561683474+00:00 stdout P part of a line: more follows, or the writer ended
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct crilog_line {
    struct str stamp; /* RFC 3339, not checked further */
    bool is_stderr;
    bool is_partial;
    struct str text; /* without line end */
};

/*
 * Reads the first line of `bytes`. `*ret_size` is the line's size with its line end; 0: no whole
 * line. `ret` borrows from `bytes`. The text of a malformed line is the line itself.
 */
void crilog_read(struct str bytes, struct crilog_line *ret, size_t *ret_size);

/*
 * Finds the start of the last `n` whole lines of a log, piece by piece from the end: `bytes` end
 * with the log, or at the start of the piece before. Counts whole lines backwards into `*count`,
 * and stops before line n+1. Returns the offset in `bytes` of the first counted line;
 * `*ret_is_found`: the last `n` lines begin there.
 */
size_t crilog_tail(struct str bytes, size_t n, size_t *count, bool *ret_is_found);
