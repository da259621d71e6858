/* top_lines.h - lines of text, the newest last: at most 10,000, and 4 MiB */
#pragma once

#include "base/str.h"
#include "base/vec.h"

enum {
    TOP_LINES_MAX = 10000,
    TOP_LINES_BYTES = 4 << 20
};

/* {0}: none. The oldest lines go when there are too many. */
struct top_lines {
    VEC(char *) list; /* the first `dropped` are NULL */
    size_t dropped;
    size_t bytes;
    struct buf rest; /* of a line without its end */
};

/* Adds a line, which is harmless for a terminal; takes it. */
void top_lines_take(struct top_lines *l, char *line);
/* Adds the lines of a text, made harmless. The part behind the last end of a line waits for more.
 */
void top_lines_add(struct top_lines *l, struct str text);
/* Adds what waits, as a line. */
void top_lines_end(struct top_lines *l);

size_t top_lines_count(const struct top_lines *l);
const char *top_lines_at(const struct top_lines *l, size_t i);
void top_lines_done(struct top_lines *l);
