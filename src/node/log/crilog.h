/*
 * crilog.h - one line of a container's log as conmon writes it (the CRI format)
 *
 *   2026-11-21T09:06:07.539995732+00:00 stdout F text of a whole line
 *   2026-11-21T09:06:07.561683474+00:00 stdout P part of a line that goes on, or ended with its
 * writer
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
 * Reads the first line of `bytes`. `*ret_size` is what it took with its line end, 0 when there is
 * no whole line; `ret` borrows from `bytes`. A line that is not in the format comes back as its own
 * text.
 */
void crilog_read(struct str bytes, struct crilog_line *ret, size_t *ret_size);

/*
 * Where the last `n` whole lines of a log begin, as far as `bytes`, which end with the log (or with
 * the start of what was looked at before), tell: counts whole lines from the end into `*count`, and
 * stops before the one that would be number n+1. Returns the offset in `bytes` from which on
 * everything was counted; `*ret_is_found` tells that this is the place.
 */
size_t crilog_tail(struct str bytes, size_t n, size_t *count, bool *ret_is_found);
