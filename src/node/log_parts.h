/*
 * log_parts.h - one attempt's log on disk: the file that conmon writes, and what was cut off it
 * before (log_parts_linux.c)
 *
 *   0.log      is being written
 *   0.log.7    the part before it; numbers only grow, the oldest are removed first
 *
 * A cut gives the file a second name; conmon, told to begin anew, replaces the first one. Until
 * then both names are the same file: a cut that was not finished is seen and goes on. So no line is
 * lost or moved, and whoever reads a part finds what follows it by its number.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct log_part {
    int64_t number;
    uint64_t inode;
    int64_t size;
    char *path;
};

/* Oldest first; the last is the one that is being written. {0} at first. */
struct log_parts {
    VEC(struct log_part) list;
};

/* ERR_NOT_FOUND: there is no such log (yet). `path` ends with ".log". */
struct err *log_parts_read(const char *path, struct log_parts *ret) MUST_CHECK;
void log_parts_done(struct log_parts *p);

/*
 * Cuts a log that has more than `max_bytes`, and removes the oldest parts until those that were cut
 * off are `keep` at most, with `keep` * `max_bytes` at most (the newest always stays).
 * `*ret_is_due` tells whether conmon is to begin anew.
 */
struct err *log_parts_cut(const char *path, int64_t max_bytes, size_t keep,
                          bool *ret_is_due) MUST_CHECK;

/* All of it; none is fine. */
struct err *log_parts_remove(const char *path) MUST_CHECK;
