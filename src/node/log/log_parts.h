/*
 * log_parts.h - one attempt's log on disk: the file that conmon writes, and the parts before it
 * (log_parts_linux.c)
 *
 *   0.log      the file being written
 *   0.log.8    a hard link to it
 *   0.log.7    the part before it; numbers only grow, and the oldest parts are removed first
 *
 * When the file has reached its size, conmon renames a new file over it. The old file stays under
 * its hard link, which the node makes as soon as it sees a file. So no line is lost or moved, and a
 * reader finds the next part by its number. While no node runs, no links are made, and only the
 * newest file remains.
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

/* Oldest first; the last part is being written. {0} is empty. */
struct log_parts {
    VEC(struct log_part) list;
};

/* ERR_NOT_FOUND: the log does not exist (yet). `path` ends with ".log". */
struct err *log_parts_read(const char *path, struct log_parts *ret) MUST_CHECK;
void log_parts_done(struct log_parts *p);

/*
 * Removes the oldest parts until `keep` are left, and links the file being written. Call after each
 * new file of conmon's: then at most `keep` parts and one file without a link exist at any time.
 */
struct err *log_parts_keep(const char *path, size_t keep) MUST_CHECK;

/* Removes all parts, if any. */
struct err *log_parts_remove(const char *path) MUST_CHECK;
