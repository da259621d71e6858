/*
 * moment.h - a point in time as people write it: "today", "2026-11-01", "7d", RFC 3339
 *
 * What names no offset is in the zone given: people's own on the command line, UTC in the API.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* How far a zone is ahead of UTC at `utc_ns`, in ns. NULL: it is UTC. */
typedef int64_t (*zone_fn)(int64_t utc_ns);

/*
 * "now", "today" and "yesterday" (their beginning), "month" (the beginning of this one),
 * "2026-11-01" (its beginning), "2026-11" (its first day's), "7d", "12h", "1h30m" (so long before
 * now), or RFC 3339 with any fraction and its own offset. ERR_INVALID otherwise, and for what is
 * before 1970.
 */
struct err *moment_parse(struct str text, int64_t now_ns, zone_fn zone, int64_t *ret_ns) MUST_CHECK;
