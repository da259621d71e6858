/*
 * progress.h - how far a job is, on stderr: one rewritten line on a terminal, else a line a phase
 *
 * Phases: waiting, starting, running, finished, failed. On a terminal the line shows the time since
 * the phase began; elsewhere a phase that lasts is repeated every 30 s.
 */
#pragma once

#include "cli/session.h"

struct progress;

/* `name`: "job 12". */
struct progress *progress_new(struct cli *c, struct loop *l, const char *name);
void progress_free(struct progress *p); /* accepts NULL */

/* Shows `phase` and its detail ("" for none). The same again only counts. */
void progress_phase(struct progress *p, const char *phase, const char *detail);

/* Ends the line that is being rewritten and is silent from here on: other output begins. */
void progress_quiet(struct progress *p);
