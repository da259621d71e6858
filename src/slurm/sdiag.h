/*
 * sdiag.h - sdiag: figures of the server as text and as the "statistics" of slurmrestd
 *
 * The figures are the object "diag" (kinds/slurm/slurm_rows.h) and the counts of requests
 * (api/requests.h). What Mete does not measure is left out.
 */
#pragma once

#include "slurm/columns.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sdiag_options[];
extern const char sdiag_help[];

/* Adds the output for the words. `requests` is the answer with kinds and users. ERR_INVALID: an
 * option that cannot be honoured. */
struct err *sdiag_print(const struct slurm_words *words, const json_t *diag, const json_t *requests,
                        const struct slurm_view *v, struct buf *out) MUST_CHECK;

/* The document's member "statistics"; `requests` NULL: without requests. New reference. */
json_t *sdiag_statistics(const json_t *diag, const json_t *requests, int64_t now_s);
