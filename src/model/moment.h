/*
 * moment.h - points in time as users write them: "today", "2026-11-01", "7d", RFC 3339
 *
 * A text without an offset is in the given zone: the user's zone on the command line, UTC in the
 * API.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* The offset of a zone from UTC at `utc_ns`, in ns; positive: ahead. NULL: UTC. */
typedef int64_t (*zone_fn)(int64_t utc_ns);

/*
 * Reads "now"; "today", "yesterday", "month" (this month), "2026-11-01" or "2026-11", each as its
 * beginning; "7d", "12h" or "1h30m" before now; or RFC 3339 with any fraction and its own offset.
 * ERR_INVALID: another text, or a time before 1970.
 */
struct err *moment_parse(struct str text, int64_t now_ns, zone_fn zone, int64_t *ret_ns) MUST_CHECK;
