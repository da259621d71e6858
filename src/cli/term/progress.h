/*
 * progress.h - progress of a job, on stderr: on a terminal one rewritten line, else a line for
 * each phase
 *
 * Phases: waiting, starting, running, finished, failed. On a terminal the line shows the time
 * since the phase began; elsewhere a long phase is repeated every 30 s.
 */
#pragma once

#include "cli/session.h"

struct progress;

/* `name`: "job 12". */
struct progress *progress_new(struct cli *c, struct loop *l, const char *name);
void progress_free(struct progress *p); /* accepts NULL */

/* Shows `phase` and its detail ("": none). Repeating the same phase and detail only updates the
 * time. */
void progress_phase(struct progress *p, const char *phase, const char *detail);

/* Ends the rewritten line and stops printing: other output follows. */
void progress_quiet(struct progress *p);
