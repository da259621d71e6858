/* time_limit.h - time limits of jobs, as people and scripts of Slurm write them */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Reads a time limit: "30m", "1h30m", or as sbatch: "90" (minutes), "M:S", "H:M:S", "D-H", "D-H:M",
 * "D-H:M:S". ERR_BAD_REQUEST for other texts and for less than a second. */
struct err *time_limit_parse(const char *text, int64_t *ret_ns) MUST_CHECK;
