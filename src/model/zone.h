/*
 * zone.h - a time zone: from seconds since 1970 to the time on the wall
 *
 * Read from the system's zone files (TZif, RFC 8536), with the rule for the time after their table.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct zone;

/*
 * `name` as Europe/Berlin; "UTC" is always there. ERR_INVALID "unknown time zone X" where the
 * system has none such, and for names that are paths.
 */
struct err *zone_load(const char *name, struct zone **ret) MUST_CHECK;

/* The content of a zone file. ERR_INVALID says what is wrong. */
struct err *zone_parse(struct str file, struct zone **ret) MUST_CHECK;

void zone_free(struct zone *z); /* accepts NULL */
static inline void zone_freep(struct zone **z)
{
    zone_free(*z);
}

/* Seconds east of Greenwich at that time. NULL is UTC. */
int64_t zone_offset(const struct zone *z, int64_t at_s);
