/* sim_live.h - the recording of a running Mete's engine (sim/recording.h) */
#pragma once

#include "cli/cli.h"

/* Gets the whole recording that the server keeps. `ret` is empty and has its cap. */
struct err *sim_recording_get(struct cli *c, struct buf *ret) MUST_CHECK;
