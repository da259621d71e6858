/*
 * log_parts.h - one attempt's log on disk: the file that conmon writes, and what came before it
 * (log_parts_linux.c)
 *
 *   0.log      is being written
 *   0.log.8    its second name
 *   0.log.7    the part before it; numbers only grow, the oldest are removed first
 *
 * conmon puts a new file in the place of one that has reached its size. What was there stays by its
 * second name, which each file gets as soon as it is there: so no line is lost or moved, whoever
 * reads a part finds what follows it by its number, and where nobody gives names, as while no node
 * runs, nothing but the present file grows.
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
 * Removes the oldest parts until they are `keep` with the present one, and gives that its second
 * name. To be repeated whenever conmon began anew: then there are never more than `keep` parts and
 * one that has no second name yet, however late this is called.
 */
struct err *log_parts_keep(const char *path, size_t keep) MUST_CHECK;

/* All of it; none is fine. */
struct err *log_parts_remove(const char *path) MUST_CHECK;
