/*
 * sshare.h - sshare: its options and its table of shares
 *
 * Rows are those of "shares" (kinds/slurm/slurm_rows.h).
 */
#pragma once

#include "base/json.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sshare_options[];
extern const char sshare_help[];

/* Adds the output for the words. `user` is the caller, whose lines are shown without -a, -A and -u.
 * ERR_INVALID has the words of sshare. */
struct err *sshare_print(const struct slurm_words *words, const json_t *rows, const char *user,
                         struct buf *out) MUST_CHECK;
void sshare_help_format(struct buf *out);
