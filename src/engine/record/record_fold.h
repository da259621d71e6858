/*
 * record_fold.h - a recording, folded into far fewer lines that lead to the same objects
 *
 * The lines of record_fold_format restore objects and placements, not all that the engine
 * remembers: recent usage, backfill reservations, claims and evictions begin anew.
 */
#pragma once

#include "engine/record/record.h"

struct record_fold;

struct record_fold *record_fold_new(void);
void record_fold_free(struct record_fold *f); /* accepts NULL */
static inline void record_fold_freep(struct record_fold **f)
{
    record_fold_free(*f);
}

/* Folds the next line (without its newline). ERR_INVALID as record_line_parse; nothing changes
 * then. */
struct err *record_fold_line(struct record_fold *f, struct str line) MUST_CHECK;

/* Adds the lines, each with its newline. */
void record_fold_format(const struct record_fold *f, struct buf *out);

/* Bytes held, about. */
size_t record_fold_size(const struct record_fold *f);

/* The time of the last cycle; 0: none. */
int64_t record_fold_now_ns(const struct record_fold *f);
