/*
 * sstat.h - sstat: its options, the steps that are meant, and the table of what they use
 *
 * A row is one of "steps", or of "jobs" for the batch step (kinds/slurm/slurm_rows.h), with what
 * sstat_put_tasks and sacct_put_use (sacct_use.h) have put. A figure that was not measured is
 * empty.
 */
#pragma once

#include "slurm/columns.h"
#include "slurm/words.h"

/* Ends with a NULL name. */
extern const struct slurm_option sstat_options[];
extern const char sstat_help[];

/* Steps of running jobs. */
struct sstat {
    const struct slurm_words *words; /* borrowed */
    struct slurm_format format;
    char *ids;     /* of the jobs, as the report of rows takes them; NULL: none */
    bool has_pids; /* the processes are asked for, too */
};

/* ERR_INVALID has the words of sstat. sstat_done frees `*ret`, also after an error. */
struct err *sstat_read(const struct slurm_words *words, struct sstat *ret) MUST_CHECK;
void sstat_done(struct sstat *s);

/*
 * The rows of the steps that the words name, in their order: "12" means the lowest step that runs,
 * else the batch step; with -a all. `steps` and `jobs` are reports of running ones. A job of which
 * nothing runs adds a line to `complaints`. New reference.
 */
json_t *sstat_choose(const struct sstat *s, const json_t *jobs, const json_t *steps,
                     struct buf *complaints);

/* Puts what the tasks use into the row: `nodes` is an array of {"node", "tasks"}, where tasks are
 * those of `mete step use`. */
void sstat_put_tasks(json_t *row, const json_t *nodes);

/* Puts what the job used so far, by its row of accounting, into the row of its batch step. */
void sstat_put_batch(json_t *row, const json_t *account);

void sstat_print(const struct sstat *s, const json_t *rows, const struct slurm_view *v,
                 struct buf *out);
void sstat_help_format(struct buf *out);
