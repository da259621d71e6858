/* sim_live.h - the engine of a running Mete, as a recording (sim/recording.h) */
#pragma once

#include "cli/cli.h"

/* All that the server has kept. `ret` is empty and has its cap. */
struct err *sim_recording_get(struct cli *c, struct buf *ret) MUST_CHECK;
