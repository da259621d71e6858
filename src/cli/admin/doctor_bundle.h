/* doctor_bundle.h - mete doctor --bundle: one archive for support, without secrets */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

/* Writes the archive `path`, which must not exist. `findings` is the list of the doctor's findings,
 * `dir` the data directory. What cannot be read is left out, and named in the archive. */
struct err *doctor_bundle(struct cli *c, const char *path, const char *dir,
                          const json_t *findings) MUST_CHECK;
