/*
 * sprio.h - sprio: its options and its table of priorities
 *
 * Rows are those of "priorities" (kinds/slurm/slurm_rows.h).
 */
#pragma once

#include "base/json.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sprio_options[];
extern const char sprio_help[];

/* Adds the output for the words. ERR_INVALID has the words of sprio. */
struct err *sprio_print(const struct slurm_words *words, const json_t *rows,
                        struct buf *out) MUST_CHECK;
