/* signals.h - signals by name or number, as in --signal and scancel -s */
#pragma once

#include "base/str.h"

/* The number of "TERM", "SIGTERM" or "15", in any case; 0: unknown. */
int slurm_signal_number(struct str name);
