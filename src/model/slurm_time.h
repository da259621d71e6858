/*
 * slurm_time.h - times and time limits as Slurm's commands read and write them
 *
 * https://slurm.schedmd.com/sbatch.html, --time and --begin; sacct.html, "TIME FORMATS".
 * A zone is that of model/moment.h; NULL: UTC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "model/moment.h"

enum {
    SLURM_TIME_TEXT_SIZE = 40,
    SLURM_UNLIMITED = -1 /* minutes of a time limit */
};

/*
 * Reads a time limit: "M", "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S", seconds rounded up to a
 * minute; "-1", "INFINITE" and "UNLIMITED" are SLURM_UNLIMITED. ERR_INVALID otherwise.
 */
struct err *slurm_minutes_parse(struct str text, int64_t *ret_minutes) MUST_CHECK;

/* The same in seconds, not rounded. */
struct err *slurm_seconds_parse(struct str text, int64_t *ret_seconds) MUST_CHECK;

/* "[D-]HH:MM:SS"; SLURM_UNLIMITED: "UNLIMITED". */
void slurm_minutes_format(int64_t minutes, char ret[SLURM_TIME_TEXT_SIZE]);

/* "[D-]HH:MM:SS"; negative: "INVALID". */
void slurm_elapsed_format(int64_t seconds, char ret[SLURM_TIME_TEXT_SIZE]);

/* The same without leading parts that are zero: "5:03", "1:00:00", "2-00:00:00". */
void slurm_elapsed_format_short(int64_t seconds, char ret[SLURM_TIME_TEXT_SIZE]);

/* "[D-]HH:MM:SS", or below an hour with a fraction "MM:SS.mmm", as the cpu times of sacct. */
void slurm_cpu_time_format(int64_t milliseconds, char ret[SLURM_TIME_TEXT_SIZE]);

/* "YYYY-MM-DDTHH:MM:SS" in the zone; 0: `absent`. */
void slurm_stamp_format(int64_t seconds, zone_fn zone, const char *absent,
                        char ret[SLURM_TIME_TEXT_SIZE]);

/*
 * Reads a point in time: "HH:MM[:SS] [AM|PM]", "midnight", "noon", "elevenses", "fika", "teatime",
 * "today", "tomorrow", "now", "now+N[seconds|minutes|hours|days|weeks]" (also '-'), "MMDD[YY]",
 * "MM/DD[/YY]", "MM.DD[.YY]", "YYYY-MM-DD", each with "-HH:MM[:SS]" or "THH:MM[:SS]", and
 * "uts" + seconds since 1970. A time of day alone is today; where `is_future` is set and it has
 * passed, tomorrow, and a day without a year that has passed is in the next year. ERR_INVALID
 * otherwise.
 */
struct err *slurm_moment_parse(struct str text, int64_t now_s, zone_fn zone, bool is_future,
                               int64_t *ret_s) MUST_CHECK;
